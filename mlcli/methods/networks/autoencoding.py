"""The objective of an autoencoder: its reconstruction error, and the weighted penalties of its constraints (JAX)."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.methods.networks.backend import Layers, Traced, forward, initial_layers, jax, jnp, network, random
from mlcli.methods.networks.constraints import Corruption, Sparsity
from mlcli.methods.networks.network import Hidden, Network


@frozen
class Autoencoding:
    """The mean squared error of a cell, and penalties; weights are those of `encoder` and `decoder`, layer by layer.

    A decoder that is tied has the encoder's weights, transposed, and biases of its own.
    """

    figures: ClassVar[tuple[str, ...]] = ()  # besides the objective
    hidden: Hidden
    corruption: Corruption
    sparsity: Sparsity
    tied: bool = False
    dropout: float = 0.0
    contraction: float = 0.0

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Traced]:
        """Return random weights for layers of these sizes, from the inputs to the code."""
        encoder = initial_layers(sizes, self.hidden, generator)
        decoder = initial_layers(sizes[::-1], self.hidden, generator)
        return {"encoder": encoder, "decoder": [(biases,) for _, biases in decoder] if self.tied else decoder}

    def decoder(self, weights: dict[str, Traced]) -> Layers:
        """Return the layers of the decoder."""
        if not self.tied:
            return list(weights["decoder"])
        return [(back.T, biases) for (back, _), (biases,) in zip(weights["encoder"][::-1], weights["decoder"],
                                                                 strict=True)]

    def __call__(self, weights: dict[str, Traced], rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """Return the objective of some rows and no figures; rows are corrupted and units dropped in training only."""
        corrupting, coding, decoding = random.split(key, 3)
        encoder = list(weights["encoder"])
        inputs = self.corruption(rows, corrupting) if training else rows
        codes = forward(encoder, inputs, self.hidden, self.sparsity.code, self.dropout, coding if training else None)
        back = forward(self.decoder(weights), codes, self.hidden, "identity", self.dropout,
                       decoding if training else None)
        value = jnp.mean(jnp.square(back - rows)) + self.sparsity(codes)
        if self.contraction > 0:
            def code(row: Traced) -> Traced:
                return forward(encoder, row, self.hidden, self.sparsity.code)

            slopes = jax.vmap(jax.jacrev(code))(rows)
            value = value + self.contraction * jnp.mean(jnp.sum(jnp.square(slopes), axis=(1, 2)))
        return value, jnp.zeros(0)

    def networks(self, weights: dict[str, Traced]) -> tuple[Network, Network]:
        """Return the encoder and the decoder as plain arrays."""
        return (network(weights["encoder"], self.hidden, self.sparsity.code),
                network(self.decoder(weights), self.hidden))
