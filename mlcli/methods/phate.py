"""PHATE, metric scaling of potential distances of a random walk."""

from typing import Any, ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.options import option
from mlcli.methods.frame.layouts.potential import PotentialMethod
from mlcli.methods.frame.model import Model
from mlcli.methods.frame.trials import MANY, InputSummary, Trials, single_trial
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.layouts.potential import potential_checks
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.eigen.axes import Axes


class PHATE(PotentialMethod):
    """Points whose distances are nearest to how differently random walks from them end (PHATE).

    Affinities are exp(-(d/σ)^α), with σ the distance of a point to its k-th neighbor (`nearest`) and α its `decay`;
    those below `threshold` are zero, and both of a pair have their mean. Over their sums they are the probabilities P
    of a walk. After t steps (`time`) the potential of a point is -log(P^t + 1e-7), one number for each point where the
    walk may end. Potential distances are the Euclidean distances of these rows, and the layout minimizes their stress
    by majorization from classical scaling, as `smacof`. With `gamma` below one the potential is p^c / c, c = (1 - γ)/2:
    at 0 twice the square root.

    By default t is the knee of the von Neumann entropy of P, P², ...: where two lines fit the curve best.
    `entropy.csv` holds it, and the power at the knee is t + 1, as in the authors' program. The entropy is that of the
    singular values' shares. `trace.csv` holds the stress after each step. Axes are principal, without a scale of the
    input; there is no spectrum. Of more than 5,000 points, 2,000 clusters of points are laid out (`landmarks`), found
    by k-means in the leading functions of the walk, and a point is the mean of its clusters by its probabilities to
    reach them.

    A new point is the mean of the points or clusters by its own affinities, so it lies within them; also a training
    row, which lands among its neighbors, near its own place. It fails where no walk leads from one piece of the data to
    another: distances between them are those of the 1e-7 (`W-WALK-PIECES`). Sizes and densities of groups are not kept,
    and a short walk takes noise for branches. If the k-th neighbor is an equal point, σ is the least distance above
    zero. Points of a given graph have the largest of its affinities with themselves. Source: Moon and others,
    "Visualizing structure and transitions in high-dimensional biological data", 2019.
    """

    repeat_tolerance: ClassVar = 1e-4
    variants: ClassVar = (variant(), variant("landmarks", "permutation", "rotation", "mirror", "twins", landmarks=30),
                          variant("square root", "rotation", metric="cityblock", gamma=0.0, time=8))
    axis: ClassVar = "PHATE"
    name: Literal["phate"] = "phate"
    metric: AnyMetric = EUCLIDEAN
    nearest: int = option(5, "Neighbor whose distance is the width σ of a point's affinities.", ge=1,
                          synonyms={"knn": "knn", "k": "k"})
    decay: float = option(40.0, "Exponent α of the affinities exp(-(d/σ)^α).", gt=0, le=1000,
                          synonyms={"alpha": "alpha", "a": "a"})
    threshold: float = option(1e-4, "Affinities below it are zero.", gt=0, le=0.1, synonyms={"thresh": "thresh"})
    time: int | None = option(None, "Diffusion time t, the number of steps of the walk (default: the knee of the von "
                              "Neumann entropy).", ge=1, le=100_000, synonyms={"t": "t"})
    gamma: float = option(1.0, "Form of the potential: 1: logarithm; 0: square root; -1: the probabilities.", ge=-1,
                          le=1)
    landmarks: int | None = option(None, "Clusters of points that are laid out in place of all points (default: none "
                                   "for up to 5,000 points, 2,000 for more).", ge=2, adapts=True)
    starts: int = option(1, "Number of starts: classical scaling, then random ones; the best result is kept.", ge=1)
    iterate: Iterate = Iterate(tolerance=1e-4)
    axes: Axes = Axes()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return the defaults; nothing for very many rows."""
        if seen.rows > MANY:
            return Trials(reason="distances of all pairs of so many rows take long")
        return single_trial()

    def identities(self, data: Any, model: Model, full: bool = False) -> list[Check]:
        """Check the walk, its time, potential distances by other products, their stress, and that no step moves."""
        return potential_checks(self, data, model, full=full)
