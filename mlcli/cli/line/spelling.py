"""Options in messages, as the command at hand takes them: by their flags, or with --set."""

import re
from shlex import quote

from mlcli.errors import Spelling, spell

SET = "--set"
PLAIN = re.compile(r"[\w./:@%+=-]+(,[\w./:@%+=-]+)*")  # what no shell and no YAML takes for something else


def spelling_of(flags: frozenset[str], given: frozenset[str] = frozenset()) -> Spelling:
    """Return the spelling of options for a command with these flags; one without --set names those of `embed`.

    An option that has two names has the one that is `given`.
    """
    def spelled(path: str, value: str) -> str:
        from mlcli.cli.line.flags import FLAGS, takes_list

        fitting = [flag for flag in FLAGS.values()
                   if flag.path == path and (SET not in flags or flag.names[-1] in flags)]
        fitting.sort(key=lambda flag: (flag.names[-1] not in given, bool(flag.spells)))
        for flag in fitting:
            if value and value == written(flag.constant):
                return flag.names[-1]
        quoted = value if PLAIN.fullmatch(value) else f"'{value}'" if quote(value) == value else quote(value)
        for flag in fitting:
            if flag.constant is None and (not value or flag.spells in ("", "{}")):
                return f"{flag.names[-1]} {quoted}" if value else flag.names[-1]
        if not value:
            return path
        return f"{SET} {path}={f'[{value}]' if takes_list(path) else quoted}"

    return spelled


def in_flags(text: str) -> str:
    """Return a message with options as flags of `embed`, for pages that no command prints."""
    return spell(text, spelling_of(frozenset()))


def written(constant: object) -> str:
    """Return a constant as YAML has it."""
    return str(constant).lower() if isinstance(constant, bool) else str(constant)
