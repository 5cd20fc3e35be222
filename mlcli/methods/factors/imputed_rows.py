"""Features under a factor model: complete rows unchanged, missing cells replaced by conditional means."""

from typing import ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.scaling import all_finite
from mlcli.core.kernels.row_factor import AnyFactor
from mlcli.core.latent.missing_cells import GappedPoints, Normal, complete_points
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.columns import Columns


@stored("explained", moments="dd")
@frozen
class Explained(Similarity):
    """The features with missing cells replaced by their conditional means under a factor model.

    Posterior means of the factors are linear in a row, so those of a completed row are those given its observed cells.
    """

    keeps_distances: ClassVar[bool] = False
    model: Normal
    moments: Array  # d x d: the covariance of the columns that the model was fitted to

    def rows(self, new: Array) -> Array:
        """The new points (m x d), each NaN replaced by its expectation given the row's other cells."""
        return new if all_finite(new) else complete_points(self.model, new)

    @property
    def column_moments(self) -> Array:
        """The covariance of the columns (d x d) that the model was fitted to."""
        return self.moments


Placed = tuple[AnyFactor | GappedPoints, Similarity]


def complete_factor(points: AnyFactor | GappedPoints, covariance: Array) -> Placed:
    """The points, those with missing cells under a model of the covariance, and how new rows relate to them."""
    if not isinstance(points, GappedPoints):
        return points, Columns()
    model = Normal(points.moments.mean, covariance)
    return points.with_model(model), Explained(model, points.moments.covariance)
