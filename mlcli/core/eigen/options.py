"""Options of an eigensolver: the number of axes, the solver, its tolerance, and landmarks."""

from typing import Annotated, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import Field

from mlcli.base.machine.footprint import LINEAR, SPECIAL
from mlcli.base.machine.rates import pass_cost
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.options import Options, option
from mlcli.core.krylov import SPARE
from mlcli.core.linalg import MANY, solve_cost, symmetric_eigen
from mlcli.errors import ConfigError, GeometryError

DEFAULT_COUNT = 2  # axes
AUTO: Literal["auto"] = "auto"  # as many as the rules recommend
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]


class AxisCount(Options):
    """The base of options with the number of axes."""

    where: ClassVar[str]  # they stand in the configuration
    noun: ClassVar[str] = "axes"  # what is counted


Chosen = TypeVar("Chosen", bound=AxisCount)


class Axes(AxisCount):
    """The number of axes to keep, where a share of the variance has no meaning, and dimension rules may choose it."""

    components: Count | Literal["auto"] = option(
        DEFAULT_COUNT, "Number of axes to keep, or as many as the dimension rules recommend (auto; docs/dimension.md).")
    where: ClassVar[str] = "method.axes"  # in the configuration

    def resolved(self, limit: int, size: int) -> "Axes":
        """Return the options with a count of at most `limit` axes, 2 for auto.

        Raises ConfigError for a larger count that was chosen; a default one is clipped.
        """
        if self.components == AUTO:
            return self.replace(components=min(DEFAULT_COUNT, max(limit, 1)))
        return clip_count(self, self.count, limit)

    @property
    def count(self) -> int:
        """The number of axes to keep; for auto, that of the fit that the rules are applied to."""
        return DEFAULT_COUNT if self.components == AUTO else self.components

    def written(self, kept: int) -> None:
        """Return None: all values that rank the axes are written."""

    def available_count(self, available: int, of: str = "the data") -> int:
        """Return the number of axes to keep of `available` ones that `of` has; one, of zeros, where there is none.

        Raises GeometryError where more were chosen.
        """
        if self.count <= available:
            return self.count
        if self.chosen("components") and self.count > max(available, 1):
            raise GeometryError("AXES", f"{self.count} axes were requested, but {of} has {available}",
                                where=f"{self.where}.components", hint=f"ask for at most {max(available, 1)}")
        note("W-RANK", f"kept {available} of {self.count} axes: {of} extends in no other direction"
             if available else f"{of} extends in no direction: the embedding is zero")
        return max(available, 1)


class PlainAxes(Axes):
    """The number of axes to keep, of a method without dimension rules."""

    components: Count = option(DEFAULT_COUNT, "Number of axes to keep.")


def first_columns(directions: Array, count: int) -> Array:
    """Return the first columns (n x count) of directions (n x q), padded with columns of zeros."""
    return np.pad(directions[:, :count], ((0, 0), (0, max(count - directions.shape[1], 0))))


def clip_count(options: Chosen, count: int, limit: int) -> Chosen:
    """Return the options with a default count clipped to `limit`; raises ConfigError for a chosen count above it."""
    largest = max(limit, 1)
    if count <= largest:
        return options
    if options.chosen("components"):
        raise ConfigError("COMPONENTS", f"{count} {options.noun} were requested, but the data has at most {largest}",
                          where=f"{options.where}.components", hint=f"ask for at most {largest}")
    note("N-COMPONENTS", f"{options.noun} kept: {largest}, as many as the data can have")
    return options.model_copy(update={"components": largest})


WHOLE = 2000  # up to this size the whole spectrum costs seconds, and is worth having
DIVIDED, TRIDIAGONAL = 4.0, 2.0  # matrices besides the given one: a copy, LAPACK's room of two, and the vectors; or two
HALVED = 0.5  # of the operations of all eigenvectors, for a few from the tridiagonal form
LANDMARKS = 750  # rows of the matrix, or similar vectors, that block Krylov begins with
GUESS = 8  # eigenvalues computed first for a share of the variance


class SpectrumRequest(AxisCount):
    """The number of axes to keep, and how the eigenvalues are computed."""

    where: ClassVar[str] = "method.eigensolve"
    components: Count | Share | Literal["all", "auto"] = option(
        DEFAULT_COUNT, "Axes to keep: a count such as 2, a share of the variance such as 0.95 (1 is one axis, 1.0 is "
        "all of the variance), all with a positive eigenvalue (all), or as many as the dimension rules recommend "
        "(auto; docs/dimension.md).", adapts=True)
    solver: Literal["auto", "dense", "krylov", "filter"] = option(
        "auto", "Eigenvalue solver: all eigenvalues (dense), only the largest (krylov), these by products with a "
        "sparse cost that is not factored (filter), or chosen by the size of the matrix (auto).")
    tolerance: float | None = option(
        None, "Tolerance of an iterative solver: its residual relative to the largest eigenvalue (default: chosen "
        "from 1e-12 to 1e-6 by how exactly the matrix is computed).",
        gt=0, lt=1)
    report: int | None = option(None, "Number of eigenvalues to write to spectrum.csv, at least that of the axes "
                                "(default: all that were computed).", ge=1)

    def resolved(self, limit: int, size: int) -> Self:
        """Return the options with a default count, which auto begins with too, clipped to `limit` axes.

        Raises ConfigError for a chosen count above it, a report of more than `size` eigenvalues, and a tolerance for
        the dense solver.
        """
        if self.solver == "dense":
            self.refuse_unused("the dense solver has no iterations", "tolerance", where=self.where)
        if self.report is not None and self.report > size:
            raise ConfigError("REPORT", f"{self.report} eigenvalues were requested, but there are {size}",
                              where=f"{self.where}.report", hint=f"ask for at most {size}")
        if self.components == AUTO:
            return self.replace(components=min(DEFAULT_COUNT, max(limit, 1)))
        return clip_count(self, self.components, limit) if isinstance(self.components, int) else self

    def whole(self, size: int) -> bool:
        """Whether the whole spectrum of an n x n matrix in memory is computed, as far as options and size tell."""
        return (self.components == "all" or self.solver == "dense" or (self.solver == "auto" and size <= WHOLE)
                or self.wanted(size) + SPARE > size // 4)

    def step(self, size: int, threads: int, held: float, remedy: str = "", *, square: bool = False) -> Step:
        """Return the step of the spectrum of a matrix in memory; `held` are the bytes in memory, its own included."""
        if not self.whole(size):
            return Step("eigensolve", "block Krylov on the matrix in memory", 10 * pass_cost(size**2),
                        held + 8.0 * LANDMARKS * size, remedy=remedy, square=square)
        few = size >= MANY and self.wanted(size) <= size // 4  # eigenvectors
        return Step("eigensolve", "the whole spectrum by LAPACK", solve_cost(size, threads) * (HALVED if few else 1.0),
                    held + 8.0 * (TRIDIAGONAL if few else DIVIDED) * size**2, remedy=remedy, square=square,
                    needs=LINEAR if size >= MANY else "")

    def wanted(self, size: int) -> int:
        """Return how many of `size` eigenvalues a solver of the top computes; for a share, a first guess.

        At least the default: a run in which only one axis had a positive eigenvalue then repeats as it was.
        """
        count = size if self.components == "all" else self.components if isinstance(self.components, int) else GUESS
        return min(max(count, self.report or 0, DEFAULT_COUNT), size)

    def reported(self, computed: int) -> int:
        """Return how many of the computed eigenvalues are written."""
        return computed if self.report is None else min(max(self.report, self.wanted(computed)), computed)

    def written(self, kept: int) -> int | None:
        """Return how many eigenvalues are written: at least those of the `kept` axes, which verification needs."""
        return None if self.report is None else max(self.report, kept)

    def reached(self, total: float, trace: float) -> bool:
        """Whether leading eigenvalues with sum `total` reach the share: always for a count, never for all."""
        return isinstance(self.components, int) or (
            isinstance(self.components, float) and total >= self.components * trace)


MOST = 500  # landmarks for a start; more give little for their rows
ROOM = 2**25  # numbers in their rows at most: 256 MiB


def choose_landmarks(size: int, count: int, generator: np.random.Generator) -> Indices:
    """Return the indices of at most `count` of `size` points, drawn at random, ascending."""
    return np.sort(generator.choice(size, min(count, size), replace=False))


def landmark_step(count: int, points: int, memory: float, sampled: int = 0) -> Step:
    """Return the step that places all points by `count` landmarks; `memory` is its bytes.

    Its error is estimated from the kernel rows of `sampled` points.
    """
    return Step("coordinates", f"{points} points placed by {count} landmarks",
                45 * pass_cost((count + sampled) * points), memory, remedy="use fewer landmarks",
                needs=SPECIAL if sampled else "")  # functions of chi-square and of t


def landmark_start(rows: RowsOf, size: int, width: int, most: int, generator: np.random.Generator) -> Array:
    """Return a start block (n x width) for an eigensolver: Nystrom's extension of the landmarks' own eigenvectors."""
    count = min(most, ROOM // size, size)
    block: Array = generator.standard_normal((size, width))
    if count < 2 * width:
        return block
    landmarks = choose_landmarks(size, count, generator)
    across = rows(landmarks)
    across -= across.mean(axis=0)
    across -= across.mean(axis=1, keepdims=True)
    square = across[:, landmarks]
    _, vectors = symmetric_eigen((square + square.T) / 2)
    start = across.T @ vectors[:, :width]
    return start / np.maximum(np.linalg.norm(start, axis=0), 1e-300) + 1e-3 * block / np.sqrt(size)
