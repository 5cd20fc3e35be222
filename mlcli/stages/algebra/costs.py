"""What work costs, by each algorithm, predicted before it starts.

Rates were measured once on a 2-core machine with AVX-512 (`benchmarks/`) and are the same whatever the load of this
one; they only choose between algorithms and show a user whether to expect minutes or hours.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine import instruction_set
from mlcli.base.steps import Step

PASSES = 4  # a streamed kernel's spectrum takes about this many
WHOLE = 2000  # up to this size the whole spectrum costs seconds, and is worth having

# seconds of one core for one step of each algorithm
HEAP_STEP = {"native": 2.6e-9, "scipy": 6.7e-9}  # Dijkstra: an edge relaxed, or a level of the heap
CUBE_STEP = {"native": 5e-11, "scipy": 1.1e-9}  # Floyd-Warshall: one of n³ relaxations
RELAXATION = {"v4": 2.7e-11, "v3": 4.5e-11, "base": 1.5e-10}  # elimination: one relaxation of the sweep
ENTRY = {"v4": 4.5e-10, "v3": 6e-10, "base": 1.5e-9}  # half a pair's distance, squared and multiplied into the product
PRODUCT = {"v4": 6e10, "v3": 3e10, "base": 8e9}  # operations a second of a core in OpenBLAS's products of doubles
MOVED = 8e9  # bytes a second of a pass over memory
LAPACK = 2.2  # matrices besides the given one while its whole spectrum is computed
VECTORS = 2.0  # further ones where all eigenvectors are
LANDMARKS = 750  # rows of the matrix, or similar vectors, that block Krylov begins with
CACHED, BEYOND = 32_000, 2.0  # points whose vectors stay near a core, and how much more an entry costs beyond


@frozen
class Cost:
    """A prediction for one pass."""

    algorithm: str
    seconds: float  # for one pass over all pairs, all threads
    preparation: float  # seconds once, before the first pass
    threads: int


def dijkstra_cost(size: int, edges: int, threads: int, native: bool) -> Cost:
    """n sources, each over all edges with a heap; SciPy's holds the interpreter and cannot use threads."""
    steps = size * (2 * edges + size * np.log2(size + 1))
    used = threads if native else 1
    return Cost("dijkstra", steps * HEAP_STEP["native" if native else "scipy"] / used, 0.0, used)


def floyd_cost(size: int, threads: int, native: bool) -> Cost:
    """n³ relaxations."""
    used = threads if native else 1
    return Cost("floyd", float(size) ** 3 * CUBE_STEP["native" if native else "scipy"] / used, 0.0, used)


def elimination_cost(size: int, relaxations: float, numeric: float, level: str, threads: int) -> Cost:
    """The relaxations and the entries of a pass, after `numeric` relaxations of elimination."""
    rate, entry = RELAXATION.get(level, RELAXATION["base"]), ENTRY.get(level, ENTRY["base"])
    seconds = relaxations * rate + float(size) ** 2 * entry * (BEYOND if size > CACHED else 1.0)
    return Cost("elimination", seconds / threads, numeric * rate / threads, threads)


def product_rate(threads: int) -> float:
    """Floating-point operations a second of a matrix product in double precision, by the processor's instruction set.
    """
    return PRODUCT[instruction_set()] * threads


def neighbors_cost(points: int, columns: int, count: int, tree: bool, threads: int, native: bool) -> float:
    """Seconds of an exact search for neighbors, through a k-d tree or products in single precision.

    The native kernels take each pair of points once, SciPy's way twice.
    """
    if tree:
        return points * (2e-6 + 4e-7 * count) * max(columns / 3, 1.0) * np.log2(points + 2) / 10 / threads
    return (1.0 if native else 2.0) * points**2 * columns / (2 * product_rate(threads)) + points**2 * 1.5e-9 / threads


def pairs_cost(points: int, columns: int, threads: int) -> float:
    """Seconds of the distances of all pairs, in double precision, each compared with a radius."""
    return points**2 * (2.0 * columns / product_rate(threads) + 1e-8)


def solve_cost(size: int, threads: int) -> float:
    """Seconds of a whole symmetric eigenproblem: about 9 n³ operations, half of them bound by memory."""
    return 9.0 * size**3 / product_rate(threads) * 2


def eigensolve_step(size: int, threads: int, *, whole: bool, vectors: bool, held: float, remedy: str = "",
                    square: bool = False) -> Step:
    """The spectrum of a matrix in memory, whole or its top, with all eigenvectors or a few, beside `held` bytes."""
    if not whole:
        return Step("eigensolve", "block Krylov on the matrix in memory", 10 * pass_cost(size**2),
                    held + 8.0 * LANDMARKS * size, remedy=remedy, square=square)
    return Step("eigensolve", "the whole spectrum by LAPACK", solve_cost(size, threads),
                held + 8.0 * (LAPACK + VECTORS * vectors) * size**2, remedy=remedy, square=square)


def pass_cost(numbers: float) -> float:
    """Seconds of a pass over so many doubles, each of which little is done with."""
    return 8.0 * numbers / MOVED


def gower_steps(size: float, held: float, remedy: str = "", *, square: bool = False) -> list[Step]:
    """A kernel of so many distances in memory, beside `held` bytes, themselves included, and its centering."""
    return [Step("kernel", "-D²/2 of the distances", 2 * pass_cost(size), held, remedy=remedy, square=square),
            centering_step(size, held, remedy, square=square)]


def centering_step(size: float, held: float, remedy: str = "", *, square: bool = False) -> Step:
    """The centering of so many numbers, by rows and columns, in their place."""
    return Step("centering", "means of rows and columns taken away", 3 * pass_cost(size), held, remedy=remedy,
                square=square)


def together(steps: Sequence[Step]) -> Step:
    """One stage that runs several times."""
    return replace(steps[0], how=", ".join(dict.fromkeys(step.how for step in steps)),
                   seconds=sum(step.seconds for step in steps), memory=max(step.memory for step in steps))


def kernel_cost(points: int, columns: int, threads: int) -> float:
    """Seconds of one pass over a kernel function of all pairs: a product and an exponential for each."""
    return points**2 * (2.0 * (columns + 20) / product_rate(threads) + 2e-9 / threads)


def singular_step(stage: str, shape: tuple[int, ...], threads: int, passes: int = 1) -> Step:
    """The singular values and vectors of a matrix, about 14 m k² operations for sides m ≥ k; or passes of that cost."""
    rows, columns = shape
    operations = 14.0 * passes * rows * columns * min(rows, columns)
    return Step(stage, f"singular values of {rows} x {columns}" if passes == 1 else f"about {passes} iterations",
                operations / product_rate(threads), 8.0 * 3 * rows * columns)
