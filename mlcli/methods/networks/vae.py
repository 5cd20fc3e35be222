"""Variational autoencoder."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.rows.scratch import map_blocks, take_rows
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import Axes
from mlcli.core.latent.probabilistic import fit_closed_form
from mlcli.core.model import Model
from mlcli.methods.networks.bound import FAINT, Bound
from mlcli.methods.networks.check import (
    bound_checks,
    closed_form_checks,
    forward_checks,
    likelihood_check,
    training_checks,
)
from mlcli.methods.networks.feeding import training_rows
from mlcli.methods.networks.learning import Learning
from mlcli.methods.networks.likelihoods import GaussianLikelihood, Likelihood
from mlcli.methods.networks.network import DenseLayer, Hidden, Network, Units
from mlcli.methods.networks.projection import encode_rows, encoder_and_decoder
from mlcli.methods.networks.standard import Standard
from mlcli.methods.networks.two_networks import QUICK, NetworkMethod
from mlcli.methods.trials import variant


class VAE(NetworkMethod):
    """A model of the data with hidden coordinates; a network gives the posterior of each row's coordinates.

    z ~ N(0, I) and x ~ p(x | g(z)), with g a network; q(z | x) = N(m(x), diag s²(x)) with m and log s² the outputs of
    another. Both are trained to raise the evidence lower bound E_q log p(x | z) - β KL(q ‖ N(0, I)). Coordinates are
    the means m(x), and `posterior.csv` holds their standard deviations s(x). Without hidden layers the optimum is
    known: probabilistic PCA, whose posterior is of this form, so that the bound is the likelihood. With them training
    needs `manifold-cli[neural]` (JAX); `project` and `reconstruct` use NumPy. `fit` in `run.json` holds the bound and
    its two parts for an average row, and for the rows that were held out a tighter bound, by importance weights.

    Of four ways to approximate a posterior this is the recognition model: one function for all rows, so that a new row
    costs one pass. With a fixed family each row would have parameters of its own to optimize; a structured
    approximation would give up the Gaussian but not the independence of axes; a point estimate, as in the GP-LVM, has
    no spread at all. It fails if the decoder ignores the coordinates: the divergence is then near zero, and a smaller
    `beta` helps. Numbers from 0 to 1, such as gray levels, may have the Bernoulli likelihood. Source: Kingma and
    Welling, "Auto-encoding variational Bayes", 2014; Lucas et al., 2019 (linear); Burda et al., 2016 (weighted bound).
    """

    unscaled: ClassVar = 100  # so that what lies between 0 and 1 is found there
    variants: ClassVar = (
        variant("", "constant column"),
        variant("deep", "permutation", "rotation", "mirror", "columns", "constant column", "quick", **QUICK))
    axis: ClassVar = "Latent"
    name: Literal["vae"] = "vae"
    layers: Units = option((), "Numbers of hidden units of the encoder, layer by layer, from the input inward; the "
                           "decoder has the same in reverse.")
    activation: Hidden = option("softplus", "Activation of the hidden units.")
    training: Literal["auto", "always"] = option(
        "auto", "Whether a network without hidden layers is trained (always) or solved in closed form (auto).")
    likelihood: Likelihood = option(GaussianLikelihood(), "Distribution of the rows given the decoder's output.")
    beta: float = option(1.0, "Weight β of the Kullback-Leibler divergence from the prior.", gt=0)
    importance: int = option(50, "Number of samples per held-out row for its importance-weighted bound.", ge=1)
    learning: Learning = Learning()
    axes: Axes = Axes()

    @property
    def closed(self) -> bool:
        """Whether the optimum has a closed form: both networks are linear, and the noise is Gaussian and learned."""
        return (self.training == "auto" and not self.layers and self.likelihood == GaussianLikelihood()
                and self.beta == 1)

    def limit(self, data: Input) -> int:
        """Return one less than rows; in closed form at least one direction is noise."""
        return (min(data.values.shape) if self.closed else len(data.values)) - 1

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of training or hidden units where there are none."""
        if self.closed:
            self.refuse_unused("a closed form is not trained", "learning", "importance")
        elif self.learning.validation == 0:
            self.refuse_unused("no rows are held out", "learning.patience", "importance")
        return {} if self.layers else self.refuse_unused("there are no hidden units", "activation")

    def solve_closed_form(self, data: Features, compute: Compute) -> Model:
        """Return the closed form: m(x) = M⁻¹ Wᵀ(x - μ), s² = σ² / M, M = WᵀW + σ² diagonal; g(z) = μ + W z."""
        found = fit_closed_form(data.values, ForAxes.of(self.axes), self.limit(data), compute)
        latent, standard = found.latent, replace(Standard.of(data.values), means=found.latent.mean)
        deviations = np.sqrt(np.diag(latent.spread))
        weights, biases = standard.scale * latent.axes, 2 * np.log(np.maximum(deviations, FAINT))
        inward = DenseLayer(np.hstack([weights, np.zeros_like(weights)]), np.append(0 * biases, biases), "identity")
        outward = DenseLayer(latent.loadings.T / standard.scale, np.zeros(len(latent.mean)), "identity")
        bound = None if found.log_likelihood is None else Quantity(
            found.log_likelihood / len(data.values), cells=(data.values.shape[1],))
        return self.model(data, standard, found.means, (Network((inward,)), Network((outward,))),
                          spreads=map_blocks(lambda some: np.tile(deviations, (len(some), 1)), found.means),
                          fit={"elbo": bound, "noise_variance": Quantity(latent.noise, 2)})

    def solve_by_training(self, data: Features, compute: Compute) -> Model:
        """Return the model of both networks after training, with their bounds."""
        from mlcli.methods.networks import training
        from mlcli.methods.networks.evidence import NegatedBound

        standard = self.likelihood.standard(data)
        objective = NegatedBound(self.activation, self.likelihood, self.beta, self.likelihood.level(standard))
        rows = training_rows(data.values, standard, self.learning, compute)
        start = objective.start(self.sizes(data), np.random.default_rng(rows.seed))
        found = training.train(objective, rows, start, self.learning)
        networks = objective.networks(found.weights)
        bound = Bound(standard, networks[1], self.likelihood, level=float(objective.noise(found.weights)),
                      seed=rows.seed)
        outputs, sums = encode_rows(encoder_and_decoder(standard, networks)[0], data.values, bound)
        own, count = [float(part) / len(outputs) for part in sums], outputs.shape[1] // 2
        held = {} if not len(found.held) else {"held_out_bound": bound.density(bound.importance_bound(
            data.values[found.held], take_rows(outputs, found.held), self.importance))}
        return self.model(data, standard, outputs[:, :count], networks,
                          spreads=map_blocks(lambda some: np.exp(some / 2), outputs[:, count:]),
                          objective=bound.density(-found.trace[:, 0]), curves={
                              name: bound.curve(name, values) for name, values in found.curves.items()},
                          fit={**bound.figures(*own), **held, **found.facts})

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check coordinates by a forward pass, the bound by other formulas, and that a closed form is at its best."""
        yield from super().checks(subject)
        data, model, full = subject.data, subject.model, subject.plan.full
        yield from forward_checks(data, model, full)
        if self.closed:
            yield from likelihood_check(data, model, full)
            yield from closed_form_checks(data, model, full)
        else:
            yield from bound_checks(data, model, self.likelihood.log_density, full)
            yield from training_checks(model, rising=True)
