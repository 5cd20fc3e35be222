"""The command that makes a run again: as the user gave its input, with what was chosen for it."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcli.cli.line.flags import FLAGS
from mlcli.config.layers import PREFIX
from mlcli.config.run_names import text

LETTERS = {"method.name": "-m", "method.neighbors.count": "-k"}
OWN = ("output", "time_limit")  # flags of the command that says it, not of the run


def command(data: str, flags: Mapping[str, Any], assignments: Sequence[str], environment: Mapping[str, str],
            setting: Any, axes: int, *, output: Path) -> str:
    """A line for a shell: `mlcli embed` with the input's own flags, the setting's options, and a place.

    What came from the environment stands in it as well, so that it holds elsewhere.
    """
    words = ["mlcli", "embed", *(["--", data] if data.startswith("-") else [data])]
    for name, value in flags.items():
        if name not in OWN and value not in (None, False):
            words += flag_words(FLAGS[name].names[-1], value)
    for name in sorted(name for name in environment if name.startswith(PREFIX)):
        words += ["--set", f"{'.'.join(name.removeprefix(PREFIX).lower().split('__'))}={environment[name]}"]
    for assigned in assignments:
        words += ["--set", assigned]
    for path, value in setting.values.items():
        if path.endswith(".components"):  # which follow
            continue
        words += [LETTERS[path], text(value)] if path in LETTERS else ["--set", f"{path}={text(value)}"]
    words += ["-p", str(axes), "-o", str(output)]
    if data.startswith("-"):
        words = [*words[:2], *words[4:], *words[2:4]]
    return shlex.join(words)


def flag_words(flag: str, value: Any) -> list[str]:
    """A flag with its value, once for each of several."""
    if value is True:
        return [flag]
    return [part for one in (value if isinstance(value, list | tuple) else [value]) for part in (flag, str(one))]
