"""The density term of a layout, checked: local radii by sums over pairs, and the steps that keep them by NumPy."""

from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.values.check import Check, ratio, skipped
from mlcli.base.values.inputs import Joined, WeightedGraph
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.layouts.divergence import distances_from
from mlcli.stages.layout.density import ALIKE, LEAST, density_moves, local_radii
from mlcli.stages.layout.sampling import move_points, phases_of
from mlcli.stages.similarities.squares import CACHED

CLOSE = 1e-6  # error of a correlation, whose radii may differ by as little as ALIKE
BESIDE = 1e-9  # relative distance from the least membership of an edge that is due, in which rounding decides


def radii_check(method: Any, data: Joined, model: Model, joined: Any) -> Check:
    """Check the correlation of local radii as stated, by distances of another library.

    `joined` are the memberships (n x n), dense or sparse.
    """
    from scipy import sparse

    said = "the correlation of local radii in data and layout, by sums over the edges"
    every = sparse.coo_array(joined)
    least = every.data.max() / method.epochs_of(data)
    if (np.abs(every.data / least - 1) <= BESIDE).any():
        return skipped("radii", "an edge is due in one epoch but for rounding")
    kept = every.data >= least
    rows, columns, weights = (part[kept] for part in (*every.coords, every.data))
    order = np.argsort(rows, kind="stable")
    rows, columns, weights = rows[order], columns[order], weights[order]
    points, squares, lengths = np.asarray(model.embedding), np.zeros(len(rows)), np.zeros(len(rows))
    for some in row_blocks(len(points), CACHED, len(points)):
        inside = slice(*np.searchsorted(rows, [some.start, some.stop]))
        here, there = rows[inside], columns[inside]
        if isinstance(data, WeightedGraph):
            lengths[inside] = sparse.csr_array((data.weights, data.indices, data.starts))[here, there]
        else:
            lengths[inside] = distances_from(data, np.arange(some.start, some.stop))[0][here - some.start, there]
        squares[inside] = ((points[here] - points[there]) ** 2).sum(axis=1)
    near = 1 / (1 + float(model.fit["a"]) * squares ** float(model.fit["b"]))
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    own, placed = (np.add.reduceat(values * weighing, starts) / np.add.reduceat(weighing, starts)
                   for values, weighing in ((lengths**2, weights), (squares, near)))
    middle = np.median(own[own > 0]) if own.any() else 1.0
    logs = np.log(own / middle + LEAST), np.log(placed + LEAST)
    stated = model.fit.get("radius_correlation")
    if stated is None:
        return ratio("radii", float(min(values.std() for values in logs)), 2 * ALIKE, "local radii are equal")
    return ratio("radii", abs(float(np.corrcoef(*logs)[0, 1]) - stated), CLOSE, said)


def density_check(found: Any) -> Check:
    """Check the pulls and the steps of an epoch from the last positions of a layout, by NumPy instead of the kernel."""
    points, form, epochs = found.ended.state.points, found.sampling.form(found.curve), found.sampling.epochs
    draw, rate = found.sampling.draw(epochs - 1), found.sampling.rate
    pulls, other = found.term.pulls(points, form), found.term.pulls(points, form, local_radii)
    wrong = float(np.abs(pulls - other).max(initial=0.0)) / max(float(np.abs(other).max(initial=0.0)), 1e-300)
    for edges in phases_of(found.graph, epochs):
        plain, kept = (move_points([edges], points, None, curve=form, draw=draw, rate=rate, pulls=some).points
                       for some in (None, pulls))
        expected = plain.copy()
        density_moves(edges, 0, points, pulls=pulls, curve=form, epoch=draw.epoch, rate=rate, moved=expected)
        wrong = max(wrong, float(np.abs(kept - expected).max(initial=0.0)))
    return ratio("density", wrong, 1e-9 * max(float(np.abs(points).max(initial=0.0)), 1.0),
                 "pulls and steps that keep local radii, by NumPy")
