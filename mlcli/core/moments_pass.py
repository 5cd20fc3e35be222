"""A pass over rows that are not in memory: their moments, their gaps, and a sample of them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import AHEAD, row_blocks
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import NO_GAPS, CenteredSparseRows, Gaps, Measured, Rows, Sample, all_parts
from mlcli.base.rows.sparse import entries_of
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stages.stage import stage
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.scaling import all_finite
from mlcli.engine.executor import results

PART = 1 << 19  # numbers of rows multiplied by themselves at once by NumPy


def column_products(rows: Array, shift: Array) -> tuple[Array, Array]:
    """Return Σ (x - s)(x - s)ᵀ (d x d) and Σ (x - s) (d), of (m, d) rows x less a (d,) shift s, by one thread."""
    if native.available():
        return native.gram(rows, shift)
    columns = rows.shape[1]
    products, sums = np.zeros((columns, columns)), np.zeros(columns)
    for part in row_blocks(len(rows), max(columns**2, PART), columns):  # a product costs more than its addition
        moved = rows[part] - shift if shift.any() else rows[part]
        products += moved.T @ moved
        sums += moved.sum(axis=0)
    return products, sums


WIDE = 2048  # columns up to which all products are summed: above, blocks would take too much memory
HEAD = 1 << 12  # first rows, whose means are the shift: those of a few are far from the means of some column
HEAD_NUMBERS = 1 << 21  # of these rows, at most
CENTERED = 0.1  # the size of a mean, as a share of the deviation, up to which no shift is needed
TOGETHER = 1 << 19  # numbers squared at once


@frozen
class RowSums:
    """Sums over a block's complete rows, its gaps, and its rows of the sample. Rows with gaps count as gaps only."""

    moments: Moments
    gaps: Gaps
    sampled: tuple[Array, ...] = ()  # rows of the sample, in their order

    def __add__(self, other: "RowSums") -> "RowSums":
        return RowSums(self.moments + other.moments, self.gaps + other.gaps, (*self.sampled, *other.sampled))


@result("gathering")
@frozen
class MomentsCheckpoint:
    """State of a pass without gaps so far; a pass resumed from it gives the same bits."""

    blocks: int  # that are added
    rows: int
    sums: Array  # those of `Moments`
    products: Array
    least: Array
    most: Array
    sampled: Array

    @classmethod
    def after(cls, blocks: int, found: RowSums) -> "MomentsCheckpoint":
        """Return the checkpoint after `blocks` blocks."""
        moments = found.moments
        return cls(blocks, moments.rows, sums=moments.sums, products=moments.products, least=moments.least,
                   most=moments.most, sampled=np.concatenate([np.zeros((0, len(moments.sums))), *found.sampled]))

    def sums_about(self, shift: Array) -> RowSums:
        """Return the sums over these blocks, about a shift, a (d,) array."""
        return RowSums(Moments(self.rows, shift, sums=self.sums, products=self.products, least=self.least,
                               most=self.most), NO_GAPS, (self.sampled,))


@frozen
class Gathering:
    """A pass over all rows, or those from a block on: a source of blocks."""

    rows: Rows
    shift: Array  # d, near the means
    products: bool  # whether all products are summed, or only squares
    sample: Indices  # rows to be kept
    first: int = 0  # block

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks - self.first

    def work(self, number: int) -> RowSums:
        """Return the sums over a block, by its entries where it is sparse."""
        size = len(self.shift)
        if not self.products and (some := entries_of(self.rows, self.first + number)) is not None and (
                all_finite(some.entries.data)):
            return self._of_entries(self.rows.source.bounds[self.first + number], some)
        zeros = np.zeros((size, size) if self.products else size)
        total = RowSums(Moments(0, self.shift, sums=np.zeros(size), products=zeros, least=np.full(size, np.inf),
                                most=np.full(size, -np.inf)), NO_GAPS)
        return reduce(RowSums.__add__, self._parts(self.first + number), total)

    def stop(self) -> None:
        """Blocks are short."""

    def _parts(self, number: int) -> Iterator[RowSums]:
        for first, rows in self.rows.parts(number):
            wanted = self.sample[slice(*np.searchsorted(self.sample, (first, first + len(rows))))]
            sampled = (rows[wanted - first],) if len(wanted) else ()
            least, most = rows.min(axis=0), rows.max(axis=0)
            gaps = NO_GAPS
            if not (np.isfinite(least).all() and np.isfinite(most).all()):
                gaps = Gaps.of(first, rows, self.shift)
                rows = np.delete(rows, gaps.rows - first, axis=0)
                least, most = rows.min(axis=0, initial=np.inf), rows.max(axis=0, initial=-np.inf)
            sums, products = self._sums(rows)
            yield RowSums(Moments(len(rows), self.shift, sums=sums, products=products, least=least, most=most), gaps,
                          sampled)

    def _of_entries(self, first: int, rows: CenteredSparseRows) -> RowSums:
        """Return the sums over sparse rows, of which `first` is the number of the first: zeros are only counted."""
        entries, shift = rows.entries, rows.center + self.shift
        count, size = entries.shape
        zeros, sums, squares = np.full(size, count), np.zeros(size), np.zeros(size)
        least, most = np.full(size, np.inf), np.full(size, -np.inf)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for part in row_blocks(len(entries.data), TOGETHER):
                columns, values = entries.indices[part], entries.data[part]
                np.minimum.at(least, columns, values)
                np.maximum.at(most, columns, values)
                moved = values - shift[columns] if shift.any() else values
                zeros -= np.bincount(columns, minlength=size)
                sums += np.bincount(columns, moved, size)
                squares += np.bincount(columns, moved * moved, size)
            sums, squares = sums - zeros * shift, squares + zeros * shift**2
        wanted = self.sample[slice(*np.searchsorted(self.sample, (first, first + count)))]
        moments = Moments(count, self.shift, sums=sums, products=squares,
                          least=np.where(zeros > 0, np.minimum(least, 0.0), least) - rows.center,
                          most=np.where(zeros > 0, np.maximum(most, 0.0), most) - rows.center)
        return RowSums(moments, NO_GAPS, (entries[wanted - first].toarray() - rows.center,) if len(wanted) else ())

    def _sums(self, rows: Array) -> tuple[Array, Array]:
        """Sums of deviations from the shift, and of their products or squares."""
        size = rows.shape[1]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.products:
                products, sums = column_products(rows, self.shift)
                return sums, products
            sums, squares = np.zeros(size), np.zeros(size)
            for part in row_blocks(len(rows), TOGETHER, size):
                moved = rows[part] - self.shift if self.shift.any() else rows[part]
                sums += moved.sum(axis=0)
                squares += np.einsum("ij,ij->j", moved, moved)
        return sums, squares


def gather(rows: Rows, chosen: Indices | None = None, products: bool | None = None) -> RowSums:
    """Return the sums over all rows and the `chosen` rows (m row numbers, ascending), by one pass over `rows` (n x d).

    A second pass follows where the first rows are far from the means. Numbers whose squares overflow or vanish are
    summed in a unit for each column. `products` chooses between all products and squares; by default all up to WIDE
    columns. Blocks are added in their order, so the sums do not depend on the number of threads.
    """
    sample = np.zeros(0, dtype=np.int64) if chosen is None else chosen
    whole = rows.shape[1] <= WIDE if products is None else products
    found = _sum_rows(rows, whole, sample)
    if found.moments.far:  # squares need units of their own
        exponent = found.moments.exponents
        inside = Rows(rows.source, (*rows.maps, Measured(-exponent)), rows.left_out, rows.width)
        again = _sum_rows(inside, whole, np.zeros(0, dtype=np.int64))
        found = RowSums(replace(again.moments, exponent=exponent), again.gaps, found.sampled)
    return found


def _sum_rows(rows: Rows, whole: bool, sample: Indices) -> RowSums:
    """Return the sums over all rows, about their means where the first shift was far from these."""
    found = _total(rows, _near(rows), whole, sample)
    if found.moments.rows and not found.moments.far and not found.moments.exact:
        again = _total(rows, found.moments.means, whole, np.zeros(0, dtype=np.int64))
        found = RowSums(again.moments, again.gaps, found.sampled)
    return found


def pass_bytes(columns: int, lanes: int) -> float:
    """Bytes of the sums that a pass of `lanes` threads holds, those waiting to be added included; rows not counted."""
    return 8.0 * (columns if columns > WIDE else columns**2) * (2 * lanes + AHEAD + 2)


def sketch_rows(rows: Rows, chosen: Indices) -> Rows | None:
    """Return rows (n x d) with moments and a sample (`chosen`, m row numbers) extrapolated from the first part.

    Returns None where every row of that part has a gap.
    """
    first = next((part for _, part in all_parts(rows)), None)
    seen = np.zeros((0, rows.shape[1])) if first is None else first[np.isfinite(first).all(axis=1)]
    if not len(seen):
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near, count = seen.mean(axis=0), len(rows)
        moved = seen - near
        moved[0] += (seen.min(axis=0) == seen.max(axis=0)) * np.maximum(np.abs(near), 1.0)  # the whole may vary
        products = moved.T @ moved if rows.shape[1] <= WIDE else np.einsum("ij,ij->j", moved, moved)
        values = near + moved
        moments = Moments(count, near, sums=np.zeros(len(near)), products=products * (count / len(seen)),
                          least=values.min(axis=0), most=values.max(axis=0))
    return replace(rows, moments=moments, sample=Sample(chosen, values[chosen % len(seen)]), sketched=True)


def sample_of(found: RowSums, chosen: Indices, width: int) -> Sample:
    """Return the sample of a pass: its `chosen` (m row numbers) as an m x width array."""
    values = np.concatenate(found.sampled) if found.sampled else np.zeros((0, width))
    return Sample(chosen, np.ascontiguousarray(values))


@stage("covariance", version=1)
def _total(rows: Rows, shift: Array, products: bool, sample: Indices) -> RowSums:
    """Return the sums over all blocks; after each a checkpoint is offered, unless a row had gaps."""
    with loop(MomentsCheckpoint) as place:
        left = place.left
        first, total = (left.blocks, left.sums_about(shift)) if left else (0, None)
        with closing(results(Gathering(rows, shift, products, sample, first))) as every:
            for number, found in enumerate(every, first + 1):
                total = found if total is None else total + found
                if number < rows.blocks and not len(total.gaps.rows):
                    place.offer(partial(MomentsCheckpoint.after, number, total))
    assert total is not None
    return total


def _near(rows: Rows) -> Array:
    """Return a point near the means: the mean of the first rows, or the origin where it is as near as their spread."""
    head, left = list[Array](), max(min(HEAD, HEAD_NUMBERS // max(rows.shape[1], 1)), 1)
    for _, part in all_parts(rows):
        head.append(part[:left].copy())
        left -= len(part)
        if left <= 0:
            break
    if not head:
        return np.zeros(rows.shape[1])
    found = np.concatenate(head)
    known = np.where(np.isfinite(found), found, np.nan)
    count = np.isfinite(known).sum(axis=0)
    filled = np.nan_to_num(known, nan=0.0)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        near = np.divide(filled.sum(axis=0), count, out=np.zeros(rows.shape[1]), where=count > 0)
        spread = np.where(np.isnan(known), 0.0, known - near).std(axis=0)
    near = np.where(filled.min(axis=0) == filled.max(axis=0), filled.max(axis=0), near)
    if np.all(np.abs(near) <= CENTERED * spread):
        return np.zeros(rows.shape[1])
    return np.where(np.isfinite(near), near, 0.0)
