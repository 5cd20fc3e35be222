"""Inter-battery factor analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.model import Loadings, Model
from mlcli.methods.frame.two_views import TwoViewMethod
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.second_moments import covariance_checks, loadings_check
from mlcli.methods.identities.shared_factors import shared_factor_checks
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.eigen.axes import Axes, first_columns
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.linear.canonical import canonical, log_likelihood, posterior_means, posterior_variances
from mlcli.stages.linear.whitening import whiten
from mlcli.stages.similarities.columns import Columns
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.projector import Projector


class IBFA(TwoViewMethod):
    """Factors shared by two views, each with its own noise of any covariance; takes a second view, `--view`.

    x = W₁ z + noise of x, y = W₂ z + noise of y, z ~ N(0, I), with private factors of each view as part of its
    noise. The maximum of the likelihood is known: loadings are those of the canonical variates times the root of
    the canonical correlation, so that W₁ W₂ᵀ is what the views' cross covariance keeps of its rank. `spectrum.csv`
    holds those correlations. Coordinates are posterior means of z given both views; new rows are rows of the first
    view alone, and lie nearer to zero: the second view, or both, cannot be projected.
    `loadings.csv` holds W₁, then W₂.

    It fails as canonical correlations do with many columns and few rows. Source: Tucker, 1958; Browne,
    1979; Bach and Jordan, "A probabilistic interpretation of canonical correlation analysis", 2005.
    """

    variants: ClassVar = (variant(), variant("first", given="first"))
    axis: ClassVar = "Factor"
    name: Literal["ibfa"] = "ibfa"
    given: Literal["both", "first"] = option("both", "Views from which coordinates are estimated, as posterior means: "
                                             "both, or only the first.")
    axes: Axes = Axes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute W = Σ U √P for canonical directions U and correlations P of each view."""
        views = [whiten(part.values, equal_columns=True) for part in (data, data.view)]
        pairs = canonical(*views)
        count = self.axes.available_count(len(pairs.correlations))
        correlations = first_columns(pairs.correlations[None, :], count)[0]
        turns = pairs.turns(count)
        variates = [view.points @ turn for view, turn in zip(views, turns, strict=True)]
        scores = posterior_means(variates if self.given == "both" else variates[:1], correlations)
        signs = leading_signs(scores)
        roots = signs * np.sqrt(correlations)
        loadings = [((turn * roots).T @ view.back).T for view, turn in zip(views, turns, strict=True)]
        projector = Projector(Columns(), Centering(views[0].means, across=False), views[0].into @ (turns[0] * roots),
                              Affine(views[0].means, loadings[0]))
        return Model(embedding=scores * signs, spectrum=Spectrum.of_values(pairs.correlations, complete=True),
                     projector=projector, fit={"log_likelihood": log_likelihood(views, correlations)},
                     loadings=Loadings(np.vstack(loadings), (*data.columns, *data.view.columns)))

    def identities(self, data: TwoViews, model: Model, full: bool = False) -> list[Check]:
        """Check variances of posterior means, loadings as covariances, the likelihood, and that it has no slope."""
        return [*covariance_checks(model.embedding, posterior_variances(model.ranks.solved, self.given == "both")),
                *loadings_check(data.values, model.embedding, model.directions),
                *shared_factor_checks(data, model, both=self.given == "both", full=full)]

    def reproduces(self) -> bool:
        """Whether coordinates are given the first view alone, as those of new rows are."""
        return self.given == "first"
