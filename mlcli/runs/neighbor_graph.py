"""The neighbor graph of a finished run: as the run kept it, or computed again from its input."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import mute_notes
from mlcli.base.types import Indices
from mlcli.base.values.products import Name, Products, Sparse, materialize
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.rundir import names
from mlcli.runs.kept import kept_matrix
from mlcli.runs.relate import InputRows

SHARED: tuple[Name, ...] = ("graph", "weights")  # matrices of edges that fits make


@frozen
class WeightedEdges:
    """Edges of points in both directions (n x n): their lengths, and their affinities."""

    lengths: Sparse | None  # None where the run was given affinities
    affinities: Sparse  # above zero

    def among(self, rows: Indices, size: int) -> "WeightedEdges":
        """Return the graph among `size` points, of which its own are those at `rows` (n); others have no edges."""
        lengths = None if self.lengths is None else place(self.lengths, rows, size)
        return WeightedEdges(lengths, place(self.affinities, rows, size))


def neighbor_graph(folder: Path, run: FinishedRun, read: Callable[[], InputRows] | None) -> WeightedEdges | None:
    """Return the graph that a run kept, else that of its input, where that is to be read; None where it has none.

    Raises UnsafeFile for files that the run did not write, and what `read` and the fit raise.
    """
    made = run.config.method.makes(run.config.input.gives)
    wanted = [name for name in SHARED if name in made]
    if "graph" not in wanted:
        return None
    if all(names.KEPT[name] in run.manifest["files"] for name in wanted):
        return graph_of({name: kept_matrix(folder, run, name) for name in wanted}, run)
    return None if read is None else graph_of(_again(run, read()), run)


def graph_of(products: Products, run: FinishedRun) -> WeightedEdges:
    """Return the graph of matrices of edges: their affinities are one each where the weights are none."""
    edges, weights = (materialize(products[name]) if name in products else None for name in SHARED)
    assert isinstance(edges, Sparse)
    given = run.config.input.edges == "affinities"  # which stand where lengths do
    if not (isinstance(weights, Sparse) and are_affinities(weights)):
        weights = edges if given else replace(edges, values=np.ones(len(edges.values)))
    return WeightedEdges(None if given else edges, weights)


def are_affinities(weights: Sparse) -> bool:
    """Whether weights are affinities: above zero, and the same in both directions, as those of lle are not."""
    size = len(weights.starts) - 1
    rows = np.repeat(np.arange(size), np.diff(weights.starts))
    forth = np.lexsort((weights.indices, rows))
    back = np.lexsort((rows, weights.indices))
    return bool(np.all(weights.values > 0)) and all(
        np.array_equal(one[forth], other[back])
        for one, other in ((rows, weights.indices), (weights.values, weights.values)))


def place(matrix: Sparse, rows: Indices, size: int) -> Sparse:
    """Return a matrix of `size` points with the entries of one of some points, at `rows` (n)."""
    left, right = np.repeat(rows, np.diff(matrix.starts)), rows[matrix.indices]
    order = np.lexsort((right, left))
    starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=size))])
    return Sparse(starts, right[order], matrix.values[order])


def _again(run: FinishedRun, rows: InputRows) -> Products:
    """Return the matrices of edges of a run's rows, by its own method and seed."""
    with mute_notes():
        return run.config.method.for_products().fit(rows.table.data(), run.config.compute).products
