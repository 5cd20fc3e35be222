"""The evidence lower bound of finished networks, and a tighter one by importance weights, in NumPy."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.blocks import in_order, row_blocks
from mlcli.base.frozen import frozen
from mlcli.base.quantity import Quantity
from mlcli.base.stage import stage
from mlcli.base.types import Array, Indices
from mlcli.stages.neural.likelihoods import Likelihood
from mlcli.stages.neural.network import Network
from mlcli.stages.neural.standard import Standard

BLOCK = 1 << 19  # activations of a layer that a thread holds


@frozen
class Variational:
    """A decoder with its likelihood, and what is known of the code of each row."""

    points: Array  # n x d
    standard: Standard
    means: Array  # n x p, of q(z | x)
    deviations: Array  # n x p
    decoder: Network
    likelihood: Likelihood
    level: float  # the logarithm of the noise's variance over the squared scale
    seed: int

    @property
    def sums(self) -> Network:
        """The decoder without its last activation."""
        *others, last = self.decoder.layers
        return Network((*others, replace(last, activation="identity")))

    def density(self, value: Array | float) -> Quantity:
        """The logarithm of a density of rows, found over the scale, or of a probability, in the data's unit."""
        cells = self.points.shape[1] * self.likelihood.dense
        return Quantity(value - cells * float(np.log(self.standard.scale)), cells=(cells,))

    def curve(self, name: str, values: Array) -> Quantity:
        """What happened in training, epoch by epoch: of what was lowered, the bound that rose."""
        if name == "divergence":
            return Quantity(values)
        return self.density(-values if name == "validation" else values)

    def figures(self, held: Indices, draws: int) -> dict[str, Any]:
        """The bound of an average row with its parts, and the tighter one of the rows that were held out."""
        reconstruction, divergence = self.reconstruction(), float(self.divergence().mean())
        weighted = {"held_out_bound": self.density(self.weighted(held, draws))} if len(held) else {}
        noise = {"noise_variance": Quantity(self.standard.scale**2 * float(np.exp(self.level)), 2)}
        return {"elbo": self.density(reconstruction - divergence), "reconstruction": self.density(reconstruction),
                "divergence": divergence, **weighted, **(noise if self.likelihood.dense else {})}

    def divergence(self) -> Array:
        """KL(q ‖ N(0, I)) of each row (n)."""
        return 0.5 * np.sum(self.means**2 + self.deviations**2 - 1 - 2 * np.log(self.deviations), axis=1)

    def log_density(self, rows: Indices, codes: Array) -> Array:
        """log p(x | z) of some rows, each at a code."""
        seen = self.standard.seen(self.points, rows, "float64")
        return np.asarray(self.likelihood.log_density(seen, self.sums(codes), self.level, np))

    def drawn(self, rows: Indices, generator: np.random.Generator) -> tuple[Array, Array]:
        """A code of each row from q, and the standard normal numbers that it is made of."""
        normal = generator.standard_normal((len(rows), self.means.shape[1]))
        return self.means[rows] + self.deviations[rows] * normal, normal

    @stage("coordinates")
    def reconstruction(self) -> float:
        """E log p(x | z), the mean over all rows: from one draw of each; exact for a linear decoder."""
        first, *others = self.decoder.layers
        exact = not others and self.likelihood.dense

        def block(rows: slice) -> float:
            chosen = np.arange(rows.start, rows.stop)
            if exact:
                spread = self.deviations[rows] ** 2 @ np.sum(first.weights**2, axis=1) / np.exp(self.level)
                return float(np.sum(self.log_density(chosen, self.means[rows]) - spread / 2))
            codes, _ = self.drawn(chosen, np.random.default_rng([self.seed, rows.start]))
            return float(np.sum(self.log_density(chosen, codes)))

        blocks = row_blocks(len(self.points), BLOCK, self.decoder.width)
        return sum(in_order(block, blocks, progress=True)) / len(self.points)

    @stage("coordinates")
    def weighted(self, rows: Indices, draws: int) -> float:
        """log of the mean of p(x, z) / q(z | x) over draws of z, the mean over some rows (Burda et al., 2016)."""

        def block(part: slice) -> float:
            chosen, generator = rows[part], np.random.default_rng([self.seed, draws, part.start])
            logs = np.empty((draws, len(chosen)))
            for place in range(draws):
                codes, normal = self.drawn(chosen, generator)
                logs[place] = self.log_density(chosen, codes) + np.sum(
                    (normal**2 - codes**2) / 2 + np.log(self.deviations[chosen]), axis=1)
            return float(np.sum(np.logaddexp.reduce(logs, axis=0) - np.log(draws)))

        return sum(in_order(block, row_blocks(len(rows), BLOCK, self.decoder.width), progress=True)) / len(rows)
