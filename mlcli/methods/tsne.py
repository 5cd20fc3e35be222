"""t-distributed stochastic neighbor embedding."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict

from mlcli.base.values.check import Check
from mlcli.base.values.inputs import Joined
from mlcli.base.values.options import option
from mlcli.methods.frame.layouts.calibrated import CalibratedMethod
from mlcli.methods.frame.model import Model
from mlcli.methods.frame.trials import MANY, InputSummary, Trials
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.layouts.divergence import divergence_checks
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric
from mlcli.stages.chain.small_starts import Start
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.layout.descent import Descent

Perplexity = Annotated[float, Field(gt=1)]
SHORT = {"early_steps": 15, "steps": 10}


class TSNE(CalibratedMethod):
    """Coordinates in which neighbors stay neighbors, by attraction of near points and repulsion of all (t-SNE).

    Affinities p of a point to others are Gaussians of their distances whose width gives them a perplexity: about how
    many neighbors count. They are taken over the nearest 3 x perplexity points, and averaged over both directions and
    over several perplexities, if given. Coordinates minimize the divergence Σ p log (p / q), with q the shares of pairs
    in Σ (1 + d²/α)^(-α), d their distances and α the degrees of freedom: with `dof` below 1 groups split further.

    Descent goes by a schedule, whose first steps exaggerate attraction. It starts from principal components of standard
    deviation 0.0001, from eigenmaps of the affinities (`laplacian`), or at random. Points that are equal stay together.
    Repulsion is that of all pairs up to 6,000 points, then by interpolation on a grid, of three axes by a tree. Axes
    are centered and principal. There is no spectrum; `trace.csv` holds the divergence after each step, `fit.slope`
    the gradient at the end over that of attraction alone: it is small, but not zero. Any number of threads gives the
    same bytes, on processors of one level; steps amplify the rounding of another level to another layout.

    It keeps neighbors and nothing else: distances between groups, and the sizes and densities of groups, mean little,
    and groups may appear where there are none. A new point starts at the mean of its neighbors, weighted by its
    affinities to them, and takes 50 steps of its own divergence among fixed points; one that equals a training point
    is placed on it. It fails where the start does not show the groups: they then break apart and never meet.
    Source: van der Maaten and Hinton, "Visualizing data using t-SNE", 2008; schedule and start: Kobak and Berens, "The
    art of using t-SNE for single-cell transcriptomics", 2019; Belkina and others, 2019.
    """

    repeat_tolerance: ClassVar = 1e-6
    variants: ClassVar = (
        variant("", descent=SHORT), variant("scales", "rotation", "shift", perplexity=[4.0, 10.0], metric="cityblock",
                                            dof=0.7, descent=SHORT),
        variant("random", "permutation", start="random", descent=SHORT))
    axis: ClassVar = "t-SNE"
    name: Literal["tsne"] = "tsne"
    metric: AnyMetric = EUCLIDEAN
    perplexity: Perplexity | Annotated[tuple[Perplexity, ...], Strict(False), Field(min_length=1)] = option(
        30.0, "Number of neighbors that count, below (n - 1) / 3, or several ones.", adapts=True)
    start: Start = option("pca", "First coordinates: principal components (pca), eigenmaps of the affinities "
                          "(laplacian), or random ones.", adapts=True)
    dof: float = option(1.0, "Degrees of freedom of Student's t-distribution; fewer split groups further.", gt=0)
    descent: Descent = Descent()
    axes: Axes = Axes()

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return several perplexities; one for very many rows."""
        fitting = [size for size in (30.0, 10.0, 100.0) if size < (seen.rows - 1) / 3]
        return Trials(({}, *({"perplexity": size} for size in fitting[1:] if seen.rows <= MANY)))

    def identities(self, data: Joined, model: Model, full: bool = False) -> list[Check]:
        """Check principal axes, the perplexity of affinities, and divergence and slope by sums of another library."""
        return divergence_checks(data, model, self.perplexities, self.dof, full=full)
