"""The Gaussian information bottleneck.

Its formulas are in `core/latent/bottleneck.py`, as `vib` without hidden layers is the same summary.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.latent.bottleneck import UNRELATED, GaussianBottleneck, openings
from mlcli.core.model import Loadings, Model
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.methods.trials import variant
from mlcli.methods.views.check import bottleneck_checks
from mlcli.methods.views.two_views import TwoViewMethod


class GIB(TwoViewMethod):
    """The summary of a table's columns that keeps what they tell of a second view, `--view`, and little else.

    It keeps what the columns tell about the second view, as much as its worth `beta` allows. It fails if a correlation
    is one, as for a column that both views have: the information is then without bound. With many columns and few rows,
    correlations are large by chance, and so is the information. Set the second view first (`--view`), then `beta` or
    the number of axes (`-p`).

    How it works: With y the second view, and all variables Gaussian, T = A x + noise with the distribution N(0, I) is
    the linear summary of x with the least I(T; X) - β I(T; Y): information about x costs, and information about y pays.
    The axes of T are the canonical directions of x.

    The axis of the canonical correlation ρ opens at the critical β = 1/ρ². Its coordinates then have the variance α² =
    (β ρ² - 1) / (1 - ρ²), where the noise has variance one; an axis of variance zero is closed. Coordinates are A (x -
    mean), without noise. With `beta`, there are as many axes as it opens. Without it, β is twice the critical one of
    the last of `components` axes, or that of the next axis if it is smaller.

    New points: New rows are rows of the first view.

    Files: `spectrum.csv` holds the canonical correlations. `fit` in `run.json` holds β, the critical betas, and the
    information in nats: `kept_information` is I(T; X), and `relevant_information` is I(T; Y). `information.csv` holds
    both for rising β, the information curve, which is concave and ends at I(X; Y). `loadings.csv` holds the covariances
    of the columns with their own view's canonical variates, as for cca.

    Source: Chechik, Globerson, Tishby and Weiss, "Information bottleneck for Gaussian variables", 2005.
    """

    variants: ClassVar = (variant(), variant("beta", beta=1e6))
    axis: ClassVar = "GIB"
    name: Literal["gib"] = "gib"
    beta: float | None = option(None, "The weight of information about the second view, against that kept of the "
                                "first: it opens the axes with ρ² > 1/β (default: by the number of axes).", gt=1,
                                le=1e12)
    axes: PlainAxes = PlainAxes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute A = diag(α) Wᵀ for the canonical directions W of the first view, of variance one."""
        found = GaussianBottleneck.of(data, self.beta, self.axes)
        lengths, turns, first = found.lengths, found.pairs.turns(found.count), found.views[0]
        signs = leading_signs(first.points @ turns[0])
        variates = first.points @ turns[0] * signs
        loadings = [(turn * signs).T @ view.back for view, turn in zip(found.views, turns, strict=True)]
        longer = np.where(lengths > 0, lengths, 1.0)
        kept, relevant = found.information
        return Model(embedding=variates * lengths,
                     spectrum=Spectrum.of_values(found.pairs.correlations, complete=True),
                     projector=Projector(Columns(), Centering(first.means, across=False),
                                         first.into @ (turns[0] * signs * lengths),
                                         Affine(first.means, (loadings[0].T * (lengths > 0)) / longer)),
                     fit={"beta": found.beta, "critical_betas": found.critical.tolist(),
                          "kept_information": kept, "relevant_information": relevant},
                     information=found.curve,
                     loadings=Loadings(np.hstack(loadings).T, (*data.columns, *data.view.columns)))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the axes' variances, their correlations with the second view, β, and the information of coordinates."""
        yield from super().checks(subject)
        model = subject.model
        related = model.ranks.solved[model.ranks.solved > UNRELATED]
        asked = openings(related, self.beta, self.axes)[0] if len(related) else float(model.fit["beta"])
        yield from bottleneck_checks(subject.data, model, related, asked)
