"""Whether a given matrix of similarities is a kernel."""


from mlcli.base.stages.stage import stage
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit
from mlcli.checkup.metric import Ids, largest_size, symmetry_of, unknown_of
from mlcli.checkup.report import Kernel
from mlcli.core.kernels.corrections import is_euclidean
from mlcli.core.linalg import symmetric_eigenvalues
from mlcli.data.pairs.symmetry import symmetrize


@stage("definiteness")
def kernel_of(values: Array, ids: Ids) -> Kernel:
    """Check an (n, n) array for missing cells and symmetry, and return the ends of its spectrum if none are missing."""
    missing, symmetry = unknown_of(values, ids), symmetry_of(values, ids, largest_size(values))
    if missing.cells:
        return Kernel(missing, symmetry, None, None, None)
    matrix = values.copy()
    symmetrize(matrix, "mean")
    unit = Unit.of(matrix)
    spectrum = symmetric_eigenvalues(unit.measured(matrix))
    return Kernel(missing, symmetry, is_euclidean(spectrum), unit.number(spectrum[-1]), unit.number(spectrum[0]))
