"""Highly variable genes: the columns that vary most for their mean, by the flavors of scanpy.

Sources: Satija and others, 2015 (seurat); Stuart and others, 2019 (seurat_v3). Formulas, order and ties are those of
scanpy 1.11, `pp.highly_variable_genes`.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import reduce
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.source import RowPass, Rows
from mlcli.base.rows.sparse import entries_of
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.extras import load_extra
from mlcli.data.options.variable_genes import WHERE, VariableGenes
from mlcli.data.prepare.scales import BLOCK
from mlcli.data.table.table import Table
from mlcli.engine.executor import results
from mlcli.errors import ConfigError, DataError, NumericalError


@frozen
class GeneSums:
    """Sums of each gene over some cells."""

    sums: Array  # d
    squares: Array  # d
    least: float  # the smallest number
    whole: bool  # whether all numbers are whole

    def __add__(self, other: "GeneSums") -> "GeneSums":
        return GeneSums(self.sums + other.sums, self.squares + other.squares, min(self.least, other.least),
                        self.whole and other.whole)

    def moments(self, count: int) -> tuple[Array, Array]:
        """Return means and variances over n - 1 of each gene in `count` cells, (d,) arrays, as scanpy computes them."""
        means = self.sums / count
        return means, (self.squares / count - means**2) * (count / max(count - 1, 1))


@frozen
class Change:
    """The change of each number before it is summed."""

    exponentials: bool = False  # exp(x) - 1
    limits: Array | None = None  # d, above which numbers are clipped

    def __call__(self, values: Array, columns: Any) -> Array:
        """Return changed numbers of rows (m x d) or entries (e); `columns` (all, or e places) choose their limits."""
        if self.exponentials:
            with np.errstate(over="ignore"):  # refused by the sums
                return np.expm1(values)
        return values if self.limits is None else np.minimum(values, self.limits[columns])


@frozen
class GenePass(RowPass):
    """A pass over rows that are read in blocks: a source of blocks."""

    change: Change

    def work(self, number: int) -> GeneSums:
        """Return the sums over a block, by its entries where it is sparse."""
        some = entries_of(self.rows, number)
        if some is None or some.center.any():
            size = self.rows.shape[1]
            none = GeneSums(np.zeros(size), np.zeros(size), np.inf, whole=True)
            return reduce(GeneSums.__add__, (_of_cells(part, self.change) for _, part in self.rows.parts(number)), none)
        entries, size = some.entries, some.entries.shape[1]
        sums, squares = np.zeros(size), np.zeros(size)
        with np.errstate(over="ignore", invalid="ignore"):
            for part in row_blocks(len(entries.data), BLOCK):
                columns = entries.indices[part]
                values = self.change(entries.data[part], columns)
                sums += np.bincount(columns, values, size)
                squares += np.bincount(columns, values * values, size)
        return GeneSums(sums, squares, min(float(entries.data.min(initial=0.0)), 0.0), _are_whole(entries.data))


def gene_sums(table: Array | Rows, change: Change | None = None) -> GeneSums:
    """Return the sums over all rows of a table (n x d); blocks are added in their order, whatever the threads."""
    change = change or Change()
    with closing(results(GenePass(table, change)) if isinstance(table, Rows) else in_order(
            lambda block: _of_cells(table[block], change), row_blocks(len(table), BLOCK, table.shape[1]))) as every:
        return reduce(GeneSums.__add__, every)


def _of_cells(values: Array, change: Change) -> GeneSums:
    """Return the sums over rows in memory (m x d)."""
    changed = change(values, slice(None))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->j", changed, changed)
        return GeneSums(changed.sum(axis=0), squares, float(values.min(initial=np.inf)), _are_whole(values))


def _are_whole(values: Array) -> bool:
    return bool(np.array_equal(values, np.rint(values)))


NO_MEAN = 1e-12  # in place of a mean of zero
BELOW = 0.001  # of the range of the means: how far the first bin begins below the least
DEGREE = 2  # of the local polynomials


@frozen
class GeneTable:
    """Statistics of all genes, by the names that scanpy gives them, and the choice."""

    genes: tuple[str, ...]  # d
    columns: Mapping[str, Array]  # d each
    chosen: AnyArray  # d, flags

    @property
    def places(self) -> Indices:
        """The columns of the genes that were chosen, in their order in the table."""
        return np.flatnonzero(self.chosen)


def genes_of(options: VariableGenes, whole: Table, ready: Table, layer: Table | None) -> GeneTable:
    """Return the statistics of genes: of the layer, or of a table before (`whole`) or after (`ready`) the transforms.

    Raises ConfigError for a layer that was not read or has other rows, and what `variable_genes` raises.
    """
    if options.layer is not None and layer is None:
        raise ConfigError("LAYER", "only a run of an .h5ad file reads the layer that genes are chosen by",
                          where=f"{WHERE}.layer", hint="leave it out")
    if layer is not None and len(layer.ids) != len(whole.ids):
        raise ConfigError("LAYER", "rows with missing cells were dropped, and a layer has all rows",
                          where=f"{WHERE}.layer", hint="leave the rows out with {input.where}")
    given = layer or (ready if options.flavor == "seurat" else whole)
    return variable_genes(options, given.values, whole.columns)


def variable_genes(options: VariableGenes, table: Array | Rows, genes: Sequence[str]) -> GeneTable:
    """Return the statistics and the choice of genes, the columns of a table (n x d) of logarithms or of counts.

    Raises DataError for numbers that are neither, DependencyMissing and NumericalError for the local regression.
    """
    if len(table) < 2:
        raise DataError("GENES", "one cell shows no variance of genes", where=WHERE, hint="give more cells")
    columns, chosen = (_by_dispersion if options.flavor == "seurat" else _by_variance)(options, table)
    if not chosen.any():
        raise DataError("GENES", "no gene is within the cutoffs", where=WHERE,
                        hint="give {prepare.variable_genes.count}, or wider cutoffs")
    count = int(chosen.sum())
    by = "" if options.layer is None else f", by the layer {options.layer}"
    note("N-VARIABLE-GENES", f"{count:,} of {len(genes):,} genes are kept: the highly variable ones of flavor "
         f"{options.flavor}{by}", kept=count)
    return GeneTable(tuple(genes), columns, chosen)


def _by_dispersion(options: VariableGenes, table: Array | Rows) -> tuple[dict[str, Array], AnyArray]:
    """Return statistics and choice by the ratio of variance and mean, standardized in bins of the mean."""
    found = gene_sums(table, Change(exponentials=True))
    logarithms = ("transform counts with {prepare.transform=log1p}" if options.layer is None else  # which leaves layers
                  "name a layer of logarithms ({prepare.variable_genes.layer})")
    if found.whole:
        note("W-LOGARITHMS", "all numbers are whole: seurat chooses genes by logarithms (ln(1 + x)) of normalized "
             f"counts; {logarithms}, or choose {{prepare.variable_genes.flavor=seurat_v3}}")
    if found.least < 0 or not np.isfinite(found.squares).all():
        what = "there are numbers below zero" if found.least < 0 else "numbers are too large for logarithms"
        raise DataError("GENES", f"seurat chooses genes by ln(1 + x) of normalized counts, and {what}", where=WHERE,
                        hint=f"{logarithms}, or choose {{prepare.variable_genes.flavor=seurat_v3}}")
    means, variances = found.moments(len(table))
    means = np.where(means == 0, NO_MEAN, means)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = variances / means
        dispersions = np.log(np.where(ratios == 0, np.nan, ratios))
    means = np.log1p(means)
    standard = standardize(dispersions, bin_numbers(means, options.bins), options.bins)
    columns = {"means": means, "dispersions": dispersions, "dispersions_norm": standard}
    known = np.sort(standard[~np.isnan(standard)])[::-1]
    if options.count is not None:
        least = known[min(options.count, len(known)) - 1] if len(known) else np.inf
        return columns, np.nan_to_num(standard, nan=-np.inf) >= least
    compared, most = np.nan_to_num(standard), np.inf if options.max_disp is None else options.max_disp
    return columns, ((means > options.min_mean) & (means < options.max_mean) & (compared > options.min_disp)
                     & (compared < most))


def bin_numbers(means: Array, bins: int) -> Indices:
    """Return the number of the bin of each mean (d), of bins of equal width that hold their upper edge."""
    low, high = float(means.min()), float(means.max())
    if low == high:
        low, high = ((value + side * BELOW * (abs(value) or 1.0)) for value, side in ((low, -1), (high, 1)))
        edges = np.linspace(low, high, bins + 1)
    else:
        edges = np.linspace(low, high, bins + 1)
        edges[0] -= (high - low) * BELOW
    return np.searchsorted(edges, means, side="left") - 1


def standardize(values: Array, numbers: Indices, bins: int) -> Array:
    """Return values (d) less the mean of their bin, over its standard deviation; 1 where a bin holds one value."""
    found = np.full(values.shape, np.nan)
    for number in range(bins):
        inside = (numbers == number) & ~np.isnan(values)
        some = values[inside]
        if len(some) == 1:
            found[inside] = 1.0
        elif len(some):
            with np.errstate(divide="ignore", invalid="ignore"):
                found[inside] = (some - some.mean()) / some.std(ddof=1)
    return found


def _by_variance(options: VariableGenes, table: Array | Rows) -> tuple[dict[str, Array], AnyArray]:
    """Return statistics and choice by the variance over the one that the mean predicts, large counts clipped."""
    found = gene_sums(table)
    _require_counts(found)
    size = len(table)
    means, variances = found.moments(size)
    varying = variances > 0
    if not varying.any():
        raise DataError("GENES", "no gene varies from cell to cell", where=WHERE, hint="give other cells")
    logs = np.zeros(len(means))
    logs[varying] = local_regression(np.log10(means[varying]), np.log10(variances[varying]), options.span)
    predicted = np.sqrt(10**logs)
    clipped = gene_sums(table, Change(limits=predicted * np.sqrt(size) + means))
    standard = (1 / ((size - 1) * np.square(predicted))) * (
        size * np.square(means) + clipped.squares - 2 * clipped.sums * means)
    order = np.argsort(-standard, kind="stable")[: options.count]
    ranks = np.full(len(means), np.nan)
    ranks[order] = np.arange(len(order))
    return {"means": means, "variances": variances, "variances_norm": standard,
            "highly_variable_rank": ranks}, ~np.isnan(ranks)


def _require_counts(found: GeneSums) -> None:
    """Warn of numbers that are not whole; raise DataError for numbers below zero, and for sums out of range."""
    if found.least < 0 or not np.isfinite(found.squares).all():
        raise DataError("GENES", "seurat_v3 chooses genes by raw counts, and there are numbers "
                        f"{'below zero' if found.least < 0 else 'out of range'}", where=WHERE,
                        hint="name the layer of the counts ({prepare.variable_genes.layer}), or choose "
                             "{prepare.variable_genes.flavor=seurat}")
    if not found.whole:
        note("W-COUNTS", "some numbers are not whole: seurat_v3 chooses genes by raw counts; name their layer "
             "({prepare.variable_genes.layer}), or choose {prepare.variable_genes.flavor=seurat}")


def local_regression(x: Array, y: Array, span: float) -> Array:
    """Return the values at `x` (d) of local quadratic polynomials fitted to `y` (d), as R's loess interpolates them.

    Raises DependencyMissing, and NumericalError where there are too few values for the span.
    """
    loess = load_extra("genes", "the flavor seurat_v3", "skmisc.loess").loess
    if int(span * len(x)) <= DEGREE:  # of which the library does not return
        raise _no_regression(f"{len(x)} genes vary, too few for a span of {span:g}")
    model = loess(x, y, span=span, degree=DEGREE)
    try:
        model.fit()
    except ValueError as error:
        raise _no_regression(str(error).removeprefix("b'").removesuffix("'")) from error
    found: Array = np.asarray(model.outputs.fitted_values)
    return found


def _no_regression(why: str) -> NumericalError:
    return NumericalError("LOESS", f"the local regression of variances on means failed: {why}", where=WHERE,
                          hint="give a larger {prepare.variable_genes.span}, or choose "
                               "{prepare.variable_genes.flavor=seurat}")
