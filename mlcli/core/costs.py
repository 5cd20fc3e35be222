"""Predicted seconds and memory of each algorithm: units of work times the machine's rate for them.

The rates stand in `base/machine/rates.py`. They are the same whatever the load of this machine; they choose between
algorithms and show a user whether to expect minutes or hours.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import LINEAR
from mlcli.base.machine.rates import rates
from mlcli.base.stages.steps import Step
from mlcli.core.linalg import ALONE, MANY

WHOLE = 2000  # up to this size the whole spectrum costs seconds, and is worth having
WITHOUT = {"heap": 2.6, "cube": 22.0}  # how much longer steps take by SciPy, without the native kernels
DIVIDED, TRIDIAGONAL = 4.0, 2.0  # matrices besides the given one: a copy, LAPACK's room of two, and the vectors; or two
HALVED = 0.5  # of the operations of all eigenvectors, for a few from the tridiagonal form
FIRST = 8  # passes that one is worth which takes the memory for the first time
BENT, BENDING = 16, 1.6  # functions of one distance that one in memory is worth, and arrays that it takes
THIN = 80  # passes that the decomposition of a tall matrix takes besides, with what is made of it
SPECTRUM = 9.0  # times n³ operations of a whole symmetric eigenproblem
LANDMARKS = 750  # rows of the matrix, or similar vectors, that block Krylov begins with


@frozen
class PassCount:
    """The number of passes that block Krylov takes over a kernel that is not stored."""

    usual: int
    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.fewest} to {self.most} passes"

    @property
    def spread(self) -> tuple[float, float]:
        """The fewest and the most, as shares of the usual number."""
        return self.fewest / self.usual, self.most / self.usual


STREAMED = PassCount(4, 3, 6)
SAMPLED = PassCount(3, 2, 5)  # begun from a sample of its columns: 2 of a curved surface, 4 of images


@frozen
class Cost:
    """Predicted time of one pass of an algorithm."""

    algorithm: str
    seconds: float  # for one pass over all pairs, all threads
    preparation: float  # seconds once, before the first pass
    threads: int


def dijkstra_cost(size: int, edges: int, threads: int, native: bool) -> Cost:
    """Cost of Dijkstra's algorithm from n sources, with a heap; SciPy's holds the interpreter: it uses one thread."""
    steps = size * (2 * edges + size * np.log2(size + 1))
    used, slower = (threads, 1.0) if native else (1, WITHOUT["heap"])
    return Cost("dijkstra", steps * rates().heap * slower / used, 0.0, used)


def floyd_cost(size: int, threads: int, native: bool) -> Cost:
    """Cost of the n³ relaxations of Floyd and Warshall."""
    used, slower = (threads, 1.0) if native else (1, WITHOUT["cube"])
    return Cost("floyd", float(size) ** 3 * rates().cube * slower / used, 0.0, used)


def elimination_cost(size: int, relaxations: float, numeric: float, threads: int) -> Cost:
    """Cost of a pass by elimination: its relaxations and n² entries, after `numeric` relaxations of preparation."""
    rate, entry = rates().relaxation, rates().entry
    seconds = relaxations * rate + float(size) ** 2 * entry
    return Cost("elimination", seconds / threads, numeric * rate / threads, threads)


def product_rate(threads: int) -> float:
    """Floating-point operations a second of a matrix product in double precision."""
    return threads / rates().product


def neighbors_cost(points: int, columns: int, count: int, tree: bool, threads: int, native: bool) -> float:
    """Seconds of an exact search for neighbors, through a k-d tree or products in single precision.

    The native kernels take each pair of points once, SciPy's way twice. Neighbors that are kept are refined.
    """
    if tree:
        return points * (5 + count) * max(columns / 3, 1.0) * np.log2(points + 2) * rates().branch / threads
    pairs = (1.0 if native else 2.0) * points**2 * columns * rates().paired
    return (pairs + points**2 * 1.5e-9 + points * count * rates().neighbor) / threads


def pairs_cost(points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, in double precision, each compared with a radius."""
    return points**2 * (2.0 * columns / product_rate(threads) + 1e-8)


def solve_cost(size: int, threads: int) -> float:
    """Seconds of a whole symmetric eigenproblem: about 9 n³ operations."""
    return SPECTRUM * size**3 * rates().decomposed / (threads if size > ALONE else 1)


def eigensolve_step(size: int, threads: int, *, whole: bool, vectors: bool, held: float, remedy: str = "",
                    square: bool = False) -> Step:
    """Step of the spectrum of an n x n matrix in memory, whole or its top; `held` bytes are in memory besides.

    With `vectors` all eigenvectors are computed, otherwise a few.
    """
    if not whole:
        return Step("eigensolve", "block Krylov on the matrix in memory", 10 * pass_cost(size**2),
                    held + 8.0 * LANDMARKS * size, remedy=remedy, square=square)
    few = size >= MANY and not vectors
    return Step("eigensolve", "the whole spectrum by LAPACK", solve_cost(size, threads) * (HALVED if few else 1.0),
                held + 8.0 * (TRIDIAGONAL if few else DIVIDED) * size**2, remedy=remedy, square=square,
                needs=LINEAR if size >= MANY else "")


def pass_cost(numbers: float) -> float:
    """Seconds of a pass over `numbers` doubles with little work on each."""
    return 8.0 * numbers * rates().moved


def gower_steps(size: float, held: float, remedy: str = "", *, square: bool = False, bent: bool = False,
                centered: bool = True) -> list[Step]:
    """Steps of a kernel of `size` distances in memory and of its centering, where it is `centered`.

    `held` are the bytes in memory, those of the distances included. A nonlinear function of the distances (`bent`)
    takes several passes, and arrays of its own.
    """
    seconds, more = FIRST * pass_cost(size), 8.0 * BENDING * size * bent
    return [Step("kernel", "a function of the distances" if bent else "-D²/2 of the distances",
                 seconds + BENT * rates().bent * size * bent, held + more, remedy=remedy, square=square),
            *([centering_step(size, held, remedy, square=square)] if centered else [])]


def centering_step(size: float, held: float, remedy: str = "", *, square: bool = False) -> Step:
    """Step of the centering of a matrix of `size` numbers by rows and columns, in place."""
    return Step("centering", "means of rows and columns taken away", 3 * pass_cost(size), held, remedy=remedy,
                square=square)


def merge_steps(steps: Sequence[Step]) -> Step:
    """Return one step for a stage that runs several times: seconds summed, the largest memory."""
    return replace(steps[0], how=", ".join(dict.fromkeys(step.how for step in steps)),
                   seconds=sum(step.seconds for step in steps), memory=max(step.memory for step in steps))


def kernel_cost(points: int, columns: int, threads: int) -> float:
    """Seconds of one pass over a kernel function of all pairs: a product and an exponential for each."""
    return points**2 * (2.0 * columns / product_rate(threads) + rates().bent / threads)


def singular_cost(shape: tuple[int, ...], threads: int) -> float:
    """Seconds of the singular values and vectors of a matrix: about 14 m k² operations for sides m ≥ k, and passes."""
    rows, columns = shape
    return 14.0 * rows * columns * min(rows, columns) * rates().decomposed / threads + THIN * pass_cost(
        rows * columns)


def singular_step(stage: str, shape: tuple[int, ...], threads: int, copies: float = 4.0) -> Step:
    """Step of the singular values and vectors of a matrix, with `copies` arrays of its size in memory at once."""
    rows, columns = shape
    return Step(stage, f"singular values of {rows} x {columns}", singular_cost(shape, threads),
                8.0 * (copies * rows * columns + 4.0 * min(rows, columns) ** 2))
