"""Tangent spaces of neighborhoods, functionals on each that vanish on affine functions, and the base of their methods.

A functional is a row of numbers, one for each member of a neighborhood; functions whose values it takes to zero cost
nothing. All rows together are the sparse root R of a cost RᵀR. A point is no member of its own neighborhood.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Dissimilarities, Features, Input, Spatial
from mlcli.core.chain.local_costs import TangentKernel, strangers
from mlcli.core.chain.stages import Coordinates, NeighborGraph, Stages
from mlcli.core.graph.search import Lists, some_lists
from mlcli.core.graph.weights import entries_of, equal_blocks, reconstruction_weights
from mlcli.core.linalg import complements, leading_roots, left_singular
from mlcli.core.metrics import AnyMetric
from mlcli.core.metrics.distances import is_euclidean, local_distances, metric_of
from mlcli.core.model import Powers
from mlcli.core.sparse_factors import CompressedRows
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials

TIED = 100.0  # roundings within which two lengths of a neighborhood's axes are equal
Functionals = Callable[[Array], Array]  # rows (m x s x k) for tangent coordinates (m x k x r) of neighborhoods
Part = tuple[Array, Indices]  # functionals (m x s x k), and the points that they are of (m x k)


@frozen
class LocalAxes:
    """The principal axes of neighborhoods, longest first."""

    coordinates: Array  # m x k x q: of unit length on each axis, and centered
    lengths: Array  # m x q: singular values of the centered neighborhoods
    noise: Array  # m: the rounding of a length

    def ranks(self, dimension: int) -> Indices:
        """Return the number of axes of tangent spaces (m): `dimension`, or fewer where members span fewer."""
        return np.minimum((self.lengths > self.noise[:, None]).sum(axis=1), dimension)

    def tied(self, dimension: int) -> AnyArray:
        """Return whether the axis after the last of a tangent space is as long, to rounding (m)."""
        if self.lengths.shape[1] <= dimension:
            return np.zeros(len(self.lengths), dtype=bool)
        gaps = self.lengths[:, dimension - 1] - self.lengths[:, dimension]
        return np.asarray(gaps <= TIED * np.maximum(self.noise, EPS * self.lengths[:, 0]))


def tangent_root(data: Spatial, lists: Lists, dimension: int, ridge: float) -> CompressedRows:
    """Return the root R ((n (k - 1 - p)) x n) of the alignment cost of tangent spaces of a `dimension` p.

    For each neighborhood, the rows are an orthonormal basis of the complement of [1, tangent coordinates]: constants,
    and functions that are affine in the coordinates, cost nothing. A point that is in no neighborhood has a row of
    reconstruction weights, with a `ridge`. Source: Zhang and Zha, 2004.
    """
    return local_root(data, lists, dimension, affine_complements, ridge)


def affine_complements(coordinates: Array) -> Array:
    """Return orthonormal rows (m x (k - 1 - r) x k) orthogonal to constants and to coordinates (m x k x r)."""
    return complements(with_constants(coordinates))


def with_constants(coordinates: Array) -> Array:
    """Return coordinates (m x k x r) after a column of constants of unit length (m x k x (1 + r))."""
    size, count = coordinates.shape[:2]
    return np.concatenate([np.full((size, count, 1), 1 / np.sqrt(count)), coordinates], axis=2)


def local_root(data: Spatial, lists: Lists, dimension: int, functionals: Functionals, ridge: float,
               more: Sequence[Part] = ()) -> CompressedRows:
    """Return the functionals of all neighborhoods as rows of a sparse matrix (m x n), from tangent coordinates.

    Where members span fewer than `dimension` axes, as equal points do, all functionals are taken that vanish on affine
    functions of these; a note counts such neighborhoods, and those with several tangent spaces that are as good. Rows
    of points that are in no neighborhood and `more` rows follow.
    """
    axes_of, width = local_axes(data)

    def work(rows: Indices) -> tuple[list[Part], int, int]:
        names = lists.indices[entries_of(lists, rows)]
        axes = axes_of(names)
        ranks, parts = axes.ranks(dimension), []
        for rank in np.unique(ranks).tolist():
            some, wanted = ranks == rank, functionals if rank == dimension else affine_complements
            parts.append((wanted(axes.coordinates[some, :, :rank]), names[some]))
        return parts, int((ranks < dimension).sum()), int((axes.tied(dimension) & (ranks == dimension)).sum())

    found = list(in_order(work, equal_blocks(lists, width), progress=True))
    _note_tangents(len(lists.counts), dimension, flat=sum(flat for _, flat, _ in found),
                   tied=sum(tied for _, _, tied in found))
    parts = [part for some, _, _ in found for part in some]
    return stack_functionals([*parts, *_of_strangers(data, lists, ridge), *more], len(data.values))


def local_axes(data: Spatial) -> tuple[Callable[[Indices], LocalAxes], int]:
    """Return a function from members (m x k) of neighborhoods to their axes, and the columns that it works with.

    By singular values of the centered points for Euclidean distances; else by eigenvectors of the local Gram matrices,
    -H D² H / 2 of the distances among the members.
    """
    if is_euclidean(data):
        return lambda names: axes_of_points(data.values[names]), data.values.shape[1]
    local = local_distances(data.values, None if isinstance(data, Dissimilarities) else metric_of(data))
    return lambda names: axes_of_squares(local(names)), 1


def axes_of_points(members: Array) -> LocalAxes:
    """Return the axes of neighborhoods from the coordinates of their members (m x k x d)."""
    noise = EPS * max(members.shape[1:]) * np.abs(members).max(axis=(1, 2), initial=0.0)
    centered = members - members[:, :1]  # exact for members near each other, whose mean then is as well
    centered -= centered.mean(axis=1, keepdims=True)
    coordinates, lengths = left_singular(centered, "a neighborhood")
    return LocalAxes(coordinates, lengths, noise)


def axes_of_squares(squares: Array) -> LocalAxes:
    """Return the axes of neighborhoods from squared distances among their members (m x k x k)."""
    gram = -0.5 * (squares - squares.mean(axis=1, keepdims=True))
    gram -= gram.mean(axis=2, keepdims=True)
    noise = np.sqrt(EPS * squares.shape[1] * squares.max(axis=(1, 2), initial=0.0))
    coordinates, lengths = leading_roots((gram + gram.transpose(0, 2, 1)) / 2, "a local Gram matrix")
    return LocalAxes(coordinates, lengths, noise)


def _of_strangers(data: Spatial, lists: Lists, ridge: float) -> list[Part]:
    """Return a functional for each point that is in no neighborhood: its value less its weighted mean of neighbors'.

    Without it the point's value would cost nothing, whatever it is.
    """
    alone = strangers(lists)
    if not len(alone):
        return []
    note("N-ALONE", f"{len(alone)} of {len(lists.counts)} points are neighbors of no other: they are placed near "
         "weighted means of their neighbors", points=len(alone))
    some, parts = some_lists(lists, alone), []
    weights = reconstruction_weights(data, some, ridge, alone)
    for rows in equal_blocks(some, 1):
        entries = entries_of(some, rows)
        names = np.column_stack([alone[rows], some.indices[entries]])
        parts.append((np.column_stack([np.ones(len(rows)), -weights[entries]])[:, None, :], names))
    return parts


def stack_functionals(parts: list[Part], columns: int) -> CompressedRows:
    """Return functionals as the rows of a sparse matrix (m x columns)."""
    values = np.concatenate([rows.ravel() for rows, _ in parts])
    indices = np.concatenate([np.repeat(names[:, None, :], rows.shape[1], axis=1).ravel() for rows, names in parts])
    counts = np.concatenate([np.full(rows.shape[0] * rows.shape[1], rows.shape[2]) for rows, _ in parts])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return CompressedRows(starts, indices, values, columns)


def _note_tangents(points: int, dimension: int, *, flat: int, tied: int) -> None:
    if flat:
        note("W-FLAT", f"the neighbors of {flat} of {points} points span fewer than {dimension} dimensions: their "
             "tangent spaces have as many as they span", points=flat)
    if tied:
        note("W-TANGENT", f"the neighbors of {tied} of {points} points extend equally far beyond {dimension} "
             "dimensions: their tangent spaces are one choice of several", points=tied)


class TangentMethod(Method):
    """The base of methods whose kernel is M⁺ of a cost M on tangent spaces."""

    accepts: ClassVar = (Features, Dissimilarities)
    judged_by: ClassVar = "neighbors"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = None
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    repeat_tolerance: ClassVar = 1e-5  # gaps of M⁺ are small relative to rounding in tangent spaces
    if TYPE_CHECKING:  # every method has these
        metric: AnyMetric

        @property
        def kernel(self) -> TangentKernel:
            """The kernel with the method's options."""

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return nothing: tangent spaces need the number of axes that trials are to find."""
        return Trials(reason="its tangent spaces need the number of dimensions first")

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = M⁺, M = RᵀR with functionals of neighborhoods as rows of R; coordinates √n V."""
        return Stages(metric=self.metric, graph=NeighborGraph(neighbors=self.neighbors), kernel=self.kernel,
                      eigensolve=self.eigensolve, coordinates=Coordinates(scale="variance"))

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return the neighbors; raises ConfigError where they are too few for the dimension of tangent spaces."""
        found = super().resolved_stages(data)
        self.kernel.require_axes(self.eigensolve, found["neighbors"], len(data.values))
        return found
