"""Velicer's minimum average partial test: axes are kept while they explain what columns share (Velicer, 1976)."""

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.dimension.verdict import Evidence, LeftOut, Verdict
from mlcli.stages.algebra.linalg import EPS, symmetric_eigen

WIDEST = 150  # columns up to which its d³ multiplications cost little
SAME, SAMPLED = 1e-6, 0.1  # relative spread of the columns' sizes, of all rows and of a sample, that is rounding


def velicer(evidence: Evidence) -> Verdict | LeftOut:
    """As many axes as leave the smallest average squared correlation between columns once they are partialled out."""
    if not evidence.of_columns:
        return LeftOut("it compares columns of features")
    columns, norms, rows = len(evidence.norms), evidence.norms, len(evidence.columns)
    if columns < 3 or columns > WIDEST:
        return LeftOut(f"{columns} columns vary, and it takes from 3 to {WIDEST}")
    if np.ptp(norms) > (SAME if rows in (0, evidence.size) else SAMPLED) * norms.max():
        return LeftOut("it is for correlations, and the columns' variances differ: use prepare.scale=standard")
    averages = average_partials(evidence.correlations)
    count = int(np.nanargmin(averages))
    return Verdict(count, "As many axes as leave the smallest average squared partial correlation between columns.",
                   f"{averages[count]:.4g} on average",
                   {"average_squared_partial_correlations": averages.tolist(), "rows": rows or evidence.observations})


def average_partials(correlations: Array) -> Array:
    """The average squared partial correlation (d - 1) once 0, 1, ..., d - 2 axes are partialled out.

    NaN from where a column is explained completely.
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
