"""Inter-battery factor analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.inputs import Input, TwoViews
from mlcli.base.options import option
from mlcli.base.scaling import scaled
from mlcli.base.signs import leading_signs
from mlcli.base.steps import Step
from mlcli.methods.base import Decoder, Loadings, Method, Model, Projector, Units
from mlcli.stages.axes import Axes, first
from mlcli.stages.canonical import canonical, log_likelihood
from mlcli.stages.costs import singular_step
from mlcli.stages.kernels import Centering
from mlcli.stages.similarities import Columns
from mlcli.stages.spectrum import Spectrum
from mlcli.stages.whitening import whitened


class IBFA(Method):
    """Factors that two views share, each view with noise of its own of any covariance; takes a second view, `--view`.

    x = W₁ z + noise of x, y = W₂ z + noise of y, z ~ N(0, I), with private factors of each view as
    part of its noise. The maximum of the likelihood is known: loadings are those of the canonical
    variates times the root of the canonical correlation, so that W₁ W₂ᵀ is what the views' cross
    covariance keeps of its rank. `spectrum.csv` holds the canonical correlations, by which axes are
    ranked. Coordinates are posterior means of z given both views; of new points, only the
    first view is known, and they lie nearer to zero. `loadings.csv` holds W₁ and then W₂.

    It fails as canonical correlations do where columns are many beside the rows. Source: Tucker,
    1958; Browne, 1979; Bach and Jordan, "A probabilistic interpretation of canonical correlation
    analysis", 2005.
    """

    accepts: ClassVar = (TwoViews,)
    ranked_by: ClassVar = "canonical correlations"
    name: Literal["ibfa"] = "ibfa"
    given: Literal["both", "first"] = option(
        "both", "Views that the coordinates are posterior means of: both, or the first alone as for new points.")
    eigensolve: Axes = Axes()

    def limit(self, data: Input) -> int:
        """The smaller of n - 1 and the columns of the smaller view."""
        others = data.view.values.shape[1] if isinstance(data, TwoViews) else 1
        return min(len(data.values) - 1, data.values.shape[1], others)

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """The singular values of each view."""
        return [singular_step("whiten", part.values.shape, compute.thread_count()) for part in (data, data.view)]

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """W = Σ U √P for canonical directions U and correlations P of each view."""
        views = [whitened(part.values, equal_columns=True) for part in (data, data.view)]
        pairs = canonical(*views)
        count = self.eigensolve.kept(len(pairs.correlations))
        correlations = first(pairs.correlations[None, :], count)[0]
        turns = [first(pairs.first, count), first(pairs.second, count)]
        variates = [view.points @ turn for view, turn in zip(views, turns, strict=True)]
        scores = (np.sqrt(correlations) * variates[0] if self.given == "first"
                  else np.sqrt(correlations) / (1 + correlations) * (variates[0] + variates[1]))
        roots = leading_signs(scores) * np.sqrt(correlations)
        loadings = [((turn * roots).T @ view.back).T for view, turn in zip(views, turns, strict=True)]
        units = (data.exponent, data.view.exponent)
        known = log_likelihood(views, correlations, units)
        means = views[0].means
        return Model(scores * leading_signs(scores), Spectrum.given(pairs.correlations, complete=True),
                     Projector(Columns(), Centering(means, across=False), views[0].into @ (turns[0] * roots),
                               Decoder(means, loadings[0])),
                     fit={"log_likelihood": known},
                     loadings=Loadings(np.vstack([scaled(*pair) for pair in zip(loadings, units, strict=True)]),
                                       (*data.columns, *data.view.columns)))

    def units(self, data: Input) -> Units:
        """Coordinates and correlations carry no unit."""
        return Units(data.exponent)
