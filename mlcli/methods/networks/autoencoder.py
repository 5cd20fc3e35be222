"""Autoencoder.

Constraints that keep a code from copying its input, the objective of training, and the method.

JAX is imported where a formula is traced, which happens only in training.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input, TwoViews
from mlcli.base.values.options import Options, option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.kernels.row_factor import factor_of
from mlcli.core.linalg import singular, singular_step
from mlcli.core.model import Model
from mlcli.core.whitening import WHITE, whiten
from mlcli.errors import ConfigError
from mlcli.methods.networks.check import closed_form_checks, forward_checks, training_checks
from mlcli.methods.networks.learning import Learning, training_rows
from mlcli.methods.networks.network import (
    Errors,
    Hidden,
    Layers,
    Network,
    Standard,
    StandardRows,
    Traced,
    Units,
    encode_rows,
    encoder_and_decoder,
    initial_layers,
    linear,
)
from mlcli.methods.networks.two_networks import QUICK, NetworkMethod, columns_of_view
from mlcli.methods.trials import variant


class Uncorrupted(Options):
    """No corruption: rows as they are."""

    name: Literal["none"] = "none"

    def __call__(self, rows: Traced, key: Traced) -> Traced:
        """Return the rows unchanged."""
        return rows


class GaussianNoise(Options):
    """Noise is added to the rows that the encoder sees, and the decoder must remove it (Vincent et al., 2008)."""

    name: Literal["gaussian"] = "gaussian"
    deviation: float = option(0.3, "Standard deviation of the noise, relative to that of all columns together.", gt=0)

    def __call__(self, rows: Traced, key: Traced) -> Traced:
        """Return the rows with noise."""
        from jax import random

        return rows + self.deviation * random.normal(key, rows.shape, rows.dtype)


class Masking(Options):
    """Cells that the encoder sees are set to the mean of their column, and the decoder must fill them."""

    name: Literal["masking"] = "masking"
    share: float = option(0.3, "Share of the cells that are replaced by the mean of their column.", gt=0, lt=1)

    def __call__(self, rows: Traced, key: Traced) -> Traced:
        """Return the rows with masked cells at zero, the mean."""
        from jax import numpy, random

        return numpy.where(random.bernoulli(key, 1 - self.share, rows.shape), rows, 0)


class Dense(Options):
    """No constraint on codes."""

    name: Literal["none"] = "none"
    code: ClassVar[Literal["identity", "logistic"]] = "identity"  # the activation of the code

    def __call__(self, codes: Traced) -> Traced:
        """Return zero."""
        return 0.0


class Absolute(Options):
    """The mean size of coordinates is added to the objective (L1)."""

    name: Literal["l1"] = "l1"
    code: ClassVar[Literal["identity", "logistic"]] = "identity"
    weight: float = option(0.01, "Weight of the constraint, relative to the reconstruction error.", gt=0)

    def __call__(self, codes: Traced) -> Traced:
        """Return λ E |y|."""
        from jax import numpy

        return self.weight * numpy.mean(numpy.abs(codes))


class RarelyActive(Options):
    """Coordinates are activities between 0 and 1, drawn to a mean by the Kullback-Leibler divergence (Ng, 2011)."""

    name: Literal["kl"] = "kl"
    code: ClassVar[Literal["identity", "logistic"]] = "logistic"
    target: float = option(0.05, "Mean activity of each coordinate.", gt=0, lt=1)
    weight: float = option(3.0, "Weight of the constraint, relative to the reconstruction error.", gt=0)

    def __call__(self, codes: Traced) -> Traced:
        """Return λ Σ KL(ρ ‖ mean activity), over the rows of a step."""
        from jax import numpy

        active = numpy.clip(numpy.mean(codes, axis=0), 1e-6, 1 - 1e-6)
        return self.weight * numpy.sum(self.target * numpy.log(self.target / active) + (1 - self.target) * numpy.log(
            (1 - self.target) / (1 - active)))


Corruption = Annotated[Uncorrupted | GaussianNoise | Masking, Field(discriminator="name")]
Sparsity = Annotated[Dense | Absolute | RarelyActive, Field(discriminator="name")]


@frozen
class Autoencoding:
    """The mean squared error of a cell, and penalties; weights are those of `encoder` and `decoder`, layer by layer.

    A decoder that is tied has the encoder's weights, transposed, and biases of its own. It leads to the inputs of the
    encoder, or to `outputs` columns of a second view, which stand beside them.
    """

    figures: ClassVar[tuple[str, ...]] = ()  # besides the objective
    hidden: Hidden
    corruption: Corruption
    sparsity: Sparsity
    tied: bool = False
    dropout: float = 0.0
    contraction: float = 0.0
    outputs: int | None = None

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Traced]:
        """Return random weights for layers of these sizes, from the inputs to the code."""
        encoder = initial_layers(sizes, self.hidden, generator)
        decoder = initial_layers([*sizes[:0:-1], self.outputs or sizes[0]], self.hidden, generator)
        return {"encoder": encoder, "decoder": [(biases,) for _, biases in decoder] if self.tied else decoder}

    def decoder(self, weights: dict[str, Traced]) -> Layers:
        """Return the layers of the decoder."""
        if not self.tied:
            return list(weights["decoder"])
        return [(back.T, biases) for (back, _), (biases,) in zip(weights["encoder"][::-1], weights["decoder"],
                                                                 strict=True)]

    def __call__(self, weights: dict[str, Traced], rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """Return the objective of some rows and no figures; rows are corrupted and units dropped in training only.

        Rows of a second view stand beside those that are encoded.
        """
        import jax
        from jax import numpy as jnp
        from jax import random

        from mlcli.methods.networks.training import forward

        rows, wanted = (rows, rows) if self.outputs is None else (rows[:, :-self.outputs], rows[:, -self.outputs:])
        corrupting, coding, decoding = random.split(key, 3)
        encoder = list(weights["encoder"])
        inputs = self.corruption(rows, corrupting) if training else rows
        codes = forward(encoder, inputs, self.hidden, self.sparsity.code, self.dropout, coding if training else None)
        back = forward(self.decoder(weights), codes, self.hidden, "identity", self.dropout,
                       decoding if training else None)
        value = jnp.mean(jnp.square(back - wanted)) + self.sparsity(codes)
        if self.contraction > 0:
            def code(row: Traced) -> Traced:
                return forward(encoder, row, self.hidden, self.sparsity.code)

            slopes = jax.vmap(jax.jacrev(code))(rows)
            value = value + self.contraction * jnp.mean(jnp.sum(jnp.square(slopes), axis=(1, 2)))
        return value, jnp.zeros(0)

    def networks(self, weights: dict[str, Traced]) -> tuple[Network, Network]:
        """Return the encoder and the decoder as plain arrays."""
        return (Network.of(weights["encoder"], self.hidden, self.sparsity.code),
                Network.of(self.decoder(weights), self.hidden))


class Autoencoder(NetworkMethod):
    """Two networks, an encoder to a few coordinates and a decoder back, trained to reproduce the rows.

    It keeps what a decoder needs to reproduce the rows from a few numbers. It fails with few rows: other seeds
    (`compute.seed`) then give other coordinates. Set the hidden `layers` first, and compare the reconstruction error
    with that of PCA.

    How it works: An encoder y = f(x) turns a row into a few coordinates, and a decoder x̂ = g(y) turns these back into
    a row. Both are neural networks, trained together to minimize the mean of ‖x̂ - x‖². The decoder gets nothing but
    the coordinates, so these hold what rows differ in most. `layers` lists the numbers of hidden units of f; g has the
    same layers in reverse.

    Rows are centered and divided by one number, the root of the columns' mean variance, so coordinates have no unit.
    Without hidden layers the optimum is known, the subspace of PCA, and no training is needed. With hidden layers the
    fit needs `manifold-cli[neural]` (JAX). Some rows are held out of the training, and the weights with the best
    objective on these are kept. Axes have no order.

    Two views: With a second view (`--view`), such as images of the same things from another angle, f sees a row of the
    first view, and g must give the row of the second: the mean of ‖g(f(x)) - z‖² is minimized over rows x and z. This
    is corruption by a transform: coordinates keep what of x tells of z, and need not keep anything else. If both views
    are equal, it is the autoencoder of one. Without hidden layers it is the linear regression of z on x with
    coefficients of rank p (reduced-rank regression): the constrained axes of `rda`, with z as the table and x as the
    constraints. With as many independent columns as rows, x gives every z exactly, also a random one.

    Constraints: Constraints keep the coordinates from being a mere copy of the row. Inputs are corrupted and must be
    restored (`corruption`); coordinates are small or rarely active (`sparsity`), or depend little on the inputs
    (`contraction`); units are dropped at random (`dropout`); weights shrink (`learning.decay`), or f and g share them
    (`tied`).

    New points: `mlcli project` gives new rows to the encoder, and `mlcli reconstruct` gives coordinates to the decoder;
    neither needs JAX. With two views, new rows are rows of the first, and features those of the second.

    Source: Hinton and Salakhutdinov, "Reducing the dimensionality of data with neural networks", 2006; constraints:
    Vincent et al., 2008 (denoising); Ng, 2011 (sparse); Rifai et al., 2011 (contractive). Two views: Hinton,
    Krizhevsky and Wang, "Transforming auto-encoders", 2011; Izenman, 1975 (linear).
    """

    accepts: ClassVar = (Features, TwoViews)
    decodes_second_view: ClassVar = True
    variants: ClassVar = (
        variant(),
        variant("deep", "permutation", "rotation", "mirror", "columns", "constant column", "quick", **QUICK))
    axis: ClassVar = "Code"
    name: Literal["autoencoder"] = "autoencoder"
    layers: Units = option((), "Numbers of hidden units of the encoder, layer by layer, from the input inward.")
    activation: Hidden = option("softplus", "Activation of the hidden units.")
    training: Literal["auto", "always"] = option(
        "auto", "Whether a network without hidden layers is trained (always) or solved in closed form (auto).")
    tied: bool = option(False, "Whether the decoder has the encoder's weights, transposed.")
    corruption: Corruption = option(Uncorrupted(), "Corruption of the encoder's input in training (denoising).")
    sparsity: Sparsity = option(Dense(), "Constraint on the coordinates.")
    contraction: float = option(0.0, "Weight of the squared slopes of the coordinates, ‖∂y/∂x‖².", ge=0)
    dropout: float = option(0.0, "Share of hidden units that are dropped at random in each training step.", ge=0, lt=1)
    learning: Learning = Learning()
    axes: PlainAxes = PlainAxes()

    @property
    def closed(self) -> bool:
        """Whether the optimum has a closed form: there are no hidden layers, and only the error counts."""
        return self.training == "auto" and not self.layers and (
            self.corruption.name == self.sparsity.name == "none" and self.contraction == 0)

    def limit(self, data: Input) -> int:
        """Return the largest number of axes: one less than rows; in closed form, at most the columns of a view."""
        columns = [part.values.shape[1] for part in (data.views if isinstance(data, TwoViews) else (data,))]
        return min([len(data.values) - 1, *columns] if self.closed else [len(data.values) - 1])

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of training or hidden units where there are none.

        It is raised too for weights that two views of other numbers of columns cannot share.
        """
        if self.closed:
            self.refuse_unused("a closed form is not trained", "learning", "tied")
        elif self.tied and (outputs := columns_of_view(data)) not in (None, data.values.shape[1]):
            raise ConfigError("TIED", f"an encoder of {data.values.shape[1]} columns and a decoder to {outputs} cannot "
                              "share their weights", where="method.tied", hint="leave it out")
        elif self.learning.validation == 0:
            self.refuse_unused("no rows are held out", "learning.patience")
        return {} if self.layers else self.refuse_unused("there are no hidden units", "activation", "dropout")

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the eigenproblem, or of the epochs; of two views in closed form, of both views."""
        if not (self.closed and isinstance(data, TwoViews)):
            return super().steps(data, compute, share)
        threads = compute.thread_count()
        return [singular_step("whitening", data.values.shape, threads, WHITE),
                singular_step("eigensolve", data.view.values.shape, threads)]

    def solve_closed_form(self, data: Features, compute: Compute) -> Model:
        """Return the closed form: principal scores over the scale s, and x̂ = μ + s V y with principal directions V."""
        if isinstance(data, TwoViews):
            return self.solve_regression(data)
        kernel = factor_of(data.values).with_products()
        spectrum = ForAxes.of(self.axes)(kernel, self.limit(data), compute)
        standard, total, directions = Standard.of(data.values), spectrum.solved_trace, spectrum.feature_directions()
        left = 1 - float(spectrum.solved[: directions.shape[1]].sum()) / total if total > 0 else 0.0
        return self.model(data, standard, map_blocks(lambda some: some / standard.scale, spectrum.coordinates()),
                          (linear(directions), linear(directions.T)),
                          fit=self.figures(data, standard, max(left, 0.0)))

    def solve_regression(self, data: TwoViews) -> Model:
        """Return the closed form of two views: UᵀZ / n = P S Vᵀ of white U = (X - μ) A, y = U P S and ẑ = ν + t V y.

        Regression coefficients of reduced rank (Izenman, 1975): Z and S are over the scale t of the second view.
        """
        standard, other = Standard.of(data.values), StandardRows.of(data.view)
        seen = whiten(data.values, equal_columns=False)
        if seen.rank >= len(seen.points) - 1:
            note("W-SATURATED", f"with {seen.rank} independent columns in {len(seen.points)} rows, the first view "
                 "gives the rows of any second one without error", columns=seen.rank)
        wanted = (other.points - other.standard.means) / other.standard.scale
        left, sizes, right = regression_axes(seen.points, wanted)
        count = self.axes.available_count(int(np.sum(sizes > EPS * max(wanted.shape) * sizes.max(initial=0.0))))
        turns = first_columns(left * sizes, count)
        explained, total = float(np.sum(sizes[:count] ** 2)), float(np.sum(wanted**2)) / len(wanted)
        return self.model(data, standard, seen.points @ turns,
                          (linear(standard.scale * seen.into @ turns), linear(first_columns(right.T, count).T)), other,
                          fit=self.figures(data, other.standard, max(1 - explained / total, 0.0)))

    def solve_by_training(self, data: Features, compute: Compute) -> Model:
        """Return the model of both networks after training."""
        from mlcli.methods.networks import training
        objective = Autoencoding(hidden=self.activation, corruption=self.corruption, sparsity=self.sparsity,
                                 tied=self.tied, dropout=self.dropout, contraction=self.contraction,
                                 outputs=columns_of_view(data))
        standard = Standard.of(data.values)
        standard.require_variation()
        other = StandardRows.of(data.view) if isinstance(data, TwoViews) else None
        rows = training_rows(data.values, standard, self.learning, compute, other)
        start = objective.start(self.sizes(data), np.random.default_rng(rows.seed))
        found = training.train(objective, rows, start, self.learning)
        networks = objective.networks(found.weights)
        encoder, decoder = encoder_and_decoder(standard, networks, other)
        outputs, errors = encode_rows(encoder, data.values, Errors(encoder, decoder, other))
        wanted = standard if other is None else other.standard
        left = float(errors[0]) / (len(outputs) * wanted.varying)
        if left >= 1:
            note("W-NOT-LEARNED", "the network reconstructs the rows worse than their mean does: choose a lower "
                 "method.learning.rate, or more epochs")
        return self.model(data, standard, outputs, networks, other, objective=Quantity(found.trace[:, 0]), curves={
            name: Quantity(values) for name, values in found.curves.items()},
                          fit={**self.figures(data, wanted, left), **found.facts})

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check coordinates and error by an independent forward pass, and a closed form's optimum or the best epoch."""
        yield from super().checks(subject)
        data, model, full = subject.data, subject.model, subject.plan.full
        yield from forward_checks(data, model, full)
        yield from closed_form_checks(data, model, full) if self.closed else training_checks(model, rising=False)

    @staticmethod
    def figures(data: Features, standard: Standard, left: float) -> dict[str, Any]:
        """Return the facts of the share of variance that is not reconstructed; `standard` is that of decoded rows."""
        squares = left * standard.scale**2 * standard.varying / len(standard.means)
        if not isinstance(data, TwoViews):
            return {"unexplained": left, "mean_squared_error": Quantity(squares, 2)}
        return {"unexplained": left, "mean_squared_error": Quantity(squares, 2, view=1), "decoded_view": 2}


@stage("eigensolve")
def regression_axes(white: Array, wanted: Array) -> tuple[Array, Array, Array]:
    """Return the singular vectors and values of a regression on white rows (n x r): P (r x k), S (k) and Vᵀ (k x e).

    `wanted` are centered rows (n x e), whose regression coefficients on the white ones are P S Vᵀ.
    """
    return singular(white.T @ wanted / max(len(wanted), 1))
