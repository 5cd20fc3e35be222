"""Flags of .h5ad files in the words of AnnData: --layer, --obs and --genes, for options that have other names here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcli.cli.line.flags import FLAGS
from mlcli.errors import UsageError

ENDING = ".h5ad"


def require_annotated(values: Mapping[str, Any], files: Sequence[str]) -> None:
    """Raise UsageError for a flag of AnnData with a file of another kind."""
    for name, given in values.items():
        if given is None or not (flag := FLAGS[name]).spells:
            continue
        for file in files:
            if not file.lower().endswith(ENDING):
                other = next(known for known in FLAGS.values() if known.path == flag.path).names[-1]
                raise UsageError("NOT-H5AD", f"{flag.names[0]} is for {ENDING} files, and the input is {file[:80]}",
                                 where=flag.names[0], hint=f"for other files it is {other}")


def names_in(item: str, flag: str) -> list[str]:
    """Return the names that a text lists, separated by commas, or those in the file that it names, one a line.

    Raises UsageError for a file that is not text, or empty.
    """
    if not Path(item).is_file():
        return item.split(",")
    try:
        lines = Path(item).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UsageError("NAMES-FILE", f"{item} is not a text in UTF-8", where=flag,
                         hint="give a file with one name on each line") from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise UsageError("NAMES-FILE", f"{item} is empty", where=flag, hint="give a file with one name on each line")
    return found
