"""Facial reduction by stresses: directions of the kernel that they close, beyond those of groups of neighbors.

A stress is a weight y on each pair such that the pulls on every point cancel: Σ y v (vᵀX) = 0. Then
Σ y vᵀRv is zero for every R that keeps the distances of X. So if Σ y vvᵀ is positive semidefinite,
R is zero on its range (Connelly, 1982; Borwein and Wolkowicz, 1981).
"""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.linalg import (
    EPS,
    independent_columns,
    orthonormal,
    positive_solver,
    singular,
    symmetric_eigen,
)
from mlcli.stages.unfolding.balance import closed_directions
from mlcli.stages.unfolding.faces import IMPLIED, independent_constraints
from mlcli.stages.unfolding.pairs import Pairs, squared_norms

BESIDE = 1e-13  # squared residual of a pair's pull that others nearly balance
BALANCED = 1e-10  # share of the pulls of unit weights on unit pairs below which they cancel
WEAK = (1e-3, 1e-6)  # of the largest Σ y vvᵀ of a unit stress: smaller ones are left out, because they lose digits


def open_basis(pairs: Pairs, basis: Array, points: Array) -> Array:
    """Return orthonormal columns V (n x r') in the span of `basis` (n x r) of which no stress closes a direction.

    Every kernel in that span that keeps the pairs' distances, those of the points (n x d), is V R Vᵀ.
    """
    while True:
        rows, inside = pairs.differences(basis), basis.T @ (points - points.mean(axis=0))
        chosen = independent_constraints(rows, IMPLIED)[0]
        turned = open_directions(rows[chosen], inside)
        if turned.shape[1] == basis.shape[1]:
            return basis
        basis = orthonormal(basis @ turned)


def open_directions(rows: Array, points: Array) -> Array:
    """Return orthonormal columns U (r x r') such that every R ⪰ 0 with vᵀRv = vᵀXXᵀv for each row v is U R' Uᵀ.

    `rows` is m x r, `points` X (r x d). U spans the points and what one stress leaves open.
    """
    span, beside = _span(points)
    stresses = equilibrium(rows, points) if beside.shape[1] else np.zeros((len(rows), 0))
    rows, tried = rows @ beside, 0
    for weak in WEAK:
        strong = _strong(rows, stresses, weak)
        if strong.shape[1] > tried:
            closed = closed_directions(rows, strong)
            if closed.shape[1]:
                whole = np.linalg.qr(closed, mode="complete")[0]
                return np.hstack([span, beside @ whole[:, closed.shape[1]:]])
        tried = strong.shape[1]
    return np.eye(len(points))


def _span(points: Array) -> tuple[Array, Array]:
    """Return orthonormal columns that span those of X, and columns that span the complement."""
    left, sizes, _ = singular(points)
    rank = int(np.sum(sizes > EPS * max(points.shape) * sizes[0]))
    whole = np.linalg.qr(left[:, :rank], mode="complete")[0]
    return whole[:, :rank], whole[:, rank:]


def equilibrium(rows: Array, points: Array) -> Array:
    """Return columns (m x s) that span the stresses: weights y with Σ y v (vᵀX) = 0 over rows v (m x r), X (r x d).

    Pivoted Cholesky chooses the pulls that others balance; repeated solutions remove rounding.
    """
    pulls = rows @ points
    sizes, strengths = np.sqrt(squared_norms(rows)), np.sqrt(squared_norms(pulls))
    rows, pulls = rows / sizes[:, None], pulls / strengths[:, None]
    products = (rows @ rows.T) * (pulls @ pulls.T)
    chosen = independent_columns(products.copy(), BESIDE)
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    solver = positive_solver(products[np.ix_(chosen, chosen)])
    if solver is None or not len(others):
        return np.zeros((len(rows), 0))
    weights = np.zeros((len(rows), len(others)))
    weights[others, np.arange(len(others))] = 1.0
    for _ in range(3):
        weights[chosen] -= solver(_along(rows, pulls, chosen, _forces(rows, pulls, weights)))
    weights = orthonormal(weights)
    forces = _forces(rows, pulls, weights).reshape(len(others), -1)
    values, vectors = symmetric_eigen(forces @ forces.T)
    return np.asarray((weights @ vectors[:, values <= BALANCED**2]) / (sizes * strengths)[:, None])


def _forces(rows: Array, pulls: Array, weights: Array) -> Array:
    """Return Σ y v pᵀ for each column y of weights (s x r x d)."""
    return np.stack([rows.T @ (column[:, None] * pulls) for column in weights.T])


def _along(rows: Array, pulls: Array, chosen: Indices, forces: Array) -> Array:
    """Return the products vᵀFp (m' x s) of forces F with the pulls p of some pairs."""
    return np.stack([np.einsum("ij,ij->i", rows[chosen] @ force, pulls[chosen]) for force in forces], axis=1)


def _strong(rows: Array, stresses: Array, weak: float) -> Array:
    """Return combinations of stresses with orthonormal Σ y vvᵀ, without those below the share `weak` of the largest."""
    if not stresses.shape[1]:
        return stresses
    values, vectors = symmetric_eigen(stresses.T @ (rows @ rows.T) ** 2 @ stresses)
    significant = values > weak**2 * values[0]
    return np.asarray(stresses @ (vectors[:, significant] / np.sqrt(values[significant])))
