"""The certificate of networks: forward passes, errors and bounds by formulas of its own, at the stored weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.check import EPS, Check, ratio, skipped
from mlcli.base.inputs import Features
from mlcli.base.types import Array
from mlcli.methods.model import Model, existing
from mlcli.stages.neural.network import Layer, Network

MOST = 10**8  # products of weights and rows up to which every row is passed; else a few rows are
FEW = 16
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


def passes(data: Features, model: Model) -> list[Check]:
    """Coordinates are the encoder's outputs, and the share of the variance that is lost is that of what comes back."""
    encoder, decoder = parts(model)
    rows, whole = chosen(len(data.values), encoder.network, decoder.network)
    points = data.values[rows]
    outputs = forward(encoder.network.layers, (points - encoder.means) / encoder.scale)
    codes = outputs[:, : model.embedding.shape[1]]
    gap = np.abs(codes * decoder.signs - model.embedding[rows])
    size = float(np.abs(model.embedding).max(initial=0.0))
    checks = [ratio("codes", float(gap.max(initial=0.0)), 1e-11 * size + existing(model.projector).rounding(points),
                    "coordinates are the outputs of the encoder, layer by layer", exact=whole)]
    stated = model.fit.get("unexplained")
    if stated is None:
        return checks
    if not whole:
        return [*checks, skipped("reconstruction", "too many rows for so many weights")]
    back = decoder.means + decoder.scale * forward(decoder.network.layers, codes)
    total = float(np.sum((points - points.mean(axis=0)) ** 2))
    lost = float(np.sum((back - points) ** 2)) / total if total > 0 else stated
    rounding = EPS * max(*points.shape, 10) * (1 + largest(points) ** 2 * points.size / max(total, 1e-300))
    return [*checks, ratio("reconstruction", abs(lost - stated), 1e-11 + rounding,
                           "Σ ‖x̂ - x‖² / Σ ‖x - mean‖², as stated")]


def chosen(rows: int, *networks: Network) -> tuple[slice, bool]:
    """All rows, or a few evenly spaced; and whether it is all."""
    weights = sum(layer.weights.size for network in networks for layer in network.layers)
    whole = rows * weights <= MOST
    return slice(None, None, 1 if whole else max(rows // FEW, 1)), whole


def largest(values: Array) -> float:
    """The size of the largest number."""
    return float(np.abs(values).max(initial=0.0))


def variational(data: Features, model: Model, density: Callable[..., Array]) -> list[Check]:
    """The parts of the bound: the divergence by quadrature, the other by draws of its own, and their difference.

    `density` gives log p of rows as the network sees them at the decoder's sums, with the logarithm of its noise.
    """
    (encoder, decoder), fit = parts(model), model.fit
    if not chosen(len(data.values), encoder.network, decoder.network)[1]:
        return [skipped("bound", "too many rows for so many weights")]
    seen = (data.values - encoder.means) / encoder.scale
    means, logs = np.split(forward(encoder.network.layers, seen), 2, axis=1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    at = means[..., None] + np.exp(logs / 2)[..., None] * nodes
    divergence = float(np.sum(((at**2 - nodes**2 - logs[..., None]) / 2) @ weights)) / np.sqrt(2 * np.pi) / len(means)
    checks = [ratio("divergence", abs(divergence - fit["divergence"]), 1e-11 * (1 + abs(divergence)),
                    "KL(q ‖ N(0, I)) by quadrature, as stated"),
              ratio("bound", abs(fit["reconstruction"] - fit["divergence"] - fit["elbo"]),
                    1e-11 * (abs(fit["reconstruction"]) + abs(fit["divergence"])), "the bound is what is left of both")]
    codes = means + np.exp(logs / 2) * np.random.default_rng(1).standard_normal(means.shape)
    *others, last = decoder.network.layers
    sums = forward([*others, Layer(last.weights, last.biases, "identity")], codes)
    shift = float(np.log(encoder.scale)) + data.unit.logarithm(1)  # of each cell of a density
    logarithms = density(seen, sums, np.log(fit.get("noise_variance", 1.0)) - 2 * shift, np)
    stated = fit["reconstruction"] + ("noise_variance" in fit) * data.values.shape[1] * shift
    error = APART * np.sqrt(2 / len(logarithms)) * float(np.std(logarithms)) + 1e-9 * largest(logarithms)
    return [*checks, ratio("log-density", abs(float(logarithms.mean()) - stated), error / 10,
                           "E log p(x | z) by other draws, within their standard errors", exact=False)]


def marginal(data: Features, model: Model) -> list[Check]:
    """Of a linear model the bound is the likelihood of N(μ, W Wᵀ + σ²), found here from the covariance of the columns.
    """
    affine, stated, noise = existing(model.projector).affine, model.fit["elbo"], model.fit["noise_variance"]
    rows, columns = data.values.shape
    if affine is None or stated is None or noise is None or rows * columns**2 > MOST:
        return [skipped("likelihood", "there is no noise, or there are too many rows and columns")]
    own = float((data.unit**2).measured(np.asarray(noise, dtype=np.float64)))
    covariance = affine.directions @ affine.directions.T + own * np.eye(columns)
    deviations = data.values - affine.mean
    squares = float(np.einsum("ij,ij->", deviations, np.linalg.solve(covariance, deviations.T).T)) / rows
    found = -0.5 * (columns * np.log(2 * np.pi) + np.linalg.slogdet(covariance)[1] + squares)
    condition = float(np.linalg.cond(covariance)) * EPS * max(rows, columns, 10)
    return [ratio("likelihood", abs(float(found) - stated - data.unit.logarithm(columns)),
                  (1e-12 + condition) * (abs(float(found)) + columns),
                  "the bound is the mean log-density of N(μ, W Wᵀ + σ²)")]
