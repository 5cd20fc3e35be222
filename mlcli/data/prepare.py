"""Prepares features for a method: missing cells, centers, scales; new rows are treated as the first ones were."""

from dataclasses import replace
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.options import Options, option
from mlcli.base.scaling import all_finite
from mlcli.base.stage import stage
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.data import missing
from mlcli.data.scales import Scale, fitted, times_power
from mlcli.data.table import Table
from mlcli.data.views import REASON, apart, matched, side_by_side
from mlcli.data.wording import shown
from mlcli.errors import ConfigError, DataError


@frozen
class Dropped:
    """A row that was left out, and why."""

    id: str
    row: int  # in the file's data, from 1
    reason: str


@stored("preparation", exponent="k", center="k", spread="k")
@frozen
class Preparation:
    """How a table was prepared: for new rows, and for the way back to the input's units."""

    columns: tuple[str, ...]  # d, none for a square matrix
    missing: str  # error, drop, mean or model
    fill: Array  # d, or none without a policy that fills
    exponent: Indices  # d: x becomes (x 2**-exponent - center) / spread
    center: Array  # d
    spread: Array  # d; 0 where the column becomes 0

    def apply(self, table: Table) -> Table:
        """New rows, treated exactly as the first ones were."""
        return self.prepared(table).table

    def prepared(self, table: Table) -> "Prepared":
        """New rows with the list of those that the policy for missing cells drops."""
        whole, dropped = complete(table, self.missing, self.fill)
        return Prepared(replace(whole, values=self.transformed(whole)), self, dropped)

    def transformed(self, table: Table) -> Array:
        """Finite values, centered and scaled; raises DataError where that overflows."""
        if self.unchanged or table.kind != "features":
            return table.values
        constant = self.spread == 0
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            centered = times_power(table.values, -self.exponent) - self.center
            values: Array = np.where(constant, 0.0, centered / np.where(constant, 1.0, self.spread))
        if not all_finite(values) and (overflown := ~np.isfinite(values) & ~np.isnan(table.values)).any():
            row, column = np.argwhere(overflown)[0]
            raise DataError("OVERFLOW", f"row {row + 1} ({shown(table.ids[row])}), {shown(table.columns[column])} "
                            "is too far from the others to be scaled", where=missing.where_of(table),
                            hint="correct the cell, or choose another prepare.scale")
        return values

    def undo(self, values: Array) -> Array:
        """Prepared values back in the input's units."""
        if self.unchanged:
            return values
        with np.errstate(over="ignore", under="ignore"):
            return times_power(values * self.spread + self.center, self.exponent)

    def of_first(self, columns: int) -> "Preparation":
        """The preparation of the first columns only."""
        return Preparation(self.columns[:columns], self.missing, self.fill[:columns], self.exponent[:columns],
                           self.center[:columns], self.spread[:columns])

    @property
    def unchanged(self) -> bool:
        """Whether the values are left as they are."""
        return not self.exponent.any() and not self.center.any() and bool(np.all(self.spread == 1))


@frozen
class Prepared:
    """A prepared table, how it was done, and the rows that fell out."""

    table: Table
    preparation: Preparation
    dropped: tuple[Dropped, ...]


class Prepare(Options):
    """What happens to the data before the method."""

    scale: Literal["none", "center", "standard", "range", "robust"] = option(
        "none", "Scale of the columns: mean 0; standard deviation 1; range 0 to 1; median and quartile range.")
    divisor: Literal["n", "n-1"] = option("n", "The divisor of the standard deviation.")
    missing: Literal["error", "drop", "mean", "model"] = option(
        "error", "What to do with missing and infinite cells: refuse, drop the rows, fill in the columns' means, "
        "or leave them to the method's own model (ppca, lgssm).")

    unmatched: Literal["error", "drop"] = option(
        "error", "What to do with rows that only one of two views has: refuse, or leave them out.")

    @stage("prepare")
    def apply(self, table: Table) -> Prepared:
        """The prepared table, and how to treat new rows in the same way."""
        if table.kind != "features":
            self._require_defaults(table.kind)
            return Prepared(table, preparation_of((), "error", missing.NO_FILL, unscaled(0)), ())
        if self.unmatched != "error" and table.view is None:
            raise ConfigError("PREPARE-OPTION", "unmatched: drop has no use without a second view",
                              where="prepare.unmatched", hint="leave it out, or give --view")
        return self._of_features(table) if table.view is None else self._of_views(table, table.view)

    def _of_views(self, table: Table, other: Table) -> Prepared:
        """Rows that both views have, each view's columns prepared in the same way."""
        pairs = matched(table, other, self.unmatched)
        if self.missing == "error":
            for part in (table, other):
                missing.refuse(part)
        whole = self._of_features(side_by_side(pairs.table))
        alone = [Dropped(table.ids[row], row + 1, REASON)
                 for row in np.setdiff1d(np.arange(len(table.ids)), pairs.kept).tolist()]
        incomplete = [replace(one, row=int(pairs.kept[one.row - 1]) + 1) for one in whole.dropped]
        return Prepared(apart(whole.table, pairs.table), whole.preparation.of_first(len(table.columns)),
                        (*alone, *incomplete))

    def _of_features(self, table: Table) -> Prepared:
        """One table's columns prepared."""
        fill = missing.column_means(table) if self.missing == "mean" else missing.NO_FILL
        whole, dropped = complete(table, self.missing, fill)
        if self.missing == "model":
            missing.require_some(whole)
        scale = (unscaled(len(table.columns)) if self.scale == "none"
                 else fitted(whole.values, table.columns, self.scale, self.divisor))
        preparation = preparation_of(table.columns, self.missing, fill, scale)
        return Prepared(replace(whole, values=preparation.transformed(whole)), preparation, dropped)

    def _require_defaults(self, kind: str) -> None:
        """Refuses options that have no use for a square matrix."""
        for name, field in type(self).model_fields.items():
            if getattr(self, name) != field.default:
                raise ConfigError("PREPARE-OPTION", f"{name}: {getattr(self, name)} has no use with input.kind: {kind}",
                                  where=f"prepare.{name}", hint="leave it out")


def preparation_of(columns: tuple[str, ...], policy: str, fill: Array, scale: Scale) -> Preparation:
    """The preparation of a policy for missing cells and a scale."""
    return Preparation(columns, policy, fill, scale.exponent, scale.center, scale.spread)


def unscaled(columns: int) -> Scale:
    """The scale that changes nothing."""
    return Scale(np.zeros(columns, dtype=np.int64), np.zeros(columns), np.ones(columns))


def complete(table: Table, policy: str, fill: Array) -> tuple[Table, tuple[Dropped, ...]]:
    """The table with finite values only (NaN where a model takes over), and the rows that were dropped for it."""
    if policy == "mean":
        return replace(table, values=missing.filled(table, fill)), ()
    if policy == "model":
        return replace(table, values=missing.left(table)), ()
    if policy == "error":
        missing.refuse(table)
        return table, ()
    kept = missing.kept_rows(table)
    if kept.all():
        return table, ()
    dropped = tuple(Dropped(table.ids[int(row)], int(row) + 1, missing.reason(table.values[row], table.columns))
                    for row in np.flatnonzero(~kept))
    return table.take(np.flatnonzero(kept)), dropped
