"""Metric multidimensional scaling by majorization of stress."""

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


class SMACOF(MajorizedMethod):
    """Points whose distances are nearest to given dissimilarities, by least squares (metric MDS, SMACOF).

    It keeps the dissimilarities themselves, large and small, with least squared error. It fails where one group lies
    far from all others, as squared errors of large distances then outweigh the rest, and with a power below zero
    (`weights`) where two points that differ have dissimilarity zero, as their pair has no finite weight. Set `starts`
    first: of several starts the layout of least stress is kept.

    How it works: Coordinates minimize stress √(Σ w (δ - d)² / Σ w δ²) over all pairs, with δ the dissimilarities and d
    the distances of the coordinates. All weights w are one, or they are δ^q for a power q (`weights`): below zero,
    errors of small dissimilarities count more, and -2 takes errors relative to their dissimilarities.

    Steps of majorization, and of L-BFGS where they lower stress as much, never raise it. They start from classical
    scaling and, with more `starts`, from random coordinates; the layout of least stress is kept, and `fit.reached`
    counts the runs within 0.001 of it. Axes are principal: uncorrelated, in the order of their variance.

    Unlike `mds`, which minimizes strain by eigenvectors, axes of another number are other axes, and the result may be a
    local minimum.

    New points: A new point is placed where its own stress is least, with the others fixed.

    Files: `trace.csv` holds the stress after each step. There is no spectrum.

    Source: Kruskal, 1964; de Leeuw, "Applications of convex analysis to multidimensional scaling", 1977; de Leeuw and
    Heiser, 1980; Nocedal, "Updating quasi-Newton matrices with limited storage", 1980.
    """

    variants: ClassVar = (variant(), variant("starts", "permutation", "quick", starts=2),
                          variant("cityblock", "rotation", metric="cityblock"),
                          variant("relative errors", "rotation", weights=-2.0))
    axis: ClassVar = "SMACOF"
    name: Literal["smacof"] = "smacof"
    metric: AnyMetric = EUCLIDEAN
    weights: float = option(0.0, "Power q of the dissimilarity δ in the weight δ^q of a pair. 0: equal weights; -1: "
                            "those of Sammon; -2: errors relative to dissimilarities.", ge=-4, le=4,
                            synonyms={"q": "q"})
    starts: int = option(1, "Number of starts: classical scaling, then random ones; the best result is kept.", ge=1)
    iterate: Iterate = Iterate(tolerance=1e-6)
    axes: Axes = Axes()

    @property
    def exponent(self) -> float:
        """The power of a dissimilarity that is the weight of its pair."""
        return self.weights

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check principal axes, the stress by distances of another library, and that a step moves no point."""
        yield from super().checks(subject)
        yield from stress_checks(subject.data, subject.model, power=self.weights, squared=False,
                                 tolerance=self.iterate.tolerance)
