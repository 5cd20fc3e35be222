"""Units that are powers of two: exact scaling, so that squares neither overflow nor vanish."""

import weakref
from math import log
from types import EllipsisType

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.scratch import in_file, let_go, room
from mlcli.base.rows.source import as_array, in_unit, rows_of
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array
from mlcli.errors import NumericalError

BLOCK = 1 << 20  # numbers processed together
NORMAL = 1022  # powers of two up to this exponent are normal numbers, and multiplying by them is exact


@frozen
class Extent:
    """How far the numbers of an array reach."""

    largest: float  # absolute value, NaN left out; 0 where there is none
    finite: bool  # whether every number is


_known: dict[int, tuple[weakref.ref[AnyArray], Extent]] = {}  # by id, as long as the array lives


def largest_of(values: AnyArray) -> float:
    """The largest absolute value of an array of any size, NaN left out."""
    return extent_of(values).largest


def all_finite(values: AnyArray) -> bool:
    """Whether every number is finite."""
    return extent_of(values).finite


def extent_of(values: AnyArray) -> Extent:
    """The extent of an array of any size; that of a constant array is computed once."""
    if (rows := rows_of(values)) is not None:
        return Extent(rows.largest, rows.finite)
    if values.flags.writeable:
        return _extent(values)
    key = id(values)
    if key not in _known:
        _known[key] = weakref.ref(values, lambda _: _known.pop(key, None)), _extent(values)
    return _known[key][1]


def constant(values: AnyArray) -> AnyArray:
    """The same numbers as an array that cannot be written to."""
    if rows_of(values) is None and values.flags.writeable:
        values = values.view()
        values.flags.writeable = False
    return values


def _extent(values: AnyArray) -> Extent:
    """The extent, computed by all threads in blocks, so that no large array is made."""
    if values.size <= BLOCK:
        return _extent_of_block(values)
    parts = list(in_order(lambda rows: _extent_of(values, rows), _blocks(values)))
    return Extent(max((part.largest for part in parts), default=0.0), all(part.finite for part in parts))


def _extent_of(values: AnyArray, rows: slice) -> Extent:
    found = _extent_of_block(values[rows])
    let_go()
    return found


def _extent_of_block(values: AnyArray) -> Extent:
    high, low = float(np.max(values, initial=0.0)), float(np.min(values, initial=0.0))
    finite = bool(np.isfinite(high) and np.isfinite(low))
    if np.isnan(high):  # rare, and slower to look around
        high, low = float(np.fmax.reduce(values, None, initial=0.0)), float(np.fmin.reduce(values, None, initial=0.0))
    return Extent(max(high, -low), finite)


def _blocks(values: AnyArray) -> list[slice]:
    return row_blocks(len(values), BLOCK, values.size // len(values))


@result("unit")
@frozen
class Unit:
    """A power of two that numbers are measured in: x in this unit stands for 2**exponent * x.

    Units are multiplied, divided and raised to powers: the squares of lengths in `unit` are measured in `unit**2`.
    """

    exponent: int = 0

    @classmethod
    def of(cls, *arrays: Array, power: int = 1) -> "Unit":
        """The unit in whose power the largest size of some numbers is in [2**-power, 1), NaN left out; 1 for zeros."""
        largest = max(map(largest_of, arrays))
        return cls(-(-int(np.frexp(largest)[1]) // power) if largest > 0 else 0)

    def __pow__(self, power: int) -> "Unit":
        return Unit(self.exponent * power)

    def __mul__(self, other: "Unit") -> "Unit":
        return Unit(self.exponent + other.exponent)

    def __truediv__(self, other: "Unit") -> "Unit":
        return Unit(self.exponent - other.exponent)

    def root(self, power: int) -> "Unit":
        """The unit of which this is a power."""
        return Unit(self.exponent // power)

    def within(self, reach: int) -> bool:
        """Whether it lies between 2**-reach and 2**reach."""
        return abs(self.exponent) <= reach

    def measured(self, values: Array) -> Array:
        """Numbers in this unit; exact unless they leave the range of doubles, on all threads."""
        return _scaled(values, -self.exponent)

    def plain(self, values: Array) -> Array:
        """What numbers in this unit stand for, likewise."""
        return _scaled(values, self.exponent)

    def number(self, value: float) -> float:
        """What one number in this unit stands for."""
        return float(self.plain(np.asarray(value, dtype=np.float64)))

    def logarithm(self, times: int) -> float:
        """The natural logarithm of this unit, so many times."""
        return times * self.exponent * log(2)

    def shown(self, value: float) -> str:
        """What a number in this unit stands for, in six digits, also where that is not a double."""
        whole = self.number(value)
        return f"{whole:.6g}" if value == 0 or 0 < abs(whole) < np.inf else f"{value:.6g} x 2**{self.exponent}"

    def parameter(self, value: float, where: str) -> float:
        """A positive parameter in this unit; raises NumericalError where the data's size takes it out of range."""
        moved = (self**-1).number(value)
        if not 0 < moved < np.inf:
            raise NumericalError("KERNEL-RANGE", f"{value:g} is out of range for data of this size", where=where,
                                 hint="scale the data, for example with {prepare.scale=standard}")
        return moved


def _scaled(values: Array, exponent: int) -> Array:
    """2**exponent * values; of a large constant array the same constant one, where it is asked for again."""
    if exponent == 0:
        return values
    if (rows := rows_of(values)) is not None:
        return as_array(in_unit(rows, exponent))
    if values.flags.writeable or values.size <= BLOCK:
        return _multiplied(values, exponent)
    return memoize("scaled", (values, exponent), lambda: constant(_multiplied(values, exponent)))


def _multiplied(values: Array, exponent: int) -> Array:
    """2**exponent * values, another array."""
    found = room(*values.shape) if in_file(values) else np.empty(values.shape)

    def fill(rows: slice | EllipsisType) -> None:
        with np.errstate(over="ignore", under="ignore"):
            if abs(exponent) <= NORMAL:
                np.multiply(values[rows], np.ldexp(1.0, exponent), out=found[rows])  # the same, several times faster
            else:
                np.ldexp(values[rows], exponent, out=found[rows])
        let_go()

    if values.size <= BLOCK:
        fill(...)
    else:
        each(fill, _blocks(values))
    return found
