"""The certificate of networks: forward passes, errors and bounds by formulas of its own, and closed forms.

With r a row over its scale, of covariance S and mean o, codes r W + b and a way back z V + c, the mean of
‖x̂ - x‖² is tr (WV - I)ᵀ S (WV - I) + ‖o (WV - I) + b V + c‖². Of two views S and o are those of both rows side by
side, and WV - I is WV above -I. The bound of a variational autoencoder is, with variances
s² of the codes and noise σ² (Lucas et al., 2019),

    -½ (d ln 2πσ² + (E ‖x̂ - x‖² + Σ s² ‖V‖²) / σ² + E ‖r W + b‖² + Σ (s² - 1 - ln s²)).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.source import all_parts, rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.certify.subject import max_abs
from mlcli.core.check.stationarity import SEED, Course, of_size_one, stationarity_check
from mlcli.core.model import Model
from mlcli.core.similarities.projector import require_projector
from mlcli.core.whitening import whiten
from mlcli.methods.networks.network import FAINT, DenseLayer, Network

T = TypeVar("T")
MOST = 10**8  # products of weights and rows in a quick check
FEW = 16  # rows at least
BLOCK = 1 << 19  # activations of a layer in a thread's memory
NODES = 8  # of a quadrature that is exact for squares
LEAST = 2 * np.log(FAINT)  # logarithms of variances below which there is no spread
TRAINED = "training ends after a number of epochs, and claims no convergence"
NEAR = 1e-4  # step of differences in means and logarithms, which the prior's deviation is the unit of
FALL = 1e-11  # share of a row's bound, which the search for its posterior may leave
FEWEST = 100  # one row in so many may have ended elsewhere
APART = 6.0  # largest difference of two means of draws, in standard errors


def softplus(sums: Array) -> Array:
    """Return ln(1 + eˣ) of an array of any shape."""
    return np.maximum(sums, 0) + np.log1p(np.exp(-np.abs(sums)))


FORMULAS: Mapping[str, Callable[[Array], Array]] = {
    "identity": lambda sums: sums, "relu": lambda sums: (sums + np.abs(sums)) / 2, "softplus": softplus,
    "tanh": lambda sums: 2 / (1 + np.exp(-2 * sums)) - 1, "logistic": lambda sums: 1 / (1 + np.exp(-sums))}


def forward(layers: Sequence[DenseLayer], values: Array) -> Array:
    """Return the outputs (m x o) of layers for values (m x i): Σ w x + b, and the activation's definition."""
    for layer in layers:
        sums = np.einsum("nj,jk->nk", values, layer.weights, optimize=True) + layer.biases
        values = FORMULAS[layer.activation](sums)
    return values


def parts(model: Model) -> tuple[Any, Any]:
    """Return the encoder and the decoder of a model; None where none leads back to features."""
    projector = require_projector(model.projector)
    return projector.similarity, projector.decoder


def forward_checks(data: Features, model: Model, full: bool = False) -> list[Check]:
    """Check that coordinates and their deviations are the encoder's outputs, and the share of unexplained variance.

    The share needs all rows; coordinates are checked for as many as are quick, or with `full` for all. It is of the
    second view's variance where there are two.
    """
    (encoder, decoder), projector = parts(model), require_projector(model.projector)
    view = None if decoder is None or decoder.unit is None else decoder.unit.measured(data.view.values)  # type: ignore[attr-defined]
    stated, held = model.fit.get("unexplained"), rows_of(data.values)
    networks = [part.network for part in (encoder, decoder) if part is not None]
    rows, whole = choose_rows(data.values, full, *networks)
    mean = (data.values if view is None else view).mean(axis=0) if held is None else held.means
    size, spreads = len(projector.axes.T), model.spreads
    signs = np.ones(size) if decoder is None else decoder.signs

    def block(places: Indices, points: Array) -> tuple[float, ...]:
        outputs = forward(encoder.network.layers, (points - encoder.means) / encoder.scale)
        codes, logs = outputs[:, :size], np.maximum(outputs[:, size:], LEAST)
        gap, apart = codes * signs - model.embedding[places], 0.0
        if spreads is not None and spreads.ndim == 3:
            lower = lower_factors(outputs, size) * signs[:, None]
            logs = lower @ lower.transpose(0, 2, 1)
            apart = max_abs(logs - spreads[places])
        elif spreads is not None:
            with np.errstate(divide="ignore"):
                apart = max_abs(logs - np.maximum(2 * np.log(spreads[places]), LEAST))
        sizes = max_abs(gap), projector.rounding(points), max_abs(points), apart, max_abs(logs)
        if stated is None or not whole:
            return *sizes, 0.0, 0.0
        back = decoder.means + decoder.scale * forward(decoder.network.layers, codes)
        wanted = points if view is None else view[places]
        return *sizes, float(np.sum((back - wanted) ** 2)), float(np.sum((wanted - mean) ** 2))

    gaps, roundings, sizes, aparts, logs, errors, squares = np.transpose(
        map_blocks(block, data.values, rows, *networks))
    checks = [ratio("codes", float(gaps.max()), 1e-11 * max_abs(model.embedding) + float(roundings.max()),
                    "coordinates are the outputs of the encoder, layer by layer", exact=whole)]
    if spreads is not None:
        checks.append(ratio("deviations", float(aparts.max()), 1e-11 * (1 + float(logs.max())) + float(roundings.max()),
                            "logarithms of the posterior's variances are the others" if spreads.ndim == 2 else
                            "covariances of the posterior are by the others", exact=whole))
    if stated is None:
        return checks
    if not whole:
        return [*checks, later("reconstruction")]
    total = float(squares.sum())
    lost = float(errors.sum()) / total if total > 0 else stated
    wanted = data.values if view is None else view
    rounding = EPS * max(*wanted.shape, 10) * (1 + sizes.max() ** 2 * wanted.size / max(total, 1e-300))
    if view is not None:  # weights of the first view's columns may amplify rounding
        rounding += 2 * size * float(roundings.max())
    return [*checks, ratio("reconstruction", abs(lost - stated), (1e-11 + rounding) * max(stated, 1.0),
                           "Σ ‖x̂ - x‖² / Σ ‖x - mean‖², as stated")]


def lower_factors(outputs: Array, size: int) -> Array:
    """Return the lower triangles (m x p x p) that outputs (m x c) give after p means: roots of squares, then rows."""
    found, place = np.zeros((len(outputs), size, size)), 2 * size
    for row in range(size):
        found[:, row, row] = np.exp(outputs[:, size + row] / 2)
        found[:, row, :row] = outputs[:, place : place + row]
        place += row
    return found


def search_checks(data: Features, model: Model, density: Callable[..., Array], full: bool = False) -> list[Check]:
    """Check that posteriors of rows' own have the largest bound nearby, along a random direction for each row.

    A row's bound is over the draws of the model, with its stored mean and covariance (`density` as in `bound_checks`).
    Its fall that a step promises is s² / 2c, of a slope s and a curvature c by central differences.
    """
    (encoder, decoder), spreads, signs = parts(model), model.spreads, np.asarray(parts(model)[1].signs)
    assert spreads is not None
    draws, sums = encoder.draws, with_sums(decoder.network)
    rows, _ = choose_rows(data.values, full, encoder.network, *[decoder.network] * len(draws))
    size = len(signs)

    def block(places: Indices, points: Array) -> tuple[Array, Array]:
        seen = ((points - encoder.means) / encoder.scale)[:, None, :]
        means = model.embedding[places] * signs
        lower = np.linalg.cholesky(spreads[places] * signs[:, None] * signs)
        logs, below = np.log(np.einsum("nii->ni", lower)), np.tril(lower, -1)
        ways = np.random.default_rng([SEED, int(places[0])]).standard_normal((len(places), 2 + size, size))

        def bounds(step: float) -> Array:
            at, own = means + step * ways[:, 0], logs + step * ways[:, 1]
            factor = below + step * np.tril(ways[:, 2:], -1) + np.exp(own)[:, :, None] * np.eye(size)
            codes = at[:, None, :] + np.einsum("sj,nij->nsi", draws, factor)
            flat = forward(sums, codes.reshape(-1, size)).reshape(*codes.shape[:2], -1)
            apart = 0.5 * (np.sum(at**2, axis=1) + np.sum(factor**2, axis=(1, 2)) - size) - own.sum(axis=1)
            return encoder.beta * apart - density(seen, flat, encoder.level, np).mean(axis=1)

        here, behind, ahead = bounds(0.0), bounds(-NEAR), bounds(NEAR)
        bent = np.maximum(np.abs(ahead - 2 * here + behind), encoder.beta * NEAR**2)
        return (ahead - behind) ** 2 / (8 * bent), np.maximum(np.abs(here), 1.0)

    falls, sizes = (np.concatenate(part) for part in zip(*map_blocks(
        block, data.values, rows, encoder.network, *[decoder.network] * len(draws)), strict=True))
    ratios = np.sort(falls / sizes)[::-1]
    return [ratio("posteriors", float(ratios[len(ratios) // FEWEST]), FALL, "the share of its bound that a row's "
                  "posterior gains by a step along a random direction, of all but one in a hundred rows", exact=False)]


def weighted_divergences(means: Array, logs: Array) -> Array:
    """Return √(2π) KL(N(m, s²) ‖ N(0, 1)) by quadrature, for means and logarithms of variances of any shape."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    at = means[..., None] + np.exp(logs / 2)[..., None] * nodes
    return np.asarray(((at**2 - nodes**2 - logs[..., None]) / 2) @ weights)


def with_sums(network: Network) -> list[DenseLayer]:
    """Return the layers of a decoder, the last one without its activation."""
    *others, last = network.layers
    return [*others, DenseLayer(last.weights, last.biases, "identity")]


def training_checks(model: Model, *, rising: bool) -> list[Check]:
    """Check that the weights kept are those of the best epoch, and say why no slope is tested.

    Held-out rows judge epochs where there are any, otherwise the last epoch counts. The objective is `rising` where it
    is a bound of the likelihood.
    """
    epochs, best, trace = model.fit["epochs"], model.fit["best_epoch"], model.trace
    slope = skipped("stationarity", TRAINED)
    if trace is None:
        return [skipped("training", "the objective of the epochs is not at hand"), slope]
    judged = model.curves.get("validation")
    course = (-1.0 if rising else 1.0) * (trace if judged is None else np.asarray(judged.value))
    if len(course) != epochs or not 1 <= best <= epochs or (judged is None and best < epochs):
        return [count("training", 1, "epochs that are not those of the trace"), slope]
    if judged is None and not course[-1] <= course[0]:
        return [skipped("training", "no rows are held out, and the objective of the last epoch is above the first's"),
                slope]
    better = int(np.sum(course < course[best - 1])) if judged is not None else 0
    return [count("training", better, "epochs with a better objective than that whose weights are kept"), slope]


def choose_rows(points: Array, full: bool, *networks: Network) -> tuple[Indices, bool]:
    """Return indices (m) of rows of points (n x d) to check, evenly spaced as many as are quick, and whether all are.

    For a table read in blocks these are the rows in memory; with `full`, all rows.
    """
    if (held := rows_of(points)) is not None:
        return np.arange(len(held)) if full else held.at_hand, full
    weights = sum(layer.weights.size for network in networks for layer in network.layers)
    few = max(MOST // weights, FEW)
    whole = full or len(points) <= few
    return np.arange(len(points)) if whole else np.linspace(0, len(points) - 1, few).astype(int), whole


def map_blocks(work: Callable[[Indices, Array], T], points: Array, rows: Indices, *networks: Network) -> list[T]:
    """Apply `work` to blocks of rows (m indices of n x d points), with indices and values; return all results.

    It runs on all threads, except where all rows of a file are read.
    """
    held = rows_of(points)
    if held is not None and len(rows) == len(held):
        return [work(np.arange(first, first + len(part)), part) for first, part in all_parts(held)]
    return list(in_order(lambda part: work(rows[part], points[rows[part]]),
                         row_blocks(len(rows), BLOCK, max(network.width for network in networks))))


def bound_checks(data: Features, model: Model, density: Callable[..., Array], full: bool = False) -> list[Check]:
    """Check the parts of the bound: the divergence by quadrature, the log-density by other draws, and their difference.

    `density` returns log p of standardized rows (m x d), given the decoder's sums and the logarithm of the noise.
    """
    (encoder, decoder), fit = parts(model), model.fit
    rows, whole = choose_rows(data.values, full, encoder.network, decoder.network)
    bound = ratio("bound", abs(fit["reconstruction"] - fit["divergence"] - fit["elbo"]),
                  1e-11 * (abs(fit["reconstruction"]) + abs(fit["divergence"])), "the bound is what is left of both")
    if not whole:
        return [later("divergence"), bound, later("log-density")]
    sums, spreads = with_sums(decoder.network), model.spreads
    noise, shift = fit.get("noise_variance", 1.0), float(np.log(encoder.scale)) + data.unit.logarithm(1)
    level = float(np.log(noise)) - 2 * shift if noise else 0.0
    stated = fit["reconstruction"] + ("noise_variance" in fit) * data.values.shape[1] * shift

    def block(places: Indices, points: Array) -> tuple[float, ...]:
        seen = (points - encoder.means) / encoder.scale
        normal = np.random.default_rng([1, int(places[0])]).standard_normal((len(points), len(decoder.signs)))
        if spreads is not None and spreads.ndim == 3:
            means, covariances = model.embedding[places], spreads[places]
            values, vectors = np.linalg.eigh(covariances)
            apart = 0.5 * float(np.sum(means**2) + np.sum(values - 1 - np.log(values)))
            codes = means + np.einsum("nij,nj->ni", vectors, np.sqrt(values) * normal)
            found = density(seen, forward(sums, codes * decoder.signs), level, np)
        else:
            means, logs = np.split(forward(encoder.network.layers, seen), 2, axis=1)
            apart = float(np.sum(weighted_divergences(means, logs))) / np.sqrt(2 * np.pi)
            found = density(seen, forward(sums, means + np.exp(logs / 2) * normal), level, np)
        return apart, float(np.sum(found - stated)), float(np.sum((found - stated) ** 2)), max_abs(found)

    aparts, gaps, squares, sizes = np.transpose(map_blocks(block, data.values, rows, encoder.network, decoder.network))
    divergence, gap = float(aparts.sum()) / len(rows), float(gaps.sum()) / len(rows)
    checks = [ratio("divergence", abs(divergence - fit["divergence"]), 1e-11 * (1 + abs(divergence)),
                    "KL(q ‖ N(0, I)) by quadrature, of covariances by their eigenvalues, as stated"), bound]
    if not noise:
        return [*checks, skipped("log-density", "the variance of the noise is not a number of double precision")]
    deviation = np.sqrt(max(float(squares.sum()) / len(rows) - gap**2, 0.0))
    error = APART * np.sqrt(2 / len(rows)) * deviation + 1e-9 * float(sizes.max())
    return [*checks, ratio("log-density", abs(gap), error / 10,
                           "E log p(x | z) by other draws, within their standard errors", exact=False)]


def likelihood_check(data: Features, model: Model, full: bool = False) -> list[Check]:
    """Check that a linear model's bound is the likelihood of N(μ, W Wᵀ + σ²), from the covariance of the columns."""
    affine, stated, noise = require_projector(model.projector).affine, model.fit["elbo"], model.fit["noise_variance"]
    rows, columns = data.values.shape
    if affine is None or stated is None or not noise or rows * columns**2 > MOST:
        return [skipped("likelihood", "there is no noise in double precision, or there are too many rows and columns")]
    if rows_of(data.values) is not None and not full:
        return [later("likelihood")]
    own = float((data.unit**2).measured(np.asarray(noise, dtype=np.float64)))
    covariance = affine.directions @ affine.directions.T + own * np.eye(columns)

    def block(places: Indices, points: Array) -> float:
        deviations = points - affine.mean
        return float(np.einsum("ij,ij->", deviations, np.linalg.solve(covariance, deviations.T).T))

    networks = [part.network for part in parts(model)]
    squares = sum(map_blocks(block, data.values, np.arange(rows), *networks)) / rows
    found = -0.5 * (columns * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + squares)
    condition = float(np.linalg.cond(covariance)) * EPS * max(rows, columns, 10)
    return [ratio("likelihood", abs(float(found) - stated - data.unit.logarithm(columns)),
                  (1e-12 + condition) * (abs(float(found)) + columns),
                  "the bound is the mean log-density of N(μ, W Wᵀ + σ²)")]


@frozen
class Standardized:
    """Mean and covariance of rows over an encoder's scale, less its means; those of a second view are beside them."""

    mean: Array  # d, or d + e
    covariance: Array  # d x d
    wrong: float  # relative rounding
    beside: int = 0  # columns of a second view, e

    @classmethod
    def of_views(cls, data: TwoViews, encoder: Any, decoder: Any) -> "Standardized":
        """Return the moments of the rows of both views, each as its network has them."""
        view = decoder.unit.measured(data.view.values)
        whole = np.hstack([(data.values - encoder.means) / encoder.scale, (view - decoder.means) / decoder.scale])
        mean, largest, columns = whole.mean(axis=0), max_abs(whole), view.shape[1]
        covariance = (whole - mean).T @ (whole - mean) / len(whole)
        total = max(float(np.trace(covariance[-columns:, -columns:])), 1e-300)
        (first,), (last,) = encoder.network.layers, decoder.network.layers
        amplified = max(float(np.sum((first.weights @ last.weights) ** 2)) / len(last.weights), 1.0)
        return cls(mean, covariance, EPS * max(*whole.shape, 10) * (
            1 + largest**2 * len(mean) / total) * amplified, columns)

    @property
    def total(self) -> float:
        """The variance of all columns that are decoded."""
        return float(np.trace(self.covariance[-self.beside:, -self.beside:]))

    @classmethod
    def of(cls, points: Array, encoder: Any) -> "Standardized":
        """Return the moments of points (n x d)."""
        held, size = rows_of(points), max(len(points), 1)
        blocks = [points] if held is None else [part for _, part in all_parts(held)]
        mean = sum(some.sum(axis=0) for some in blocks) / size
        covariance = sum((some - mean).T @ (some - mean) for some in blocks) / (size * encoder.scale**2)
        largest = max(max_abs(some) for some in blocks) / encoder.scale
        total = max(float(np.trace(covariance)), 1e-300)
        return cls((mean - encoder.means) / encoder.scale, covariance,
                   EPS * max(*points.shape, 10) * (1 + largest**2 * points.shape[1] / total))

    def error(self, into: tuple[Array, Array], back: tuple[Array, Array]) -> float:
        """Return the mean of ‖x̂ - x‖² by weights and biases of encoder (d x p, p) and decoder (p x d, d)."""
        way = into[0] @ back[0]
        lost = np.vstack([way, -np.eye(self.beside)]) if self.beside else way - np.eye(len(self.mean))
        shift = self.mean @ lost + into[1] @ back[0] + back[1]
        return float(np.sum(lost * (self.covariance @ lost)) + shift @ shift)


def closed_form_checks(data: Features, model: Model, full: bool) -> list[Check]:
    """Check that weights and biases of linear networks are at the best; `fit` states the noise of a variational one.

    A closed form is exact to rounding, and what an error of weights loses is a square of it: below the objective's
    own rounding.
    """
    projector: Any = require_projector(model.projector)
    encoder, decoder = projector.similarity, projector.decoder
    rows, columns = len(data.values), sum(part.values.shape[1] for part in (
        data.views if isinstance(data, TwoViews) else (data,)))
    if rows * columns**2 > MOST and not full:
        return [later("stationarity")]
    seen = Standardized.of_views(data, encoder, decoder) if isinstance(data, TwoViews) else Standardized.of(
        data.values, encoder)
    (first,), (last,) = encoder.network.layers, decoder.network.layers
    size = len(last.weights)
    parts = [first.weights[:, :size], first.biases[:size], last.weights, last.biases]
    total = seen.total
    if not total:
        return [skipped("stationarity", "no column varies")]
    if "noise_variance" not in model.fit:
        return [stationary(parts, lambda into, b, back, c: seen.error((into, b), (back, c)) / total, seen.wrong)]
    noise = model.fit["noise_variance"]
    if not noise or model.fit["elbo"] is None:
        return [skipped("stationarity", "there is no noise in double precision")]
    level = float(np.log(noise)) - 2 * (float(np.log(encoder.scale)) + data.unit.logarithm(1))

    def bound(into: Array, b: Array, back: Array, c: Array, logs: Array, level: Array) -> float:
        codes, spreads = seen.mean @ into + b, np.exp(logs)
        squares = seen.error((into, b), (back, c)) + float(spreads @ np.sum(back**2, axis=1))
        apart = float(np.sum(into * (seen.covariance @ into)) + codes @ codes + np.sum(spreads - 1 - logs))
        return 0.5 * (columns * (np.log(2 * np.pi) + float(level[0])) + squares * float(np.exp(-level[0])) + apart)

    parts += [first.biases[size:], np.array([level])]
    wrong = seen.wrong * (total * float(np.exp(-level)) + columns * (1 + abs(level)))
    stated = model.fit["elbo"] + columns * (float(np.log(encoder.scale)) + data.unit.logarithm(1))
    return [ratio("bound", abs(bound(*parts) + stated), wrong, "the bound by both networks, from the rows' covariance"),
            stationary(parts, bound, wrong)]


def white_rows(data: TwoViews, encoder: Any) -> Array:
    """Return the rows of the second view in the encoder's white coordinates (n x r)."""
    return np.einsum("ij,jk->ik", data.view.normalized().values - encoder.origin, encoder.into)


def information_checks(data: TwoViews, model: Model, full: bool = False) -> list[Check]:
    """Check what codes keep of the first view by quadrature, and tell of the second one, white, by other draws.

    For a linear decoder the latter is E log q(y | t) = ln |L| - (‖Lᵀ(y - g(m))‖² + Σ s² ‖Lᵀv‖² + r ln 2π) / 2.
    """
    (encoder, _), projector, fit = parts(model), require_projector(model.projector), model.fit
    networks, root, size = (encoder.network, encoder.answer), encoder.root, encoder.answer.inputs
    rows, whole = choose_rows(data.values, full, *networks)
    parted, kept = np.array(fit["axis_information"], dtype=np.float64), float(fit["kept_information"])
    if len(parted) != size:
        return [count("kept", 1, "axes that are not those of the coordinates")]
    second = white_rows(data, encoder)
    wrong = EPS * max(*data.view.values.shape, 10) * (1 + max_abs(encoder.into))
    white = ratio("white", max_abs(second.T @ second / max(len(second), 1) - np.eye(len(root))), 10 * wrong,
                  "the second view is white in the coordinates that the decoder gives")
    added = ratio("parts", abs(float(parted.sum()) - kept), 1e-11 * (1 + kept), "I(T; X) is the sum over the axes")
    if not whole:
        return [white, later("kept"), added, later("relevant")]
    alone = len(encoder.answer.layers) == 1
    logarithm = float(np.log(np.abs(np.diag(root))).sum())

    def block(places: Indices, points: Array) -> tuple[Any, ...]:
        outputs = forward(encoder.network.layers, (points - encoder.means) / encoder.scale)
        means, logs = outputs[:, :size], outputs[:, size:]
        apart = np.sum(weighted_divergences(means, logs), axis=0) / np.sqrt(2 * np.pi)
        normal = np.zeros_like(means) if alone else np.random.default_rng([1, int(places[0])]).standard_normal(
            means.shape)
        rest = second[places] - forward(encoder.answer.layers, means + np.exp(logs / 2) * normal)
        found = logarithm + (np.sum(second[places] ** 2, axis=1) - np.einsum(
            "ij,jk,ik->i", rest, root @ root.T, rest)) / 2
        if alone:
            found -= np.exp(logs) @ np.einsum("ij,jk,ik->i", encoder.answer.layers[0].weights, root @ root.T,
                                              encoder.answer.layers[0].weights) / 2
        gaps = found - fit["relevant_information"]
        return apart, float(gaps.sum()), float(np.sum(gaps**2)), max_abs(found), projector.rounding(points)

    aparts, gaps, squares, sizes, roundings = zip(*map_blocks(block, data.values, rows, *networks), strict=True)
    divergence, gap = np.sum(aparts, axis=0) / len(rows), sum(gaps) / len(rows)
    noise = max(EPS * float(np.sum(np.abs(root)) ** 2) * max(*data.view.values.shape, 10), 1e-11 * (1 + max(sizes)))
    deviation = 0.0 if alone else np.sqrt(max(sum(squares) / len(rows) - gap**2, 0.0))
    lost = max(roundings) * (1 + float(np.abs(second).max(initial=0.0)))
    error = APART * np.sqrt(2 / len(rows)) * deviation / 10 + noise + (10 * wrong + lost) * float(np.sum(root**2))
    return [white, ratio("kept", max_abs(divergence - parted), 1e-11 * (1 + kept) + lost,
                         "KL(q(t | x) ‖ N(0, 1)) of each axis by quadrature, as stated"), added,
            ratio("relevant", abs(gap), error, "E log q(y | t) over that of N(0, I)" + (
                "" if alone else ", by other draws, within their standard errors"), exact=alone)]


def gaussian_bottleneck_checks(data: TwoViews, model: Model, asked: float, full: bool = False) -> list[Check]:
    """Check β, both informations by canonical correlations found again, and that linear networks are at the best.

    `asked` is the β that was chosen or follows from the critical ones. Both informations are those of the Gaussian
    bottleneck: no linear summary is better.
    """
    rows, columns = data.values.shape
    encoder, fit = parts(model)[0], model.fit
    if rows * (columns + data.view.values.shape[1]) ** 2 > MOST and not full:
        return [later("correlations"), later("optimum"), later("stationarity")]
    first = whiten(data.values, equal_columns=True)
    beta, second, size = float(fit["beta"]), white_rows(data, encoder), encoder.answer.inputs
    critical = np.array(fit["critical_betas"], dtype=np.float64)
    found = np.linalg.svd(first.points.T @ second / max(rows, 1), compute_uv=False)
    related = np.minimum(found[:len(critical)], 1 - EPS)
    rounding = EPS * max(*data.values.shape, *data.view.values.shape, 10) * (1 + max_abs(encoder.into))
    lost = rounding * float(np.max(1 / (1 - related**2), initial=1.0))
    checks = [ratio("correlations", max_abs(1 / critical - related**2) + max_abs(found[len(critical):]), 10 * rounding,
                    "critical β are one over the squared canonical correlations"),
              ratio("beta", abs(beta / asked - 1), 1e-12, "β is the one that was asked for, or follows from these")]
    opened = related[:size][related[:size] ** 2 * beta > 1] ** 2
    best = np.array([np.sum(np.log((beta - 1) * opened / (1 - opened))), np.sum(np.log(beta * opened)),
                     -np.sum(np.log1p(-related**2))]) / 2
    best[1] = best[0] - best[1]
    stated = np.array([fit[name] for name in ("kept_information", "relevant_information", "total_information")])
    checks.append(ratio("optimum", max_abs(best - stated), 100 * lost * (1 + max_abs(best)),
                        "I(T; X), I(T; Y) and I(X; Y) are those of the Gaussian bottleneck at β"))
    (inward,), (outward,) = encoder.network.layers, encoder.answer.layers
    seen = np.hstack([first.points, second, np.ones((rows, 1))])
    moments = seen.T @ seen / max(rows, 1)
    total = float(np.sum(second**2)) / max(rows, 1)

    def objective(into: Array, b: Array, back: Array, c: Array, logs: Array, root: Array) -> float:
        codes = np.vstack([into, np.zeros((len(root), size)), b])
        rest = np.vstack([-into @ back, np.eye(len(root)), -b @ back - c]) @ root
        kept = float(np.sum(codes * (moments @ codes)) + np.sum(np.exp(logs) - 1 - logs)) / 2
        left = float(np.sum(rest * (moments @ rest)) + np.exp(logs) @ np.sum((back @ root) ** 2, axis=1))
        return kept / beta - float(np.linalg.slogdet(root)[1]) - (total - left) / 2

    weights = inward.weights[:, :size] / encoder.scale
    parted = [first.back @ weights, inward.biases[:size] + (first.means - encoder.means) @ weights, outward.weights,
              outward.biases, inward.biases[size:], encoder.root]
    turned = (EPS * max(rows, columns, 10) * first.condition) ** 2  # what rounding of weights costs, at an optimum
    noise = (rounding + turned) * (1 + float(np.sum(encoder.root**2)))
    return [*checks, stationary(parted, objective, noise)]


def stationary(parts: list[Array], objective: Callable[..., float], noise: float) -> Check:
    """Check that an objective of arrays is at its lowest, along a random direction of each and of all."""
    ends = np.cumsum([part.size for part in parts])[:-1]
    values = np.concatenate([part.ravel() for part in parts])
    place = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    normal = np.random.default_rng(SEED).standard_normal(len(values))

    def whole(some: Array) -> float:
        return objective(*(one.reshape(part.shape) for one, part in zip(np.split(some, ends), parts, strict=True)))

    directions = [of_size_one(normal * kept) for kept in (place >= 0, *(place == one for one in range(len(parts))))]
    course = Course(whole, values, whole(values), directions, noise, noise)
    return stationarity_check(course, course.curvatures, converged=True)
