"""The order of independent components, by negentropies computed again (Hyvärinen, 1999)."""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import Check, count

CONTRASTS: dict[str, Callable[[Array], Array]] = {
    "logcosh": lambda v: np.logaddexp(v, -v) - np.log(2.0), "exp": lambda v: -np.exp(-(v**2) / 2),
    "cube": lambda v: v**4 / 4}


def order_check(sources: Array, contrast: str) -> Check:
    """Check that white sources (n x p) are in descending order of (E G(y) - E G(v))², v a standard Gaussian."""
    function, (nodes, weights) = CONTRASTS[contrast], np.polynomial.hermite_e.hermegauss(180)
    gaussian = float(function(nodes) @ weights) / np.sqrt(2 * np.pi)
    negentropies = (function(sources).mean(axis=0) - gaussian) ** 2
    top = float(negentropies.max(initial=0.0))
    wrong = int(np.sum(np.diff(negentropies) > 1e-9 * top + 1e-12 * np.sqrt(top)))
    return count("order", wrong, "sources that are farther from Gaussian than the one before")
