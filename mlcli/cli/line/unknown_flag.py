"""Options that a command has no flag for: which config path a user may have meant by a flag."""

from collections.abc import Mapping

from mlcli.cli.line.spelling import SET
from mlcli.config.run_config import RunConfig, section_rows

MOST = 3  # paths in a hint


def paths_for(flag: str) -> Mapping[str, str]:
    """Return the config paths of a flag's option, as method.correction for --correction, each with its value.

    The value is VALUE, or the formula of an option that other programs give another name, as sigma of a kernel.
    Sections have no value of their own, and are left out.
    """
    name = flag.partition("=")[0].lstrip("-").replace("-", "_")
    rows = [row for section in RunConfig.model_fields for row in section_rows(section)]
    sections = {row.path.rpartition(".")[0] for row in rows}
    options = [row for row in rows if row.path.count(".") and row.path not in sections]
    named = {row.path: "VALUE" for row in options if row.path.rpartition(".")[2] == name}
    formulas: dict[str, str] = {}
    for row in sorted(options, key=lambda row: row.path.count(".")):
        if name in row.synonyms:
            formulas.setdefault(row.path, row.synonyms[name])
    return named or formulas


def hint_for(flag: str) -> str:
    """Return a hint that names the options of a flag's name; empty if there is none."""
    found = list(paths_for(flag).items())[:MOST]
    if found and found[0][1] != "VALUE":
        return f"it is {' or '.join(f'{path} = {formula}' for path, formula in found)}, which {SET} sets"
    listed = " or ".join(f"{SET} {path}={value}" for path, value in found)
    return f"{listed} sets this option" if listed else ""
