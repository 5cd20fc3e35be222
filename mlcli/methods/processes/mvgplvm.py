"""The multi-view Gaussian process latent variable model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.chain.starts import Principal, Start
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.minimize import Likeliest
from mlcli.core.model import Model, Powers
from mlcli.methods.processes.check import shared_checks
from mlcli.methods.processes.fitting import Bayesian, GaussianProcessMethod, best
from mlcli.methods.processes.likelihoods import Observations
from mlcli.methods.processes.new_points import projector_of_views
from mlcli.methods.processes.views import (
    SharedProblem,
    axes_in_use,
    idle_process,
    relevance_shares,
    side_by_side,
    views_of,
)
from mlcli.methods.trials import variant


class MVGPLVM(GaussianProcessMethod):
    """Coordinates that Gaussian processes map to several views, each of which uses some axes; takes `--view`.

    It keeps what smooth functions of a few coordinates explain of all views, and tells shared axes from private ones.
    It fails if the start mixes up the points, since there are many local minima: try several starts, and compare the
    objective in `trace.csv`. Set the number of axes first (`-p`), to more than are expected, since useless axes switch
    themselves off.

    How it works: Every view is a Gaussian process of the same coordinates, with a length scale of its own for every
    axis. Axes that both views use are shared, those that one uses are private to it, and others switch themselves off
    (manifold relevance determination). A view that does not vary has no part in the model.

    Coordinates have a standard normal prior and a Gaussian posterior for every row; the objective is the sum of the
    views' bounds with one distance of that posterior from the prior, maximized by L-BFGS from a start (principal
    components of the views side by side, each of total variance one). The variances of the kernels are fixed until all
    else has converged.

    New points: New rows are rows of the first view, placed where they are most probable as by `gplvm`: axes that the
    first view does not use stay near zero.

    Back to features: `mlcli reconstruct` gives the features of the first view.

    Files: `posterior.csv` holds the posterior of every row. `spectrum.csv` holds the mean over views of the axes'
    shares of relevance, by which axes are ranked. In `fit` are the bound (`log_likelihood`), for every view each axis's
    share of its relevances (`relevances`; the relevance is the variance of the slope along the axis times the variance
    of coordinates), the axes that all views use (`shared_axes`) and those that a view uses alone (`private_axes`), and
    the parameters of the views as `view_1_...`. A view uses an axis with at least `threshold` of the relevance of its
    first.

    Source: Damianou, Ek, Titsias and Lawrence, "Manifold relevance determination", 2012; Titsias and Lawrence,
    "Bayesian Gaussian process latent variable model", 2010.
    """

    accepts: ClassVar = (TwoViews,)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "mean shares of the views' relevances"
    variants: ClassVar = (variant("", inducing=5, minimize={"limit": 12}),)
    axis: ClassVar = "Latent"
    name: Literal["mvgplvm"] = "mvgplvm"
    inducing: int = option(30, "Number of inducing points of each view, at most the number of rows.", ge=1)
    threshold: float = option(0.01, "Share of a view's largest relevance from which on it uses an axis.", gt=0, lt=1)
    start: Start = option(Principal(), "Initial coordinates: principal components (pca), Isomap, or random.")
    minimize: Likeliest = Likeliest()
    axes: PlainAxes = PlainAxes()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the number of columns of all views."""
        return min(len(data.values) - 1, sum(view.values.shape[1] for view in views_of(data)))

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises DataError for a missing cell."""
        for view in views_of(data):
            self.require_complete(view, "drop or mean")
        return {}

    def reproduces(self) -> bool:
        """Whether new rows get the coordinates of training rows: no, as they have one view of several."""
        return False

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the start and of the minimization, an evaluation for each view."""
        views, axes = views_of(data), self.axes.count
        step = Bayesian(inducing=self.inducing).step(len(data.values), axes, self.minimize.limit)
        more = replace(step, seconds=len(views) * step.seconds, each=len(views) * (step.each or 0.0))
        return [*self.start.steps(side_by_side(views), compute, axes), more]

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute the distributions of latent points, with the parameters of every view's kernel."""
        views = views_of(data)
        observed, starts = [Observations.of(view.values) for view in views], self.starts(side_by_side(views), compute)
        varying, axes = [one for one in observed if one.variance], starts[0].shape[1]
        idle = [idle_process(one, axes) for one in observed]
        if not varying:
            return Model(embedding=starts[0], projector=projector_of_views(idle),
                         spectrum=Spectrum.of_values(np.zeros(axes), 0.0, complete=True))
        ended = best(SharedProblem.of(varying, self.inducing, axes), starts, self.minimize)
        fitted = iter(ended.posteriors)
        processes = [next(fitted) if one.variance else none for one, none in zip(observed, idle, strict=True)]
        covariances = [process.covariance for process in processes]
        shares, cells = relevance_shares(ended.means, covariances), tuple([one.cells for one in observed])
        figures = {"log_likelihood": Quantity(ended.value, cells=cells), "jitter": ended.jitter,
                   **axes_in_use(shares, self.threshold), **ended.iterated.facts}
        for view, covariance in enumerate(covariances):
            figures |= {f"view_{view + 1}_{name}": replace(value, view=view) if isinstance(value, Quantity) else value
                        for name, value in covariance.facts().items()}
        ranks = shares.mean(axis=0)
        return Model(embedding=ended.means, spreads=ended.spreads, fit=figures,
                     projector=projector_of_views(processes),
                     spectrum=Spectrum.of_values(ranks, float(ranks.sum()), complete=True),
                     objective=Quantity(-ended.iterated.trace, cells=cells))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the bound, the shares of relevances and the axes in use, and the objective: its ascent and its end."""
        yield from super().checks(subject)
        views = [subject.data, *(view.normalized() for view in views_of(subject.data)[1:])]
        yield from shared_checks(views, subject.model, self.inducing, self.minimize, self.threshold, subject.plan.full)
