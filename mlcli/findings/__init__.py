"""The findings of a run: one file each, and the table that names them in their order."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mlcli.base.stages.vocabulary import COMPUTED, OTHERS
from mlcli.findings.finding import Finding

NAMES = (
    "loadings",
    "quality",
    "dimension",
    "spectrum",
    "stress",
    "radii",
    "images",
    "decoded",
    "stability",
    "hubness",
    "posterior",
    "forecast",
    "trace",
    "information",
    "private",
    "reliability",
    "genes",
)


def load_finding(name: str) -> Finding[Any]:
    """Return the finding of this name, an instance of the class that its file declares."""
    kinds: list[Any] = list(vars(import_module(f"mlcli.findings.{name}")).values())
    return next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Finding)
                and vars(kind).get("name") == name)()


FINDINGS: Mapping[str, Finding[Any]] = {name: load_finding(name) for name in NAMES}
# the names of all stages, each with what it does: the words of `mlcli plan`, progress, `run.json` and the report
STAGES: Mapping[str, str] = {
    **COMPUTED, **{name: finding.stage for name, finding in FINDINGS.items() if finding.stage}, **OTHERS}
