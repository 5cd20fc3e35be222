"""Autoencoder."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.stage import note
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import Axes
from mlcli.core.kernels.row_factor import factor_of
from mlcli.core.model import Model
from mlcli.methods.networks.check import closed_form_checks, forward_checks, training_checks
from mlcli.methods.networks.constraints import Corruption, Dense, Sparsity, Uncorrupted
from mlcli.methods.networks.feeding import training_rows
from mlcli.methods.networks.learning import Learning
from mlcli.methods.networks.network import Hidden, Units, linear
from mlcli.methods.networks.projection import Errors, encode_rows, encoder_and_decoder
from mlcli.methods.networks.standard import Standard
from mlcli.methods.networks.two_networks import QUICK, NetworkMethod
from mlcli.methods.trials import variant


class Autoencoder(NetworkMethod):
    """Two networks, an encoder to a few coordinates and a decoder back, trained to reproduce the rows.

    y = f(x) and x̂ = g(y) minimize the mean of ‖x̂ - x‖². `layers` lists the hidden units of f; g has the same in
    reverse. Rows are centered and divided by one scale, the root of the columns' mean variance, so coordinates have no
    unit. Without hidden layers the optimum is known in closed form, the subspace of PCA, and no training is needed;
    with them the fit needs `manifold-cli[neural]` (JAX); `project` and `reconstruct` use NumPy. Constraints keep a code
    from being a copy: inputs are corrupted and must be mended (`corruption`), coordinates are small or rarely active
    (`sparsity`), depend little on the inputs (`contraction`), units are dropped at random (`dropout`), weights shrink
    (`learning.decay`) or are shared by f and g (`tied`).

    The weights with the best objective on held-out rows are kept. With few rows it fails: other seeds (`compute.seed`)
    then give other coordinates. Axes have no order. Compare its reconstruction error with that
    of PCA. Source: Hinton and Salakhutdinov, "Reducing the dimensionality of data with neural networks", 2006;
    constraints: Vincent et al., 2008 (denoising); Ng, 2011 (sparse); Rifai et al., 2011 (contractive).
    """

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
    axes: Axes = Axes()

    @property
    def closed(self) -> bool:
        """Whether the optimum has a closed form: there are no hidden layers, and only the error counts."""
        return self.training == "auto" and not self.layers and (
            self.corruption.name == self.sparsity.name == "none" and self.contraction == 0)

    def limit(self, data: Input) -> int:
        """Return the largest number of axes: one less than rows; in closed form, at most the columns."""
        return min(len(data.values) - 1, data.values.shape[1] if self.closed else len(data.values))

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of training or hidden units where there are none."""
        if self.closed:
            self.refuse_unused("a closed form is not trained", "learning", "tied")
        elif self.learning.validation == 0:
            self.refuse_unused("no rows are held out", "learning.patience")
        return {} if self.layers else self.refuse_unused("there are no hidden units", "activation", "dropout")

    def solve_closed_form(self, data: Features, compute: Compute) -> Model:
        """Return the closed form: principal scores over the scale s, and x̂ = μ + s V y with principal directions V."""
        kernel = factor_of(data.values).with_products()
        spectrum = ForAxes.of(self.axes)(kernel, self.limit(data), compute)
        standard, total, directions = Standard.of(data.values), spectrum.solved_trace, spectrum.feature_directions()
        left = 1 - float(spectrum.solved[: directions.shape[1]].sum()) / total if total > 0 else 0.0
        return self.model(data, standard, map_blocks(lambda some: some / standard.scale, spectrum.coordinates()),
                          (linear(directions), linear(directions.T)),
                          fit=self.figures(data, standard, max(left, 0.0)))

    def solve_by_training(self, data: Features, compute: Compute) -> Model:
        """Return the model of both networks after training."""
        from mlcli.methods.networks import training
        from mlcli.methods.networks.autoencoding import Autoencoding

        objective = Autoencoding(hidden=self.activation, corruption=self.corruption, sparsity=self.sparsity,
                                 tied=self.tied, dropout=self.dropout, contraction=self.contraction)
        standard = Standard.of(data.values)
        standard.require_variation()
        rows = training_rows(data.values, standard, self.learning, compute)
        start = objective.start(self.sizes(data), np.random.default_rng(rows.seed))
        found = training.train(objective, rows, start, self.learning)
        networks = objective.networks(found.weights)
        encoder, decoder = encoder_and_decoder(standard, networks)
        outputs, errors = encode_rows(encoder, data.values, Errors(encoder, decoder))
        left = float(errors[0]) / (len(outputs) * standard.varying)
        if left >= 1:
            note("W-NOT-LEARNED", "the network reconstructs the rows worse than their mean does: choose a lower "
                 "method.learning.rate, or more epochs")
        return self.model(data, standard, outputs, networks, objective=Quantity(found.trace[:, 0]), curves={
            name: Quantity(values) for name, values in found.curves.items()},
                          fit={**self.figures(data, standard, left), **found.facts})

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check coordinates and error by an independent forward pass, and a closed form's optimum or the best epoch."""
        yield from super().checks(subject)
        data, model, full = subject.data, subject.model, subject.plan.full
        yield from forward_checks(data, model, full)
        yield from closed_form_checks(data, model, full) if self.closed else training_checks(model, rising=False)

    @staticmethod
    def figures(data: Features, standard: Standard, left: float) -> dict[str, Any]:
        """Return the facts of the share of variance that is not reconstructed."""
        squares = left * standard.scale**2 * standard.varying / data.values.shape[1]
        return {"unexplained": left, "mean_squared_error": Quantity(squares, 2)}
