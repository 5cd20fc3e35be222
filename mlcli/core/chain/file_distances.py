"""The chain of a matrix of dissimilarities in a file: each pass reads it again, and none of it is kept in memory."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import Array, Indices
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels.corrections import Correction
from mlcli.core.kernels.streamed import BlockSums, Streamed
from mlcli.core.krylov import WIDEST
from mlcli.core.model import Model
from mlcli.core.similarities.kernels import GivenDistances

WIDTH = 16  # vectors that a pass can multiply at little more than its own cost
FILE_TOLERANCE = 1e-9  # residual to reach: a smaller one is not worth more passes
PASSES = 6  # of block Krylov, about, including the one that checks the matrix
READ = 2.5e-9  # seconds of a core for a number to be read, squared and multiplied
LANDMARKS = 200  # single rows that cost little beside a pass


@frozen
class FileRows:
    """The rows of -δ²/2 (n x n), computed from the rows of δ in a file."""

    lengths: Rows
    width, landmarks, order, quick_rows, sample = WIDTH, LANDMARKS, None, None, None

    @property
    def key(self) -> tuple[Rows]:
        """The rows of the file."""
        return (self.lengths,)

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.lengths)

    @property
    def blocks(self) -> int:
        """Number of blocks of work in a pass."""
        return self.lengths.blocks

    def rows(self, chosen: Indices) -> Array:
        """Return the rows `chosen`, an (m, n) array."""
        return _halved(self.lengths[chosen])

    def fold(self, number: int, vectors: Array, moments: bool) -> list[BlockSums]:
        """Return the share of a block of rows in K Q, for (n, b) `vectors` Q. The diagonal is zero, so there is no
        trace.
        """
        fold = self._fold_pairs if self.lengths.half_stored else self._fold_rows
        return fold(number, vectors, moments)

    def _fold_rows(self, number: int, vectors: Array, moments: bool) -> list[BlockSums]:
        """Fold rows that contain all pairs."""
        found = []
        for first, lengths in self.lengths.parts(number):
            part, place = _halved(lengths), slice(first, first + len(lengths))
            found.append(BlockSums(place, part @ vectors, part.sum(axis=1) if moments else 0.0,
                                   float(np.vdot(part, part)) if moments else 0.0))
        return found

    def _fold_pairs(self, number: int, vectors: Array, moments: bool) -> list[BlockSums]:
        """Fold rows that contain each pair once: add to their own rows, and to the rows of their columns."""
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
        if product is None:
            return []
        return [BlockSums(slice(start, self.size), product, sums if moments else 0.0, squares)]

    def stop(self) -> None:
        """Do nothing: a block takes little time."""


def _halved(lengths: Array) -> Array:
    halved: Array = np.square(lengths)
    halved *= -0.5
    return halved


@frozen
class FileChain(Composition[Model]):
    """Coordinates from a matrix D of dissimilarities in a file, by passes over it."""

    chain: ChainInput
    rows: Rows

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = -H D² H / 2 = V Λ Vᵀ, its top: K is only applied to vectors."""
        return solve_spectrum(self.chain, Streamed(FileRows(self.rows), FILE_TOLERANCE), len(self.rows) - 1, 0.0)

    @spectrum.cost
    def _(self) -> list[Step]:
        rows, threads = self.rows, self.chain.compute.thread_count()
        size = len(rows)
        vectors = 8.0 * WIDTH * size
        held = 8.0 * 3 * WIDEST * WIDTH * size + rows.nbytes * (rows.at_once(threads) - 1)
        return [Step("eigensolve", f"block Krylov: about {PASSES} passes over a file of {size:,} x {size:,} numbers",
                     PASSES * READ * size**2 / threads, held,
                     passes=Passes(PASSES, READ * size**2, rows.blocks, sent=vectors, working=float(rows.nbytes),
                                   returned=vectors, summed=vectors / (2 if rows.half_stored else rows.blocks)))]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        return build_fit(self.chain, self.spectrum, GivenDistances(Correction("none", 0.0)))
