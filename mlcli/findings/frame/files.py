"""Files of findings: writes texts, CSV and JSON, and reads arrays back as values."""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import TOGETHER, release_pages
from mlcli.base.types import Array
from mlcli.base.values.plugins import object_at
from mlcli.findings.finding import Arrays, File
from mlcli.rundir.archive import require_shape, require_within
from mlcli.rundir.json_values import json_text
from mlcli.rundir.reading import damaged
from mlcli.storage.fields import require_types

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import CsvColumns


def csv_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV."""
    return "".join(csv_lines(header, rows))


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield a table as CSV, line by line."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([header], rows):
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


def column_lines(content: "CsvColumns", texts: int, counts: Collection[str]) -> Iterator[str]:
    """Yield columns as CSV, line by line: texts first, then numbers as `digits` has them, and nothing for NaN."""
    names = [*content.columns]
    words, numbers = [content.texts(name) for name in names[:texts]], names[texts:]
    yield from csv_lines(names, () if numbers else zip(*words, strict=True))
    if not numbers:
        return
    columns = [content.array(name) for name in numbers]
    form = ",".join("%d" if name in counts else "%.17g" for name in numbers) + "\n"
    starts = (islice(csv_lines((), ((*row, "") for row in zip(*words, strict=True))), 1, None) if texts
              else repeat("\n", len(columns[0])))
    for start, row in zip(starts, _rows_of(columns), strict=True):
        yield start[:-1] + (form % tuple(row.tolist())).replace("nan", "")


def _rows_of(columns: Sequence[Array]) -> Iterator[Array]:
    """Yield the rows of columns (n each), which may lie in files."""
    for rows in row_blocks(len(columns[0]), TOGETHER, len(columns)):
        yield from np.column_stack([column[rows] for column in columns])
        release_pages()


def digits(value: float) -> str:
    """Return a number with 17 digits, which distinguish all doubles."""
    return f"{value:.17g}"


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text, or several lines in turn; file names in it are written byte for byte."""
    with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines([text] if isinstance(text, str) else text)


def write_arrays(path: Path, value: Any) -> None:
    """Write the arrays of a value as NPZ, but those that are None."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in vars(value).items() if array is not None})
    path.write_bytes(buffer.getvalue())


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
