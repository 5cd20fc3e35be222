"""The certificate of a Gaussian process state-space model: its bound again, axis by axis, and its end.

With D the squared length scales and P a state's covariance, D^-½ P D^-½ = U diag(λ) Uᵀ, and w = Uᵀ D^-½ (z - μ). Then

    E r = v Π (1 + λ)^-½ exp(-w²/2 (1 + λ)),     E r (x - μ) = E r · D^½ U (λ/(1 + λ) w),
    E r r' = v² Π (1 + 2 λ)^-½ exp(-w̄²/(1 + 2 λ)) exp(-(z - z')ᵀ D⁻¹ (z - z')/4),      w̄ of the middle of z and z',

and the next state is m' + B (x - μ) in the mean. Bounds of the processes are computed by elimination. The fit's
expectations, its moments of states and its factors are not used.
"""

from collections.abc import Iterator
from math import log, pi
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.base.values.inputs import Features
from mlcli.core.model import Model
from mlcli.methods.processes.check import (
    BLOCK,
    NUGGET,
    EndOfIteration,
    Figures,
    Varying,
    figures_of,
    kernel,
    one_process_check,
    parameter_energy,
    stated_objective,
)
from mlcli.methods.processes.fitting import FittedParameters
from mlcli.methods.processes.markov import Markov
from mlcli.methods.processes.process import GaussianProcess
from mlcli.methods.processes.transitions import StateSpaceProblem


@frozen
class Sums:
    """What the bound of a process is computed from."""

    total: float  # Σ E k(x, x)
    products: Array  # Σ E k(Z, x) yᵀ, m x d
    squared: Array  # Σ E k(Z, x) k(x, Z), m x m
    energy: float  # Σ E ‖y‖²
    count: int
    columns: int


def covariances_of(sequence: Markov) -> Array:
    """Return the covariances of the states (n x p x p), each from the one before."""
    found = [sequence.roots[0] @ sequence.roots[0].T]
    for move, root in zip(sequence.moves, sequence.roots[1:], strict=True):
        found.append(move @ found[-1] @ move.T + root @ root.T)
    return np.array(found)


def sums(figures: Figures, places: Array, states: tuple[Array, Array], next_to: Array | None, values: Array,
         columns: int) -> Sums:
    """Return the sums for places (m x p) over states with means (n x p) and covariances (n x p x p).

    `values` (n x d) are rows, or the means of the next states; then `next_to` are the regressions (n x p x p) on x.
    `energy` is that of the values alone.
    """
    (means, spreads), size = states, places.shape[1]
    linear, bias = float(figures.get("linear_variance", 0.0)), float(figures.get("bias_variance", 0.0))
    variance = float(figures.get("rbf_variance", 0.0))
    lengths = np.broadcast_to(np.asarray(figures.get("rbf_lengths", [1.0])), size)
    seconds = np.einsum("tp,tq->pq", means, means) + spreads.sum(axis=0)
    total = len(means) * (variance + bias) + linear * float(np.trace(seconds))
    flat = linear * means @ places.T + bias
    squared = linear**2 * places @ seconds @ places.T + bias * linear * np.add.outer(
        places @ means.sum(axis=0), places @ means.sum(axis=0)) + len(means) * bias**2
    products, drawn = flat.T @ values, np.broadcast_to(linear * spreads @ places.T, (len(means), size, len(places)))
    if variance:
        shares, turns = np.linalg.eigh(spreads / np.multiply.outer(lengths, lengths))
        shares = np.maximum(shares, 0.0)[:, None, :]
        off = ((places - means[:, None]) / lengths) @ turns  # w, n x m x p
        near = variance * np.exp(-0.5 * np.sum(np.log1p(shares) + off**2 / (1 + shares), axis=2))
        moved = near[:, :, None] * ((off * shares / (1 + shares)) @ turns.transpose(0, 2, 1)) * lengths
        mixed = near.T @ flat + linear * np.einsum("tjp,kp->jk", moved, places)
        squared = squared + mixed + mixed.T + variance**2 * smooth_squares(places / lengths, off, shares)
        products, drawn = products + near.T @ values, drawn + moved.transpose(0, 2, 1)
    if next_to is not None:
        products = products + np.einsum("tqp,tpj->jq", next_to, drawn)
    return Sums(total, products=products, squared=squared, energy=float(np.sum(values**2)), count=len(means),
                columns=columns)


def smooth_squares(places: Array, off: Array, shares: Array) -> Array:
    """Return Σ E r r'/v² (m x m) for places in length scales (m x p), w (n x m x p) and λ (n x 1 x p)."""
    squared = np.zeros((len(places), len(places)))
    for block in row_blocks(len(off), BLOCK, len(places) ** 2):
        exponents = np.zeros((len(off[block]), *squared.shape))
        for axis in range(places.shape[1]):
            middle, wide = off[block, :, axis], 1 + 2 * shares[block, :, axis, None]
            exponents -= 0.5 * np.log(wide) + (middle[:, :, None] + middle[:, None, :]) ** 2 / (4 * wide)
        squared += np.exp(exponents).sum(axis=0)
    gaps = np.sum((places[:, None] - places) ** 2, axis=2)
    return np.asarray(squared * np.exp(-0.25 * gaps))


def process_bound(figures: Figures, places: Array, known: Sums) -> tuple[float, float]:
    """Return the bound of a process by places (m x p), and its rounding."""
    inner, beta = inner_kernel(figures, places), 1 / figures["noise_variance"]
    outer = inner + beta * known.squared
    least = float(np.linalg.eigvalsh(inner)[0])
    if not least > 0:
        return -np.inf, np.inf
    determinant = float(np.linalg.slogdet(inner)[1] - np.linalg.slogdet(outer)[1])
    lost = known.total - float(np.trace(np.linalg.solve(inner, known.squared)))
    explained = float(np.sum(known.products * np.linalg.solve(outer, known.products)))
    value = 0.5 * known.columns * (known.count * log(beta / (2 * pi)) + determinant - beta * lost)
    value += 0.5 * beta * (beta * explained - known.energy)
    grown = float(np.trace(known.squared)) / least
    return value, EPS * len(places) * beta * (known.columns * (known.total + grown) + known.energy)


def inner_kernel(figures: Figures, places: Array) -> Array:
    """Return the covariance of a process at its places (m x p), with its nugget."""
    inner = kernel(figures, places, places)
    inner[np.diag_indices_from(inner)] += NUGGET * np.trace(inner) / len(inner)
    return inner


@frozen
class BoundAgain:
    """The bound of a sequence, computed again."""

    varying: Varying

    def sums(self, sequence: Markov, figures: tuple[Figures, Figures], places: tuple[Array, Array],
             ) -> tuple[Sums, Sums]:
        """Return the sums of rows and steps for their parameters and places (m x p each)."""
        means, spreads = sequence.means, covariances_of(sequence)
        rows = sums(figures[0], places[0], (means, spreads), None, self.varying.values, self.varying.columns)
        steps = sums(figures[1], places[1], (means[:-1], spreads[:-1]), sequence.moves, means[1:], means.shape[1])
        return rows, Sums(steps.total, products=steps.products, squared=steps.squared, count=steps.count,
                          energy=steps.energy + float(np.trace(spreads[1:].sum(axis=0))), columns=steps.columns)

    def __call__(self, sequence: Markov, figures: tuple[Figures, Figures], places: tuple[Array, Array],
                 ) -> tuple[float, float]:
        """Return the bound and its rounding."""
        found = [process_bound(*each) for each in
                 zip(figures, places, self.sums(sequence, figures, places), strict=True)]
        first, noises = sequence.means[0], sequence.roots @ sequence.roots.transpose(0, 2, 1)
        start = float(first @ first) + float(np.trace(noises[0])) + len(first) * log(2 * pi)
        spread = float(np.linalg.slogdet(noises)[1].sum()) + sequence.means.size * (1 + log(2 * pi))
        rounding = sum(noise for _, noise in found) + EPS * (sequence.means.size * float(
            np.abs(np.log(np.einsum("tpp->tp", noises))).max()) + abs(start))
        rounding += self.varying.wrong * float(np.abs(self.varying.values).sum()) / figures[0]["noise_variance"]
        return sum(value for value, _ in found) - 0.5 * start + 0.5 * spread, rounding


def bound_checks(data: Features, model: Model, problem: StateSpaceProblem, tolerance: float, full: bool,
                 ) -> Iterator[Check]:
    """Check states, functions and bound of a model, and the end of its iteration."""
    projector: Any = model.required_projector
    similarity = projector.similarity
    posterior, motion, sequence = similarity.posterior, similarity.motion, similarity.sequence
    if not len(posterior.places):
        yield skipped("states", "rows are all equal")
        return
    axes = model.embedding.shape[1]
    if (sequence.means.shape != model.embedding.shape or np.any(sequence.means != model.embedding)
            or motion.order != 1 or len(posterior.places) != problem.count(problem.rows)
            or len(motion.before) != problem.count(problem.steps)):
        yield count("states", 1, "sequences that are not the embedding's, or processes of another size")
        return
    spreads, steps = covariances_of(sequence), motion.posterior
    yield one_process_check(projector.decoder, posterior)
    if model.spreads is None:
        yield skipped("states", "the covariances of the states are not at hand")
    else:
        yield ratio("states", float(np.abs(model.spreads - spreads).max()), 10 * EPS * axes * float(spreads.max()),
                    "every covariance follows from the one before")
    figures, places = (figures_of(posterior.covariance), figures_of(steps.covariance)), (posterior.places, steps.places)
    again = BoundAgain(Varying.of(data.values).compact)
    wrong = sum(model.fit.get(f"transition_{name}") != value for name, value in figures[1].items())
    yield count("parameters of steps", wrong, "parameters in the model that are not those stated")
    centered = Varying(data.values - data.values.mean(axis=0), again.varying.columns, again.varying.wrong)
    known = BoundAgain(centered).sums(sequence, figures, places)
    yield ratio("functions", max(function_error(*each) for each in zip((posterior, steps), known, strict=True)),
                100 * EPS * max(len(posterior.places), len(steps.places)),
                "(K + β Ψ₂) W = β Ψ₁ᵀ Y, and K A (K + β Ψ₂) = β Ψ₂")
    stated, (value, noise) = model.fit.get("log_likelihood"), again(sequence, figures, places)
    plain = np.inf if stated is None else stated + data.unit.logarithm(problem.cells)
    yield ratio("log_likelihood", abs(value - plain), noise, "the bound, from expectations axis by axis")

    def objective(state: FittedParameters) -> tuple[float, float]:
        parts, moved = problem.parts(state), problem.parameters.sequence(state.latent)
        own = tuple([figures_of(part.covariance) for part in parts])
        priors = (parameter_energy(own[0], again.varying.variance, axes) + parameter_energy(own[1], 1.0, axes))
        reached, rounding = again(moved, (own[0], own[1]), (parts[0].places, parts[1].places))
        return priors - reached, rounding

    state = FittedParameters(problem.parameters.vector(sequence), np.vstack(places),
                             np.concatenate([posterior.covariance.logs, steps.covariance.logs]))
    end = EndOfIteration(problem=problem, state=state, again=objective, stated=stated_objective(data, model, problem),
                         converged=bool(model.fit["converged"]), tolerance=tolerance,
                         work=float(len(spreads)) * sum(len(each) ** 2 for each in places))
    yield from end.checks(full)


def function_error(process: GaussianProcess, known: Sums) -> float:
    """Return how far a process is from its posterior, relative to the terms of its equations."""
    figures = figures_of(process.covariance)
    inner, beta = inner_kernel(figures, process.places), 1 / figures["noise_variance"]
    outer = inner + beta * known.squared
    off = np.abs(outer @ process.weights - beta * known.products).max()
    size = (np.abs(outer) @ np.abs(process.weights)).max()
    size += beta * float(np.sqrt(np.trace(known.squared) * known.energy))  # a bound of Σ E |k(Z, x) y|
    apart = np.abs(inner @ process.known @ outer - beta * known.squared).max()
    terms = (np.abs(inner) @ np.abs(process.known) @ np.abs(outer)).max()
    return float(max(off / (size or 1.0), apart / (terms or 1.0)))
