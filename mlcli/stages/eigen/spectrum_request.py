"""Options of an eigensolver: the number of axes, the solver, its tolerance, and the number of eigenvalues to report."""

from typing import ClassVar, Literal, Self

from mlcli.base.stages.steps import Step
from mlcli.base.values.options import option
from mlcli.errors import ConfigError
from mlcli.stages.algebra.costs import WHOLE, eigensolve_step
from mlcli.stages.algebra.krylov import SPARE
from mlcli.stages.eigen.axes import AUTO, DEFAULT_COUNT, AxisCount, Count, Share, clip_count

GUESS = 8  # eigenvalues computed first for a share of the variance


class SpectrumRequest(AxisCount):
    """The number of axes to keep, and how the eigenvalues are computed."""

    where: ClassVar[str] = "method.eigensolve"
    components: Count | Share | Literal["all", "auto"] = option(
        DEFAULT_COUNT, "Axes to keep: a count, a share of the variance such as 0.95, all with a positive eigenvalue "
        "(all), or the number that the dimension rules recommend (auto).", adapts=True)
    solver: Literal["auto", "dense", "krylov"] = option(
        "auto", "Eigenvalue solver: all eigenvalues (dense), only the largest (krylov), or chosen by the size of the "
        "matrix (auto).")
    tolerance: float | None = option(
        None, "Tolerance of an iterative solver: its residual relative to the largest eigenvalue (default: depends on "
        "the store and the precision).",
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
        return eigensolve_step(size, threads, whole=self.whole(size), vectors=self.wanted(size) > size // 4,
                               held=held, remedy=remedy, square=square)

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
