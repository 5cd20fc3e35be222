"""The base of methods of two networks: input, closed form, costs and model."""

from typing import TYPE_CHECKING, Any, ClassVar

from mlcli.base.rows.scratch import map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model, Powers
from mlcli.stages.eigen.eigensolve import ForAxes
from mlcli.stages.kernels.row_factor import row_steps
from mlcli.stages.kernels.sides import side_steps
from mlcli.stages.neural.costs import network_steps
from mlcli.stages.neural.learning import Learning
from mlcli.stages.neural.network import Network, Units
from mlcli.stages.neural.standard import Standard
from mlcli.stages.similarities.models.networks import encoder_and_decoder, projector_of

QUICK = {"layers": [4], "learning": {"epochs": 2, "batch": 16, "validation": 0.0, "precision": "float64"}}


class NetworkMethod(Method):
    """The base of methods of an encoder and a decoder network; linear networks may have a closed form."""

    accepts: ClassVar = (Features,)
    in_blocks: ClassVar = ""
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    has_loadings: ClassVar = False
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        layers: Units
        learning: Learning

        def solve_closed_form(self, data: Features, compute: Compute) -> Model:
            """Return the model by the closed form."""

        def solve_by_training(self, data: Features, compute: Compute) -> Model:
            """Return the model of both networks after training."""

        def identities(self, data: Features, model: Model, full: bool = False) -> list[Check]:
            """Return the checks of forward passes of some rows, or of all."""

    @property
    def closed(self) -> bool:
        """Whether the optimum has a closed form."""
        raise NotImplementedError

    def requires(self) -> tuple[str, ...]:
        """Return the extra `neural` (JAX) where training is needed."""
        return () if self.closed else ("neural",)

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the eigenproblem of the smaller side, or of the epochs."""
        threads = compute.thread_count()
        if self.closed:
            rows = rows_of(data.values)
            return (side_steps(data.values, "auto", ForAxes.of(self.axes), threads) if rows is None
                    else row_steps(rows, ForAxes.of(self.axes), threads))
        return network_steps(data.values, self.sizes(data), self.learning, threads)

    def sizes(self, data: Features) -> list[int]:
        """Return the layer sizes of the encoder, columns and coordinates included."""
        return [data.values.shape[1], *self.layers, self.axes.count]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the closed form, or train the networks."""
        return self.solve_closed_form(data, compute) if self.closed else self.solve_by_training(data, compute)

    @staticmethod
    def model(data: Features, standard: Standard, codes: Array, networks: tuple[Network, Network],
              **more: Any) -> Model:
        """Return the model of encoder and decoder; `codes` (n x p) are the encoder's outputs for the rows."""
        signs = leading_signs(codes)
        projector = projector_of(*encoder_and_decoder(standard, networks), signs)
        affine = projector.affine
        return Model(embedding=map_blocks(lambda some: some * signs, codes), projector=projector, **more,
                     loadings=None if affine is None else Loadings(affine.directions, data.columns))
