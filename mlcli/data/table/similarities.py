"""The rule by which similarities become dissimilarities: its domain and its formula."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.naming import LISTED, shown
from mlcli.core.arithmetic import logarithm
from mlcli.data.options.wording import counted, joined
from mlcli.data.table.cells import named
from mlcli.errors import DataError

ROUNDING = 1e-12  # of the largest similarity: one this far beyond it, or on the diagonal this far from it, is it
FORMULAS = {"one-minus": "1 - s", "root-one-minus": "\u221a(1 - s)", "max-minus": "the largest s minus s",
            "minus-log": "-log s"}
ANY = "{input.similarities=max-minus} takes any numbers, as correlations"


@stored("similarity-rule")
@frozen
class SimilarityRule:
    """A rule that makes dissimilarities of similarities, with the similarity at which points are at distance zero."""

    name: str  # one of `FORMULAS`
    largest: float = 1.0  # of the points of the fit for max-minus, else one

    def outside(self, values: Array) -> AnyArray:
        """Return flags of the finite numbers, in an array of any shape, that are no similarities of the rule."""
        if self.name == "max-minus":
            return (values > self.largest + self._rounding) & np.isfinite(values)
        below = values <= 0 if self.name == "minus-log" else values < -ROUNDING
        return (below | (values > 1 + ROUNDING)) & np.isfinite(values)

    def apply(self, values: Array) -> Array:
        """Return the dissimilarities of similarities in an array of any shape; those that are not finite stay so."""
        finite = np.isfinite(values)
        if not finite.all():
            return np.where(finite, self.apply(np.where(finite, values, self.largest)), values)
        values = np.minimum(values, self.largest)  # beyond it by rounding
        if self.name == "minus-log":
            return 0.0 - logarithm(np.ascontiguousarray(values))
        with np.errstate(over="ignore"):  # an infinite difference is refused as one
            apart = self.largest - (values if self.name == "max-minus" else np.maximum(values, 0.0))
        return np.sqrt(apart) if self.name == "root-one-minus" else apart

    def apply_to_rows(self, values: Array, own: Indices) -> Array:
        """Return the dissimilarities of rows (m x n) whose similarities to themselves are in the columns `own` (m).

        Of a point to itself a missing one, and one that differs from the largest by rounding, gives zero.
        """
        found, rows = self.apply(values), np.arange(len(values))
        itself = values[rows, own]
        found[rows, own] = np.where(np.isnan(itself) | (np.abs(itself - self.largest) <= self._rounding), 0.0,
                                    found[rows, own])
        return found

    def refuse_outside(self, values: Array, ids: Sequence[str], columns: Sequence[str], where: str) -> None:
        """Raise DataError for numbers in an (m, n) array that are no similarities of the rule, with the first cells."""
        outside = self.outside(values)
        if not outside.any():
            return
        cells = np.argwhere(outside)[:LISTED].tolist()
        raise self.error(int(np.count_nonzero(outside)), float(values[tuple(cells[0])]), where,
                         named(cells, int(np.count_nonzero(outside)), ids, columns))

    def error(self, count: int, first: float, where: str, cells: str) -> DataError:
        """Return the error of so many numbers, of which this is the first, in these cells."""
        what = (f"above {digits(self.largest)}, the largest of the run" if self.name == "max-minus" else
                "outside of 0 to 1" if first < 0 or first > 1 else "of zero, whose logarithm is infinite")
        hint = ("give similarities of the kind that the run was made from" if self.name == "max-minus" else
                f"{FORMULAS[self.name]} needs similarities from 0 to 1"
                + (", and none of them zero" if self.name == "minus-log" else "") + f"; {ANY}")
        return DataError("SIMILARITY", f"{counted(count, 'cell')} {what}: "
                         f"{digits(first)} in {cells}", where=where, hint=hint)

    def require_largest(self, diagonal: Array, ids: Sequence[str], where: str) -> None:
        """Raise DataError for points whose similarity to themselves (n) is not the largest, beyond rounding."""
        wrong = np.flatnonzero(np.abs(diagonal - self.largest) > self._rounding)
        if len(wrong):
            parts = [f"{digits(float(diagonal[row]))} at {shown(ids[row])}" for row in wrong[:LISTED].tolist()]
            raise DataError("DIAGONAL", f"{counted(len(wrong), 'point')} with a similarity to itself that is not "
                            f"{digits(self.largest)}: " + joined(parts, len(wrong)), where=where,
                            hint=f"{FORMULAS[self.name]} is zero at {self.largest:.6g} only; leave the diagonal empty "
                            "where it says something else")

    @property
    def _rounding(self) -> float:
        return ROUNDING * abs(self.largest)


def digits(number: float) -> str:
    """Return the fewest digits that give a number."""
    return repr(number).removesuffix(".0")
