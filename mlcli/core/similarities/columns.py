"""The features as rows: the axes are vectors in feature space."""

from typing import ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Given, Similarities
from mlcli.core.check.kernels import Witness, of_matrix
from mlcli.core.similarities.base import Similarity


@stored("columns")
@frozen
class Columns(Similarity):
    """The features themselves: PCA, whose axes are vectors in feature space; or given kernel values."""

    in_features: ClassVar[bool] = True

    def rows(self, new: Array) -> Array:
        """Return the new points unchanged, an (m, d) array."""
        return new

    def witness(self, data: Given, fit: Indices, full: bool) -> Witness | None:
        """Return the given kernel, for the rows in an (n,) array `fit`; None for features."""
        return of_matrix(data.values) if isinstance(data, Similarities) else None
