"""The embedding in a run directory, as embedding.csv and other formats, and the rows left out: written, and read back.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcli.base.rows.scratch import bytes_on_disk
from mlcli.base.stages.stage import note, stage
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.prepare.missing import Dropped
from mlcli.data.read.table import read
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table, axis_names
from mlcli.data.write.table import write_table
from mlcli.rundir import names
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.manifest import require_intact
from mlcli.rundir.reading import csv_of, damaged, own_file

FORMATS = ("csv", "parquet", "npy")  # in the order of what they hold: ids and labels first


def write_embedding(table: Table, folder: Path, formats: Sequence[str]) -> None:
    """Writes embedding.csv, or the embedding in other formats; says where rows have names that no file will hold."""
    if {*formats} == {"npy"} and (table.labels or not isinstance(table.ids, RowNumbers)):
        note("N-NO-IDS", f"{names.embedding('npy')} holds neither ids nor labels: commands that use the run call rows "
             "by their numbers; csv and parquet hold both")
    for format in formats:
        write_table(table, folder / names.embedding(format), format)


def embedding_files(manifest: Mapping[str, Any]) -> list[str]:
    """The files that hold a run's embedding, the one that says most first."""
    return [name for name in map(names.embedding, FORMATS) if name in manifest["files"]]


def intact_embedding(folder: Path, manifest: dict[str, Any]) -> tuple[str, Table]:
    """The name and the content of the file that says most; raises UnsafeFile where it is not what the run wrote."""
    file = next(iter(embedding_files(manifest)), None)
    if file is None:
        raise damaged(folder / names.MANIFEST, "it names no embedding", "files")
    require_intact(folder, manifest, (file,))
    if any(said["code"] == "N-NO-IDS" for said in manifest.get("notes", ())):
        note("W-NO-IDS", f"{file} holds neither ids nor labels: row numbers are used as ids", file=file)
    return file, read_embedding(folder / file, manifest)


def intact_ids(folder: Path, manifest: Mapping[str, Any], file: str) -> Sequence[str]:
    """The ids in a CSV or Parquet file that a run wrote, without its coordinates, which take most of the time.

    Raises UnsafeFile where it is not what the run wrote.
    """
    require_intact(folder, manifest, (file,))
    path = folder / file
    with own_file(path):
        if path.suffix == ".parquet":
            from pyarrow import parquet

            first = parquet.read_table(path, columns=columns_of(path)[:1]).column(0)
            return tuple(map(str, first.to_pylist()))
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as lines:
            rows = csv.reader(lines)
            next(rows, None)
            return tuple(row[0] for row in rows)


def read_embedding(path: Path, manifest: Mapping[str, Any]) -> Table:
    """The embedding that a run wrote: ids first, then labels, then y1..yp; numbers of rows for NPY."""
    rows, count = manifest["embedding"]["rows"], manifest["embedding"]["components"]
    axes = list(axis_names(count))
    with own_file(path):
        header = columns_of(path)
        if header and (len(header) <= count or header[-count:] != axes):
            raise damaged(path, f"its last columns should be {axes[0]} to {axes[-1]}", 1)
        given = Input(path=str(path), format=path.suffix[1:])
        given = given.replace(id_column=header[0], label_columns=tuple(header[1:-count]),
                              columns=tuple(axes)) if header else given
        large = _read_filled(given) if bytes_on_disk(1, rows * count) else None
        table = read(given) if large is None else large
    if table.values.shape != (rows, count):
        raise damaged(path, f"its shape is {table.values.shape}, not {(rows, count)} as in run.json")
    if manifest["embedding"].get("ids") == "invented":
        with own_file(path):
            try:
                table = replace(table, ids=RowNumbers.of_texts(table.ids))
            except ValueError:
                raise damaged(path, "its first column should hold numbers of rows", 1) from None
    return replace(table, columns=tuple(axes))


@stage("read")
def _read_filled(given: Input) -> Table | None:
    from mlcli.data.read.fill_array import read_into_array

    with in_temporary_files():
        return read_into_array(given, Compute())


def columns_of(path: Path) -> list[str]:
    """The names of the columns of an embedding's file; none for NPY."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return next(csv.reader(file), [])
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(path).names)
    return []


def write_dropped(path: Path, dropped: Sequence[Dropped]) -> None:
    """Writes id, row (1-based, as in the input) and reason of each dropped row, in the order of rows."""
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "row", "reason"])
        writer.writerows([d.id, d.row, d.reason] for d in sorted(dropped, key=lambda d: d.row))


def dropped_rows(folder: Path) -> list[Dropped]:
    """The rows that a run left out; raises UnsafeFile."""
    path = folder / names.DROPPED
    if not path.is_file():
        return []
    columns = csv_of(path, ("id", "row", "reason"), texts=3)
    with own_file(path):
        return [Dropped(*row) for row in zip(columns["id"], map(int, columns["row"]), columns["reason"], strict=True)]
