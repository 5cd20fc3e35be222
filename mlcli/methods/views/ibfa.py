"""Inter-battery factor analysis."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.check.second_moments import covariance_checks, loadings_check
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.latent.canonical import SHARED, canonical, whiten_views
from mlcli.core.minimize import Minimize
from mlcli.core.model import JointViews, Model
from mlcli.core.whitening import Whitening
from mlcli.methods.trials import variant
from mlcli.methods.views.check import group_factor_checks, private_check, scores_checks, shared_factor_checks
from mlcli.methods.views.two_views import (
    MANY,
    TwoViewMethod,
    log_likelihood,
    model_of_views,
    posterior_means,
    posterior_variances,
    private_loadings,
)


class IBFA(TwoViewMethod):
    """Factors shared by two or more views, each with its own noise of any covariance; takes further views, `--view`.

    It keeps what the views share, and leaves what one view has alone to its noise. It fails with many columns and few
    rows, since correlations between the views are then large by chance. Set the further views first (`--view`), then
    the number of factors (`-p`).

    How it works: A row has x = W₁ z + noise in the first view and y = W₂ z + noise in the second, with z ~ N(0, I). The
    factors z are common to the views. The noise of each view has any covariance, so it includes the factors that the
    view has alone (private factors). The maximum of the likelihood is known: loadings are those of the canonical
    variates (`cca`) times the root of the canonical correlation, so W₁ W₂ᵀ is the cross covariance of the views,
    reduced to as many axes. Coordinates are posterior means of z given both views.

    Three or more views: The maximum is found by iteration (`minimize`) from the variates of `cca`: Ψ of each view has
    any covariance, but at least 0.005 of the view's variance in every direction.

    New points: New rows are rows of the first view alone, and lie nearer to zero. `mlcli project` places rows of both
    views with `--view`, of the second alone with `--as-view 2`.

    Files: `spectrum.csv` holds the canonical correlations; for three or more views it holds the variances of the
    posterior means, γ / (1 + γ) for γ in the diagonal matrix Σ WᵀΨ⁻¹W, largest first. `loadings.csv` holds W₁, then W₂.
    `private.csv` holds the noise Ψ of each view by its principal axes, the loadings of its private factors: Ψ = L Lᵀ,
    and `variance` is its diagonal.

    Source: Tucker, 1958; McDonald, 1970; Browne, 1979, 1980; Bach and Jordan, "A probabilistic interpretation of
    canonical correlation analysis", 2005.
    """

    variants: ClassVar = (variant(), variant("first", given="first"))
    axis: ClassVar = "Factor"
    most_views: ClassVar = MANY
    later: ClassVar = ("minimize",)
    name: Literal["ibfa"] = "ibfa"
    given: Literal["both", "first"] = option("both", "Views from which coordinates are estimated, as posterior means: "
                                             "both (of several views all), or only the first.")
    axes: PlainAxes = PlainAxes()
    minimize: Minimize = option(Minimize(), "When the iteration stops, of three or more views.")

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of the iteration with two views (closed form)."""
        if isinstance(data, TwoViews) and len(data.views) == 2:
            return self.refuse_unused("two views have a closed form", "minimize")
        return {}

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of what the views share, and of three or more that of the iteration."""
        steps = super().steps(data, compute, share)
        if len(data.views) == 2:
            return steps
        from mlcli.methods.views.group_factors import iteration_step

        columns = sum(part.values.shape[1] for part in data.views)
        return [*steps, iteration_step(len(data.values), columns, limit=self.minimize.limit,
                                       threads=compute.thread_count())]

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute W = Σ U √P for canonical directions U and correlations P of each view."""
        views = whiten_views(data)
        if len(views) > 2:
            return self.solve_several(data, views)
        pairs = canonical(*views)
        count = self.axes.available_count(len(pairs.correlations), SHARED)
        correlations = first_columns(pairs.correlations[None, :], count)[0]
        turns = pairs.turns(count)
        variates = [view.points @ turn for view, turn in zip(views, turns, strict=True)]
        scores = posterior_means(variates if self.given == "both" else variates[:1], correlations)
        signs = leading_signs(scores)
        turned = [turn * (signs * np.sqrt(correlations)) for turn in turns]
        precisions = np.diag(1 / np.maximum(1 - correlations, EPS))
        noise = [np.eye(len(turn)) - turn @ turn.T for turn in turned]
        spectrum = Spectrum.of_values(pairs.correlations, complete=True)
        return model_of_views(data, views, scores * signs, spectrum, turned,
                              fit={"log_likelihood": log_likelihood(views, correlations)},
                              private=private_loadings(data, views, noise),
                              joint=JointViews(np.array([precisions, precisions]), None))

    def solve_several(self, data: TwoViews, views: Sequence[Whitening]) -> Model:
        """Maximize the likelihood of W and Ψ from the variates of MAXVAR on."""
        from mlcli.methods.views.group_factors import factors_of_views

        found = factors_of_views(views, self.axes, self.minimize)
        scores = found.scores(views, 1 if self.given == "first" else len(views))
        signs = leading_signs(scores)
        spectrum = Spectrum.of_values(1 - 1 / found.best.ratios)
        return model_of_views(data, views, scores * signs, spectrum, [own * signs for own in found.loadings],
                              [way * signs for way in found.maps], fit=found.figures, objective=found.objective,
                              private=private_loadings(data, views, found.noise),
                              joint=JointViews(found.precisions * signs[:, None] * signs, None))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check variances of posterior means, loadings as covariances, the likelihood, and that it has no slope."""
        yield from super().checks(subject)
        data, model, both = subject.data, subject.model, self.given == "both"
        if len(data.views) > 2:
            yield from group_factor_checks(data, model, first=self.given == "first")
            return
        yield from covariance_checks(model.embedding, posterior_variances(model.ranks.solved, both))
        yield from loadings_check(data.values, model.embedding, model.directions)
        yield from scores_checks(data, model)
        yield from private_check(data, model)
        yield from shared_factor_checks(data, model, both=both, full=subject.plan.full)

    def reproduces(self) -> bool:
        """Whether coordinates are given the first view alone, as those of new rows are."""
        return self.given == "first"
