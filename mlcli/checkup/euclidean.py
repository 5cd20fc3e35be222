"""Whether dissimilarities are Euclidean, and the constants that make them so."""

import numpy as np

from mlcli.base.stages.stage import stage
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit
from mlcli.checkup.report import Corrections, Euclidean
from mlcli.core.distances import gower
from mlcli.core.kernels.corrections import cailliez_constant, is_euclidean, lingoes_constant
from mlcli.core.kernels.forms import Dense
from mlcli.core.linalg import symmetric_eigenvalues

CAILLIEZ = 3000  # most points for Cailliez' constant: about seven eigenproblems, about a minute


@stage("euclidean")
def euclidean_of(distances: Array) -> tuple[Euclidean, Corrections]:
    """Test an (n, n) array of dissimilarities (symmetric, zero diagonal, none negative) by the eigenvalues of -HD²H/2.

    Returns the result of the test, and the constants of Lingoes and Cailliez in the units of their
    correction.
    """
    unit = Unit.of(distances)
    normalized = unit.measured(distances)
    squared = normalized**2
    kernel = Dense.of(gower(squared)).matrix
    values = symmetric_eigenvalues(kernel)
    right = is_euclidean(values)
    in_units = (unit**2).plain(values)
    zero = 10 * len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
    negative = values < -zero
    sizes = float(np.abs(values).sum())
    # roots of Euclidean distances are Euclidean (Schoenberg, 1938)
    roots = right or is_euclidean(symmetric_eigenvalues(Dense.of(gower(normalized)).matrix))
    found = Euclidean(right, float(in_units[-1]), float(in_units[0]), int(negative.sum()),
                      float(np.abs(values[negative]).sum() / sizes) if sizes > 0 else 0.0, roots)
    if right:
        return found, Corrections(0.0, 0.0)
    cailliez = cailliez_constant(squared, kernel) if len(values) <= CAILLIEZ else None
    return found, Corrections((unit**2).number(lingoes_constant(values)),
                              None if cailliez is None else unit.number(cailliez))
