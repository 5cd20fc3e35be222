"""Uniform manifold approximation and projection."""

from typing import ClassVar, Literal

from mlcli.base.values.check import Check
from mlcli.base.values.inputs import Joined
from mlcli.base.values.options import option
from mlcli.methods.frame.layouts.sampled import SampledMethod
from mlcli.methods.frame.model import Model
from mlcli.methods.frame.trials import InputSummary, Trials, single_trial
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.layouts.sampled import sampled_checks
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.graph.neighbors import NeighborCount
from mlcli.stages.layout.density import Density

CHAOS = ("picture", "twins")  # rounding of distances grows from epoch to epoch


class UMAP(SampledMethod):
    """Points that lie near those of which they are neighbors, and away from points drawn at random (UMAP).

    The membership of a neighbor at distance d is exp(-(d - ρ) / σ), and one up to ρ. There ρ is the distance to the
    nearest point, by `local_connectivity`, and σ is such that memberships of k neighbors sum to log₂(k + 1).
    Memberships v and w of both directions join to v + w - v w. In the layout a membership is 1 / (1 + a d^2b), with a
    and b fitted to `min_dist` and `spread`. From a start, points move along edges that are due, an edge of weight w in
    a share w / max w of the epochs, and away from samples that edges draw. `umap-learn` counts a point itself among its
    neighbors: its `n_neighbors` is `neighbors.count` plus one.

    With a `target_weight` t, UMAP is supervised: the classes of the first label column change memberships, as in
    `umap-learn`. Those between classes are multiplied by exp(-2.5 / (1 - t)), by zero at t = 1, and those of a row
    without label by exp(-1). Each point's are then divided by its largest, and joined again. A weight of zero is thus
    not without labels. Classes then part in the picture whether or not they do in the data.

    The expected step follows the gradient of Σ w log(1 + a d^2b) over the edges, both ways, with γ s / n Σ w Σ -log(1 -
    q(d)) over all points for s samples, weight γ and q the membership in the layout: not quite of fuzzy cross entropy.
    `trace.csv` holds its estimate by the edges and samples of each epoch, for an edge that is due. Coordinates are
    centered on principal axes, and have no unit. Any number of threads gives the same bytes, on processors of one
    level. On another level distances round differently (4e-16), the start carries that on, and after some twenty epochs
    the layout is another one; its graph and quality agree. A graph in pieces has a start that keeps them apart.

    With `density` (densMAP), the last epochs also climb λ Σ w times the correlation of local radii in data and layout.
    A log radius is log(ε + Σ v d² / Σ v) over a point's edges, with v the membership, in the layout that of the curve.
    `radii.csv` holds them, `fit.radius_correlation` their correlation; ε is 1e-8, in the data times the median. Points
    with large radii move away from their neighbors, even from equal ones.

    Distances between groups, sizes of groups and, without `density`, their densities mean little here, and another
    `seed` gives another picture. A new point starts at the mean of its neighbors by membership and takes a fifth of the
    epochs with all training points fixed, without the term of `density`; one that equals a training point is placed on
    it. It needs no label. It fails with few neighbors, which break data into groups that are none. Source: McInnes,
    Healy and Melville, "UMAP: uniform manifold approximation and projection for dimension reduction", 2018; Damrich and
    Hamprecht, "On UMAP's true loss function", 2021; Narayan, Berger and Cho, "Assessing single-cell transcriptomic
    variability through density-preserving data visualization", 2021.
    """

    variants: ClassVar = (variant("", *CHAOS, neighbors={"count": 9}, epochs=100),
                          variant("density", *CHAOS, "near twins", neighbors={"count": 9}, epochs=100, density={}),
                          variant("cityblock", *CHAOS, "rotation", neighbors={"count": 9}, epochs=100,
                                  metric="cityblock", start="random"))
    later: ClassVar = ("density",)
    axis: ClassVar = "UMAP"
    name: Literal["umap"] = "umap"
    metric: AnyMetric = EUCLIDEAN
    neighbors: NeighborCount = NeighborCount()
    local_connectivity: float = option(1.0, "Rank of the neighbor up to which memberships are one.", ge=0)
    mix_ratio: float = option(1.0, "Union (1) or intersection (0) of the memberships of both directions.", ge=0, le=1)
    target_weight: float | None = option(
        None, "Weight of the classes of the first label column, up to 1, where neighbors of two classes have no edge "
        "(default: labels are not used).", ge=0, le=1)
    density: Density | None = option(
        None, "A term that keeps local densities in part, as densMAP does (default: none).")
    min_dist: float = option(0.1, "Distance in the layout up to which points count as together.", ge=0)
    spread: float = option(1.0, "Distance in the layout over which memberships fall by e.", gt=0)
    start: Literal["spectral", "pca", "random"] = option(
        "spectral", "Start: Laplacian eigenmaps of the graph, principal components, or random points.")
    epochs: int | None = option(None, "Number of epochs (default: 500 up to 10,000 points, then 200; 200 more "
                                "with densities).", ge=1, le=1_000_000)
    learning_rate: float = option(1.0, "Rate of the first epoch; it falls to zero linearly.", gt=0, le=1000)
    negative_samples: int = option(5, "Number of samples that an edge draws when it is due.", ge=0, le=1000)
    repulsion: float = option(1.0, "Weight of the samples.", ge=0, le=1000)
    axes: Axes = Axes()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size; one where the input is a graph."""
        return single_trial() if seen.graph else Trials(tuple({"neighbors": {"count": count}} for count in seen.counts))

    def identities(self, data: Joined, model: Model, full: bool = False) -> list[Check]:
        """Check memberships by a dense formula, the curve, axes, and that the coordinates follow from the seed."""
        return sampled_checks(self, data, model, full)
