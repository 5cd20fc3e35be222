"""Sparse matrices as tables: with the names in their file, dense on request."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.data.formats.arrays import numbered_columns
from mlcli.data.formats.entries import Entries
from mlcli.data.options.input import Input
from mlcli.data.options.wording import NO_PAIRS, place
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import FEWER, Sheet, require_content, transpose
from mlcli.errors import ConfigError


@frozen
class Sparse:
    """A sparse matrix of chosen columns, and its names on a sheet without numbers."""

    matrix: Any  # n x d, compressed rows of SciPy
    names: Sheet

    def transposed(self) -> "Sparse":
        """Return the transposed table."""
        rows, columns = self.matrix.shape
        names = transpose(replace(self.names, values=np.empty((rows, 0))))
        return Sparse(self.matrix.T.tocsr(), replace(names, values=np.empty((columns, 0))))

    def dense(self, input: Input, compute: Compute) -> Sheet:
        """Return a sheet with all zeros; raises RefusedByPlan if it does not fit in memory."""
        if input.kind == "dissimilarities":
            raise ConfigError("SPARSE", "a sparse matrix does not hold the distances of all pairs of points",
                              where=place(input.path), hint=f"{NO_PAIRS}; "
                              "if its entries are the edges of a graph, give {input.kind=graph} instead")
        rows, columns = self.matrix.shape
        compute.require(8.0 * rows * columns + 12.0 * self.matrix.nnz, f"a sparse table of {rows:,} x {columns:,} "
                        "numbers with all its zeros", FEWER)
        note("N-DENSE", f"the sparse table of {rows:,} x {columns:,} numbers is held as a dense table", entries=int(
            self.matrix.nnz))
        return replace(self.names, values=self.matrix.toarray())


def plain_sparse(entries: Entries, input: Input) -> Sparse:
    """Return a matrix without names in its file: columns x1, x2, ...; some may be ids or labels."""
    require_content(*entries.shape, input.path)
    matrix = entries.by_rows()
    choice, names = numbered_columns(entries.shape, input, lambda column: matrix[:, [column]].toarray()[:, 0])
    return Sparse(of_columns(matrix, choice.values, input.path), names)


def named_sparse(entries: Entries, rows: tuple[str, ...], columns: tuple[str, ...], input: Input) -> Sparse:
    """Return a matrix with names of rows and columns in its file; raises ConfigError for ids and labels as columns."""
    for name, given in (("id_column", input.ids_from), ("label_columns", input.label_columns)):
        if given:
            raise ConfigError("FORMAT", "the matrix holds no columns of ids or labels", where=f"input.{name}",
                              hint="leave it out; labels come from a file ({input.labels.path})")
    require_content(*entries.shape, input.path)
    choice = choose(columns, input)
    names = Sheet(np.empty((len(rows), 0)), choice.columns, True, rows, apart=True)
    return Sparse(of_columns(entries.by_rows(), choice.values, input.path), names)


def of_columns(matrix: Any, chosen: tuple[int, ...], path: str) -> Any:
    """Return some of the columns."""
    require_content(matrix.shape[0], len(chosen), path)
    return matrix if len(chosen) == matrix.shape[1] else matrix[:, list(chosen)].sorted_indices()
