"""The evidence lower bound of finished networks, and a tighter one by importance weights, in NumPy."""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import Array
from mlcli.base.values.quantity import Quantity
from mlcli.methods.networks.likelihoods import Likelihood
from mlcli.methods.networks.network import Network
from mlcli.methods.networks.standard import Standard

BLOCK = 1 << 19  # activations of a layer in a thread's memory
FAINT = 1e-150  # deviations of a posterior without noise, whose logarithm is finite


@frozen
class Bound:
    """The evidence lower bound of rows; a row's encoder outputs are the mean and log-variance of q(z | x)."""

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
        """Return the sums of E log p(x | z) and of KL(q ‖ N(0, I)) over rows (m x d) with their outputs (m x 2p).

        `first` is the number of the first row, which seeds the draws.
        """
        means, deviations = codes_of(outputs)
        apart = 0.5 * np.sum(means**2 + deviations**2 - 1 - 2 * np.log(deviations))
        return np.array([self.expected_log_density(first, rows, means, deviations), apart])

    def expected_log_density(self, first: int, rows: Array, means: Array, deviations: Array) -> float:
        """Return the sum of E log p(x | z) over rows (m x d), from one draw each; exact for a linear decoder.

        `means` and `deviations` (m x p) are those of q(z | x).
        """
        layer, *others = self.decoder.layers
        if not others and self.likelihood.dense:
            spread = deviations**2 @ np.sum(layer.weights**2, axis=1) / np.exp(self.level)
            return float(np.sum(self.log_density(rows, means) - spread / 2))
        normal = np.random.default_rng([self.seed, first]).standard_normal(means.shape)
        return float(np.sum(self.log_density(rows, means + deviations * normal)))

    def log_density(self, rows: Array, codes: Array) -> Array:
        """Return log p(x | z) (m) of rows (m x d), each at its code (m x p)."""
        seen = (rows - self.standard.means) / self.standard.scale
        return np.asarray(self.likelihood.log_density(seen, self.sums(codes), self.level, np))

    @stage("coordinates")
    def importance_bound(self, rows: Array, outputs: Array, draws: int) -> float:
        """Return the mean over rows (m x d) of log mean p(x, z) / q(z | x) over draws of z (Burda et al., 2016).

        `outputs` (m x 2p) are those of the encoder.
        """

        def block(part: slice) -> float:
            means, deviations = codes_of(outputs[part])
            generator = np.random.default_rng([self.seed, draws, part.start])
            logs = np.empty((draws, len(means)))
            for place in range(draws):
                normal = generator.standard_normal(means.shape)
                codes = means + deviations * normal
                logs[place] = self.log_density(rows[part], codes) + np.sum(
                    (normal**2 - codes**2) / 2 + np.log(deviations), axis=1)
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


def codes_of(outputs: Array) -> tuple[Array, Array]:
    """Return means and standard deviations (m x p each) of q(z | x) from the encoder's outputs (m x 2p)."""
    means, logs = np.split(outputs, 2, axis=1)
    return means, np.exp(logs / 2)
