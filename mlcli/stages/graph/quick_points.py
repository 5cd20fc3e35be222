"""Points in a form whose products are quick: in single precision, or in bytes where they are whole numbers so small.

Both give ‖y‖² - 2 x·y, the squared distance of points less ‖x‖², which is constant for the neighbors of x.
"""

from typing import Protocol

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.scaling import Unit
from mlcli.stages.algebra.distances import rounding_of_products

BLOCK = 2**18  # numbers that are looked at together: they stay in the second cache
LARGEST = 255  # of a byte
WIDEST = 2**15  # columns whose products of bytes stay within 32 bits
WHOLE = 16 * float(np.finfo(np.float32).eps)  # rounding of whole numbers, which are only compared in single precision


class QuickPoints(Protocol):
    """Points (n x d) whose products with each other are quick."""

    norms: AnyArray  # ‖x‖² (n), in single precision

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return x·y (a x b, single precision) of some points with others."""

    def beyond(self, last: AnyArray, norms: AnyArray) -> Array:
        """Return lower bounds (m) of squared distances to points that are not candidates.

        `last` (m) are the largest ‖y‖² - 2 x·y of the candidates of points x with the squared norms `norms` (m).
        """


class Singles:
    """Points in single precision, centered and scaled to unit size first, so that squares neither overflow nor
    underflow.
    """

    def __init__(self, points: Array) -> None:
        self._center = points.mean(axis=0)
        self._unit = Unit.of(points.max(axis=0) - self._center, points.min(axis=0) - self._center)
        self.points = np.empty(points.shape, dtype=np.float32)

        def center(rows: slice) -> None:
            self.points[rows] = self.moved(points[rows])

        each(center, row_blocks(len(points), BLOCK, points.shape[1]))
        self.norms: AnyArray = np.einsum("ij,ij->i", self.points, self.points)
        self._rounding = rounding_of_products(points.shape[1], np.float32)

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return x·y (a x b) of some centered points with others."""
        return native.products_of_rows(self.points[rows], self.points[others])

    def beyond(self, last: AnyArray, norms: AnyArray) -> Array:
        """Return lower bounds (m) of squared distances to points that are not candidates."""
        return (self._unit**2).plain(bounds(last, norms, float(self.norms.max()), self._rounding))

    def moved(self, points: Array) -> AnyArray:
        """Return (m, d) points centered and scaled in the same way; infinite beyond the range of single precision."""
        return self._unit.measured(points - self._center).astype(np.float32)


class Bytes:
    """Points whose coordinates are a constant plus whole multiples of a power of two, from 0 to 255 of them.

    So are images, counts and answers. Products of bytes are exact, and many times quicker.
    """

    def __init__(self, values: AnyArray, norms: Array, unit: Unit) -> None:
        """Take the multiples (n x d, bytes), the sums of their squares (n), and the power of two."""
        self._rows, self._unit = native.ByteRows(values), unit
        self.norms: AnyArray = norms.astype(np.float32)

    @classmethod
    def of(cls, points: Array) -> "Bytes | None":
        """Return points (n x d) as bytes; None where they are none, or the machine has no products of bytes."""
        if not native.has_byte_products() or not 0 < points.shape[1] <= WIDEST:
            return None
        parts = row_blocks(len(points), BLOCK, points.shape[1])
        ranges = list(in_order(lambda rows: (points[rows].min(), points[rows].max()), parts, ahead=len(parts)))
        low, high = min(least for least, _ in ranges), max(most for _, most in ranges)
        part, exponent = np.frexp((high - low) / LARGEST)
        unit = Unit(int(exponent) - (part == 0.5))  # the least in which no multiple is above a byte
        values, norms = np.empty(points.shape, dtype=np.uint8), np.empty(len(points))

        def convert(rows: slice) -> bool:
            multiples = unit.measured(points[rows] - low)
            values[rows] = multiples
            norms[rows] = np.einsum("ij,ij->i", multiples, multiples)
            return bool((values[rows] == multiples).all())

        whole = all(convert(rows) for rows in parts[:1]) and all(in_order(convert, parts[1:], ahead=len(parts)))
        return cls(values, norms, unit) if whole else None

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return x·y (a x b) of the multiples of some points with those of others."""
        return self._rows.products(rows, others)

    def beyond(self, last: AnyArray, norms: AnyArray) -> Array:
        """Return lower bounds (m) of squared distances to points that are not candidates."""
        return (self._unit**2).plain(bounds(last, norms, float(self.norms.max()), WHOLE))


def bounds(last: AnyArray, norms: AnyArray, largest: float, rounding: float) -> Array:
    """Return lower bounds (m) of ‖x - y‖², from ‖y‖² - 2 x·y and ‖x‖² (m) and the largest ‖y‖², less their rounding."""
    reached: Array = last.astype(np.float64) + norms - rounding * (norms + largest)
    return reached


def quick_points(points: Array) -> QuickPoints:
    """Return points (n x d) in bytes where they are such, else in single precision."""
    return Bytes.of(points) or Singles(points)
