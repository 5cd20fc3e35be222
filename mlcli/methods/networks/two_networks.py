"""The base of methods of two networks: input, closed form, costs and model."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from mlcli.base.machine.footprint import JAX
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.rows.scratch import bytes_in_memory, map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Given, Input, TwoViews
from mlcli.base.values.signs import leading_signs
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.kernels.factor_solver import side_steps
from mlcli.core.kernels.row_factor import row_steps
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.projector import NoProjection
from mlcli.methods.method import Method
from mlcli.methods.networks.learning import Learning, feeding_memory
from mlcli.methods.networks.network import (
    Network,
    Standard,
    StandardRows,
    Units,
    encoder_and_decoder,
    projector_of,
)

BATCH = 30  # overhead of a batch, in small calls
CODES = 2  # arrays of the size of the coordinates
COPIES = 8  # of the weights: gradients, Adam's moments, the best ones, and those of a checkpoint


def weights_between(sizes: Sequence[int]) -> int:
    """Return the number of weights between layers of these sizes."""
    return sum(before * after for before, after in pairwise(sizes))


def columns_of_view(data: Input) -> int | None:
    """Return the number of columns of the second view; None where there is none."""
    return data.view.values.shape[1] if isinstance(data, TwoViews) else None


def network_steps(points: Array, sizes: Sequence[int], learning: Learning, threads: int, *, outputs: int | None = None,
                  more: int = 0, translation: float = 0.0) -> list[Step]:
    """Return the steps of training on points (n x d), with encoder layers of these sizes, and of one pass after it.

    The decoder leads to so many `outputs`, by default the inputs of the encoder, and there are `more` weights. JAX
    takes `translation` starts to translate the objective, beside those of an autoencoder's.
    """
    back = [sizes[0] if outputs is None else outputs, *sizes[1:]]
    rows, weights, units = len(points), weights_between(sizes) + weights_between(back) + more, sum(sizes)
    number = 4 if learning.precision == "float32" else 8
    batches = -(-rows // learning.batch)
    each = 6.0 * weights * rows * rates().trained * number / 4 / threads + BATCH * rates().called * batches
    in_file, codes = rows_of(points) is not None, rows * sizes[-1]
    order = feeding_memory(points, learning, threads) if in_file else 16.0 * rows
    taken = number * (COPIES * weights + 6.0 * learning.batch * units) + order
    placing = 4.0 * weights * rows / product_rate(threads)
    training = repeated("training", f"{weights:,} weights, epochs of {rows} rows", each, taken,
                        usual=learning.epochs, most=learning.epochs, needs=JAX)
    return [replace(training, seconds=training.seconds + translation * rates().start),
            Step("coordinates", "one pass through both networks", placing,
                 (bytes_in_memory(CODES, codes) if in_file else 8.0 * CODES * codes) + taken)]


OF_SECOND_VIEW = NoProjection("this run encodes rows of the first view; the second is what its decoder leads to",
                              "give rows of the first view alone, without --as-view and --view", "AS-VIEW")
QUICK = {"layers": [4], "learning": {"epochs": 2, "batch": 16, "validation": 0.0, "precision": "float64"}}


class NetworkMethod(Method):
    """The base of methods of an encoder and a decoder network; linear networks may have a closed form."""

    accepts: ClassVar[tuple[type[Given], ...]] = (Features,)
    judged_by: ClassVar = "reconstruction"
    in_blocks: ClassVar[str | None] = ""
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    has_loadings: ClassVar = False
    translation: ClassVar[float] = 0.0  # starts that JAX takes for its objective, beside those of an autoencoder's
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        layers: Units
        learning: Learning

        def solve_closed_form(self, data: Any, compute: Compute) -> Model:
            """Return the model by the closed form."""

        def solve_by_training(self, data: Any, compute: Compute) -> Model:
            """Return the model of both networks after training."""

    @property
    def closed(self) -> bool:
        """Whether the optimum has a closed form."""
        raise NotImplementedError

    def requires(self) -> tuple[str, ...]:
        """Return the extra `neural` (JAX) where training is needed."""
        return () if self.closed else ("neural",)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the eigenproblem of the smaller side, or of the epochs."""
        threads = compute.thread_count()
        if self.closed:
            rows = rows_of(data.values)
            return (side_steps(data.values, "auto", ForAxes.of(self.axes), threads) if rows is None
                    else row_steps(rows, ForAxes.of(self.axes), threads))
        return network_steps(data.values, self.sizes(data), self.learning, threads, outputs=columns_of_view(data),
                             translation=self.translation)

    def sizes(self, data: Features) -> list[int]:
        """Return the layer sizes of the encoder, columns and coordinates included."""
        return [data.values.shape[1], *self.layers, self.axes.count]

    def solve(self, data: Any, compute: Compute) -> Model:
        """Compute the closed form, or train the networks."""
        return self.solve_closed_form(data, compute) if self.closed else self.solve_by_training(data, compute)

    @staticmethod
    def model(data: Features, standard: Standard, codes: Array, networks: tuple[Network, Network],
              other: StandardRows | None = None, **more: Any) -> Model:
        """Return the model of encoder and decoder; `codes` (n x p) are the encoder's outputs for the rows.

        The decoder leads to the rows of the `other` view where there is one.
        """
        signs = leading_signs(codes)
        projector = projector_of(*encoder_and_decoder(standard, networks, other), signs)
        affine = projector.affine
        return Model(embedding=map_blocks(lambda some: some * signs, codes), projector=projector,
                     others=() if other is None else (OF_SECOND_VIEW,), **more,
                     loadings=None if affine is None else Loadings(affine.directions, data.columns))
