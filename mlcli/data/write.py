"""Writes tables: CSV with 17 digits, Parquet, NPY."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mlcli.base.stage import note
from mlcli.base.types import Array
from mlcli.data.arrow import pyarrow
from mlcli.data.numbers import NUMBERS
from mlcli.data.table import Table
from mlcli.data.wording import counted, place, shown
from mlcli.errors import StorageError

ROWS = 4096  # formatted at once
QUOTED = re.compile(r'[",\r\n]|^\s|\s$')
FORMULA = tuple("=+-@\t\r")


def write_table(table: Table, path: Path, format: str) -> None:
    """Writes a table to a file: ids, labels, then the columns (NPY: the values alone)."""
    try:
        with path.open("wb") as stream:
            {"csv": write_csv, "parquet": write_parquet, "npy": write_npy}[format](table, stream)
    except OSError as error:  # a full disk does not always carry its number
        raise StorageError("WRITE", f"writing failed: {error.strerror or error}", where=place(str(path)),
                           hint="check the space and the permissions there") from None


def write_csv(table: Table, stream: BinaryIO) -> None:
    """Writes a table as CSV; every number reads back to the same bits."""
    warn_of_formulas(table)
    texts = [table.ids, *table.labels.values()]
    stream.write((",".join(quoted([*noted_names(table), *table.columns])) + "\n").encode())
    for start in range(0, len(table.ids), ROWS):
        rows = slice(start, start + ROWS)
        parts = [quoted(column[rows]) for column in texts]
        lines = (",".join(row) for row in zip(*parts, number_texts(table.values[rows]), strict=True))
        stream.write(("\n".join(lines) + "\n").encode())


def number_texts(values: Array) -> Iterator[str]:
    """Every row's numbers with 17 significant digits, separated by commas."""
    form = ",".join(["%.17g"] * values.shape[1])
    lines = (form % tuple(row) for row in values.tolist())
    if np.isfinite(values).all():
        return lines
    return (line.replace("nan", "NaN").replace("inf", "Inf") for line in lines)


def quoted(texts: Sequence[str]) -> list[str]:
    """Texts as CSV cells that read back to the same characters."""
    return ['"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text for text in texts]


def write_parquet(table: Table, stream: BinaryIO) -> None:
    """Writes a table as Parquet: ids and labels as text, columns in double precision."""
    arrow = pyarrow()
    from pyarrow import parquet

    texts = [arrow.array(column, arrow.string()) for column in (table.ids, *table.labels.values())]
    numbers = [arrow.array(np.ascontiguousarray(column)) for column in table.values.T]
    content = arrow.table([*texts, *numbers], names=[*noted_names(table), *table.columns])
    parquet.write_table(content, stream, write_page_checksum=True)


def write_npy(table: Table, stream: BinaryIO) -> None:
    """Writes the values alone."""
    np.save(stream, np.ascontiguousarray(table.values), allow_pickle=False)


def text_names(table: Table) -> list[str]:
    """The headers under which ids and labels are written, told apart from the columns' own names."""
    taken = set(table.columns)
    names = []
    for name, suffix in [(table.id_name, "_id"), *((label, "_label") for label in table.labels)]:
        unique = name
        while unique in taken:
            unique += suffix
        taken.add(unique)
        names.append(unique)
    return names


def noted_names(table: Table) -> list[str]:
    """The same, with a warning for each that is not its own."""
    names = text_names(table)
    for name, unique in zip((table.id_name, *table.labels), names, strict=True):
        if unique != name:
            note("W-RENAMED", f"column {shown(name)} is written as {shown(unique)}, as the name is taken", name=unique)
    return names


def warn_of_formulas(table: Table) -> None:
    """Notes ids and labels that a spreadsheet would run as formulas."""
    risky = [text for texts in (table.ids, *table.labels.values()) for text in texts
             if text.startswith(FORMULA) and not NUMBERS["."].fullmatch(text)]
    if risky:
        note("W-FORMULA", f"{counted(len(risky), 'id or label')} would be run as a formula by a spreadsheet, "
             f"for example {shown(risky[0], 40)}; Parquet is safe", cells=len(risky))
