"""The divergence of affinities from those of a layout under Student's t-distribution, and its gradient (t-SNE).

With d the distances of coordinates and α the degrees of freedom, k = (1 + d²/α)^(-α) of each pair and Z their sum, the
divergence is Σ p log (p Z / k), and its gradient 4 (A - R / Z), with A and R the forces of attraction and repulsion.
Source: van der Maaten and Hinton, "Visualizing data using t-SNE", 2008; degrees of freedom: Kobak and others,
"Heavy-tailed kernels reveal a finer cluster structure in t-SNE visualisations", 2019.
"""

from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.stages.graph.perplexity import Affinities
from mlcli.stages.layout.repulsion import Summation, attract, repel


@frozen
class Forces:
    """Attraction Σ p k^(1/α) (y - y') and repulsion Σ k^(1 + 1/α) (y - y') / Z (n x p each), and Σ p log (p / q)."""

    attraction: Array
    repulsion: Array
    divergence: float

    @property
    def slope(self) -> float:
        """The length of the gradient, relative to that of its attraction; zero where there is none."""
        size = float(np.linalg.norm(self.attraction))
        return float(np.linalg.norm(self.attraction - self.repulsion)) / size if size > 0 else 0.0


@frozen
class Divergence:
    """The divergence as a function of coordinates; points of one group are at one place, and move as one."""

    affinities: Affinities
    dof: float
    groups: Indices | None = None  # n, from 0; None: each point is its own

    @cached_property
    def entropy(self) -> float:
        """-Σ p log p."""
        return self.affinities.entropy

    def forces(self, points: Array, how: Summation) -> Forces:
        """Return the forces at coordinates (n x p), with repulsion computed in one of several ways."""
        attraction, energy = attract(self.affinities.graph, points, self.dof)
        repulsion, total = repel(points, self.dof, how)
        return Forces(attraction, repulsion / total, energy + float(np.log(total)) - self.entropy)

    def together(self, rows: Array) -> Array:
        """Return rows (n x p), each the mean of its group."""
        if self.groups is None:
            return rows
        sums = np.column_stack([np.bincount(self.groups, column) for column in rows.T])
        return np.asarray((sums / np.bincount(self.groups)[:, None])[self.groups])
