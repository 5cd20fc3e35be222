"""Sums over rows from which means, spreads and covariances follow; added block by block, about a point near the mean.

Deviations from a shift near the means have small squares, so that data far from the origin lose no digits (Chan, Golub
and LeVeque, "Algorithms for computing the sample variance", 1983).
"""

from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices

FARTHEST = 2.0**400  # size of numbers whose squares are summed as they are
TRIFLE = 1.0  # error of a shift, as a share of a column's squares, by which rounding grows no more than twofold


@frozen
class Moments:
    """Sums of x - shift and of their products over some rows x (d)."""

    rows: int
    shift: Array  # d
    sums: Array  # d
    products: Array  # d x d; or their diagonal alone (d)
    least: Array  # d: the smallest number of each column
    most: Array  # d: the largest
    exponent: Indices | None = None  # all of it is of x 2**-exponent, for columns whose squares have no doubles (d)

    def __add__(self, other: "Moments") -> "Moments":
        """Add the sums of other rows about the same shift."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # of far ones other sums are made
            return Moments(self.rows + other.rows, self.shift, sums=self.sums + other.sums,
                           products=self.products + other.products, least=np.minimum(self.least, other.least),
                           most=np.maximum(self.most, other.most), exponent=self.exponent)

    @property
    def sizes(self) -> Array:
        """The largest size of a number in each column (d)."""
        return np.maximum(self.most, -self.least)

    @property
    def exponents(self) -> Indices:
        """The powers of two next to these sizes (d), in the units of the data."""
        return np.frexp(self.sizes)[1].astype(np.int64) + (0 if self.exponent is None else self.exponent)

    @property
    def far(self) -> bool:
        """Whether squares leave the range of doubles, or lose digits at its end."""
        sizes = self.sizes
        return bool(self.rows and np.any((sizes > FARTHEST) | ((sizes > 0) & (sizes < 1 / FARTHEST))))

    @property
    def plain(self) -> "Moments":
        """These moments in the units of the data, where squares may underflow or overflow."""
        return self if self.exponent is None else self.times_power(np.zeros(len(self.sums), dtype=np.int64))

    @property
    def whole(self) -> bool:
        """Whether all products are known."""
        return self.products.ndim == 2

    @property
    def largest(self) -> float:
        """The largest size of a number."""
        return float(max(self.most.max(initial=0.0), -self.least.min(initial=0.0)))

    @property
    def rest(self) -> Array:
        """The means minus the shift (d)."""
        return self.sums / self.rows

    @property
    def means(self) -> Array:
        """The means of the columns (d), exact for constant ones."""
        return np.where(self.constant, self.least, self.shift + self.rest)

    @property
    def constant(self) -> AnyArray:
        """A mask (d) of the constant columns."""
        flat: AnyArray = self.least == self.most
        return flat

    @property
    def squares(self) -> Array:
        """The sums of squared deviations from the means (d)."""
        squares = np.diag(self.products) if self.whole else self.products
        return np.where(self.constant, 0.0, np.maximum(squares - self.rows * self.rest**2, 0.0))

    @cached_property
    def covariance(self) -> Array:
        """The sums of products of deviations from the means (d x d)."""
        return self.products - self.rows * np.outer(self.rest, self.rest)

    @property
    def exact(self) -> bool:
        """Whether the shift was near enough to the means that no digits, and at most a bit, are lost."""
        finite = np.isfinite(self.products).all()
        return bool(finite and np.all(self.constant | (self.rows * self.rest**2 <= TRIFLE * self.squares)))

    def times_power(self, power: Indices) -> "Moments":
        """Return the moments of x 2**power (`power` has length d), exact except at the ends of the range."""
        power = power if self.exponent is None else power + self.exponent
        with np.errstate(over="ignore", under="ignore"):
            return Moments(self.rows, np.ldexp(self.shift, power), sums=np.ldexp(self.sums, power),
                           products=np.ldexp(self.products, power[:, None] + power if self.whole else 2 * power),
                           least=np.ldexp(self.least, power), most=np.ldexp(self.most, power))

    def scaled(self, factor: Array, center: Array) -> "Moments":
        """Return the moments of (x - center) * factor; `factor` and `center` are (d,) arrays, factor >= 0."""
        known = self.plain
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            products = known.products * (np.outer(factor, factor) if self.whole else factor**2)
            return Moments(self.rows, (known.shift - center) * factor, sums=known.sums * factor, products=products,
                           least=(known.least - center) * factor, most=(known.most - center) * factor)

    def of_columns(self, chosen: AnyArray) -> "Moments":
        """Return the moments of the chosen columns, a mask or indices of shape (c,)."""
        products = self.products[np.ix_(chosen, chosen)] if self.whole else self.products[chosen]
        return Moments(self.rows, self.shift[chosen], sums=self.sums[chosen], products=products,
                       least=self.least[chosen], most=self.most[chosen],
                       exponent=None if self.exponent is None else self.exponent[chosen])
