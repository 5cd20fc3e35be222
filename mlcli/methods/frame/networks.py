"""What the methods of two networks share: their input, whether there is a closed form, costs, and what their model is.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from mlcli.base.rows.scratch import by_rows
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
from mlcli.stages.similarities.networks import encoder_and_decoder, projector_of

QUICK = {"layers": [4], "learning": {"epochs": 2, "batch": 16, "validation": 0.0, "precision": "float64"}}


class OfNetworks(Method):
    """A network from the columns to a few coordinates and one back; linear ones may be known in closed form."""

    accepts: ClassVar = (Features,)
    in_blocks: ClassVar = ""
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    loaded: ClassVar = False
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        layers: Units
        learning: Learning

        def solved(self, data: Features, compute: Compute) -> Model:
            """The closed form."""

        def trained(self, data: Features, compute: Compute) -> Model:
            """Both networks with the weights that training ended with."""

        def identities(self, data: Features, model: Model, full: bool = False) -> list[Check]:
            """Forward passes of some rows, or of all."""

    @property
    def closed(self) -> bool:
        """Whether the optimum is known."""
        raise NotImplementedError

    def requires(self) -> tuple[str, ...]:
        """JAX for training."""
        return () if self.closed else ("neural",)

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """The eigenproblem of the smaller side, or epochs."""
        threads = compute.thread_count()
        if self.closed:
            rows = rows_of(data.values)
            return (side_steps(data.values, "auto", ForAxes.of(self.axes), threads) if rows is None
                    else row_steps(rows, ForAxes.of(self.axes), threads))
        return network_steps(data.values, self.sizes(data), self.learning, threads)

    def sizes(self, data: Features) -> list[int]:
        """The units of the encoder, columns and coordinates included."""
        return [data.values.shape[1], *self.layers, self.axes.count]

    def solve(self, data: Features, compute: Compute) -> Model:
        """The closed form, or the weights that training ended with."""
        return self.solved(data, compute) if self.closed else self.trained(data, compute)

    @staticmethod
    def model(data: Features, standard: Standard, codes: Array, networks: tuple[Network, Network],
              **more: Any) -> Model:
        """The model of both networks, whose first one gives the rows these codes (n x p)."""
        signs = leading_signs(codes)
        projector = projector_of(*encoder_and_decoder(standard, networks), signs)
        affine = projector.affine
        return Model(embedding=by_rows(lambda some: some * signs, codes), projector=projector, **more,
                     loadings=None if affine is None else Loadings(affine.directions, data.columns))
