"""The kernel -δ²/2 of dissimilarities in a file: a pass reads their matrix, and nothing of it stays in memory."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.krylov import WIDEST
from mlcli.stages.kernels.folding import Folded

WIDTH = 16  # vectors that a pass can multiply at little more than its own cost
FILE_TOLERANCE = 1e-9  # residual that is worth the passes
PASSES = 6  # that block Krylov takes, about, the one that checks the matrix among them
READ = 2.5e-9  # seconds of a core for a number to be read, squared and multiplied
LANDMARKS = 200  # single rows that cost little beside a pass


@frozen
class FileRows:
    """The rows of -δ²/2 (n x n), from a file with those of δ."""

    lengths: Rows
    width, landmarks, order, quick_rows = WIDTH, LANDMARKS, None, None

    @property
    def given(self) -> tuple[Rows]:
        """The rows of the file."""
        return (self.lengths,)

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.lengths)

    @property
    def blocks(self) -> int:
        """How many blocks of work a pass has."""
        return self.lengths.blocks

    def rows(self, chosen: Indices) -> Array:
        """Some rows (m x n)."""
        return _halved(self.lengths[chosen])

    def fold(self, number: int, vectors: Array, moments: bool) -> list[Folded]:
        """What a block of rows adds to K Q; its diagonal is zero."""
        return self._once(number, vectors, moments) if self.lengths.once else self._whole(number, vectors, moments)

    def _whole(self, number: int, vectors: Array, moments: bool) -> list[Folded]:
        """Of rows that hold all pairs."""
        found = []
        for first, lengths in self.lengths.parts(number):
            part, place = _halved(lengths), slice(first, first + len(lengths))
            found.append(Folded(place, part @ vectors, part.sum(axis=1) if moments else 0.0,
                                float(np.vdot(part, part)) if moments else 0.0))
        return found

    def _once(self, number: int, vectors: Array, moments: bool) -> list[Folded]:
        """Of rows that hold each pair once: what they add to their own rows, and to those of their columns."""
        product, sums, squares, start = None, np.zeros(0), 0.0, 0
        for first, lengths in self.lengths.wedges(number):
            part, own = _halved(lengths), vectors[first : first + len(lengths)]
            if product is None:
                product, sums, start = np.zeros(vectors[first:].shape), np.zeros(self.size - first), first
            place = slice(first - start, first - start + len(part))
            product[first - start :] += part.T @ own
            product[place] += part @ vectors[first:]
            if moments:
                sums[first - start :] += part.sum(axis=0)
                sums[place] += part.sum(axis=1)
                squares += 2 * float(np.vdot(part, part))
        return [] if product is None else [Folded(slice(start, self.size), product, sums if moments else 0.0, squares)]

    def stop(self) -> None:
        """A block takes little time."""


def _halved(lengths: Array) -> Array:
    halved: Array = np.square(lengths)
    halved *= -0.5
    return halved


def file_steps(rows: Rows, threads: int) -> list[Step]:
    """What the passes over the file would cost."""
    size = len(rows)
    vectors = 8.0 * WIDTH * size
    held = 8.0 * 3 * WIDEST * WIDTH * size + rows.nbytes * (rows.at_once(threads) - 1)
    return [Step("eigensolve", f"block Krylov: about {PASSES} passes over a file of {size:,} x {size:,} numbers",
                 PASSES * READ * size**2 / threads, held,
                 passes=Passes(PASSES, READ * size**2, rows.blocks, sent=vectors, working=float(rows.nbytes),
                               returned=vectors * (rows.blocks / 2 if rows.once else 1)))]
