"""Files of findings: writes them, and reads arrays back as values."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mlcli.base.values.plugins import object_at
from mlcli.findings.finding import Arrays, File
from mlcli.rundir.archive import require_shape, require_within
from mlcli.rundir.json_values import json_text
from mlcli.rundir.reading import damaged
from mlcli.storage.fields import require_types


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or several lines in turn; file names in it are written byte for byte."""
    with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines([text] if isinstance(text, str) else text)


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document."""
    write_text(path, json_text(document))


def read_arrays(file: File, folder: Path, known: dict[str, int], fits: Callable[[int], bool]) -> Any:
    """Return the arrays of a file as a value whose rows have a number of columns that `fits`; None without a file.

    `known` holds sizes by the letters of shapes. Raises UnsafeFile.
    """
    arrays, path = file.read(folder), folder / file.name
    if arrays is None:
        return None
    assert isinstance(file.shape, Arrays)
    name = path.name.removesuffix(".npz")
    try:
        value = object_at(file.shape.where)(**arrays)
        require_types(value, name)
        require_shape(value, name, known)
        require_within(value, name, known)
        value.require_sense()
    except TypeError as error:
        raise damaged(path, "an array is missing, or one is there that no run writes") from error
    except ValueError as error:
        raise damaged(path, str(error)[:100]) from error
    if not fits(known["d"]):
        raise damaged(path, f"its rows have {known['d']} columns, which are not those of report.image")
    return value
