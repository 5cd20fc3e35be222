"""The certificate of contributions and squared cosines: from rows by the definition of the method.

With described rows Z (n x c) of weighted mean zero, factors g of their columns and weights w of the rows, the axes are
the principal ones of X = Z diag(g): X'W F is Λ V for coordinates F = X V of whatever scale.
"""

from collections.abc import Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.certify.subject import max_abs

SLACK = 1e-6  # by which a share may be over one
SMALL = 1e-9  # variance of an axis relative to the largest below which its shares are rounding


@frozen
class WeightedRows:
    """Rows whose principal axes are those of a method."""

    described: Array  # n x c, of weighted mean zero, as columns are described
    factors: Array  # c: of the columns in the axes; zero for supplementary ones
    weights: Array  # n
    sizes: Array  # c: the largest number of each column before its mean was taken from it, which is as exact

    @classmethod
    def of_profiles(cls, table: Array) -> "WeightedRows":
        """Return the profiles of a table of amounts (n x c), by the chi-square distance, with the masses of the rows.
        """
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        total = float(rows.sum())
        masses = columns / total
        profiles = table / rows[:, None] / np.sqrt(masses)
        return cls(profiles - np.sqrt(masses), np.ones(table.shape[1]), rows / total, profiles.max(axis=0, initial=0.0))

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.described.shape[1]


def contribution_checks(rows: tuple[Array, Array], columns: tuple[Array, Array], embedding: Array,
                        again: WeightedRows) -> Iterator[Check]:
    """Check contributions and squared cosines of rows (n x p each) and of columns (c x p each)."""
    shapes = [part.shape for part in (*rows, *columns)]
    if shapes != [embedding.shape] * 2 + [(again.columns, embedding.shape[1])] * 2:
        yield count("contributions", 1, "files of contributions that do not fit the run")
        return
    outside = sum(int(np.sum(~((part >= 0) & (part <= 1 + SLACK)))) for part in (*rows, *columns))
    yield count("range of contributions", outside, "contributions and squared cosines that are no shares of one")
    weights = again.weights[:, None]
    active = again.described * again.factors
    moved = active.T @ (embedding * weights)
    lengths = np.linalg.norm(moved, axis=0)
    axes = moved / np.where(lengths > 0, lengths, 1.0)
    coordinates = active @ axes
    variances = np.sum(weights * coordinates**2, axis=0)
    drawn = variances > SMALL * variances.max(initial=0.0)
    own = np.sum(weights * again.described**2, axis=0)
    shared = again.described.T @ (coordinates * weights)
    sizes = np.sum(active**2, axis=1)[:, None]
    expected = ((coordinates**2 * weights, variances), (coordinates**2, sizes), (axes**2, np.ones(1)),
                (shared**2, np.outer(own, variances)))
    top = variances.max(initial=0.0)
    rounding = EPS * max(*active.shape, 10) * top / np.where(drawn, variances, 1.0)
    largest = float(np.max(again.sizes * again.factors, initial=0.0))
    with np.errstate(divide="ignore"):  # what has no length has no shares
        growths = 1 + largest / np.sqrt(top), 1 + largest / np.sqrt(sizes), 1 + largest / np.sqrt(top), (
            1 + again.sizes / np.sqrt(own))[:, None]
    errors = []
    for stated, (parts, wholes), growth in zip((*rows, *columns), expected, growths, strict=True):
        scale = rounding * growth
        whole = np.broadcast_to(wholes, parts.shape)
        meant = np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0)
        errors.append(max_abs(((stated - meant) / scale)[:, drawn]))
    yield ratio("contributions of rows", max(errors[:2]), 1.0,
                "shares of rows in the variance of an axis, and of the axis in the squared length of a row")
    yield ratio("contributions of columns", max(errors[2:]), 1.0,
                "squares of directions, and squared correlations of columns with the axes")
    if left := int(np.sum(~drawn)):
        yield skipped("contributions of small axes", f"the variance of {left} of {len(drawn)} axes is less than "
                      f"{SMALL:g} of the largest, and shares in it are rounding")
