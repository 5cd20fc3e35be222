"""Variational autoencoder.

Likelihoods of rows, the evidence lower bound in NumPy, the objective of training, and the method.

JAX is imported where the objective is traced, which happens only in training. Source: Kingma and Welling, 2014.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import map_blocks, take_rows
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import Options, option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.latent.probabilistic import fit_closed_form
from mlcli.core.model import Model
from mlcli.core.similarities.projector import require_projector
from mlcli.errors import DataError
from mlcli.methods.networks.check import (
    bound_checks,
    closed_form_checks,
    forward_checks,
    likelihood_check,
    search_checks,
    training_checks,
)
from mlcli.methods.networks.learning import Learning, training_rows
from mlcli.methods.networks.network import (
    FAINT,
    Activation,
    DenseLayer,
    Hidden,
    Network,
    Standard,
    Traced,
    Units,
    encode_rows,
    encoder_and_decoder,
    initial_layers,
)
from mlcli.methods.networks.posteriors import (
    MORE,
    PAIRS,
    Family,
    FreePosteriors,
    Posterior,
    bernoulli_log_density,
    draws_of,
    gaussian_log_density,
    numbers_of,
)
from mlcli.methods.networks.two_networks import QUICK, NetworkMethod
from mlcli.methods.trials import variant

if TYPE_CHECKING:
    Values = Any  # an array of NumPy, or one that JAX follows


class GaussianLikelihood(Options):
    """Gaussian noise, equal for every cell."""

    name: Literal["gaussian"] = "gaussian"
    last: ClassVar[Activation] = "identity"  # of the decoder
    dense: ClassVar[bool] = True  # whether it is a density, whose logarithm depends on the unit
    noise: float | None = option(None, "Variance of the noise (default: learned).", power=2, gt=0)

    def standard(self, data: Features) -> Standard:
        """Return the standardization of rows: centered, over one scale; raises DataError where all are equal."""
        found = Standard.of(data.values)
        found.require_variation()
        return found

    def level(self, standard: Standard) -> float | None:
        """Return the logarithm of the noise's variance over the squared scale; None where it is learned."""
        return None if self.noise is None else float(np.log(self.noise) - 2 * np.log(standard.scale))

    def log_density(self, rows: "Values", sums: "Values", level: "Values", module: Any) -> "Values":
        """Return log p of each row, given the decoder's sums; `module` is numpy or jax.numpy."""
        return gaussian_log_density(rows, sums, level, module)

    def curvature(self, sums: "Values", level: "Values", module: Any) -> "Values":
        """Return how much -log p bends with each of the decoder's sums (… x d)."""
        return module.exp(-level) * module.ones_like(sums)


class BernoulliLikelihood(Options):
    """Every cell is 1 with a probability of its own; numbers between 0 and 1 count as shares of both."""

    name: Literal["bernoulli"] = "bernoulli"
    last: ClassVar[Activation] = "logistic"
    dense: ClassVar[bool] = False

    def standard(self, data: Features) -> Standard:
        """Return the standardization that changes nothing; raises DataError for a cell outside of 0 to 1."""
        wrong = first_outside(data.values) if data.unit.exponent == 0 else (0, 0, float(data.values[:1][0, 0]))
        if wrong is not None:
            row, column, value = wrong
            raise DataError("BERNOULLI", f"column {data.columns[column]!r}: {data.unit.number(value):.6g} is not "
                            "between 0 and 1", where="method.likelihood", row=row,
                            hint="choose method.likelihood.name gaussian, or {prepare.scale=range}")
        return Standard.plain(data.values.shape[1])

    def level(self, standard: Standard) -> float | None:
        """Return 0: there is no noise."""
        return 0.0

    def log_density(self, rows: "Values", sums: "Values", level: "Values", module: Any) -> "Values":
        """Return log p of each row, given the logits; `module` is numpy or jax.numpy."""
        return bernoulli_log_density(rows, sums, level, module)

    def curvature(self, sums: "Values", level: "Values", module: Any) -> "Values":
        """Return how much -log p bends with each of the logits (… x d)."""
        return module.exp(-module.logaddexp(0.0, -sums) - module.logaddexp(0.0, sums))


def first_outside(points: Array) -> tuple[int, int, float] | None:
    """Return row, column and value of the first number of points (n x d) that is not between 0 and 1, or None."""
    rows = rows_of(points)
    if rows is not None and rows.min(axis=0).min() >= 0 and rows.max(axis=0).max() <= 1:
        return None
    blocks = [(0, points)] if rows is None else chain.from_iterable(map(rows.parts, range(rows.blocks)))
    for first, some in blocks:
        for row, column in np.argwhere((some < 0) | (some > 1))[:1].tolist():
            return first + row, column, float(some[row, column])
    return None


Likelihood = Annotated[GaussianLikelihood | BernoulliLikelihood, Field(discriminator="name")]
BLOCK = 1 << 19  # activations of a layer in a thread's memory
FREE = 1  # beside the seed, for the draws that all rows share
SEARCHED = 100  # passes of the decoder for a draw, in the search for a row's posterior, about
CALLS = 100  # small calls for each of them and for each block of rows
STEPS = 6  # by which posteriors of their own follow the decoder in each step of training
TRANSLATION = 15.0  # starts that JAX takes to translate these steps


@frozen
class Bound:
    """The evidence lower bound of rows, whose outputs of the encoder are those of q(z | x)."""

    standard: Standard
    decoder: Network
    likelihood: Likelihood
    level: float  # the logarithm of the noise's variance over the squared scale
    seed: int

    @property
    def width(self) -> int:
        """Units of the widest layer."""
        return self.decoder.width

    @cached_property
    def sums(self) -> Network:
        """The decoder without its last activation."""
        *others, last = self.decoder.layers
        return Network((*others, replace(last, activation="identity")))

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """Return the sums of E log p(x | z) and of KL(q ‖ N(0, I)) over rows (m x d) with their outputs (m x c).

        `first` is the number of the first row, which seeds the draws.
        """
        found = self.posterior(outputs)
        apart = 0.5 * np.sum(found.means**2 + found.variances - 1 - 2 * np.log(found.deviations))
        return np.array([self.expected_log_density(first, rows, found), apart])

    def posterior(self, outputs: Array) -> Posterior:
        """Return q(z | x) of rows by their outputs (m x c)."""
        return Posterior.of(outputs, self.decoder.inputs, np)

    def expected_log_density(self, first: int, rows: Array, found: Posterior) -> float:
        """Return the sum of E log p(x | z) over rows (m x d), from one draw each; exact for a linear decoder."""
        layer, *others = self.decoder.layers
        if not others and self.likelihood.dense:
            spread = found.spread(layer.weights) / np.exp(self.level)
            return float(np.sum(self.log_density(rows, found.means) - spread / 2))
        normal = np.random.default_rng([self.seed, first]).standard_normal(found.means.shape)
        return float(np.sum(self.log_density(rows, found.at(normal))))

    def log_density(self, rows: Array, codes: Array) -> Array:
        """Return log p(x | z) (m) of rows (m x d), each at its code (m x p)."""
        seen = (rows - self.standard.means) / self.standard.scale
        return np.asarray(self.likelihood.log_density(seen, self.sums(codes), self.level, np))

    @stage("coordinates")
    def importance_bound(self, rows: Array, outputs: Array, draws: int) -> float:
        """Return the mean over rows (m x d) of log mean p(x, z) / q(z | x) over draws of z (Burda et al., 2016).

        `outputs` (m x c) are those of the encoder.
        """

        def block(part: slice) -> float:
            found = self.posterior(outputs[part])
            generator = np.random.default_rng([self.seed, draws, part.start])
            logs = np.empty((draws, len(found.means)))
            for place in range(draws):
                normal = generator.standard_normal(found.means.shape)
                codes = found.at(normal)
                logs[place] = self.log_density(rows[part], codes) + np.sum(
                    (normal**2 - codes**2) / 2 + np.log(found.deviations), axis=1)
            return float(np.sum(np.logaddexp.reduce(logs, axis=0) - np.log(draws)))

        return sum(in_order(block, row_blocks(len(rows), BLOCK, self.width), progress=True)) / len(rows)

    def density(self, value: Array | float) -> Quantity:
        """Return the logarithm of a density of scaled rows, a number or an (m,) array, in the data's unit.

        The logarithm of a probability has no unit.
        """
        cells = len(self.standard.means) * self.likelihood.dense
        return Quantity(value - cells * float(np.log(self.standard.scale)), cells=(cells,))

    def curve(self, name: str, values: Array) -> Quantity:
        """Return a curve of training (one value for each epoch, an (e,) array); objectives become bounds."""
        if name == "divergence":
            return Quantity(values)
        return self.density(-values if name == "validation" else values)

    def figures(self, reconstruction: float, divergence: float) -> dict[str, Any]:
        """Return the bound of an average row with its parts, and the variance of the noise."""
        noise = {"noise_variance": Quantity(self.standard.scale**2 * float(np.exp(self.level)), 2)}
        return {"elbo": self.density(reconstruction - divergence), "reconstruction": self.density(reconstruction),
                "divergence": divergence, **(noise if self.likelihood.dense else {})}


@frozen
class NegatedBound:
    """The negative bound of a row, β KL - E log p(x | z); weights are those of `encoder` and `decoder`, and a `level`.

    The encoder's outputs are those of q(z | x) (`Posterior`). The level is the logarithm of the noise's variance, where
    that is learned.
    """

    figures: ClassVar[tuple[str, ...]] = ("reconstruction", "divergence")
    hidden: Hidden
    likelihood: Likelihood
    beta: float
    level: float | None
    family: Family = "mean-field"

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Traced]:
        """Return random weights for layers of these sizes, from the inputs to the code."""
        level = {"level": np.zeros(())} if self.level is None else {}
        outputs = numbers_of(self.family, sizes[-1])
        return {"encoder": initial_layers([*sizes[:-1], outputs], self.hidden, generator),
                "decoder": initial_layers(sizes[::-1], self.hidden, generator), **level}

    def noise(self, weights: dict[str, Traced]) -> Any:
        """Return the level, learned or fixed."""
        return weights["level"] if self.level is None else self.level

    def __call__(self, weights: dict[str, Traced], rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """Return the mean over rows, and its two parts."""
        from jax import lax

        from mlcli.methods.networks.training import forward

        outputs = forward(weights["encoder"], rows, self.hidden)
        if self.family != "free":
            return self.objective(weights, rows, outputs, key)
        fixed = lax.stop_gradient(weights)
        at_start, _ = self.objective(fixed, rows, outputs, key)  # which only the recognition network lowers
        value, figures = self.objective(weights, rows, self.free(fixed, rows, lax.stop_gradient(outputs)), key)
        return value + (at_start - lax.stop_gradient(at_start)), figures

    def objective(self, weights: dict[str, Traced], rows: Traced, outputs: Traced,
                  key: Traced) -> tuple[Traced, Traced]:
        """Return the mean over rows (m x d) with posteriors by `outputs` (m x c), and its two parts."""
        from jax import numpy as jnp

        found = Posterior.of(outputs, len(weights["decoder"][0][0]), jnp)
        divergence = jnp.mean(jnp.sum(jnp.square(found.means) + found.variances - 1 - found.logs, axis=1)) / 2
        reconstruction = jnp.mean(self.expected_log_density(weights, rows, found, key))
        return self.beta * divergence - reconstruction, jnp.stack([reconstruction, divergence])

    def free(self, weights: dict[str, Traced], rows: Traced, outputs: Traced) -> Traced:
        """Return the numbers (m x c) of posteriors of a larger bound than those of `outputs` (m x c) for rows (m x d).

        Steps along natural gradients, with the Gauss-Newton curvature of log p(x | z) at the mean (Khan and Rue, "The
        Bayesian learning rule", 2023): Λ moves to I + J'HJ / β and the mean along Λ⁻¹, half as far after a step that
        would lower the bound. Means of the slopes are over points that give those of cubic functions exactly.
        """
        import jax
        from jax import lax
        from jax import numpy as jnp

        from mlcli.methods.networks.training import forward, product

        decoder, level = weights["decoder"], self.noise(weights)
        axes = len(decoder[0][0])
        below, diagonal = np.tril_indices(axes, -1), np.arange(axes)
        jacobian = jax.jacrev if context().portable else jax.jacfwd  # portable sums have slopes backward alone
        normal = jnp.asarray(np.sqrt(axes) * np.vstack([np.eye(axes), -np.eye(axes)]), rows.dtype)

        def free_row(row: Traced, numbers: Traced) -> Traced:
            def density(code: Traced) -> Traced:
                return self.likelihood.log_density(row, forward(decoder, code, self.hidden), level, jnp)

            def codes(some: Traced) -> Traced:
                found = Posterior.of(some[None], axes, jnp)
                return found.means[0] + normal @ found.factor[0].T

            def negated(some: Traced) -> Traced:
                found = Posterior.of(some[None], axes, jnp)
                apart = jnp.sum(jnp.square(found.means) + found.variances - 1 - found.logs) / 2
                return self.beta * apart - jnp.mean(jax.vmap(density)(codes(some)))

            def moved(some: Traced, rate: Traced) -> Traced:
                found = Posterior.of(some[None], axes, jnp)
                mean, factor = found.means[0], found.factor[0]
                slopes = jacobian(lambda code: forward(decoder, code, self.hidden))(mean)
                bends = self.likelihood.curvature(forward(decoder, mean, self.hidden), level, jnp)
                wanted = jnp.eye(axes, dtype=rows.dtype) + product(slopes.T, bends[:, None] * slopes) / self.beta
                precision = (1 - rate) * jnp.linalg.inv(factor @ factor.T) + rate * wanted
                covariance = jnp.linalg.inv(precision)
                ahead = jnp.mean(jax.vmap(jax.grad(density))(codes(some)), axis=0) / self.beta - mean
                factor = jnp.linalg.cholesky((covariance + covariance.T) / 2)
                return jnp.concatenate([mean + rate * covariance @ ahead, 2 * jnp.log(factor[diagonal, diagonal]),
                                        factor[below]])

            def step(state: tuple[Traced, Traced, Traced], _: None) -> tuple[tuple[Traced, Traced, Traced], None]:
                some, value, rate = state
                other = moved(some, rate)
                reached = negated(other)
                lower = reached < value
                return (jnp.where(lower, other, some), jnp.where(lower, reached, value),
                        jnp.where(lower, jnp.minimum(2 * rate, 1), rate / 2)), None

            start = numbers, negated(numbers), jnp.ones((), numbers.dtype)
            return lax.scan(step, start, None, length=STEPS)[0][0]

        return jax.vmap(free_row)(rows, outputs)

    def expected_log_density(self, weights: dict[str, Traced], rows: Traced, found: Posterior, key: Traced) -> Traced:
        """Return E log p(x | z) of each row, from one draw of z; exact for a linear decoder and Gaussian noise."""
        from jax import numpy as jnp
        from jax import random

        from mlcli.methods.networks.training import forward

        means, decoder, level = found.means, weights["decoder"], self.noise(weights)
        if len(decoder) == 1 and self.likelihood.dense:
            spread = found.spread(decoder[0][0]) / jnp.exp(level)
            return self.likelihood.log_density(rows, forward(decoder, means, self.hidden), level, jnp) - spread / 2
        codes = found.at(random.normal(key, means.shape, means.dtype))
        return self.likelihood.log_density(rows, forward(decoder, codes, self.hidden), level, jnp)

    def networks(self, weights: dict[str, Traced]) -> tuple[Network, Network]:
        """Return the encoder and the decoder as plain arrays."""
        return (Network.of(weights["encoder"], self.hidden),
                Network.of(weights["decoder"], self.hidden, self.likelihood.last))


class VAE(NetworkMethod):
    """A model of the data with hidden coordinates; a network gives the posterior of each row's coordinates.

    It keeps what a decoder needs to make the rows probable, and how uncertain each coordinate is. It fails if the
    decoder ignores the coordinates: their divergence from the prior is then near zero, and a smaller `beta` helps. Set
    the hidden `layers` first, then `beta`.

    How it works: The model says z ~ N(0, I) and x ~ p(x | g(z)), with g a neural network, the decoder: a row x is made
    from a few hidden coordinates z. Another network, the encoder, goes the way back, and gives the mean and the spread
    of the coordinates of each row: q(z | x) = N(m(x), diag s²(x)), with m and log s² the outputs of the encoder. Both
    are trained to raise the evidence lower bound E_q log p(x | z) - β KL(q ‖ N(0, I)): rows shall be probable, and q
    not far from the prior, a standard normal distribution (KL is the Kullback-Leibler divergence). Coordinates are the
    means m(x).

    Without hidden layers the optimum is known: it is probabilistic PCA (`ppca`), whose posterior has this form, so that
    the bound equals the likelihood. With hidden layers training needs `manifold-cli[neural]` (JAX). Numbers from 0 to
    1, such as gray levels, may have the Bernoulli likelihood.

    Posteriors: `family` says which posteriors are allowed. `mean-field`: axes are independent given a row. `full`: the
    encoder also gives the correlations, the lower triangle L of a covariance L Lᵀ; the bound can be larger where
    coordinates that explain a row in several ways depend on each other. `free`: no function of the row is asked to give
    its posterior. Each row has the mean and the covariance with the largest bound of its own, found with the decoder
    fixed; the encoder only says where the search begins. The bound is then never below that of the encoder's posterior,
    also for few rows or a small encoder, and training takes longer, the more axes the longer. The others amortize this
    work: one function for all rows. Without hidden layers all three have the same optimum, in which axes are
    independent, and a choice is refused unless the network is trained. A point estimate, as in `gplvm`, has no spread
    at all.

    New points: A new row takes one pass through the encoder; with `free` posteriors, the same search as a row of the
    fit. `mlcli project` and `mlcli reconstruct` do not need JAX.

    Files: `posterior.csv` holds the standard deviations s(x), or the covariances of `full` and `free` posteriors. `fit`
    in `run.json` holds the bound and its two parts, as means over the rows, and for the rows that were held out of the
    training a tighter bound from importance weights.

    Source: Kingma and Welling, "Auto-encoding variational Bayes", 2014, and "An introduction to variational
    autoencoders", 2019 (full); Krishnan, Liang and Hoffman, 2018 (free); Lucas et al., 2019 (linear); Burda et al.,
    2016 (weighted bound).
    """

    unscaled: ClassVar = 100  # so that what lies between 0 and 1 is found there
    variants: ClassVar = (
        variant("", "constant column"),
        *(variant(name, "permutation", "rotation", "mirror", "columns", "constant column", "quick", **options)
          for name, options in (("deep", QUICK), ("full", {**QUICK, "family": "full"}),
                                ("free", {**QUICK, "family": "free"}))))
    later: ClassVar = ("family",)
    axis: ClassVar = "Latent"
    translation: ClassVar = 4.0
    name: Literal["vae"] = "vae"
    layers: Units = option((), "Numbers of hidden units of the encoder, layer by layer, from the input inward; the "
                           "decoder has the same in reverse.")
    activation: Hidden = option("softplus", "Activation of the hidden units.")
    training: Literal["auto", "always"] = option(
        "auto", "Whether a network without hidden layers is trained (always) or solved in closed form (auto).")
    likelihood: Likelihood = option(GaussianLikelihood(), "Distribution of the rows given the decoder's output.")
    beta: float = option(1.0, "Weight β of the Kullback-Leibler divergence from the prior.", gt=0)
    family: Family = option(
        "mean-field", "Family of the posteriors: Gaussians with independent axes (mean-field) or of any "
        "covariance (full) by a recognition network, or with a mean and a covariance of each row's own (free).")
    importance: int = option(50, "Number of samples per held-out row for its importance-weighted bound.", ge=1)
    learning: Learning = Learning()
    axes: PlainAxes = PlainAxes()

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
            self.refuse_unused("without hidden layers the best posterior of every family has independent axes",
                               "family")
        elif self.learning.validation == 0:
            self.refuse_unused("no rows are held out", "learning.patience", "importance")
        return {} if self.layers else self.refuse_unused("there are no hidden units", "activation")

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of a closed form or of training; posteriors of rows' own take many passes of the decoder."""
        steps = super().steps(data, compute, share)
        if self.closed or self.family != "free":
            return steps
        training, coordinates = steps
        axes, draws = self.axes.count, 2 * max(PAIRS, MORE * self.axes.count)
        search, numbers = SEARCHED * draws, len(data.values) * draws * max(self.sizes(data))
        called = SEARCHED * CALLS * rates().called * -(-numbers // BLOCK)
        times = 1 + STEPS * (9 * axes + 1) / 6  # slopes at 2p points take three passes each, a step p and 2p others
        each = (training.each or 0.0) * times
        seconds = each * self.learning.epochs + (self.translation + TRANSLATION) * rates().start
        return [replace(training, seconds=seconds, each=each, memory=training.memory * (1 + 3 * axes)),
                replace(coordinates, how=f"the largest bound of each row, {search} passes of the decoder about",
                        seconds=coordinates.seconds * (1 + search / 2) + called)]

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
        standard = self.likelihood.standard(data)
        objective = NegatedBound(self.activation, self.likelihood, self.beta, self.likelihood.level(standard),
                                 self.family)
        rows = training_rows(data.values, standard, self.learning, compute)
        start = objective.start(self.sizes(data), np.random.default_rng(rows.seed))
        found = training.train(objective, rows, start, self.learning)
        networks = objective.networks(found.weights)
        bound = Bound(standard, networks[1], self.likelihood, level=float(objective.noise(found.weights)),
                      seed=rows.seed)
        encoder, _ = encoder_and_decoder(standard, networks)
        if self.family == "free":
            draws = draws_of(networks[1].inputs, np.random.default_rng([rows.seed, FREE]))
            encoder = FreePosteriors(standard.means, standard.scale, encoder.network, bound.sums, self.likelihood.name,
                                     bound.level, self.beta, draws)
        outputs, sums = encode_rows(encoder, data.values, bound)
        own, count = [float(part) / len(outputs) for part in sums], networks[1].inputs
        held = {} if not len(found.held) else {"held_out_bound": bound.density(bound.importance_bound(
            data.values[found.held], take_rows(outputs, found.held), self.importance))}
        model = self.model(data, standard, outputs[:, :count], networks,
                          spreads=self.spreads(outputs, count),
                          objective=bound.density(-found.trace[:, 0]), curves={
                              name: bound.curve(name, values) for name, values in found.curves.items()},
                          fit={**bound.figures(*own), **held, **found.facts})
        return replace(model, projector=replace(require_projector(model.projector), similarity=encoder))

    def spreads(self, outputs: Array, count: int) -> Array:
        """Return deviations (n x p) by the outputs of the encoder (n x c), or covariances (n x p x p), as signed."""
        if self.family == "mean-field":
            return map_blocks(lambda some: np.exp(some / 2), outputs[:, count:])
        signs = leading_signs(outputs[:, :count])
        return map_blocks(lambda some: Posterior.of(some, count, np).covariances * (signs[:, None] * signs), outputs)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check coordinates by a forward pass, the bound by other formulas, and that a closed form is at its best."""
        yield from super().checks(subject)
        data, model, full = subject.data, subject.model, subject.plan.full
        if self.family == "free" and not self.closed:
            yield from search_checks(data, model, self.likelihood.log_density, full)
        else:
            yield from forward_checks(data, model, full)
        if self.closed:
            yield from likelihood_check(data, model, full)
            yield from closed_form_checks(data, model, full)
        else:
            yield from bound_checks(data, model, self.likelihood.log_density, full)
            yield from training_checks(model, rising=True)
