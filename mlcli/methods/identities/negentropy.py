"""Independent components, by negentropies and fixed points computed again (Hyvärinen, 1999)."""

from collections.abc import Callable

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.methods.identities.stationarity import UNCONVERGED
from mlcli.stages.algebra.iterate import SMALL

CONTRASTS: dict[str, Callable[[Array], Array]] = {
    "logcosh": lambda v: np.logaddexp(v, -v) - np.log(2.0), "exp": lambda v: -np.exp(-(v**2) / 2),
    "cube": lambda v: v**4 / 4}
SLOPES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {  # g = G', and g'
    "logcosh": (np.tanh, lambda v: np.cosh(np.clip(v, -300, 300)) ** -2.0),
    "exp": (lambda v: v * np.exp(-(v**2) / 2), lambda v: (1 - v**2) * np.exp(-(v**2) / 2)),
    "cube": (lambda v: v**3, lambda v: 3 * v**2)}
TINY = 1e-300  # in place of zero, where a source is constant


def negentropy_checks(sources: Array, contrast: str, stated: Array) -> list[Check]:
    """Check white sources (n x p): negentropies (E G(y) - E G(v))², v a standard Gaussian, descend and are as stated.

    `stated` holds the p negentropies of the fit.
    """
    function, (nodes, weights) = CONTRASTS[contrast], np.polynomial.hermite_e.hermegauss(180)
    gaussian = float(function(nodes) @ weights) / np.sqrt(2 * np.pi)
    means = function(sources).mean(axis=0)
    negentropies = (means - gaussian) ** 2
    top = float(negentropies.max(initial=0.0))
    wrong = int(np.sum(np.diff(negentropies) > 1e-9 * top + 1e-12 * np.sqrt(top)))
    checks = [count("order", wrong, "sources that are farther from Gaussian than the one before")]
    known = min(len(stated), len(negentropies))
    size = float(np.abs(means).max(initial=0.0)) + abs(gaussian)
    return [*checks, ratio("negentropy", float(np.abs(negentropies - stated)[:known].max(initial=0.0)),
                           1e-11 * (top + size * np.sqrt(top)) + EPS * size**2,
                           "(E G(y) - E G(v))² of each source, as stated")]


def fixed_point_check(sources: Array, contrast: str, tolerance: float, converged: bool, *, together: bool) -> Check:
    """Check that white sources (n x p) are a fixed point: that the next step would turn them no farther than claimed.

    With y the sources, a step maps directions W to M W, with M = E g(y) yᵀ - diag E g'(y), and then to the nearest
    orthonormal ones, up to signs. To first order these are W turned in each plane by

        (dᵢ Mᵢⱼ - dⱼ Mⱼᵢ) / (dᵢ Mᵢᵢ + dⱼ Mⱼⱼ),   dᵢ the sign of Mᵢᵢ,

    which at a maximum or minimum of Σ dᵢ E G(yᵢ) under rotations is zero. One after the other (not `together`), the
    direction that came first is turned by Mᵢⱼ / Mᵢᵢ. Convergence means that the distance from the limit is within
    `tolerance`, or steps are as small as rounding: a step is no longer than that distance.
    """
    if not converged:
        return skipped("stationarity", UNCONVERGED)
    slope, bend = SLOPES[contrast]
    slopes = slope(sources)
    step = slopes.T @ sources / max(len(sources), 1) - np.diag(bend(sources).mean(axis=0))
    sizes, signed = np.abs(np.diag(step)), step * np.where(np.diag(step) < 0, -1.0, 1.0)[:, None]
    rounding = EPS * max(*sources.shape, 10) * float(np.sqrt(np.mean(slopes**2, axis=0)).max(initial=0.0))
    if together:
        apart, within = np.abs(signed - signed.T), sizes + sizes[:, None]
        shares = apart / np.maximum(within * max(tolerance, SMALL) + rounding, TINY)
    else:
        shares = np.abs(step) / np.maximum(sizes[:, None] * max(tolerance, SMALL) + rounding, TINY)
        shares = np.minimum(shares, shares.T)
    return ratio("stationarity", float(np.triu(shares, 1).max(initial=0.0)), 1.0,
                 "the angle by which a step would turn two sources, over the distance that convergence allows")
