"""Coordinates of rows of several views, from those that each view alone gives."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.errors import ConfigError


@stored("joint-views", precisions="vpp", weights="p")
@frozen
class JointViews:
    """How coordinates given several of v views follow from the coordinates given each: one of two rules.

    Posterior means of z ~ N(0, I) have a precision Pₖ = I + WₖᵀΨₖ⁻¹Wₖ given view k alone, and evidence of views adds:
    (I + Σ (Pₖ - I))⁻¹ Σ Pₖ sₖ. Scores of all views may also add up with weights.
    """

    precisions: Array | None  # v x p x p
    weights: Array | None  # p, of the sum over all views

    def combine(self, scores: Sequence[Array], views: Sequence[int], count: int) -> Array:
        """Return coordinates (m x p) given the scores (m x p) of some of `count` views, whose numbers count from 0.

        Raises ConfigError where they follow only from all views.
        """
        if self.precisions is None or self.weights is not None:
            if len(views) < count or self.weights is None:
                raise ConfigError("AS-VIEW", f"the coordinates follow from rows of one view, or of all {count}",
                                  where="--view", hint="leave the second file out, or give all views")
            return sum(scores, np.zeros_like(scores[0])) * self.weights
        chosen = self.precisions[list(views)]
        whole = np.eye(chosen.shape[1]) + (chosen - np.eye(chosen.shape[1])).sum(axis=0)
        evidence = sum((score @ precision for score, precision in zip(scores, chosen, strict=True)),
                       np.zeros_like(scores[0]))
        return np.linalg.solve(whole, evidence.T).T
