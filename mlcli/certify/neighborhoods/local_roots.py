"""Roots R of costs on neighborhoods, computed again, with errors from the rounding of each neighborhood."""


from dataclasses import field
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Spatial
from mlcli.certify.neighborhoods.barycenters import weights_of
from mlcli.certify.neighborhoods.tangents import spreads_of, tangent_spaces
from mlcli.core.graph.search import Lists

FLAT = 1e-10  # share of the products' size up to which they add nothing to affine functions
CLEAR = 1e-10  # share of their square from which on it is clear that they do

Part = tuple[Array, Indices, Array]  # rows (m x s x k), the points that they are of (m x k), and their errors (m)


@frozen
class Root:
    """The root R of a cost RᵀR, and its errors."""

    matrix: Any  # sparse, m x n
    unsure: float  # relative rounding of a number of R
    members: Any = None  # sparse, m' x n: neighborhoods whose rows have errors of their own
    errors: Array = field(default_factory=lambda: np.zeros(0))  # m': of these rows, relative to the values on them

    def slack(self, vectors: Array) -> Array:
        """Return bounds of the errors of RᵀR v (n x p) from neighborhoods, for vectors (n x p)."""
        if self.members is None:
            return np.zeros_like(vectors)
        return np.asarray(self.members.T @ (self.errors[:, None] * self._sizes(vectors)))

    def noise(self, vectors: Array) -> Array:
        """Return bounds of the squared errors of R v (p) from neighborhoods, for vectors (n x p)."""
        if self.members is None:
            return np.zeros(vectors.shape[1])
        return np.asarray(np.sum((self.errors[:, None] * self._sizes(vectors)) ** 2, axis=0))

    @property
    def spread(self) -> float:
        """A bound of the norm of the errors of RᵀR from neighborhoods."""
        if self.members is None:
            return 0.0
        sizes = self.members.sum(axis=1)
        return float((self.members.T @ (self.errors * sizes)).max(initial=0.0))

    def _sizes(self, vectors: Array) -> Array:
        return np.sqrt(self.members @ vectors**2)


def tangent_root(data: Spatial, lists: Lists, kernel: Any, axes: int) -> Root:
    """Return I - 11ᵀ/k - UUᵀ of each neighborhood, a projection and so its own root, as k rows."""
    parts = []
    for spread in spreads_of(data, lists):
        spaces = tangent_spaces(spread, kernel.dimension or axes)
        parts.append((np.eye(spread.names.shape[1]) - spaces.affine, spaces.names, spaces.unsure))
    return stack([*parts, *_of_strangers(data, lists, kernel.ridge)], len(data.values))


def hessian_root(data: Spatial, lists: Lists, kernel: Any, axes: int) -> Root:
    """Return what products of tangent coordinates add to affine functions, orthonormal by the Gram matrix of these."""
    parts = []
    for spread in spreads_of(data, lists):
        spaces = tangent_spaces(spread, dimension := kernel.dimension or axes)
        off = np.eye(spread.names.shape[1]) - spaces.affine
        left, right = np.triu_indices(spaces.coordinates.shape[2])
        products = spaces.coordinates[:, :, left] * spaces.coordinates[:, :, right]
        added = off @ products
        values, turns = np.linalg.eigh(added.transpose(0, 2, 1) @ added)
        total = np.einsum("mii->m", products.transpose(0, 2, 1) @ products)[:, None]
        shares = values / np.where(total > 0, total, 1.0)
        rows = (added @ turns).transpose(0, 2, 1)
        norms = np.linalg.norm(rows, axis=2, keepdims=True)
        rows = np.where((shares > FLAT**2)[:, :, None], rows / np.where(norms > 0, norms, 1.0), 0.0)
        # rounding of affine functions counts relative to the least of what is added; of squares, where it is small
        clear = np.where(shares > CLEAR, shares, np.inf).min(axis=1)
        unsure = spaces.unsure / np.sqrt(clear) + EPS * spread.names.shape[1] / clear
        unsure = np.where(((shares <= CLEAR) & (shares > 0)).any(axis=1), 1.0, unsure)
        fewer = spaces.ranks < dimension  # these have all functionals that vanish on affine functions
        for some, wanted in ((fewer, off), (~fewer, rows)):
            if some.any():
                parts.append((wanted[some], spaces.names[some], np.minimum(np.where(
                    fewer, spaces.unsure, unsure)[some], 1.0)))
    pairs = {(min(a, b), max(a, b)) for a, b, far in zip(lists.rows.tolist(), lists.indices.tolist(),
                                                         lists.lengths.tolist(), strict=True) if far == 0}
    equal = [(np.array([[[1.0, -1.0]]]), np.array([pair]), np.zeros(1)) for pair in sorted(pairs)]
    return stack([*parts, *_of_strangers(data, lists, kernel.ridge), *equal], len(data.values))


def _of_strangers(data: Spatial, lists: Lists, ridge: float) -> list[Part]:
    """Return the weights of points that are in no neighborhood, solved again, as rows that take the point itself."""
    parts = []
    for place in np.setdiff1d(np.arange(len(lists.counts)), lists.indices).tolist():
        names = lists.indices[lists.starts[place] : lists.starts[place + 1]]
        mine, rough = weights_of(data, np.array([place]), names[None], ridge)
        parts.append((np.column_stack([[1.0], -mine])[:, None, :], np.append(place, names)[None],
                      np.array([(EPS + rough) / ridge])))
    return parts


def stack(parts: list[Part], columns: int) -> Root:
    """Return the root of rows (m x s x k) on members (m x k) with errors (m)."""
    from scipy import sparse

    values, wide, lengths, each, counts, errors = [], [], [], [], [], []
    for rows, names, unsure in parts:
        values.append(rows.ravel())
        wide.append(np.repeat(names[:, None, :], rows.shape[1], axis=1).ravel())
        lengths.append(np.full(rows.shape[0] * rows.shape[1], rows.shape[2]))
        each.append(names.ravel())
        counts.append(np.full(len(names), names.shape[1]))
        errors.append(unsure)
    starts, firsts = (np.concatenate([[0], np.cumsum(np.concatenate(some))]) for some in (lengths, counts))
    matrix = sparse.csr_array((np.concatenate(values), np.concatenate(wide), starts), shape=(len(starts) - 1, columns))
    ends = np.concatenate(each)
    members = sparse.csr_array((np.ones(len(ends)), ends, firsts), shape=(len(firsts) - 1, columns))
    return Root(matrix, EPS, members, np.concatenate(errors))

