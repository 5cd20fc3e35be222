"""Probabilistic PCA on rotated axes: its model, the step of the rotation, and the names of the axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlcli.base.stages.steps import Step
from mlcli.base.values.quantity import Quantity
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.costs import pass_cost
from mlcli.stages.latent.probabilistic import Fitted
from mlcli.stages.latent.rotated_fit import rotate_fit
from mlcli.stages.latent.rotations import Rotation, Unrotated
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.models.latent import Completed
from mlcli.stages.similarities.projector import Projector


class RotatedAxes(Method):
    """The base of a method whose axes may be rotated."""

    if TYPE_CHECKING:  # the method declares it itself, so that its options keep their order
        rotation: Rotation = Unrotated()

    def turning_steps(self, numbers: int) -> list[Step]:
        """Return the step that rotates so many coordinates, if any."""
        return [] if self.rotation.name == "none" else [
            Step("coordinates", f"rotation: {self.rotation.name}", pass_cost(numbers), 8.0 * numbers)]

    def axis_names(self, proportions: Sequence[float | None], count: int, constrained: int | None = None) -> list[str]:
        """Return labels for `count` axes; rotated ones have no eigenvalues, and so no shares."""
        if self.rotation.name == "none":
            return super().axis_names(proportions, count, constrained)
        return [f"RC {place}" for place in range(1, count + 1)]


def rotated_model(found: Fitted, rotation: Rotation, columns: Sequence[str]) -> Model:
    """Return the model of a fit on rotated axes."""
    latent, cells, value = found.latent, (found.cells,), found.log_likelihood
    turned = rotate_fit(found, rotation)
    fit = {"log_likelihood": None if value is None else Quantity(value, cells=cells),
           "noise_variance": Quantity(latent.noise, 2), "posterior_covariance": turned.spread.tolist(),
           **found.facts, **({} if rotation.name == "none" else turned.facts)}
    projector = Projector(Completed(latent), Centering(latent.mean, across=False), turned.axes,
                          Affine(latent.mean, turned.loadings))
    return Model(embedding=turned.means, spectrum=found.spectrum, projector=projector, fit=fit,
                 objective=None if found.trace is None else Quantity(found.trace, cells=cells),
                 loadings=Loadings(turned.loadings, columns), spreads=turned.spreads)
