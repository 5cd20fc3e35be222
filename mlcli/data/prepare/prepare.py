"""Preparation of features for a method: missing cells, transforms, columns, scales; new rows in the same way."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.naming import listed, shown
from mlcli.base.values.options import Options, option
from mlcli.base.values.scaling import all_finite
from mlcli.core.eigen.options import Count, Share
from mlcli.data.options.input import Input
from mlcli.data.options.variable_genes import VariableGenes
from mlcli.data.options.wording import counted
from mlcli.data.prepare import missing
from mlcli.data.prepare.missing import Dropped
from mlcli.data.prepare.scales import Scale, fit_scale, most_variable, times_power
from mlcli.data.prepare.transforms import TRANSFORMS, Name, apply_transforms, by_column, fit_sizes, invert_transforms
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError, NumericalError

if TYPE_CHECKING:
    from mlcli.data.prepare.variable_genes import GeneTable


@stored("preparation", within={"chosen": "i"}, exponent="k", center="k", spread="k", chosen="k", sizes="ti")
@frozen
class Preparation:
    """A preparation applied to a table: repeats it for new rows, and leads back to the input's units."""

    columns: tuple[str, ...]  # i, those of the input; none for a square matrix
    missing: str  # error, drop, mean or model
    fill: Array  # i, or none without a policy that fills
    exponent: Indices  # k: x becomes (x 2**-exponent - center) / spread
    center: Array  # k
    spread: Array  # k; 0 where the column becomes 0
    transform: tuple[Name, ...] = ()  # before the scale, in this order
    chosen: Indices | None = None  # k, the columns that are kept after the transforms; all where None
    sizes: Array | None = None  # t x i, by which transforms by column divide

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the method takes (k)."""
        return self.columns if self.chosen is None else tuple(self.columns[place] for place in self.chosen.tolist())

    def apply(self, table: Table) -> Table:
        """Prepare new rows as the first ones were, without those that the policy for missing cells drops.

        Raises DataError.
        """
        whole, _ = missing.complete(table, self.missing, self.fill, missing.NEW)
        return self.scaled(self.transformed(whole))

    def transformed(self, table: Table) -> Table:
        """Return complete rows before the scale: transformed, and their chosen columns."""
        return of_columns(apply_transforms(table, self.transform, self.sizes), self.chosen)

    def scaled(self, table: Table) -> Table:
        """Center and scale finite values; raises DataError on overflow."""
        if self.unscaled or table.kind != "features":
            return table
        constant = self.spread == 0
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            centered = times_power(table.values, -self.exponent) - self.center
            values: Array = np.where(constant, 0.0, centered / np.where(constant, 1.0, self.spread))
        if not all_finite(values) and (overflown := ~np.isfinite(values) & ~np.isnan(table.values)).any():
            row, column = np.argwhere(overflown)[0].tolist()
            with table.rows_named():
                raise DataError("OVERFLOW", f"{shown(table.columns[column])} has a number too far from the others to "
                                "be scaled",
                                where=missing.where_of(table), row=row,
                                hint="correct the cell, or choose another prepare.scale")
        return replace(table, values=values)

    def undo(self, values: Array) -> Array:
        """Return prepared values, an (n, k) array, as they were before the scale."""
        if self.unscaled:
            return values
        with np.errstate(over="ignore", under="ignore"):
            return times_power(values * self.spread + self.center, self.exponent)

    def undone(self, values: Array) -> Array:
        """Return `features` of an (n, k) array for pictures, where values out of range are allowed."""
        return invert_transforms(self.undo(values), self.transform)[0]

    def features(self, values: Array) -> Array:
        """Return an (n, k) array in the input's units, or as a transform without an inverse left it.

        Raises NumericalError.
        """
        features, left = invert_transforms(self.undo(values), self.transform)
        if left:
            note("N-TRANSFORMED", f"{left[-1]} has no inverse: features are given as after prepare.transform: "
                 f"[{', '.join(left)}], not in the input's units", transform=list(left))
        if self.transform and not all_finite(features):
            row = int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
            raise NumericalError("UNDONE", f"row {row + 1}: features are out of range after the inverse transform",
                                 hint="the coordinates are too far from those of the run")
        return features

    @property
    def invertible(self) -> bool:
        """Whether prepared values lead back to all columns of the input."""
        return self.chosen is None and all(TRANSFORMS[name].inverse is not None for name in self.transform)

    def parts(self) -> tuple[Any, ...]:
        """Return the values that determine the preparation of given columns, for cache keys."""
        return (self.missing, self.fill, self.exponent, self.center, self.spread, self.transform, self.chosen,
                self.sizes)

    @property
    def unscaled(self) -> bool:
        """Whether the scale does not change values."""
        return not self.exponent.any() and not self.center.any() and bool(np.all(self.spread == 1))


@frozen
class Prepared:
    """A prepared table, its preparation, and the dropped rows."""

    table: Table
    preparation: Preparation
    dropped: tuple[Dropped, ...]
    views: tuple[Preparation, ...] = ()  # of the second view and further ones
    genes: "GeneTable | None" = None  # statistics of the genes, where variable ones were chosen


class Prepare(Options):
    """Preparation of the data before the method."""

    transform: Annotated[tuple[Name, ...], Strict(False)] = option(
        (), "Transforms of the rows before the scaling, applied in the order given: log1p, ln(1 + x); sqrt, square "
        "roots; log, log2(x) + 1; total, shares of the row's sum; hellinger, their roots; cpm, counts per million; "
        "unit, rows of length 1; presence, 0 or 1; rank, rrank, ranks in the row; clr, rclr, log-ratios; alr, those to "
        "the first column; max and frequency, over each column's maximum or mean; wisconsin, max, then total; "
        "chisquare (empty: none).")
    top_variance: int | None = option(
        None, "Number of columns to keep: those with the largest variance after the transforms (default: all).", ge=1)
    variable_genes: VariableGenes | None = option(
        None, "Highly variable genes, the columns to keep, as scanpy chooses them (null: all).")
    scale: Literal["none", "center", "standard", "range", "robust"] = option(
        "none", "Scaling of the columns. center: mean 0; standard: mean 0 and standard deviation 1; range: 0 to 1; "
        "robust: median 0 and interquartile range 1.")
    divisor: Literal["n", "n-1"] = option("n", "The divisor of the standard deviation.")
    missing: Literal["error", "drop", "mean", "model"] = option(
        "error", "What to do with missing and infinite cells: stop (error), drop their rows, fill in the mean of the "
        "column, or let the method model them (ppca, fa, lgssm, mfa, famd, statis; gplvm for new rows only).")
    unmatched: Literal["error", "drop"] = option(
        "error", "What to do with rows that not all views have: stop (error), or leave them out (drop).")

    reduce: Count | Share | None = option(
        None, "PCA before the method, after the scaling: the number of axes to keep, or the share of variance to keep "
        "(default: no PCA).")

    def require_input(self, input: Input, given: Table | None = None) -> None:
        """Raise ConfigError if PCA ahead of the method, or the choice of genes, cannot take the input.

        A table that is `given` in memory may have views.
        """
        viewed = input.view.path is not None or (given is not None and given.view is not None)
        if self.variable_genes is not None:
            self.variable_genes.require(self, input, viewed=viewed)
        if self.reduce is None:
            return
        wrong = next((what for what, there in (
            (f"input.kind: {input.kind}", input.kind != "features"), ("a second view", viewed),
            ("missing: model, as PCA has no model of missing cells", self.missing == "model")) if there), None)
        if wrong is not None:
            raise ConfigError("PREPARE-OPTION", f"reduce cannot be used with {wrong}", where="prepare.reduce",
                              hint="leave one of the two out")

    @property
    def signs(self) -> str:
        """The option after which numbers of zero or more have a mean of zero, and negative ones among them, or ""."""
        if self.reduce is not None:
            return "prepare.reduce"
        if self.scale in ("center", "standard", "robust"):
            return "prepare.scale"
        return "prepare.transform" if self.scale == "none" and self.transform[-1:] in (("clr",), ("rclr",)) else ""

    def completed(self, table: Table) -> tuple[Table, Array, tuple[Dropped, ...]]:
        """Apply the policy for missing cells; return the table, the fill of each column, and the dropped rows."""
        fill = missing.column_means(table) if self.missing == "mean" else missing.NO_FILL
        whole, dropped = missing.complete(table, self.missing, fill)
        if self.missing == "model":
            missing.require_columns(whole)
        return whole, fill, dropped

    def transformed(self, table: Table) -> tuple[Table, Indices | None, Array | None]:
        """Return the table before the scale, its chosen columns, and the sizes of transforms by column.

        Raises ConfigError if none of the chosen columns is of one of several files.
        """
        sizes, count = fit_sizes(table, self.transform), self.top_variance
        table = apply_transforms(table, self.transform, sizes)
        if count is None or count >= len(table.columns):
            if count is not None:
                note("N-TOP-VARIANCE", f"all {counted(len(table.columns), 'column')} are kept: there are not more than "
                     "prepare.top_variance")
            return table, None, sizes
        chosen = most_variable(table.values, count)
        kept = of_columns(table, chosen)
        if lost := [file.name for file in table.files if not {*file.columns} & {*kept.columns}]:
            raise ConfigError("PREPARE-OPTION", f"no column of {listed(lost)} is among the {count} with the largest "
                              "variance", where="prepare.top_variance", hint="keep more columns, or leave the file out")
        return kept, chosen, sizes

    def fit_scale(self, table: Table) -> Scale:
        """Return the centers and spreads of the columns."""
        return (no_scale(len(table.columns)) if self.scale == "none"
                else fit_scale(table.values, table.columns, self.scale, self.divisor))

    @property
    def in_blocks(self) -> bool:
        """Whether rows can be prepared block by block: no option needs all cells of a column at once."""
        return self.missing != "model" and self.scale != "robust" and not by_column(self.transform)

    def require_defaults(self, kind: str, others: Sequence[str]) -> None:
        """Raise ConfigError for options, besides some `others`, that have no effect on a square matrix."""
        for name, field in type(self).model_fields.items():
            if name not in others and getattr(self, name) != field.default:
                raise ConfigError("PREPARE-OPTION", f"{name} cannot be used with input.kind: {kind}",
                                  where=f"prepare.{name}", hint="leave it out")


def preparation_of(columns: tuple[str, ...], policy: str, fill: Array, scale: Scale,
                   transform: tuple[Name, ...] = (), chosen: Indices | None = None,
                   sizes: Array | None = None) -> Preparation:
    """Return a preparation of its parts; `fill` is a (d,) array, or empty if the policy does not fill."""
    return Preparation(columns, policy, fill, scale.exponent, scale.center, scale.spread, transform, chosen,
                       sizes=sizes)


def no_preparation(columns: tuple[str, ...]) -> Preparation:
    """Return the preparation that does not change rows."""
    return preparation_of(columns, "error", missing.NO_FILL, no_scale(len(columns)))


def of_columns(table: Table, chosen: Indices | None) -> Table:
    """Return the table with the columns `chosen`, numbers of shape (k,); with all if None."""
    if chosen is None:
        return table
    return replace(table, values=np.ascontiguousarray(table.values[:, chosen]),
                   columns=tuple(table.columns[place] for place in chosen.tolist()))


def no_scale(columns: int) -> Scale:
    """Return the scale that does not change columns."""
    return Scale(np.zeros(columns, dtype=np.int64), np.zeros(columns), np.ones(columns))


def remaining_rows(source: Table, prepared: Prepared, gone: Sequence[Dropped]) -> Indices | None:
    """Return the prepared rows (m) that a run did not leave out later, of those `gone` from its source; None for all.
    """
    if not gone:
        return None
    numbers = np.setdiff1d(source.numbers, [lost.row for lost in prepared.dropped])
    kept = np.flatnonzero(~np.isin(numbers, [lost.row for lost in gone]))
    return None if len(kept) == len(numbers) else kept
