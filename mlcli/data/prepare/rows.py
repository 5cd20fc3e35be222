"""Preparation of a table that is read in blocks: from its moments if they suffice, else by another pass."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import NO_GAPS, CenteredSparseRows, Rows, as_array
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices
from mlcli.core.moments_pass import gather
from mlcli.data.options.wording import counted
from mlcli.data.prepare import missing
from mlcli.data.prepare.missing import Dropped
from mlcli.data.prepare.prepare import Preparation, Prepare, Prepared, no_scale, preparation_of
from mlcli.data.prepare.scales import FARTHEST, NEAR_ZERO, Scale, warn_of_constants
from mlcli.data.prepare.transforms import by_column, keep_zeros, times_columns, transformed_entries
from mlcli.data.prepare.variable_genes import genes_of
from mlcli.data.table.cells import refuse_gaps
from mlcli.data.table.row_numbers import RowNumbers, take_ids
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError


@frozen
class PreparedRows:
    """Rows prepared as they are read, exactly as new rows are."""

    preparation: Preparation
    source: Source | None  # the source of the table
    places: Indices | None = None  # row numbers in the file; all rows if None

    def __reduce__(self) -> tuple[Any, ...]:  # other processes name the file, and do not know its hash
        source = self.source and replace(self.source, digest=str, files={})
        return PreparedRows, (self.preparation, source, self.places)

    def __call__(self, first: int, rows: Array) -> Array:
        here = slice(first, first + len(rows))
        places = np.arange(here.start, here.stop) if self.places is None else self.places[here]
        with no_listeners():  # notes on all rows were made once
            return self.preparation.apply(
                Table(rows, self.preparation.columns, RowNumbers(places + 1), source=self.source, places=places)).values

    def of_entries(self, rows: CenteredSparseRows) -> CenteredSparseRows | None:
        """Prepare sparse rows: (x 2**-e - c) / s is x times 2**-e / s, less c / s.

        None where cells are filled, or where a transform makes other numbers of zeros.
        """
        made = self.preparation
        if made.fill.size or not keep_zeros(made.transform) or rows.center.any():
            return None
        entries = transformed_entries(rows.entries, made.transform)
        entries = entries if made.chosen is None else entries[:, made.chosen]
        constant = made.spread == 0
        shares = np.divide(1.0, made.spread, out=np.zeros(len(made.spread)), where=~constant)
        return CenteredSparseRows(times_columns(entries, np.ldexp(shares, -made.exponent)), made.center * shares)

    def key(self) -> Any:
        """Return the values that determine the result, for cache keys."""
        return ("prepared", self.preparation.parts())


def completed_rows(table: Table, rows: Rows, policy: str) -> tuple[Rows, Array, list[tuple[int, str]]]:
    """Apply the policy for missing cells; return the rows, the fill of each column, and dropped rows with reasons."""
    gaps = rows.gaps
    if policy == "model":
        raise ConfigError("STREAM", "missing: model needs the table in memory, and it is read in blocks",
                          where="prepare.missing", hint="choose drop or mean, or give more memory "
                                                        "({compute.memory_limit})")
    if rows.finite:
        return rows, _means(rows) if policy == "mean" else missing.NO_FILL, []
    if policy == "error":
        where = missing.where_of(table.part_with(gaps.first[0][1]))
        remedy = "correct them, or give {prepare.missing=drop}" + ("" if table.categories else " or mean")
        refuse_gaps(gaps.first, (gaps.missing, gaps.infinite), table.ids, table.columns, where, remedy)
    if policy == "mean":
        return rows, _means(rows), []
    if len(gaps.rows) == len(rows):
        raise missing.no_complete_row(table, len(rows))
    missing.note_dropped(take_ids(table.ids, gaps.rows))
    return rows.without(gaps.rows), missing.NO_FILL, list(_reasons(table, rows, gaps.rows))


def _reasons(table: Table, rows: Rows, gaps: Indices) -> Any:
    """Yield the rows with gaps, each with the reason why it is dropped."""
    for some in row_blocks(len(gaps), 1 << 22, rows.shape[1]):
        for row, values in zip(gaps[some].tolist(), rows.read(gaps[some]), strict=True):
            yield row, missing.reason(values, table.columns)


def _means(rows: Rows) -> Array:
    """Return the means of the columns' finite cells, in rows with gaps and without.

    Raises DataError for an empty column.
    """
    moments, gaps = rows.moments, rows.gaps
    assert moments is not None
    count = moments.rows + np.asarray(gaps.present)
    if not np.all(count > 0):
        raise DataError("ALL-MISSING", f"{counted(int(np.sum(count == 0)), 'column')} without any finite number",
                        hint="leave them out with {input.columns}")
    means = moments.shift + (moments.sums + gaps.sums) / count  # of gaps in the same units
    return np.asarray(means if moments.exponent is None else np.ldexp(means, moments.exponent))


def prepare_rows(options: Prepare, table: Table, rows: Rows, layer: Table | None = None) -> Prepared:
    """Prepare the columns of a table that is read in blocks; raises ConfigError and DataError."""
    if columnwise := by_column(options.transform):
        raise ConfigError("STREAM", f"{columnwise[0]} needs all numbers of a column at once, and the table is read in "
                          "blocks", where="prepare.transform", hint="choose transforms of single rows, or give more "
                          "memory ({compute.memory_limit})")
    whole, fill, gone = completed_rows(table, rows, options.missing)
    dropped = tuple(Dropped(table.ids[row], table.place(row) + 1, why) for row, why in gone)
    kept = table if not dropped else replace(
        table.names_of(np.delete(np.arange(len(rows)), rows.gaps.rows)), values=as_array(whole))
    if options.missing == "mean" and not rows.finite:
        missing.note_filled(rows.gaps.missing + rows.gaps.infinite)
    between = whole
    if options.transform or (fill.size and not rows.finite):
        unscaled = preparation_of(table.columns, options.missing, fill, no_scale(len(table.columns)), options.transform)
        between = whole.mapped(PreparedRows(unscaled, table.source, kept.places))
        between = replace(between, moments=gather(between).moments, gaps=NO_GAPS)
    moments = between.moments
    assert moments is not None
    genes = None
    if options.variable_genes is not None and not rows.sketched:
        genes = genes_of(options.variable_genes, replace(kept, values=as_array(whole)),
                         replace(kept, values=as_array(between)), layer)
    chosen = _chosen(options, moments) if genes is None else genes.places
    moments = moments if chosen is None else moments.of_columns(chosen)
    names = table.columns if chosen is None else tuple(table.columns[place] for place in chosen.tolist())
    scale = None if options.scale == "none" else scale_from_moments(moments, names, options.scale, options.divisor)
    preparation = preparation_of(table.columns, options.missing, fill, scale or no_scale(len(names)),
                                 options.transform, chosen)
    if between is whole and chosen is None and scale is None:
        return Prepared(replace(kept, values=as_array(replace(whole, gaps=NO_GAPS))), preparation, dropped, genes=genes)
    if scale is not None:
        moments = scaled_by(moments, scale)
    ready = whole.mapped(PreparedRows(preparation, table.source, kept.places), moments, len(names))
    return Prepared(replace(kept, values=as_array(replace(ready, gaps=NO_GAPS)), columns=names), preparation, dropped,
                    genes=genes)


def _chosen(options: Prepare, moments: Moments) -> Indices | None:
    """Return the columns of the largest variances; None for all."""
    count = options.top_variance
    if options.variable_genes is not None:  # of a sketch, whose genes are not known
        count = options.variable_genes.count
    if count is None or count >= len(moments.sums):
        return None
    known = moments.exponent
    spreads = moments.squares if known is None else np.ldexp(np.sqrt(moments.squares), known)
    return np.sort(np.argsort(-spreads, kind="stable")[:count])


def scaled_by(moments: Moments, scale: Scale) -> Moments:
    """Return the moments of scaled columns."""
    factor = np.divide(1.0, scale.spread, out=np.zeros(len(scale.spread)), where=scale.spread != 0)
    return moments.times_power(-scale.exponent).scaled(factor, scale.center)


def scale_from_moments(moments: Moments, columns: tuple[str, ...], scale: str, divisor: str) -> Scale:
    """Return the center and spread of every column from its moments, as `scales.fit_scale` does from values.

    Raises ConfigError for the scale robust.
    """
    if scale == "robust":
        raise ConfigError("STREAM", "robust needs all numbers of a column at once, and the table is read in blocks",
                          where="prepare.scale", hint="choose standard or range, or give more memory "
                                                      "({compute.memory_limit})")
    exponent = np.clip(moments.exponents, -FARTHEST, FARTHEST)
    known = moments.times_power(-exponent)
    if scale == "center":
        return Scale(exponent, known.means, np.ldexp(1.0, -exponent))
    deviation = np.sqrt(known.squares / known.rows)
    constant = known.constant | (deviation <= NEAR_ZERO * np.maximum(known.most, -known.least))
    center, spread = known.means, deviation
    if scale == "range":
        center, spread = known.least, known.most - known.least
    elif divisor == "n-1":
        spread = np.sqrt(known.squares / max(1, known.rows - 1))
    warn_of_constants(constant, columns)
    return Scale(exponent, center, np.where(constant, 0.0, spread))
