"""The rows of a training in the order of its steps: from memory, or from a file that is read in blocks."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import Part, rows_of
from mlcli.base.rows.source import Rows as BaseRows
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.stages.neural.learning import Learning
from mlcli.stages.neural.standard import Standard

POOL = 1 << 22  # numbers of rows from a file that are mixed with each other
AT_ONCE = 4  # blocks of a file whose rows are mixed


@frozen
class Fed:
    """The rows of a training, and which of them it learns from."""

    points: Array  # n x d; or rows in a file
    standard: Standard
    held: Indices  # rows that only judge
    seed: int
    kind: str

    @property
    def learned(self) -> int:
        """From how many rows it learns."""
        return len(self.points) - len(self.held)

    def seen(self, rows: Indices) -> AnyArray:
        """Some rows as the network sees them."""
        return self.standard.seen(self.points, rows, self.kind)

    def number(self, value: float) -> AnyArray:
        """A number as training computes with it; infinite beyond its range, which the weights will show."""
        with np.errstate(over="ignore"):
            return np.asarray(value, self.kind)

    def steps(self, size: int) -> int:
        """How many steps of so many rows an epoch has; what is left over is skipped."""
        return self.learned // min(size, self.learned)

    def batches(self, epoch: int, size: int) -> Iterator[AnyArray]:
        """The rows of each step of an epoch, as the network sees them."""
        raise NotImplementedError


@frozen
class Rows(Fed):
    """Rows in memory, shuffled in each epoch."""

    @classmethod
    def of(cls, points: Array, standard: Standard, learning: Learning, compute: Compute) -> "Rows":
        """The rows, a share of them held out by lot."""
        generator = compute.generator()
        order = generator.permutation(len(points))
        count = int(learning.validation * len(points))
        _note_none(count, len(points), learning)
        return cls(points=points, standard=standard, held=np.sort(order[:count]), seed=int(generator.integers(2**31)),
                   kind=learning.precision)

    def batches(self, epoch: int, size: int) -> Iterator[AnyArray]:
        """The rows of each step of an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(
            np.setdiff1d(np.arange(len(self.points)), self.held, assume_unique=True))
        size = min(size, len(order))
        for block in row_blocks(len(order) - len(order) % size, size):
            yield self.seen(order[block])


@frozen
class FileRows(Fed):
    """Rows in a file: in each epoch blocks in an order by lot, some at a time, whose rows are shuffled in a pool."""

    rows: BaseRows

    @classmethod
    def of(cls, rows: BaseRows, points: Array, standard: Standard, learning: Learning,
           compute: Compute) -> "FileRows":
        """The rows, of which some of those in memory are held out."""
        generator = compute.generator()
        wanted, known = int(learning.validation * len(rows)), generator.permutation(rows.at_hand)
        held = np.sort(known[:wanted])
        _note_none(wanted, len(rows), learning)
        if len(held) < wanted:
            note("N-VALIDATION-ROWS", f"{len(held):,} rows are held out, not {learning.validation:g} of {len(rows):,}, "
                 "as the table is read in blocks", rows=len(held))
        return cls(points=points, standard=standard, held=held, seed=int(generator.integers(2**31)),
                   kind=learning.precision, rows=rows)

    def batches(self, epoch: int, size: int) -> Iterator[AnyArray]:
        """The rows of each step of an epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        size, pool, held = min(size, self.learned), list[AnyArray](), 0
        for first, part in self._mixed(generator):
            apart = np.isin(np.arange(first, first + len(part)), self.held, invert=True)
            pool.append(self.standard.seen(part, np.flatnonzero(apart), self.kind))
            held += len(pool[-1])
            if held * part.shape[1] >= POOL:
                whole = generator.permutation(np.concatenate(pool))
                yield from _whole(whole, size)
                pool = [whole[held - held % size :]]
                held %= size
        yield from _whole(generator.permutation(np.concatenate(pool)), size)

    def _mixed(self, generator: np.random.Generator) -> Iterator[Part]:
        """The parts of all blocks: those of a few blocks in turn."""
        waiting = [int(number) for number in generator.permutation(self.rows.blocks)]
        reading = [self.rows.parts(waiting.pop()) for _ in range(min(AT_ONCE, len(waiting)))]
        while reading:
            for parts in list(reading):
                found = next(parts, None)
                if found is not None:
                    yield found
                    continue
                reading.remove(parts)
                reading += [self.rows.parts(waiting.pop())] if waiting else []


def fed(points: Array, standard: Standard, learning: Learning, compute: Compute) -> Fed:
    """The rows of a training, in memory or in a file."""
    rows = rows_of(points)
    return (Rows.of(points, standard, learning, compute) if rows is None
            else FileRows.of(rows, points, standard, learning, compute))


def feeding_memory(points: Array, learning: Learning, threads: int) -> float:
    """The bytes that reading rows in blocks takes beside the training; none of rows in memory."""
    rows = rows_of(points)
    if rows is None:
        return 0.0
    return (AT_ONCE + rows.at_once(threads)) * rows.nbytes + 3.0 * POOL * (4 if learning.precision == "float32" else 8)


def _whole(rows: AnyArray, size: int) -> Iterator[AnyArray]:
    """As many steps as rows fill."""
    for start in range(0, len(rows) - len(rows) % size, size):
        yield rows[start : start + size]


def _note_none(count: int, rows: int, learning: Learning) -> None:
    if count == 0 and learning.validation > 0:
        note("N-NO-VALIDATION", f"{learning.validation:g} of {rows} rows is none: the weights of the last "
             "epoch are kept")
