"""Velicer's minimum average partial test: axes are kept while they explain shared variance (Velicer, 1976)."""

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.linalg import symmetric_eigen
from mlcli.findings.dimension.verdict import Evidence, NotApplicable, Verdict

WIDEST = 150  # largest number of columns for its d³ multiplications
SAME, SAMPLED = 1e-6, 0.1  # relative spread of column norms that counts as rounding: of all rows, and of a sample


def velicer(evidence: Evidence) -> Verdict | NotApplicable:
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
    return Verdict(count, "The number of axes with the smallest average squared partial correlation between columns "
                   "(Velicer's MAP).",
                   f"{averages[count]:.4g} on average",
                   {"average_squared_partial_correlations": averages.tolist(), "rows": rows or evidence.observations})


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
