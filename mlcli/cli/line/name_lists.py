"""Lists of names on a command line: separated by commas, or in files with a name on each line."""

import os
from pathlib import Path

from mlcli.data.options.names import split_at_commas
from mlcli.errors import UsageError


def names_in(item: str, flag: str) -> list[str]:
    """Return the names that a text lists, separated by commas, or those in the file that it names, one a line.

    Raises UsageError for a file that is not text, or empty.
    """
    if not os.path.isfile(item):  # noqa: PTH113 - a list may be longer than any name, of which a path raises
        return split_at_commas(item)
    try:
        lines = Path(item).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UsageError("NAMES-FILE", f"{item} is not a text in UTF-8", where=flag,
                         hint="give a file with one name on each line") from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise UsageError("NAMES-FILE", f"{item} is empty", where=flag, hint="give a file with one name on each line")
    return found
