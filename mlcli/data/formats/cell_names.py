"""Names of genes and cells in files beside a Matrix Market file, as Cell Ranger and STARsolo write them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.data.files.remote import is_remote
from mlcli.data.files.source import Opened, open_input
from mlcli.data.files.streams import text_stream
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.errors import DataError

if TYPE_CHECKING:
    from mlcli.data.formats.sparse import Entries, SparseSheet

MATRIX = "matrix"  # part of the matrix's file name; files of names have another word there
MATRICES = (".mtx", ".mtx.gz")
GENES, CELLS = ("features", "genes"), ("barcodes",)
TEXTS = (".tsv", ".tsv.gz")


@frozen
class CellNames:
    """The names of one side of a matrix."""

    path: Path
    columns: tuple[tuple[str, ...], ...]  # of the file

    @property
    def unique(self) -> tuple[str, ...]:
        """The names of genes, in the second column, or their ids if names repeat."""
        called = self.columns[1] if len(self.columns) > 1 else self.columns[0]
        return called if len(set(called)) == len(called) else self.columns[0]


def matrix_in(path: str) -> str:
    """Return the only Matrix Market file of a folder; any other path unchanged."""
    folder = Path(path)
    if path == "-" or is_remote(path) or not folder.is_dir():
        return path
    found = [file for file in sorted(folder.iterdir()) if file.name.endswith(MATRICES) and file.name[0] != "."]
    return str(found[0]) if len(found) == 1 else path


def name_files(path: str) -> list[Path]:
    """Return the files of names beside a matrix, of genes and of cells; empty unless both exist."""
    if path == "-" or is_remote(path) or not path.endswith(MATRICES):
        return []
    file = Path(path)
    first = file.name.partition(MATRIX)[0] if MATRIX in file.name else ""
    there = (_first(file.parent / f"{first}{word}{ending}" for word in words for ending in TEXTS)
             for words in (GENES, CELLS))
    found = [name for name in there if name is not None]
    return found if len(found) == 2 else []


def _first(files: Iterator[Path]) -> Path | None:
    return next((file for file in files if file.is_file()), None)


def with_names(entries: "Entries", file: Opened, input: Input, compute: Compute) -> "SparseSheet | None":
    """Return a matrix of genes x cells, or of cells x genes, with the names beside it; None if none fit."""
    from mlcli.data.formats.sparse import named_sparse

    if input.kind != "features" or not (files := name_files(file.path)):
        return None
    genes, cells = (_read(path, input, compute) for path in files)
    sides = len(genes.columns[0]), len(cells.columns[0])
    if sorted(sides) != sorted(entries.shape):
        note("N-NAMES-UNUSED", f"{place(str(genes.path))} and {cells.path.name} name {sides[0]:,} genes and "
             f"{sides[1]:,} cells, and the matrix has {entries.shape[0]:,} rows and {entries.shape[1]:,} columns: "
             "they are not used")
        return None
    rows, columns = genes.unique, cells.columns[0]
    words = ("genes", "cells")
    if sides != entries.shape:
        rows, columns, words = columns, rows, ("cells", "genes")
    points = words[1] if input.transpose else words[0]
    turn = "" if points == "cells" else (
        f"; {'leave out' if input.transpose else 'give'} {{input.transpose=true}} to make them cells")
    note("N-NAMES-BESIDE", f"rows and columns, {words[0]} and {words[1]}, have their names from {genes.path.name} and "
         f"{cells.path.name}; the points are {points}{turn}")
    return named_sparse(entries, rows, columns, input)


def _read(path: Path, input: Input, compute: Compute) -> CellNames:
    """Read the columns of a file of names; raises DataError for lines of different lengths, and for none."""
    with open_input(str(path), compute) as file, text_stream(file, Input(
            path=str(path), decompress_ratio=input.decompress_ratio, decompress_limit=input.decompress_limit)) as text:
        compute.require_data(64.0 * file.size, f"the names in {path.name}")
        lines = [line.decode().rstrip("\r\n").split("\t") for line in text]
    with suppress(ValueError):
        if lines:
            return CellNames(path, tuple(zip(*lines, strict=True)))
    raise DataError("NAMES", "the file of names has lines of different lengths, or none", where=place(str(path)),
                    hint="write one line per name, all with the same number of columns, or remove the file")
