"""The certificate of linear networks in closed form: no step of their weights lowers the objective.

With r a row over its scale, of covariance S and mean o, codes r W + b and a way back z V + c, the mean of
‖x̂ - x‖² is tr (WV - I)ᵀ S (WV - I) + ‖o (WV - I) + b V + c‖². The bound of a variational autoencoder is, with variances
s² of the codes and noise σ² (Lucas et al., 2019),

    -½ (d ln 2πσ² + (E ‖x̂ - x‖² + Σ s² ‖V‖²) / σ² + E ‖r W + b‖² + Σ (s² - 1 - ln s²)).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.passes import all_parts
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, later, ratio, skipped
from mlcli.base.values.inputs import Features
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.stationarity import SEED, Course, of_size_one, stationarity_check
from mlcli.stages.similarities.projector import require_projector

MOST = 10**8  # products of columns of a quick check


@frozen
class Standardized:
    """Mean and covariance of rows over an encoder's scale, less its means."""

    mean: Array  # d
    covariance: Array  # d x d
    wrong: float  # relative rounding

    @classmethod
    def of(cls, points: Array, encoder: Any) -> "Standardized":
        """Return the moments of points (n x d)."""
        held, size = rows_of(points), max(len(points), 1)
        blocks = [points] if held is None else [part for _, part in all_parts(held)]
        mean = sum(some.sum(axis=0) for some in blocks) / size
        covariance = sum((some - mean).T @ (some - mean) for some in blocks) / (size * encoder.scale**2)
        largest = max(float(np.abs(some).max(initial=0.0)) for some in blocks) / encoder.scale
        total = max(float(np.trace(covariance)), 1e-300)
        return cls((mean - encoder.means) / encoder.scale, covariance,
                   EPS * max(*points.shape, 10) * (1 + largest**2 * points.shape[1] / total))

    def error(self, into: tuple[Array, Array], back: tuple[Array, Array]) -> float:
        """Return the mean of ‖x̂ - x‖² by weights and biases of encoder (d x p, p) and decoder (p x d, d)."""
        lost = into[0] @ back[0] - np.eye(len(self.mean))
        shift = self.mean @ lost + into[1] @ back[0] + back[1]
        return float(np.sum(lost * (self.covariance @ lost)) + shift @ shift)


def closed_form_checks(data: Features, model: Model, full: bool) -> list[Check]:
    """Check that weights and biases of linear networks are at the best; `fit` states the noise of a variational one.

    A closed form is exact to rounding, and what an error of weights loses is a square of it: below the objective's
    own rounding.
    """
    projector: Any = require_projector(model.projector)
    encoder, decoder = projector.similarity, projector.decoder
    rows, columns = data.values.shape
    if rows * columns**2 > MOST and not full:
        return [later("stationarity")]
    seen, (first,), (last,) = Standardized.of(data.values, encoder), encoder.network.layers, decoder.network.layers
    size = len(last.weights)
    parts = [first.weights[:, :size], first.biases[:size], last.weights, last.biases]
    total = float(np.trace(seen.covariance))
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
