"""New points of a layout: each where its distances from the training points fit its dissimilarities best."""

from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.stages.algebra.metrics import EUCLIDEAN, Fitted
from mlcli.stages.algebra.metrics.blocks import squared
from mlcli.stages.layout.disparities import Monotone
from mlcli.stages.layout.placing import place_by_stress
from mlcli.stages.similarities.layouts.fixed import AmongFixed


@stored("least-stress", coordinates="np", points="nd")
@frozen
class LeastStress(AmongFixed):
    """Coordinates that minimize a new point's own stress, with those of the training points fixed."""

    on_equals: ClassVar[bool] = True
    coordinates: Array  # n x p
    points: Array | None  # n x d; None where dissimilarities are given
    power: float  # of dissimilarities, as weights of pairs
    disparities: Monotone | None = None  # of ranks: the lengths that distances should have
    metric: Fitted = EUCLIDEAN

    def rows(self, new: Array) -> Array:
        """Return coordinates (m x p); a point at dissimilarity zero from a training point is placed on it."""
        lengths = new if self.points is None else np.sqrt(squared(self.metric, new, self.points))
        equal = lengths == 0
        targets = lengths if self.disparities is None else self.disparities(lengths)
        placed = self.coordinates[equal.argmax(axis=1)]
        off = np.flatnonzero(~equal.any(axis=1))
        weights = relative_weights(lengths[off], self.power)
        placed[off] = place_by_stress(targets[off], self.coordinates, weights)
        return placed


def relative_weights(lengths: Array, power: float) -> Array:
    """Return powers of dissimilarities above zero (m x n), relative to the largest weight of each row."""
    if power == 0 or not lengths.size:
        return np.ones_like(lengths)
    heaviest = lengths.min(axis=1, keepdims=True) if power < 0 else lengths.max(axis=1, keepdims=True)
    return np.asarray((lengths / heaviest) ** power)
