"""Functionals on tangent spaces, computed again as projections, with the rounding of each neighborhood."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.core.check.metrics import bounded_distances
from mlcli.core.graph.search import Lists
from mlcli.core.metrics.points import is_euclidean, metric_of

ROOM = 2**18  # numbers of the neighborhoods in one block
SLACK = 8.0  # roundings by which two decompositions differ


@frozen
class Spread:
    """Neighborhoods with equally many members, and their principal axes."""

    rows: Indices  # m: the points that the neighborhoods belong to
    names: Indices  # m x k: the members
    coordinates: Array  # m x k x q: orthonormal
    lengths: Array  # m x q: descending, none below zero
    zero: Array  # m: the length up to which an axis is rounding
    errors: Array  # m: of the longest length
    squared: bool  # whether errors of other lengths are those of their squares

    def gaps(self, longer: Array, shorter: Array) -> Array:
        """Return the gaps of lengths (m), as errors compare with them."""
        first = np.where(self.lengths[:, 0] > 0, self.lengths[:, 0], 1.0)
        return (longer - shorter) * ((longer + shorter) / first if self.squared else 1.0)


@frozen
class TangentSpaces:
    """Tangent spaces of neighborhoods."""

    names: Indices  # m x k
    coordinates: Array  # m x k x p, orthonormal; zero beyond the axes that a neighborhood spans
    ranks: Indices  # m
    unsure: Array  # m: the error of the projection; one where axes are as long as others, or nearly rounding

    @property
    def affine(self) -> Array:
        """Projections onto affine functions (m x k x k)."""
        products = self.coordinates @ self.coordinates.transpose(0, 2, 1)
        return np.asarray(products + 1 / self.names.shape[1])


def spreads_of(data: Spatial, lists: Lists, *, own: bool = False) -> Iterator[Spread]:
    """Yield all neighborhoods in blocks, those of points by right singular vectors, others by their Gram matrices.

    Axes are those of differences to the mean of the members, or to the point itself (`own`).
    """
    by_points = is_euclidean(data)
    for width in np.unique(lists.counts).tolist():
        same = np.flatnonzero(lists.counts == width)
        step = max(1, ROOM // max(width * (width + by_points * data.values.shape[1]), 1))
        for start in range(0, len(same), step):
            rows = same[start : start + step]
            names = lists.indices[lists.starts[rows][:, None] + np.arange(width)]
            yield _of_points(data.values, rows, names, own) if by_points else _of_distances(data, rows, names, own)


def _of_points(points: Array, rows: Indices, names: Indices, own: bool) -> Spread:
    """Return the axes of points (n x d): their projections on right singular vectors, made orthonormal."""
    members = points[names]
    centered = members - (points[rows][:, None] if own else members.mean(axis=1, keepdims=True))
    _, lengths, right = np.linalg.svd(centered, full_matrices=False)
    zero = EPS * max(members.shape[1:]) * np.abs(members).max(axis=(1, 2), initial=0.0)
    projected = centered @ right.transpose(0, 2, 1)
    errors = zero + SLACK * EPS * names.shape[1] * lengths[:, 0]
    return Spread(rows, names, np.asarray(np.linalg.qr(projected)[0]), lengths, zero=zero, errors=errors,
                  squared=False)


def _of_distances(data: Spatial, rows: Indices, names: Indices, own: bool) -> Spread:
    """Return the axes of members (m x k) that are known by their distances, from Gram matrices about the first."""
    asked = np.column_stack([rows, names]) if own else names
    squares, rough = np.empty((*asked.shape, asked.shape[1])), np.zeros(len(names))
    for place, some in enumerate(asked):
        if isinstance(data, Dissimilarities):
            squares[place] = data.values[np.ix_(some, some)] ** 2
            continue
        found = bounded_distances(metric_of(data), data.values[some], data.values[some])
        squares[place] = found.distances**2
        rough[place] = np.linalg.norm((2 * found.distances + found.errors) * found.errors)
    grams = (squares[:, :1] + squares[:, :, :1] - squares) / 2
    if own:
        grams = grams[:, 1:, 1:]
    else:
        grams -= grams.mean(axis=1, keepdims=True)
        grams -= grams.mean(axis=2, keepdims=True)
    values, vectors = np.linalg.eigh((grams + grams.transpose(0, 2, 1)) / 2)
    lengths = np.sqrt(np.maximum(values[:, ::-1], 0.0))
    zero = np.sqrt(EPS * names.shape[1] * squares.max(axis=(1, 2), initial=0.0))
    first = np.where(lengths[:, 0] > 0, lengths[:, 0], 1.0)
    return Spread(rows, names, vectors[:, :, ::-1], lengths, zero=zero, errors=(rough + SLACK * zero**2) / first,
                  squared=True)


def tangent_spaces(spread: Spread, dimension: int) -> TangentSpaces:
    """Return the tangent spaces of a dimension, and how sure they are.

    The projection onto the axes has the error of a length over the gap to the next.
    """
    lengths, places = spread.lengths, np.arange(len(spread.lengths))
    count = min(dimension, lengths.shape[1])
    ranks = np.minimum((lengths > spread.zero[:, None]).sum(axis=1), dimension)
    last = lengths[places, np.maximum(ranks, 1) - 1]
    after = np.where(ranks < lengths.shape[1], lengths[places, np.minimum(ranks, lengths.shape[1] - 1)], 0.0)
    gaps = spread.gaps(last, after)
    unsure = np.divide(spread.errors, gaps, out=np.ones_like(gaps), where=gaps > 0)
    unsure = np.where(ranks > 0, unsure, 0.0) + SLACK * EPS * spread.names.shape[1]
    near = np.abs(lengths[:, :count] - spread.zero[:, None]) <= (spread.zero / 2 + spread.errors)[:, None]
    unsure = np.where((near & (lengths[:, :count] > 0)).any(axis=1), 1.0, unsure)
    coordinates = np.where((np.arange(count) < ranks[:, None])[:, None, :], spread.coordinates[:, :, :count], 0.0)
    return TangentSpaces(spread.names, coordinates, ranks, np.minimum(unsure, 1.0))
