"""The objective of a variational autoencoder: the evidence lower bound (Kingma and Welling, 2014), in JAX."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.methods.networks.backend import Traced, forward, initial_layers, jnp, network, random
from mlcli.methods.networks.likelihoods import Likelihood
from mlcli.methods.networks.network import Hidden, Network


@frozen
class NegatedBound:
    """The negative bound of a row, β KL - E log p(x | z); weights are those of `encoder` and `decoder`, and a `level`.

    The encoder's outputs are the means and the log-variances of q(z | x). The level is the logarithm of the noise's
    variance, where that is learned.
    """

    figures: ClassVar[tuple[str, ...]] = ("reconstruction", "divergence")
    hidden: Hidden
    likelihood: Likelihood
    beta: float
    level: float | None

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Traced]:
        """Return random weights for layers of these sizes, from the inputs to the code."""
        level = {"level": np.zeros(())} if self.level is None else {}
        return {"encoder": initial_layers([*sizes[:-1], 2 * sizes[-1]], self.hidden, generator),
                "decoder": initial_layers(sizes[::-1], self.hidden, generator), **level}

    def noise(self, weights: dict[str, Traced]) -> Any:
        """Return the level, learned or fixed."""
        return weights["level"] if self.level is None else self.level

    def __call__(self, weights: dict[str, Traced], rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """Return the mean over rows, and its two parts."""
        means, logs = jnp.split(forward(weights["encoder"], rows, self.hidden), 2, axis=1)
        divergence = jnp.mean(jnp.sum(jnp.square(means) + jnp.exp(logs) - 1 - logs, axis=1)) / 2
        reconstruction = jnp.mean(self.expected_log_density(weights, rows, (means, logs), key))
        return self.beta * divergence - reconstruction, jnp.stack([reconstruction, divergence])

    def expected_log_density(self, weights: dict[str, Traced], rows: Traced, code: tuple[Traced, Traced],
                             key: Traced) -> Traced:
        """Return E log p(x | z) of each row, from one draw of z; exact for a linear decoder and Gaussian noise."""
        (means, logs), decoder, level = code, weights["decoder"], self.noise(weights)
        if len(decoder) == 1 and self.likelihood.dense:
            spread = jnp.exp(logs) @ jnp.sum(jnp.square(decoder[0][0]), axis=1) / jnp.exp(level)
            return self.likelihood.log_density(rows, forward(decoder, means, self.hidden), level, jnp) - spread / 2
        codes = means + jnp.exp(logs / 2) * random.normal(key, means.shape, means.dtype)
        return self.likelihood.log_density(rows, forward(decoder, codes, self.hidden), level, jnp)

    def networks(self, weights: dict[str, Traced]) -> tuple[Network, Network]:
        """Return the encoder and the decoder as plain arrays."""
        return network(weights["encoder"], self.hidden), network(weights["decoder"], self.hidden, self.likelihood.last)
