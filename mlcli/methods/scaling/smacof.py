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

    It keeps the dissimilarities themselves, large and small, with least squared error. It fails if one group lies far
    from all others, since the squared errors of large distances then outweigh the rest. With a power below zero
    (`weights`) it also fails if two different points have dissimilarity zero, since their pair has no finite weight.
    Set `starts` first: of several starts the layout of least stress is kept.

    How it works: Coordinates minimize stress √(Σ w (δ - d)² / Σ w δ²) over all pairs, with δ the dissimilarities and d
    the distances between the coordinates. All weights w are one, or they are δ^q for a power q (`weights`): if q is
    below zero, errors of small dissimilarities count more, and with q = -2 errors count relative to their
    dissimilarities.

    Each iteration is a step of majorization (SMACOF), or of the optimizer L-BFGS if that lowers the stress as much; no
    step raises it. Iterations start from classical scaling (`mds`) and, with more `starts`, from random coordinates.
    The layout of least stress is kept, and `fit.reached` in `run.json` counts the starts that end within 0.001 of its
    stress. Coordinates are rotated to their principal axes, which are uncorrelated and in the order of their variance.

    Unlike in `mds`, which takes its axes from eigenvectors one by one, all axes change with their number, and the
    result may be a local minimum.

    New points: A new point is placed where the stress of its own pairs is least, while the training points stay fixed.

    Files: `trace.csv` holds the stress after each step.

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
