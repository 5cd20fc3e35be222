"""Sammon's mapping."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.options import option
from mlcli.certify.subject import Subject
from mlcli.core.eigen.options import Axes
from mlcli.core.iterate import Iterate
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.methods.layout_checks import stress_checks
from mlcli.methods.layouts import MajorizedMethod
from mlcli.methods.trials import variant


class Sammon(MajorizedMethod):
    """Points whose distances are nearest to given dissimilarities, relative to their size (Sammon's mapping).

    It keeps dissimilarities, small ones better than large ones. It fails where two points that differ have
    dissimilarity zero: their pair has no finite weight. Set `starts` first: of several starts the layout of least
    stress is kept.

    How it works: Coordinates minimize Sammon's stress (1 / Σ δ) Σ (δ - d)² / δ over all pairs, with δ the
    dissimilarities and d the distances between the coordinates. Errors of small dissimilarities count more than in
    `smacof`; with `weights: -1`, its stress is the root of this one.

    Each iteration is a step of majorization, or of the optimizer L-BFGS if that lowers the stress as much; no step
    raises it. Iterations start from classical scaling (`mds`) and, with more `starts`, from random coordinates. The
    layout of least stress is kept. Equal points are laid out as one point with their number as its weight. Coordinates
    are rotated to their principal axes.

    New points: A new point is placed where the stress of its own pairs is least, while the training points stay fixed.

    Files: `trace.csv` holds the stress after each step.

    Source: Sammon, "A nonlinear mapping for data structure analysis", 1969; de Leeuw and Heiser, 1980.
    """

    squared: ClassVar = True
    variants: ClassVar = (variant(), variant("cosine", "shift", metric="cosine"))
    axis: ClassVar = "Sammon"
    name: Literal["sammon"] = "sammon"
    metric: AnyMetric = EUCLIDEAN
    starts: int = option(1, "Number of starts: classical scaling, then random ones; the best result is kept.", ge=1)
    iterate: Iterate = Iterate(tolerance=1e-6)
    axes: Axes = Axes()

    @property
    def exponent(self) -> float:
        """The power of a dissimilarity that is the weight of its pair."""
        return -1.0

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check principal axes, the stress by distances of another library, and that a step moves no point."""
        yield from super().checks(subject)
        yield from stress_checks(subject.data, subject.model, power=-1.0, squared=True,
                                 tolerance=self.iterate.tolerance)
