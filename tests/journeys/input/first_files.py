"""One table of 40 points in every kind of file that people bring, and the matrices and the graph that belong to it.

As all hold the same points, what a command makes of one file must agree with what it makes of another.
"""

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import h5py
import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import feather, parquet
from scipy import sparse
from scipy.io import mmwrite
from scipy.spatial.distance import pdist, squareform

ROWS, SHAPE = 40, (2, 3)
COLUMNS = tuple(f"x{column}" for column in range(1, 7))
NAMES = tuple(f"p{row:02d}" for row in range(1, ROWS + 1))
GROUPS = tuple("high" if row % 3 else "low" for row in range(ROWS))
WORDS = ("group", "habitat", "color")
GAPS = ((2, 0), (9, 3), (30, 5))  # row and column of cells that a table lacks
NEIGHBORS = 10  # of each point in the graph, as `mlcli embed -m isomap` takes them


def _points() -> np.ndarray:
    """Whole numbers of one byte, some of them zero: two factors behind six columns, as a picture of 2 x 3 pixels."""
    random = np.random.default_rng(4)
    factors = random.uniform(-1, 1, (ROWS, 2)) @ random.uniform(-60, 60, (2, 6))
    return np.clip(np.round(70 + factors + random.normal(0, 12, (ROWS, 6))), 0, 255).astype(np.int64)


POINTS = _points()
APART = squareform(pdist(POINTS))
Rows = list[list[object]]


def table(*, ids: bool = False, labels: bool = False, header: bool = True) -> Rows:
    """The points as records."""
    first = [["name"] * ids + list(COLUMNS) + ["group"] * labels] * header
    return first + [[NAMES[row]] * ids + POINTS[row].tolist() + [GROUPS[row]] * labels for row in range(ROWS)]


def matrix(values: np.ndarray, names: tuple[str, ...] = ()) -> Rows:
    """A square matrix as records, with names on both sides or none."""
    return [["", *names]] * bool(names) + [[*names[row:row + 1], *values[row].tolist()] for row in range(len(values))]


def text(records: Rows, separator: str = ",", decimal: str = ".", end: str = "\n", encoding: str = "utf-8") -> bytes:
    """Records as text."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator=end).writerows(
        [[str(cell).replace(".", decimal) for cell in record] for record in records])
    return stream.getvalue().encode(encoding)


def as_floats(records: Rows) -> Rows:
    """Records whose whole numbers are written with one decimal."""
    return [[float(cell) if isinstance(cell, int) else cell for cell in record] for record in records]


def with_gaps() -> Rows:
    """The points without a few of their cells, as R writes them."""
    records = table()
    for row, column in GAPS:
        records[row + 1][column] = "NA"
    return records


def accented(records: Rows) -> bytes:
    """Records as text of another encoding, with names that are no ASCII."""
    renamed = [[str(cell).replace("p", "é") if str(cell) in NAMES else cell for cell in row] for row in records]
    return text(renamed, encoding="latin-1")


def as_r(values: np.ndarray) -> bytes:
    """A named matrix as R's write.table writes it."""
    quoted = [f'"{name}"' for name in NAMES]
    return "\n".join([" ".join(quoted)] + [" ".join([name, *map(repr, row)]) for name, row in
                                           zip(quoted, values.tolist(), strict=True)] + [""]).encode()


def phylip(values: np.ndarray) -> bytes:
    """A square matrix as the programs of PHYLIP write it."""
    return "\n".join([f"   {ROWS}"] + [f"{name:10}" + " ".join(map(repr, row)) for name, row in
                                       zip(NAMES, values.tolist(), strict=True)] + [""]).encode()


def edges() -> Rows:
    """The graph of the nearest neighbors, with lengths."""
    near = [(row, other) for row in range(ROWS) for other in np.argsort(APART[row], kind="stable")[1:NEIGHBORS + 1]]
    pairs = sorted({(min(pair), max(pair)) for pair in near})
    return [["source", "target", "weight"]] + [[NAMES[a], NAMES[b], float(APART[a, b])] for a, b in pairs]


def words_of(row: int) -> list[object]:
    """What a table without numbers says of a point."""
    return [GROUPS[row], ("wood", "meadow", "marsh", "heath")[row % 4], ("red", "green", "blue")[row // 2 % 3]]


def words() -> Rows:
    """A table without a number."""
    return [["name", *WORDS], *([name, *words_of(row)] for row, name in enumerate(NAMES))]


def arrow() -> pa.Table:
    return pa.table({"name": NAMES, **dict(zip(COLUMNS, POINTS.T, strict=True))})


def workbook(path: Path) -> None:
    """What tells an Excel workbook: its parts within a zip archive."""
    with zipfile.ZipFile(path, "w") as file:
        for part in ("[Content_Types].xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"):
            file.writestr(part, "<x/>")


def images(path: Path) -> None:
    path.mkdir()
    for name, row in zip(NAMES, POINTS, strict=True):
        Image.fromarray(row.astype(np.uint8).reshape(SHAPE)).save(path / f"{name}.png")


def image(path: Path) -> None:
    Image.fromarray(POINTS.astype(np.uint8)).save(path)


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["run/points"] = POINTS


def h5ad(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["X"] = POINTS.astype(float)
        for name, index in (("obs", NAMES), ("var", COLUMNS)):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group["_index"] = index


Maker = Callable[[Path], object]


def said(content: bytes) -> Maker:
    """A file of these bytes."""
    return lambda path: path.write_bytes(content)


CORRELATIONS, COVARIANCES = np.corrcoef(POINTS.T), np.cov(POINTS.T)
LEVELS = POINTS.reshape(ROWS, *SHAPE)
RDS = gzip.compress(b"X\n\0\0\0\3\0\4\2\2" + bytes(40), mtime=0)
FILES: Mapping[str, Mapping[str, Maker]] = MappingProxyType({  # by what they hold
    "points": {
        "header.csv": said(text(table())), "ids.csv": said(text(table(ids=True))),
        "labels.csv": said(text(table(ids=True, labels=True))), "headless.csv": said(text(table(header=False))),
        "semicolons.csv": said(text(table(), ";")),
        "commas.csv": said(text(as_floats(table(ids=True)), ";", ",")),
        "tabs.csv": said(text(table(ids=True), "\t")), "tabs.txt": said(text(table(), "\t")),
        "blanks.txt": said(text(table(header=False), " ")),
        "packed.csv.gz": said(gzip.compress(text(table(ids=True)), mtime=0)),
        "latin.csv": said(accented(table(ids=True))),
        "excel.csv": said(text(table(ids=True), end="\r\n", encoding="utf-8-sig")),
        "excel-european.csv": said(text(as_floats(table(ids=True)), ";", ",", "\r\n", "utf-8-sig")),
        "table.tsv": said(text(table(ids=True), "\t")),
        "table.parquet": lambda path: parquet.write_table(arrow(), path),
        "table.feather": lambda path: feather.write_feather(arrow(), path),
        "points.npy": lambda path: np.save(path, POINTS), "images.npy": lambda path: np.save(path, LEVELS),
        "one.npz": lambda path: np.savez(path, points=POINTS),
        "several.npz": lambda path: np.savez(path, X=POINTS, y=np.arange(ROWS)),
        "sparse.npz": lambda path: sparse.save_npz(path, sparse.csr_matrix(POINTS)),
        "counts.mtx": lambda path: mmwrite(path, sparse.coo_matrix(POINTS)),
        "cells.h5ad": h5ad, "data.h5": hdf5, "faces": images},
    "distances": {
        "distances.csv": said(text(matrix(APART, NAMES))), "nameless.csv": said(text(matrix(APART))),
        "dist.txt": said(as_r(APART)), "tree.phy": said(phylip(APART)),
        "distances.npy": lambda path: np.save(path, APART),
        "pdist.npy": lambda path: np.save(path, pdist(POINTS))},
    "correlations": {"correlations.csv": said(text(matrix(CORRELATIONS, COLUMNS)))},
    "covariances": {"covariances.csv": said(text(matrix(COVARIANCES, COLUMNS)))},
    "graph": {"edges.csv": said(text(edges()))},
    "gaps": {"gaps.csv": said(text(with_gaps()))},
    "elsewhere": {"sheet.xlsx": workbook, "saved.rds": said(RDS), "picture.png": image},
    "words": {"words.csv": said(text(words()))},
    "nothing": {"empty.csv": said(b"")},
})
