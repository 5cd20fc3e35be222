"""Remedies in the options that the command at hand has: any other flag stands as the config path that it sets."""

import re
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

from mlcli.errors import MlcliError

if TYPE_CHECKING:
    from mlcli.cli.line.flags import Flag

# the flags of the command at hand; None where it has no --set, or none was read yet
OWN: ContextVar[frozenset[str] | None] = ContextVar("own", default=None)
SET = "--set"
VALUE = r"(?: (?!(?:or|and|for|out|in|as)\b)([\w/.-]+|'[^']*'))?"  # after a flag, where one is given with it
OTHER = "mlcli "  # a remedy with this is a command of its own


def own(flags: frozenset[str]) -> None:
    """Makes these the flags of the command at hand."""
    OWN.set(flags if SET in flags else None)


def in_own_words(error: MlcliError) -> MlcliError:
    """The error with a remedy that this command takes."""
    known = OWN.get()
    if known is None or "--" not in error.hint or OTHER in error.hint:
        return error
    from mlcli.cli.line.flags import FLAGS

    hint = error.hint
    for flag in FLAGS.values():
        name = flag.names[-1]
        if name not in known:
            hint = re.sub(rf"{name}(?![\w-])" + ("()" if flag.constant else VALUE), partial(_set, flag), hint)
    return error.changed(hint=hint)


def _set(flag: "Flag", found: re.Match[str]) -> str:
    """What sets the path of a flag: to its own value, to the one that stands after it, or the path alone."""
    from mlcli.cli.line.flags import takes_list

    value = flag.constant or found[1]
    if not value:
        return flag.path
    return f"{SET} {flag.path}={f'[{value}]' if takes_list(flag.path) else value}"
