"""Units that are powers of two: exact scaling, so that squares neither overflow nor vanish.

A method computes on data in a `Unit`, an exact power of two, so that no tolerance is absolute. `Method.fit` measures
the data in it, and rescales the options that carry a power of the unit (`option(..., power=-2)`). `Model.in_units` is
the one place that leads back. A method declares the powers of its coordinates and spectrum (`powers`); figures,
objective and loadings declare theirs (`Quantity`).
"""

import weakref
from math import log
from types import EllipsisType

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.scratch import allocate, in_file, release_pages
from mlcli.base.rows.source import as_array, in_unit, rows_of
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array
from mlcli.errors import NumericalError

BLOCK = 1 << 20  # numbers processed together
NORMAL = 1022  # powers of two up to this exponent are normal numbers, and multiplying by them is exact


@frozen
class Extent:
    """The largest size of an array's numbers, the smallest number, and whether all are finite."""

    largest: float  # absolute value, NaN left out; 0 where there is none
    finite: bool  # whether every number is finite
    least: float = 0.0  # the smallest number, NaN left out; 0 where none is below


_known: dict[int, tuple[weakref.ref[AnyArray], Extent]] = {}  # by id, as long as the array lives


def largest_of(values: AnyArray) -> float:
    """Return the largest absolute value of an array of any shape, NaN left out."""
    return extent_of(values).largest


def all_finite(values: AnyArray) -> bool:
    """Whether every number of an array of any shape is finite."""
    return extent_of(values).finite


def least_of(values: AnyArray) -> float:
    """Return the smallest number of an array of any shape in memory, NaN left out; 0 where none is below."""
    return extent_of(values).least


def extent_of(values: AnyArray) -> Extent:
    """Return the extent of an array of any shape; that of a read-only array is computed once."""
    if (rows := rows_of(values)) is not None:
        return Extent(rows.largest, rows.finite)
    if values.flags.writeable:
        return _extent(values)
    key = id(values)
    if key not in _known:
        _known[key] = weakref.ref(values, lambda _: _known.pop(key, None)), _extent(values)
    return _known[key][1]


def read_only(values: AnyArray) -> AnyArray:
    """Return a read-only view of an array of any shape."""
    if rows_of(values) is None and values.flags.writeable:
        values = values.view()
        values.flags.writeable = False
    return values


def _extent(values: AnyArray) -> Extent:
    """Return the extent, computed by all threads in blocks without large temporary arrays."""
    if values.size <= BLOCK:
        return _extent_of_block(values)
    parts = list(in_order(lambda rows: _extent_of(values, rows), _blocks(values)))
    return Extent(max((part.largest for part in parts), default=0.0), all(part.finite for part in parts),
                  min((part.least for part in parts), default=0.0))


def _extent_of(values: AnyArray, rows: slice) -> Extent:
    found = _extent_of_block(values[rows])
    release_pages()
    return found


def _extent_of_block(values: AnyArray) -> Extent:
    high, low = float(np.max(values, initial=0.0)), float(np.min(values, initial=0.0))
    finite = bool(np.isfinite(high) and np.isfinite(low))
    if np.isnan(high):  # rare, and slower to look around
        high, low = float(np.fmax.reduce(values, None, initial=0.0)), float(np.fmin.reduce(values, None, initial=0.0))
    return Extent(max(high, -low), finite, low)


def _blocks(values: AnyArray) -> list[slice]:
    return row_blocks(len(values), BLOCK, values.size // len(values))


@result("unit")
@frozen
class Unit:
    """A unit that is a power of two: x in this unit stands for 2**exponent * x.

    Units can be multiplied, divided and raised to powers: squares of lengths in `unit` are in `unit**2`.
    """

    exponent: int = 0

    @classmethod
    def of(cls, *arrays: Array, power: int = 1) -> "Unit":
        """Return the unit in whose power the arrays' largest size is in [2**-power, 1), NaN left out; 1 for zeros."""
        largest = max(map(largest_of, arrays))
        return cls(-(-int(np.frexp(largest)[1]) // power) if largest > 0 else 0)

    def __pow__(self, power: int) -> "Unit":
        return Unit(self.exponent * power)

    def __mul__(self, other: "Unit") -> "Unit":
        return Unit(self.exponent + other.exponent)

    def __truediv__(self, other: "Unit") -> "Unit":
        return Unit(self.exponent - other.exponent)

    def root(self, power: int) -> "Unit":
        """Return the unit of which this is the given power."""
        return Unit(self.exponent // power)

    def within(self, reach: int) -> bool:
        """Whether it is between 2**-reach and 2**reach."""
        return abs(self.exponent) <= reach

    def measured(self, values: Array) -> Array:
        """Return plain numbers (any shape) in this unit; exact unless they leave the range of doubles."""
        return _scale(values, -self.exponent)

    def plain(self, values: Array) -> Array:
        """Return numbers (any shape) in this unit as plain ones; exact unless they leave the range of doubles."""
        return _scale(values, self.exponent)

    def number(self, value: float) -> float:
        """Return one number in this unit as a plain one."""
        return float(self.plain(np.asarray(value, dtype=np.float64)))

    def logarithm(self, times: int) -> float:
        """Return the natural logarithm of this unit, multiplied by `times`."""
        return times * self.exponent * log(2)

    def shown(self, value: float) -> str:
        """Format a number in this unit as a plain one, to six digits, also where it leaves the range of doubles."""
        whole = self.number(value)
        return f"{whole:.6g}" if value == 0 or 0 < abs(whole) < np.inf else f"{value:.6g} x 2**{self.exponent}"

    def parameter(self, value: float, where: str) -> float:
        """Return a positive parameter in this unit; raises NumericalError where the unit takes it out of range."""
        moved = (self**-1).number(value)
        if not np.finfo(np.float64).tiny <= moved < np.inf:  # smaller numbers have lost digits
            raise NumericalError("KERNEL-RANGE", f"{value:g} is out of range for data of this size", where=where,
                                 hint="scale the data, for example with {prepare.scale=standard}")
        return moved


def _scale(values: Array, exponent: int) -> Array:
    """Return 2**exponent * values; for a large read-only array the result is kept for the next call."""
    if exponent == 0:
        return values
    if (rows := rows_of(values)) is not None:
        return as_array(in_unit(rows, exponent))
    if values.flags.writeable or values.size <= BLOCK:
        return _multiply(values, exponent)
    return memoize("scaled", (values, exponent), lambda: read_only(_multiply(values, exponent)))


def _multiply(values: Array, exponent: int) -> Array:
    """Return 2**exponent * values as a new array."""
    found = allocate(*values.shape) if in_file(values) else np.empty(values.shape)

    def fill(rows: slice | EllipsisType) -> None:
        with np.errstate(over="ignore", under="ignore"):
            if abs(exponent) <= NORMAL:
                np.multiply(values[rows], np.ldexp(1.0, exponent), out=found[rows])  # the same, several times faster
            else:
                np.ldexp(values[rows], exponent, out=found[rows])
        release_pages()

    if values.size <= BLOCK:
        fill(...)
    else:
        each(fill, _blocks(values))
    return found
