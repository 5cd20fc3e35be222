"""Rules about eigenvalues and correlations of columns: shares, elbow and gap, Velicer's test, parallel analysis.

A replicate keeps each column's own variance and removes the correlations: by permuting every column by itself (Buja and
Eyuboglu, 1992), or where that is too expensive by normal data of the same size, whose matrix of products is drawn
directly (Bartlett's decomposition, 1933). The line is the replicates' 95th percentile (Glorfeld, 1995). Factors are
compared by the eigenvalues of correlations with squared multiple correlations in the diagonal (Humphreys and
Montanelli, 1975).
"""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array
from mlcli.base.units import percent
from mlcli.base.values.check import EPS
from mlcli.base.values.quantiles import quantiles
from mlcli.core.linalg import symmetric_eigen, symmetric_eigenvalues
from mlcli.findings.dimension.evidence import Evidence, NotApplicable, RuleVerdict, count_leading

WIDEST = 150  # largest number of columns for its d³ multiplications
SAME, SAMPLED = 1e-6, 0.1  # relative spread of column norms that counts as rounding: of all rows, and of a sample


def velicer(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of axes after which the average squared partial correlation of columns is smallest."""
    if not evidence.of_columns:
        return NotApplicable("it compares columns of features")
    columns, norms, rows = len(evidence.norms), evidence.norms, len(evidence.columns)
    if columns < 3 or columns > WIDEST:
        return NotApplicable(f"{columns} columns vary, and it takes from 3 to {WIDEST}")
    if np.ptp(norms) > (SAME if rows in (0, evidence.size) else SAMPLED) * norms.max():
        return NotApplicable("it is for correlations, and the columns' variances differ: use prepare.scale=standard")
    averages = average_partials(evidence.correlations)
    count = int(np.nanargmin(averages))
    return RuleVerdict(count,
                       "The number of axes with the smallest average squared partial correlation between columns "
                       "(Velicer's MAP).",
                       f"{averages[count]:.4g} on average",
                       {"average_squared_partial_correlations": averages.tolist(),
                        "rows": rows or evidence.observations})


def average_partials(correlations: Array) -> Array:
    """Return the average squared partial correlation after partialling out 0, 1, ..., d - 2 axes, a (d - 1,) array.

    `correlations` is a (d, d) array. NaN from the axis at which a column is explained completely.
    """
    size = len(correlations)
    values, vectors = symmetric_eigen(correlations)
    averages, left = np.full(size - 1, np.nan), correlations.copy()
    for count in range(size - 1):
        diagonal = np.diag(left)
        if diagonal.min() <= 100 * size * EPS:
            break
        averages[count] = (float((left**2 / np.outer(diagonal, diagonal)).sum()) - size) / (size * (size - 1))
        left -= values[count] * np.outer(vectors[:, count], vectors[:, count])
    return averages


MOST_PIECES = 100  # largest number of pieces of a stick for a meaningful test
SEEN = 30  # eigenvalues in the search for an elbow: as many as the scree plot shows


def variance_kept(evidence: Evidence, share: float) -> RuleVerdict | NotApplicable:
    """Return the smallest number of axes whose eigenvalues sum to a share of the trace."""
    if evidence.method.scaleless:
        return NotApplicable(no_variances(evidence))
    if evidence.factors:
        return NotApplicable(f"the axes of {evidence.method.name} are not principal components: their shares are in "
                             "spectrum.csv")
    cumulative = np.cumsum(evidence.spectrum.proportions)
    if not np.isfinite(cumulative).all() or not len(cumulative):
        return NotApplicable("the trace is zero or not known")
    reached = cumulative >= share - 10 * evidence.size * EPS
    if not reached.any():
        return NotApplicable(f"the {len(cumulative)} eigenvalues computed reach {percent(cumulative.max())}")
    count = int(reached.argmax()) + 1
    return RuleVerdict(count, f"The fewest axes that keep {percent(share, 0)} of the trace.",
                       trace_share(evidence, count),
                       {"cumulative": float(cumulative[count - 1])})


def trace_share(evidence: Evidence, count: int) -> str:
    """Return the share of the trace that axes keep, in words; above 1, also the share of the positive eigenvalues.

    Negative eigenvalues raise the first above 1.
    """
    spectrum, share = evidence.spectrum, float(np.cumsum(evidence.spectrum.proportions)[count - 1])
    if round(share, 3) <= 1:
        return f"{percent(share)} kept"
    beside = ""
    if spectrum.complete:
        positive = float(spectrum.solved[spectrum.solved > 0].sum())
        beside = f"{percent(float(spectrum.solved[:count].sum()) / positive)} of the positive eigenvalues; "
    return f"{beside}{percent(share)} of the trace, which includes the negative ones"


def no_variances(evidence: Evidence) -> str:
    """Return why rules about shares of a variance do not apply."""
    return f"the eigenvalues of {evidence.method.name} are not variances"


def elbow(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the axes before the point of the scree plot farthest below the chord from its first point to its last.

    Cattell's scree test (1966), with the elbow by Satopää, Albrecht, Irwin and Raghavan ("kneedle", 2011).
    """
    values = evidence.positive[:SEEN]
    if len(values) < 3:
        return NotApplicable(f"an elbow needs three eigenvalues and {len(values)} positive ones are computed")
    below = below_chord(values / values[0])
    count = int(below.argmax())
    if below[count] <= 0:
        return NotApplicable("the scree plot has no elbow: no point lies below the chord of its ends")
    return RuleVerdict(count,
                       "The axes before the elbow of the scree plot: the point farthest below the chord between its "
                       "ends.",
                       f"among {len(values)} eigenvalues",
                       {"below_chord": below[:20].tolist(), "eigenvalues": len(values)})


def below_chord(values: Array) -> Array:
    """Return how far each value of a (k,) array lies below the line from the first to the last, a (k,) array."""
    return np.linspace(values[0], values[-1], len(values)) - values


def broken_stick(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of leading eigenvalues above the mean lengths of a randomly broken stick's pieces, in order.

    Frontier, 1976; the lengths are MacArthur's, 1957: (total / p) (1/k + ... + 1/p).
    """
    if evidence.method.scaleless:
        return NotApplicable(no_variances(evidence))
    parts = evidence.parts
    if parts is None:
        return NotApplicable("it needs all eigenvalues, and only the largest are computed")
    count, total = parts
    if count < 2 or not total > 0:
        return NotApplicable(f"a stick in {count} {'piece' if count == 1 else 'pieces'} says nothing")
    pieces = total * broken_stick_shares(count)
    values = evidence.positive[:count]
    kept = count_leading(values > pieces[: len(values)])
    return RuleVerdict(kept, "The leading eigenvalues above those of the broken-stick model.",
                       f"{count} pieces", {"pieces": count, "expected_shares": (pieces[:20] / total).tolist()},
                       f"unreliable with {count} eigenvalues: nearly any spectrum passes" if count > MOST_PIECES
                       else "")


def broken_stick_shares(count: int) -> Array:
    """Return the expected shares of a stick broken at random into `count` pieces, descending, a (count,) array."""
    return np.cumsum(1 / np.arange(count, 0, -1))[::-1] / count


def kaiser(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of eigenvalues above their mean; for correlations above one (Guttman, 1954; Kaiser, 1960)."""
    parts = evidence.parts
    if not evidence.of_columns or parts is None or not parts[0] or not parts[1] > 0:
        return NotApplicable("it compares variances of columns, and there are none"
                             if not evidence.of_columns else "no column varies")
    mean = parts[1] / parts[0]
    values = evidence.positive
    if len(values) < parts[0] and (values > mean).all():
        return NotApplicable(f"all {len(values)} eigenvalues computed are above the mean")
    shares = values[:20] / mean
    return RuleVerdict(int(np.sum(values > mean)),
                       "The eigenvalues above their mean, which is 1 for a correlation matrix "
                       "(Kaiser).",
                       f"mean of {parts[0]} eigenvalues", {"over_mean": shares.tolist()})


def eigengap(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the number of axes before the largest gap of successive eigenvalues, whose span noise changes least.

    Davis and Kahan, 1970: a span's angle to its noisy self is at most the noise over the gap behind it.
    """
    values = evidence.positive
    if len(values) < 2:
        return NotApplicable(f"a gap needs two eigenvalues and {len(values)} positive ones are computed")
    gaps = -np.diff(values) / values[0]
    count = int(gaps.argmax()) + 1
    return RuleVerdict(count, "The axes before the largest gap between successive eigenvalues.",
                       f"{percent(gaps[count - 1])} of the first eigenvalue", {"gaps_over_first": gaps[:20].tolist()})


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
