"""The certificate of networks: forward passes, errors and bounds by formulas of its own, at the stored weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from mlcli.base.blocks import in_order, row_blocks
from mlcli.base.check import EPS, Check, later, ratio, skipped
from mlcli.base.inputs import Features
from mlcli.base.rows import rows_of
from mlcli.base.types import Array, Indices
from mlcli.methods.model import Model, existing
from mlcli.stages.neural.network import Layer, Network

T = TypeVar("T")

MOST = 10**8  # products of weights and rows that there is time for
FEW = 16  # rows at least
BLOCK = 1 << 19  # activations of a layer that a thread holds
NODES = 8  # of a quadrature that is exact for squares
APART = 6.0  # standard errors that two means of draws may be apart


def softplus(sums: Array) -> Array:
    """ln(1 + eˣ)."""
    return np.maximum(sums, 0) + np.log1p(np.exp(-np.abs(sums)))


FORMULAS: Mapping[str, Callable[[Array], Array]] = {
    "identity": lambda sums: sums, "relu": lambda sums: (sums + np.abs(sums)) / 2, "softplus": softplus,
    "tanh": lambda sums: 2 / (1 + np.exp(-2 * sums)) - 1, "logistic": lambda sums: 1 / (1 + np.exp(-sums))}


def forward(layers: Sequence[Layer], values: Array) -> Array:
    """The outputs of layers, unit by unit: Σ w x + b, and the activation's definition."""
    for layer in layers:
        sums = np.einsum("nj,jk->nk", values, layer.weights, optimize=True) + layer.biases
        values = FORMULAS[layer.activation](sums)
    return values


def parts(model: Model) -> tuple[Any, Any]:
    """The encoder and the decoder that a model holds."""
    projector = existing(model.projector)
    return projector.similarity, projector.decoder


def passes(data: Features, model: Model, full: bool = False) -> list[Check]:
    """Coordinates are the encoder's outputs, and the share of the variance that is lost is that of what comes back.

    The share takes every row, the coordinates as many as there is time for, unless everything is checked.
    """
    (encoder, decoder), projector = parts(model), existing(model.projector)
    stated, held = model.fit.get("unexplained"), rows_of(data.values)
    if held is None:
        rows, whole = chosen(len(data.values), full, encoder.network, decoder.network)
        mean = data.values.mean(axis=0)
    else:  # of a table that is read in blocks the rows in memory are checked, unless everything is
        rows, whole, mean = held.at_hand, full, held.means

    def block(places: Indices, points: Array) -> tuple[float, ...]:
        codes = forward(encoder.network.layers, (points - encoder.means) / encoder.scale)[:, : len(decoder.signs)]
        gap = codes * decoder.signs - model.embedding[places]
        sizes = largest(gap), projector.rounding(points), largest(points)
        if stated is None or not whole:
            return *sizes, 0.0, 0.0
        back = decoder.means + decoder.scale * forward(decoder.network.layers, codes)
        return *sizes, float(np.sum((back - points) ** 2)), float(np.sum((points - mean) ** 2))

    found = ([block(np.arange(first, first + len(part)), part)
              for number in range(held.blocks) for first, part in held.parts(number)] if held is not None and full
             else in_blocks(lambda part: block(rows[part], data.values[rows[part]]), len(rows), encoder.network,
                            decoder.network))
    gaps, roundings, sizes, errors, squares = np.transpose(found)
    checks = [ratio("codes", float(gaps.max()), 1e-11 * largest(model.embedding) + float(roundings.max()),
                    "coordinates are the outputs of the encoder, layer by layer", exact=whole)]
    if stated is None:
        return checks
    if not whole:
        return [*checks, later("reconstruction")]
    total = float(squares.sum())
    lost = float(errors.sum()) / total if total > 0 else stated
    rounding = EPS * max(*data.values.shape, 10) * (1 + sizes.max() ** 2 * data.values.size / max(total, 1e-300))
    return [*checks, ratio("reconstruction", abs(lost - stated), (1e-11 + rounding) * max(stated, 1.0),
                           "Σ ‖x̂ - x‖² / Σ ‖x - mean‖², as stated")]


def chosen(rows: int, full: bool, *networks: Network) -> tuple[Indices, bool]:
    """All rows, or as many as there is time for, evenly spaced; and whether it is all."""
    weights = sum(layer.weights.size for network in networks for layer in network.layers)
    few = max(MOST // weights, FEW)
    whole = full or rows <= few
    return np.arange(rows) if whole else np.linspace(0, rows - 1, few).astype(int), whole


def in_blocks(work: Callable[[slice], T], rows: int, *networks: Network) -> list[T]:
    """What becomes of a few rows at a time, on all threads."""
    return list(in_order(work, row_blocks(rows, BLOCK, max(network.width for network in networks))))


def largest(values: Array) -> float:
    """The size of the largest number."""
    return float(np.abs(values).max(initial=0.0))


def variational(data: Features, model: Model, density: Callable[..., Array], full: bool = False) -> list[Check]:
    """The parts of the bound: the divergence by quadrature, the other by draws of its own, and their difference.

    `density` gives log p of rows as the network sees them at the decoder's sums, with the logarithm of its noise.
    """
    (encoder, decoder), fit = parts(model), model.fit
    rows, whole = chosen(len(data.values), full, encoder.network, decoder.network)
    bound = ratio("bound", abs(fit["reconstruction"] - fit["divergence"] - fit["elbo"]),
                  1e-11 * (abs(fit["reconstruction"]) + abs(fit["divergence"])), "the bound is what is left of both")
    if not whole:
        return [later("divergence"), bound, later("log-density")]
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    normal = np.random.default_rng(1).standard_normal((len(rows), len(decoder.signs)))
    *others, last = decoder.network.layers
    sums = [*others, Layer(last.weights, last.biases, "identity")]
    noise, shift = fit.get("noise_variance", 1.0), float(np.log(encoder.scale)) + data.unit.logarithm(1)
    level = float(np.log(noise)) - 2 * shift if noise else 0.0

    def block(part: slice) -> tuple[float, Array]:
        seen = (data.values[part] - encoder.means) / encoder.scale
        means, logs = np.split(forward(encoder.network.layers, seen), 2, axis=1)
        at = means[..., None] + np.exp(logs / 2)[..., None] * nodes
        apart = float(np.sum(((at**2 - nodes**2 - logs[..., None]) / 2) @ weights)) / np.sqrt(2 * np.pi)
        return apart, density(seen, forward(sums, means + np.exp(logs / 2) * normal[part]), level, np)

    found = in_blocks(block, len(rows), encoder.network, decoder.network)
    divergence, logarithms = sum(part for part, _ in found) / len(rows), np.concatenate([part for _, part in found])
    checks = [ratio("divergence", abs(divergence - fit["divergence"]), 1e-11 * (1 + abs(divergence)),
                    "KL(q ‖ N(0, I)) by quadrature, as stated"), bound]
    if not noise:
        return [*checks, skipped("log-density", "the variance of the noise is not a number of double precision")]
    stated = fit["reconstruction"] + ("noise_variance" in fit) * data.values.shape[1] * shift
    error = APART * np.sqrt(2 / len(logarithms)) * float(np.std(logarithms)) + 1e-9 * largest(logarithms)
    return [*checks, ratio("log-density", abs(float(logarithms.mean()) - stated), error / 10,
                           "E log p(x | z) by other draws, within their standard errors", exact=False)]


def marginal(data: Features, model: Model) -> list[Check]:
    """Of a linear model the bound is the likelihood of N(μ, W Wᵀ + σ²), found here from the covariance of the columns.
    """
    affine, stated, noise = existing(model.projector).affine, model.fit["elbo"], model.fit["noise_variance"]
    rows, columns = data.values.shape
    if affine is None or stated is None or not noise or rows * columns**2 > MOST:
        return [skipped("likelihood", "there is no noise in double precision, or there are too many rows and columns")]
    own = float((data.unit**2).measured(np.asarray(noise, dtype=np.float64)))
    covariance = affine.directions @ affine.directions.T + own * np.eye(columns)
    deviations = data.values - affine.mean
    squares = float(np.einsum("ij,ij->", deviations, np.linalg.solve(covariance, deviations.T).T)) / rows
    found = -0.5 * (columns * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + squares)
    condition = float(np.linalg.cond(covariance)) * EPS * max(rows, columns, 10)
    return [ratio("likelihood", abs(float(found) - stated - data.unit.logarithm(columns)),
                  (1e-12 + condition) * (abs(float(found)) + columns),
                  "the bound is the mean log-density of N(μ, W Wᵀ + σ²)")]
