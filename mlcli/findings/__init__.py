"""The findings of a run: one file each, and the table that names them in their order.

An installed package adds a finding by an entry point. It is off unless the option of its name is given, which looks it
up: from then on it is one of the findings of this process.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mlcli.base.stages.stage import COMPUTED, OTHERS
from mlcli.base.values.plugins import Plugin, object_at, plugin, usable
from mlcli.errors import MlcliError
from mlcli.findings.finding import Finding

NAMES = {  # the module of this package and the class of each
    "loadings": "loadings:LoadingsFinding",
    "quality": "quality:QualityFinding",
    "dimension": "dimension:DimensionFinding",
    "spectrum": "spectrum:SpectrumFinding",
    "moved": "moved:MovedFinding",
    "stress": "stress:StressFinding",
    "radii": "radii:RadiiFinding",
    "images": "images:ImagesFinding",
    "decoded": "decoded:DecodedFinding",
    "stability": "stability:StabilityFinding",
    "discontinuity": "discontinuity:DiscontinuityFinding",
    "hubness": "hubness:HubnessFinding",
    "posterior": "posterior:PosteriorFinding",
    "forecast": "forecast:ForecastFinding",
    "trace": "trace:TraceFinding",
    "information": "information:InformationFinding",
    "private": "private:PrivateFinding",
    "factors": "factors:FactorsFinding",
    "groups": "groups:GroupsFinding",
    "partial": "partial:PartialFinding",
    "contributions": "contributions:ContributionsFinding",
    "reliability": "reliability:ReliabilityFinding",
    "genes": "genes:GenesFinding",
    "calibration": "calibration:CalibrationFinding",
}

RESERVED = ("run", "config", "certificate", "model", "report", "error")  # begin names of other files of a run


class Findings(Mapping[str, Finding[Any]]):
    """The findings by name: the program's own, then those of installed packages that were looked up."""

    def __init__(self, own: Mapping[str, Finding[Any]]) -> None:
        self.own, self.added = own, dict[str, Finding[Any]]()

    def __getitem__(self, name: str) -> Finding[Any]:
        return self.own[name] if name in self.own else self.added[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.own, *self.added))

    def __len__(self) -> int:
        return len(self.own) + len(self.added)

    def plugin(self, name: str) -> Plugin | None:
        """Return what an installed package adds under a name; None for the program's own, and for unknown names.

        Raises ConfigError where two packages add it.
        """
        return None if name in self.own else plugin("findings", name)

    def look_up(self, name: str) -> Finding[Any]:
        """Return the finding of an installed package, one of this process from now on; raises KeyError for no name.

        Raises ConfigError where two packages add it, and DependencyMissing for a package that cannot be used.
        """
        if name not in self and (found := self.plugin(name)) is not None:
            self.added[name] = found.load(lambda kind: finding_defect(kind, name))()
        return self[name]

    def look_up_all(self, taken: Collection[str]) -> tuple[Sequence[str], Sequence[MlcliError]]:
        """Return the names that installed packages add, and the errors of those that cannot be used.

        Those that are `taken` by options besides findings are among the latter.
        """
        return usable("findings", {*self.own, *taken}, self.look_up)


def finding_defect(kind: Any, name: str) -> str:
    """Return what is wrong with the class of a package for a name; empty if it can be used."""
    if not (isinstance(kind, type) and issubclass(kind, Finding)):
        return f"it is no class derived from {Finding.__module__}.{Finding.__name__}"
    finding: Finding[Any] = kind()
    if finding.name != name:
        return f"its name is not {name!r}"
    if finding.option is None or finding.default or finding.output:
        return "it is not off by default: its option is not false or null"
    if name in RESERVED or not all(file.name.startswith(name) for file in finding.files):
        return "the names of its files do not begin with its own"
    return ""


FINDINGS = Findings({name: object_at(f"mlcli.findings.{place}")() for name, place in NAMES.items()})
# the names of all stages, each with what it does: the words of `mlcli plan`, progress, `run.json` and the report
STAGES: Mapping[str, str] = {
    **COMPUTED, **{name: finding.stage for name, finding in FINDINGS.items() if finding.stage}, **OTHERS}


def stage_sentence(name: str) -> str:
    """Return what the stage of a name does; empty for an unknown one."""
    return FINDINGS[name].stage if name in FINDINGS.added else STAGES.get(name, "")
