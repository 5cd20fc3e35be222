"""How well a layout fits its dissimilarities: a value."""

from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit


@frozen
class Goodness:
    """The fit of n points: squared, `points` sum to the squared stress (under Sammon's weights, to his stress)."""

    points: Array  # n, √(Σⱼ w (d - d̂)² / 2 Σ w d²) as vegan's `goodness`; metric scaling divides by Σ w δ²
    pairs: Array  # s x 3: dissimilarity, distance and disparity, by ascending dissimilarity
    linear: float = np.nan  # squared correlation of distances and disparities, as in vegan's `stressplot`, if known

    def plain(self, unit: Unit) -> "Goodness":
        """Return the value with pairs in plain numbers."""
        return replace(self, pairs=unit.plain(self.pairs))
