"""Parallel analysis: eigenvalues above those of unrelated columns (Horn, 1965).

A replicate keeps each column's own variance and removes the correlations: by permuting every column by itself (Buja and
Eyuboglu, 1992), or where that is too expensive by normal data of the same size, whose matrix of products is drawn
directly (Bartlett's decomposition, 1933). The line is the replicates' 95th percentile (Glorfeld, 1995). Factors are
compared by the eigenvalues of correlations with squared multiple correlations in the diagonal (Humphreys and
Montanelli, 1975).
"""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.quantiles import quantiles
from mlcli.core.linalg import symmetric_eigen, symmetric_eigenvalues
from mlcli.findings.dimension.evidence import Evidence, NotApplicable, RuleVerdict, count_leading

MOST, FEWEST = 100, 20  # replicates; fewer have no 95th percentile
BUDGET = 6e7  # multiplications in all: some 15 ms
SHUFFLE = 60  # cost of permuting one number, in multiplications
EIGEN = 3  # cost of the eigenvalues of a matrix of size m with its product, in m³ multiplications
PERCENTILE = 95.0
DRAWN = 30  # eigenvalues of the line to keep: as many as a scree plot has bars

Replicate = Callable[[np.random.Generator], Array]
Eigenvalues = Callable[[Array], Array]  # of products of columns


def parallel_analysis(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of leading eigenvalues above the replicates' 95th percentiles."""
    if not evidence.of_columns:
        return NotApplicable("it compares columns of features")
    rows, columns = evidence.observations, len(evidence.norms)
    if rows is None:
        return NotApplicable("it needs the number of observations: input.observations")
    if columns < 2 or rows < 3:
        return NotApplicable("it needs two columns that vary and three points")
    count, kind, replicate = choose_replicates(evidence, rows)
    if replicate is None:
        return NotApplicable(f"{FEWEST} replicates of {rows} x {columns} numbers would take too long")
    if not evidence.spectrum.solved_trace > 0:
        return NotApplicable("the squares of these numbers vanish")
    generator = evidence.generator()
    null = quantiles(np.array([replicate(generator) for _ in range(count)]), [PERCENTILE / 100])[0]
    values = evidence.spectrum.solved[: len(null)]
    kept = count_leading(values > null[: len(values)])
    if kept == len(values) < len(null):
        return NotApplicable(f"all {kept} eigenvalues computed are above the replicates'")
    line = null[:DRAWN] / evidence.spectrum.solved_trace
    return RuleVerdict(kept,
                       "The leading eigenvalues above the 95th percentile of those of uncorrelated columns (parallel "
                       "analysis).",
                       f"{count} replicates of {kind} columns",
                       {"replicates": count, "columns": kind, "percentile": PERCENTILE, "seed": evidence.seed,
                        "line_shares": line.tolist()})


def parallel_factors(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of leading eigenvalues of common variance above the replicates' 95th percentiles."""
    rows, columns = evidence.observations, len(evidence.norms)
    if rows is None:
        return NotApplicable("it needs the number of observations: input.observations")
    if columns < 3 or rows <= columns + 1:
        return NotApplicable("it needs three columns that vary and more points than columns")
    count, kind, replicate = choose_replicates(evidence, rows, common_eigenvalues)
    if replicate is None:
        return NotApplicable(f"{FEWEST} replicates of {rows} x {columns} numbers would take too long")
    values = common_eigenvalues(evidence.correlations)
    if not np.isfinite(values).all():
        return NotApplicable("a column follows from the others")
    generator = evidence.generator()
    null = quantiles(np.array([replicate(generator) for _ in range(count)]), [PERCENTILE / 100])[0]
    kept = min(count_leading(values > np.maximum(null, 0.0)), evidence.factors)
    return RuleVerdict(kept,
                       "The leading eigenvalues of common variance (squared multiple correlations in the diagonal) "
                       "above the 95th percentile of those of uncorrelated columns (parallel analysis of factors).",
                       f"{count} replicates of {kind} columns",
                       {"replicates": count, "columns": kind, "percentile": PERCENTILE, "seed": evidence.seed,
                        "eigenvalues": values[:DRAWN].tolist(), "line": null[:DRAWN].tolist()})


def common_eigenvalues(products: Array) -> Array:
    """Return the eigenvalues (d) of correlations with squared multiple correlations in the diagonal.

    `products` are those of columns (d x d), in any unit. NaN where they are singular.
    """
    roots = np.sqrt(np.diag(products))
    correlations = products / np.outer(roots, roots)
    values, vectors = symmetric_eigen(correlations)
    if values[-1] <= len(values) * EPS * values[0]:
        return np.full(len(values), np.nan)
    unique = 1 / (vectors**2 / values).sum(axis=1)
    return symmetric_eigenvalues(correlations - np.diag(unique))


def choose_replicates(evidence: Evidence, rows: int, eigenvalues: Eigenvalues | None = None,
                      ) -> tuple[int, str, Replicate | None]:
    """Return number, kind and function of the replicates; None where even the fewest cost too much.

    They are eigenvalues of products of columns, or others of these, which cost twice as much.
    """
    times = 1 if eigenvalues is None else 2
    moved, columns = evidence.columns, len(evidence.norms)
    side = min(rows, columns)
    for cost, kind, replicate, possible in (
            ((SHUFFLE + side) * rows * columns + times * EIGEN * side**3, "permuted",
             permuted_replicate(moved, eigenvalues), len(moved) == rows),
            (times * EIGEN * columns**3, "normal", normal_replicate(rows - 1, evidence.norms, eigenvalues),
             rows > columns)):
        count = min(MOST, int(BUDGET / cost))
        if possible and count >= FEWEST:
            return count, kind, replicate
    return 0, "", None


def permuted_replicate(moved: Array, eigenvalues: Eigenvalues | None = None) -> Replicate:
    """Return a function that permutes each column and returns the eigenvalues of the smaller product.

    `moved` is an (n, d) array with columns of mean zero.
    """

    def replicate(generator: np.random.Generator) -> Array:
        mixed = generator.permuted(moved, axis=0)
        side = mixed.T @ mixed if moved.shape[1] <= moved.shape[0] else mixed @ mixed.T
        return symmetric_eigenvalues(side) if eigenvalues is None else eigenvalues(side)

    return replicate


def normal_replicate(freedom: int, norms: Array, eigenvalues: Eigenvalues | None = None) -> Replicate:
    """Return a function that draws products of normal columns and returns their eigenvalues, a (d,) array.

    The products have a Wishart distribution with `freedom` degrees of freedom, scaled to the norms, a (d,) array.
    """
    size = len(norms)

    def replicate(generator: np.random.Generator) -> Array:
        factor = np.tril(generator.standard_normal((size, size)), -1)
        factor[np.arange(size), np.arange(size)] = np.sqrt(generator.chisquare(freedom - np.arange(size)))
        factor *= (norms / np.linalg.norm(factor, axis=1))[:, None]
        side = factor @ factor.T
        return symmetric_eigenvalues(side) if eigenvalues is None else eigenvalues(side)

    return replicate
