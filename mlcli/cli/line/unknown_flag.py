"""Options that a command has no flag for: which config path a user may have meant by a flag."""

from mlcli.cli.line.spelling import SET
from mlcli.config.other_names import FLAGS_ELSEWHERE, paths_for

MOST = 3  # paths in a hint


def hint_for(flag: str) -> str:
    """Return a hint that names the options of a flag's name; empty if there is none."""
    if keyword := FLAGS_ELSEWHERE.get(flag.partition("=")[0].lstrip("-").replace("-", "_")):
        return f"it is --{keyword} here"
    found = list(paths_for(flag).items())[:MOST]
    if found and found[0][1] != "VALUE":
        return f"it is {' or '.join(f'{path} = {formula}' for path, formula in found)}, which {SET} sets"
    listed = " or ".join(f"{SET} {path}={value}" for path, value in found)
    return f"{listed} sets this option" if listed else ""
