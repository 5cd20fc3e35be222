"""Parallel analysis: eigenvalues above those of columns that have nothing to do with each other (Horn, 1965).

A replicate keeps each column's own variance and removes what columns share: by permuting every column by itself (Buja
and Eyuboglu, 1992), or where that is too dear by normal data of the same size, whose matrix of products is drawn
directly (Bartlett's decomposition, 1933). The line is the replicates' 95th percentile (Glorfeld, 1995).
"""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array
from mlcli.report.dimension.verdict import Evidence, LeftOut, Verdict, leading

MOST, FEWEST = 100, 20  # replicates; fewer have no 95th percentile
BUDGET = 1.5e8  # multiplications in all: some 20 ms
SHUFFLE = 30  # multiplications that permuting one number is worth
EIGEN = 5  # times m³ multiplications for the eigenvalues of a matrix of size m, made and solved
PERCENTILE = 95.0

Replicate = Callable[[np.random.Generator], Array]


def parallel_analysis(evidence: Evidence) -> Verdict | LeftOut:
    """The leading eigenvalues above the replicates' 95th percentiles."""
    points = evidence.points
    if points is None or not evidence.of_columns:
        return LeftOut("it compares columns of features by pca")
    moved = points - points.mean(axis=0)
    norms = np.linalg.norm(moved, axis=0)
    moved, norms = moved[:, norms > 0], norms[norms > 0]
    if len(norms) < 2:
        return LeftOut("fewer than two columns vary")
    count, kind, replicate = chosen(moved, norms)
    if replicate is None:
        return LeftOut(f"{FEWEST} replicates of {moved.shape[0]} x {moved.shape[1]} cost more than a report may")
    generator = evidence.generator()
    null = np.percentile([replicate(generator) for _ in range(count)], PERCENTILE, axis=0)
    values = evidence.spectrum.solved[: len(null)]
    kept = leading(values > null[: len(values)])
    if kept == len(values) < len(null):
        return LeftOut(f"all {kept} eigenvalues computed are above the replicates'")
    divisor = float(norms @ norms)
    return Verdict(kept, "The leading eigenvalues above the 95th percentile of those of unrelated columns.",
                   f"{count} replicates, {kind}", {"replicates": count, "columns": kind, "percentile": PERCENTILE,
                                                  "seed": evidence.seed, "expected_shares": (null[:20] / divisor).tolist()})


def chosen(moved: Array, norms: Array) -> tuple[int, str, Replicate | None]:
    """How many replicates, of which kind, and how one is drawn; None where even the fewest cost too much."""
    rows, columns = moved.shape
    side = min(rows, columns)
    for cost, kind, replicate, possible in (
            (SHUFFLE * moved.size + moved.size * side + EIGEN * side**3, "permuted", permuted(moved), True),
            (2 * EIGEN * columns**3, "normal", normal(rows - 1, norms), rows > columns)):
        count = min(MOST, int(BUDGET / cost))
        if possible and count >= FEWEST:
            return count, kind, replicate
    return 0, "", None


def permuted(moved: Array) -> Replicate:
    """Eigenvalues of the smaller side of columns (n x d, of mean zero), each permuted by itself."""

    def replicate(generator: np.random.Generator) -> Array:
        mixed = generator.permuted(moved, axis=0)
        side = mixed.T @ mixed if moved.shape[1] <= moved.shape[0] else mixed @ mixed.T
        return np.linalg.eigvalsh(side)[::-1]

    return replicate


def normal(freedom: int, norms: Array) -> Replicate:
    """Eigenvalues of the products of normal columns with `freedom` degrees of freedom, scaled to given norms."""
    size = len(norms)

    def replicate(generator: np.random.Generator) -> Array:
        factor = np.tril(generator.standard_normal((size, size)), -1)
        factor[np.arange(size), np.arange(size)] = np.sqrt(generator.chisquare(freedom - np.arange(size)))
        factor *= (norms / np.linalg.norm(factor, axis=1))[:, None]
        return np.linalg.eigvalsh(factor @ factor.T)[::-1]

    return replicate
