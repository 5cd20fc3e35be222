"""What a training takes: its options, and rows in the order of the steps, from memory or from a file read in blocks."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import Part, rows_of
from mlcli.base.rows.source import Rows as BaseRows
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.options import Options, option
from mlcli.methods.networks.network import Standard, StandardRows


class Learning(Options):
    """Options of training: Adam on minibatches, for a number of epochs or until validation gains nothing."""

    epochs: int = option(50, "Largest number of epochs (passes over the rows).", ge=1)
    batch: int = option(128, "Rows in a batch; the rest of an epoch that fills no batch is skipped.", ge=1)
    rate: float = option(1e-3, "Learning rate at the start.", gt=0)
    schedule: Literal["cosine", "constant"] = option(
        "cosine", "Schedule of the learning rate: falling to zero along a cosine, or constant.")
    decay: float = option(0.0, "Weight decay: the share by which weights shrink in a step, times the rate.", ge=0)
    validation: float = option(0.1, "Share of the rows that are held out for validation.", ge=0, lt=1)
    patience: int = option(10, "Training stops after this number of epochs without a better objective on the held-out "
                           "rows; the best weights are kept.", ge=1)
    precision: Literal["float32", "float64"] = option("float32", "Precision of the computation in training.")

    def rates(self, step: int, steps: int) -> float:
        """Return the learning rate of a step, out of `steps` in all."""
        return self.rate * (0.5 + 0.5 * float(np.cos(np.pi * step / steps)) if self.schedule == "cosine" else 1.0)


POOL = 1 << 22  # numbers of rows from a file that are shuffled together
AT_ONCE = 4  # blocks of a file whose rows are mixed


@frozen
class TrainingRows:
    """The rows of a training, split into those that it learns from and held-out ones."""

    points: Array  # n x d; or rows in a file
    standard: Standard
    held: Indices  # held-out rows, for validation only
    seed: int
    kind: str

    @property
    def learned(self) -> int:
        """The number of rows that training learns from."""
        return len(self.points) - len(self.held)

    def inputs(self, rows: Indices) -> AnyArray:
        """Return some rows (m indices) as standardized inputs of the network (m x d)."""
        return self.standard.transform(self.points, rows, self.kind)

    def number(self, value: float) -> AnyArray:
        """Return a number in the precision of training; infinite beyond its range."""
        with np.errstate(over="ignore"):
            return np.asarray(value, self.kind)

    def steps(self, size: int) -> int:
        """Return the number of steps of `size` rows in an epoch; remaining rows are skipped."""
        return self.learned // min(size, self.learned)

    def batches(self, epoch: int, size: int) -> Iterator[AnyArray]:
        """Yield the standardized rows of each step of an epoch."""
        raise NotImplementedError


@frozen
class Rows(TrainingRows):
    """Rows in memory, shuffled in each epoch; those of a second view are beside them."""

    other: StandardRows | None = None

    @classmethod
    def of(cls, points: Array, standard: Standard, learning: Learning, compute: Compute,
           other: StandardRows | None = None) -> "Rows":
        """Return the rows of points (n x d), a random share of them held out."""
        generator = compute.generator()
        order = generator.permutation(len(points))
        count = int(learning.validation * len(points))
        _note_none(count, len(points), learning)
        return cls(points=points, standard=standard, held=np.sort(order[:count]), seed=int(generator.integers(2**31)),
                   kind=learning.precision, other=other)

    def inputs(self, rows: Indices) -> AnyArray:
        """Return some rows (m indices) as standardized inputs (m x d), with a second view beside them (m x (d + e))."""
        own = super().inputs(rows)
        if self.other is None:
            return own
        return np.hstack([own, self.other.standard.transform(self.other.points, rows, self.kind)])

    def batches(self, epoch: int, size: int) -> Iterator[AnyArray]:
        """Yield the standardized rows of each step of an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(
            np.setdiff1d(np.arange(len(self.points)), self.held, assume_unique=True))
        size = min(size, len(order))
        for block in row_blocks(len(order) - len(order) % size, size):
            yield self.inputs(order[block])


@frozen
class FileRows(TrainingRows):
    """Rows in a file: each epoch reads blocks in random order, a few at a time, and shuffles their rows in a pool."""

    rows: BaseRows

    @classmethod
    def of(cls, rows: BaseRows, points: Array, standard: Standard, learning: Learning,
           compute: Compute) -> "FileRows":
        """Return the rows of points (n x d) in a file; some of its rows in memory are held out."""
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
        """Yield the standardized rows of each step of an epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        size, pool, held = min(size, self.learned), list[AnyArray](), 0
        for first, part in self._mix_blocks(generator):
            apart = np.isin(np.arange(first, first + len(part)), self.held, invert=True)
            pool.append(self.standard.transform(part, np.flatnonzero(apart), self.kind))
            held += len(pool[-1])
            if held * part.shape[1] >= POOL:
                whole = generator.permutation(np.concatenate(pool))
                yield from _whole(whole, size)
                pool = [whole[held - held % size :]]
                held %= size
        yield from _whole(generator.permutation(np.concatenate(pool)), size)

    def _mix_blocks(self, generator: np.random.Generator) -> Iterator[Part]:
        """Yield the parts of all blocks in random order, those of a few blocks in turn."""
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


def training_rows(points: Array, standard: Standard, learning: Learning, compute: Compute,
                  other: StandardRows | None = None) -> TrainingRows:
    """Return the rows of a training on points (n x d), in memory or in a file; a second view is in memory."""
    rows = rows_of(points)
    return (Rows.of(points, standard, learning, compute, other) if rows is None
            else FileRows.of(rows, points, standard, learning, compute))


def feeding_memory(points: Array, learning: Learning, threads: int) -> float:
    """Return the bytes for reading points (n x d) in blocks beside the training; 0 for points in memory."""
    rows = rows_of(points)
    if rows is None:
        return 0.0
    return (AT_ONCE + rows.at_once(threads)) * rows.nbytes + 3.0 * POOL * (4 if learning.precision == "float32" else 8)


def _whole(rows: AnyArray, size: int) -> Iterator[AnyArray]:
    """Yield the rows in steps of `size`; remaining rows are skipped."""
    for start in range(0, len(rows) - len(rows) % size, size):
        yield rows[start : start + size]


def _note_none(count: int, rows: int, learning: Learning) -> None:
    if count == 0 and learning.validation > 0:
        note("N-NO-VALIDATION", f"{learning.validation:g} of {rows} rows is no row to hold out: the weights of the "
             "last epoch are kept")
