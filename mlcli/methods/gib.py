"""The Gaussian information bottleneck."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.errors import GeometryError
from mlcli.methods.frame.model import Loadings, Model
from mlcli.methods.frame.two_views import TwoViewMethod
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.bottleneck import bottleneck_checks
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.linear.bottleneck import (
    UNRELATED,
    axis_lengths,
    critical_betas,
    default_beta,
    information,
    open_axes,
    require_noise,
)
from mlcli.stages.linear.canonical import canonical
from mlcli.stages.linear.whitening import whiten
from mlcli.stages.similarities.columns import Columns
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.projector import Projector


class GIB(TwoViewMethod):
    """The summary of a table's columns that keeps what they tell of a second view, `--view`, and little else.

    T = A x + noise, N(0, I), is the linear summary of x with the least I(T; X) - β I(T; Y), where y is the second view
    and all is Gaussian. Its axes are the canonical directions of x. That of correlation ρ opens at the critical
    β = 1/ρ², and its coordinates have the variance α² = (β ρ² - 1) / (1 - ρ²), over noise of variance one; an axis of
    variance zero is closed. Coordinates are A (x - mean), without noise. With `beta`, there are as many axes as it
    opens. Without it, β is twice the critical one of the last of `components` axes, or that of the next axis if it is
    smaller. `spectrum.csv` holds the canonical correlations. `fit` in `run.json` holds β, the critical betas, and the
    information in nats: `kept_information` is I(T; X), `relevant_information` I(T; Y). `information.csv` is the
    information curve, the two by rising β: it is concave, and ends at I(X; Y). `loadings.csv` holds the covariances of
    the columns with their own view's canonical variates, as for cca. New rows are rows of the first view.

    It fails where a correlation is one, as of a column that both views have: information is then without bound. With
    many columns and few rows correlations are large by chance, and the information with them. Source: Chechik,
    Globerson, Tishby and Weiss, "Information bottleneck for Gaussian variables", 2005.
    """

    variants: ClassVar = (variant(), variant("beta", beta=1e6))
    axis: ClassVar = "GIB"
    name: Literal["gib"] = "gib"
    beta: float | None = option(None, "The weight of information about the second view, against that kept of the "
                                "first: it opens the axes with ρ² > 1/β (default: by the number of axes).", gt=1,
                                le=1e12)
    axes: Axes = Axes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute A = diag(α) Wᵀ for the canonical directions W of the first view, of variance one."""
        parts = [data.values, data.view.values]
        views = [whiten(points, equal_columns=True) for points in parts]
        pairs = canonical(*views)
        require_noise(pairs, views, parts, [data.columns, data.view.columns])
        related = pairs.correlations[pairs.correlations > UNRELATED]
        beta, count = self.openings(related)
        lengths = np.zeros(count)
        lengths[:len(related)] = axis_lengths(related[:count], beta)
        turns = pairs.turns(count)
        signs = leading_signs(views[0].points @ turns[0])
        variates = views[0].points @ turns[0] * signs
        loadings = [(turn * signs).T @ view.back for view, turn in zip(views, turns, strict=True)]
        means, longer = views[0].means, np.where(lengths > 0, lengths, 1.0)
        kept, relevant = information(related[:count], beta)
        return Model(embedding=variates * lengths, spectrum=Spectrum.of_values(pairs.correlations, complete=True),
                     projector=Projector(Columns(), Centering(means, across=False),
                                         views[0].into @ (turns[0] * signs * lengths),
                                         Affine(means, (loadings[0].T * (lengths > 0)) / longer)),
                     fit={"beta": beta, "critical_betas": critical_betas(related).tolist(),
                          "kept_information": kept, "relevant_information": relevant},
                     loadings=Loadings(np.hstack(loadings).T, (*data.columns, *data.view.columns)))

    def openings(self, correlations: Array) -> tuple[float, int]:
        """Return β and the number of axes for correlations above zero, an (r,) array; raises GeometryError."""
        if not len(correlations):
            return self.beta or 1.0, self.axes.available_count(0)
        critical = critical_betas(correlations)
        if self.beta is None:
            count = self.axes.available_count(len(correlations))
            return default_beta(critical, min(count, len(critical))), count
        opened = open_axes(correlations, self.beta)
        if not opened:
            raise GeometryError("BETA", f"no axis is open: beta is {self.beta:g}, and the first one opens at "
                                f"{critical[0]:.6g}", where="method.beta", hint="choose a larger one, or leave it out")
        return self.beta, self.axes.available_count(opened) if self.axes.chosen("components") else opened

    def identities(self, data: TwoViews, model: Model, full: bool = False) -> list[Check]:
        """Check the axes' variances, their correlations with the second view, β, and the information of coordinates."""
        related = model.ranks.solved[model.ranks.solved > UNRELATED]
        asked = self.openings(related)[0] if len(related) else float(model.fit["beta"])
        return bottleneck_checks(data, model, related, asked)
