"""Facial reduction: the face of the cone of kernels that an unfolding lies in, by coincident points and flat groups.

If all distances within a set of points are fixed, and the set has fewer dimensions than it could, the feasible kernels
have no interior: they are V R Vᵀ with V known in advance. Solving for R restores the
interior (Krislock and Wolkowicz, 2010; Drusvyatskiy, Krislock, Voronin and Wolkowicz, 2017).
"""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.blocked import gram_product
from mlcli.core.distances import gower
from mlcli.core.linalg import independent_columns, positive_solver, singular, symmetric_eigen
from mlcli.errors import NumericalError
from mlcli.methods.unfolding.pairs import NeighborPairs, squared_norms

FLAT = 8 * EPS  # share of the largest eigenvalue of a group's kernel, for each point, below which it has no extent
ROUNDING = 8 * EPS  # share of the largest coordinate that counts as zero
EXPOSED = 1e-9  # share of the largest eigenvalue of the summed exposing matrices above which a direction is closed
CLIQUES = 100  # steps of the search for groups, for each point
DEPENDENT = 1e-11  # squared residual of a constraint that others nearly imply
IMPLIED = 1e-8  # the squared residual where it may be rounding of the face


def centered_basis(groups: Indices) -> Array:
    """Return orthonormal columns (n x g - 1) that span all mean-free vectors with equal entries inside each group.

    `groups` (n) numbers the group of each point.

    A Householder reflection takes the constant vector to the first axis; its other columns are the basis.
    """
    sizes = np.bincount(groups).astype(np.float64)
    normal = np.sqrt(sizes / sizes.sum())
    normal[0] += 1.0
    reflected = np.eye(len(sizes)) - np.outer(normal, normal) / normal[0]
    return np.asarray((reflected[:, 1:] / np.sqrt(sizes)[:, None])[groups])


def face_basis(pairs: NeighborPairs, groups: Indices, points: Array | None, tolerance: float) -> Array:
    """Return orthonormal columns V (n x r) such that every kernel that keeps the pairs' distances is V R Vᵀ.

    Points (n x d) distinguish flat groups from curved ones far better than distances. Raises NumericalError
    where a group of points has distances that no points in a Euclidean space have.
    """
    basis = centered_basis(groups)
    merged, first = pairs.merge(groups), np.unique(groups, return_index=True)[1]
    exposing = np.zeros((merged.size, merged.size))
    for clique in cliques(merged):
        normals = (_flat_by_distances(merged, clique, tolerance) if points is None
                   else _flat_directions(points[first], clique, ROUNDING * float(np.abs(points).max())))
        exposing[np.ix_(clique, clique)] += normals @ normals.T
    if not exposing.any():
        return basis
    representatives = basis[first]
    values, vectors = symmetric_eigen(representatives.T @ exposing @ representatives)
    return np.asarray(basis @ vectors[:, values <= EXPOSED * values[0]])


def cliques(pairs: NeighborPairs) -> list[Indices]:
    """Return the maximal groups of three or more points whose distances are all kept (Bron and Kerbosch, 1973).

    The search stops after CLIQUES steps for each point: fewer groups leave a larger face, not a wrong one.
    """
    joined: list[set[int]] = [set() for _ in range(pairs.size)]
    for i, j in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
        joined[i].add(j)
        joined[j].add(i)
    groups = []
    open_groups: list[tuple[list[int], set[int], set[int]]] = [([], set(range(pairs.size)), set())]
    for _ in range(CLIQUES * pairs.size):
        if not open_groups:
            break
        members, candidates, done = open_groups.pop()
        if not candidates:
            if not done and len(members) > 2:
                groups.append(np.array(sorted(members)))
            continue
        pivot = max(candidates | done, key=lambda a: len(candidates & joined[a]))
        for a in candidates - joined[pivot]:
            open_groups.append(([*members, a], candidates & joined[a], done & joined[a]))
            candidates = candidates - {a}
            done = done | {a}
    return groups


def _flat_directions(points: Array, clique: Indices, rounding: float) -> Array:
    """Return orthonormal weights (k x q), mean-free, that vanish on a group of points, up to rounding."""
    basis = centered_basis(np.arange(len(clique)))
    left, sizes, _ = singular(basis.T @ points[clique])
    rank = int(np.sum(sizes > np.sqrt(len(clique)) * rounding))
    whole = np.linalg.qr(left[:, :rank], mode="complete")[0]
    return np.asarray(basis @ whole[:, rank:])


def _flat_by_distances(pairs: NeighborPairs, clique: Indices, tolerance: float) -> Array:
    """Return orthonormal weights (k x q), mean-free, that vanish on a group of points known by distances only."""
    inside = np.isin(pairs.left, clique) & np.isin(pairs.right, clique)
    squared = np.zeros((len(clique), len(clique)))
    left, right = np.searchsorted(clique, pairs.left[inside]), np.searchsorted(clique, pairs.right[inside])
    squared[left, right] = squared[right, left] = pairs.squared[inside]
    basis = centered_basis(np.arange(len(clique)))
    values, vectors = symmetric_eigen(basis.T @ gower(squared) @ basis)
    if values[-1] < -tolerance * values[0]:
        raise NumericalError("INFEASIBLE", f"the distances among {len(clique)} points, all neighbors of each other, "
                             f"are those of no points: their kernel has the eigenvalue {values[-1] / values[0]:.2g} "
                             "of its largest", where="method.constraints",
                             hint="set method.constraints to at_most, or join fewer points "
                             "(fewer neighbors, or a graph of fewer edges)")
    return np.asarray(basis @ vectors[:, np.abs(values) <= FLAT * len(clique) * values[0]])


def independent_constraints(rows: Array, rest: float) -> tuple[Indices, Array]:
    """Return pairs (s of m) whose constraints on R, vᵀRv for a row v (m x r), imply all others, and weights for Σ vvᵀ.

    `rest` is the squared residual up to which the others imply a constraint.
    """
    scale = squared_norms(rows)
    unit = rows / np.sqrt(scale)[:, None]
    products = np.tril(gram_product(unit)) ** 2
    products += np.tril(products, -1).T
    chosen = independent_columns(products.copy(), rest)
    solver = positive_solver(products[np.ix_(chosen, chosen)])
    weights = np.ones(len(chosen)) if solver is None else solver(products[chosen] @ scale) / scale[chosen]
    return chosen, weights
