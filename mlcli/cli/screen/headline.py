"""The JSON document of a run: its headline, a line for each fact, or all of it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.cli.screen.output import standard_output
from mlcli.findings import FINDINGS
from mlcli.rundir.json_values import json_value

Document = Mapping[str, Any]
FIRST = ("run", "exit", "error", "skipped", "left_out", "method", "input", "embedding", "components", "eigenvalues",
         "proportions")  # facts before those of findings, in their order,
LAST = ("certificate", "seconds", "warnings", "notes")  # and after them
INPUT = ("path", "kind", "rows", "columns")  # of the input
AXES = 10  # whose eigenvalues and shares are told


def headline(document: Document) -> dict[str, Any]:
    """Return the leading facts of a run under the keys of the whole document, with the first axes only."""
    found = {name: keys for name, finding in FINDINGS.items() if (keys := finding.headline())}
    short = {name: document[name] for name in (*FIRST, *found, *LAST) if name in document}
    for name, inner in {"input": INPUT, **found}.items():
        if short.get(name):
            short[name] = {key: short[name][key] for key in inner if key in short[name]}
    for name in ("eigenvalues", "proportions"):
        if short.get(name):
            short[name] = short[name][:AXES]
    return short


def print_headlines(documents: Sequence[Document], *, alone: bool) -> None:
    """The headline of one run, a line for each fact; or of several, a line for each run."""
    short = [headline(json_value(document)) for document in documents]
    if alone:
        text = "{\n" + ",\n".join(f"  {one_line(name)}: {one_line(value)}" for name, value in short[0].items()) + "\n}"
    else:
        text = '{"runs": [\n' + ",\n".join(f"  {one_line(document)}" for document in short) + "\n]}"
    standard_output().write(f"{text}\n".encode())


def one_line(value: Any) -> str:
    """A value on one line of JSON."""
    return json.dumps(value, allow_nan=False)
