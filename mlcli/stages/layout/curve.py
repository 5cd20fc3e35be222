"""The curve of memberships in a layout, 1 / (1 + a d^2b), by least squares (McInnes, Healy and Melville, 2018)."""

import warnings
from contextlib import suppress

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import result, stored
from mlcli.base.types import Array
from mlcli.errors import ConfigError

SAMPLES, REACH = 300, 3.0  # distances that the curve is fitted at, up to so many times the spread


@stored("membership-curve")
@result("membership-curve")
@frozen
class MembershipCurve:
    """The membership 1 / (1 + a d^2b) of points at distance d."""

    a: float
    b: float


def target(min_dist: float, spread: float) -> tuple[Array, Array]:
    """Return distances (300) and the memberships there that a curve approximates: one up to `min_dist`, then falling.
    """
    distances = np.linspace(0, spread * REACH, SAMPLES)
    return distances, np.where(distances < min_dist, 1.0, np.exp(-(distances - min_dist) / spread))


def fit_curve(min_dist: float, spread: float) -> MembershipCurve:
    """Return a and b of the least squares fit to the target, from a = b = 1.

    Raises ConfigError for a minimal distance above the spread, and where no curve fits.
    """
    from scipy.optimize import curve_fit

    found = np.full(2, np.nan)
    if min_dist <= spread:
        distances, memberships = target(min_dist, spread)
        with suppress(RuntimeError), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of an uncertainty that nothing needs
            found = curve_fit(lambda x, a, b: 1.0 / (1.0 + a * x ** (2 * b)), distances, memberships)[0]
    if not (np.isfinite(found).all() and found.min() > 0):
        raise ConfigError("CURVE", f"no curve 1 / (1 + a d^2b) fits a minimal distance of {min_dist:g} with a spread "
                          f"of {spread:g}", where="method.min_dist", hint="choose a minimal distance of at most the "
                          "spread")
    return MembershipCurve(float(found[0]), float(found[1]))
