"""Options that a command has no flag for: which config path a user may have meant by a flag."""

from mlcli.cli.line.spelling import SET
from mlcli.config.run_config import RunConfig, section_rows

MOST = 3  # paths in a hint


def paths_for(flag: str) -> tuple[str, ...]:
    """Return the config paths whose option has the name of a flag, as method.correction for --correction.

    Sections have no value of their own, and are left out.
    """
    name = flag.partition("=")[0].lstrip("-").replace("-", "_")
    paths = dict.fromkeys(row.path for section in RunConfig.model_fields for row in section_rows(section))
    sections = {path.rpartition(".")[0] for path in paths}
    return tuple(path for path in paths if path.count(".") and path.rpartition(".")[2] == name
                 and path not in sections)


def hint_for(flag: str) -> str:
    """Return a hint that names the options of a flag's name; empty if there is none."""
    paths = paths_for(flag)
    listed = " or ".join(f"{SET} {path}=VALUE" for path in paths[:MOST])
    return f"{listed} sets this option" if listed else ""
