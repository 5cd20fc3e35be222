"""The Gaussian information bottleneck.

It follows from canonical correlations (Chechik, Globerson, Tishby and Weiss, 2005).

The best noisy linear summary T = A x + N(0, I) of one view about another minimizes I(T; X) - β I(T; Y). Its axes are
the canonical directions of x. That of correlation ρ opens at the critical β = 1 / ρ², and then has a length that grows
with β. All of it follows from the correlations: information is in nats, of Gaussian data with the sample's covariances.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import Axes
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.model import Loadings, Model
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.core.whitening import Whitening, column_lengths
from mlcli.errors import DataError, GeometryError
from mlcli.methods.trials import variant
from mlcli.methods.views.check import bottleneck_checks
from mlcli.methods.views.two_views import ALIKE, Canonical, TwoViewMethod, canonical, whiten_views

UNRELATED = 1e-13  # correlations up to this are rounding
BEYOND = 2.0  # the default β is at most this multiple of the last critical one
STEPS = 60  # points of the information curve besides the critical ones
FAR = 100.0  # multiple of the last critical β at which the curve ends


def critical_betas(correlations: Array) -> Array:
    """Return the β (r) from which on the axis of each correlation (r, above zero) is open: 1 / ρ²."""
    return 1 / correlations**2


def default_beta(critical: Array, count: int) -> float:
    """Return twice the critical β of the last of `count` axes, or the next axis's where it is smaller.

    `critical` is an (r,) array of critical betas in ascending order.
    """
    return float(min(BEYOND * critical[count - 1], critical[count] if count < len(critical) else np.inf))


def open_axes(correlations: Array, beta: float) -> int:
    """Return the number of axes whose correlations, an (r,) array, have a critical β below `beta`."""
    return int(np.sum(correlations**2 * beta > 1))


def axis_lengths(correlations: Array, beta: float) -> Array:
    """Return the length of each axis (r) for noise of variance one: α = √((β ρ² - 1) / (1 - ρ²)), or zero.

    `correlations` is an (r,) array; α is that of a direction along which x has variance one.
    """
    squares = correlations**2
    return np.sqrt(np.maximum(beta * squares - 1, 0.0) / (1 - squares))


def information(correlations: Array, beta: float) -> tuple[float, float]:
    """Return I(T; X) and I(T; Y) in nats at `beta`, by the lengths of the axes of correlations, an (r,) array."""
    squares = axis_lengths(correlations, beta) ** 2
    kept = 0.5 * float(np.log1p(squares).sum())
    return kept, kept - 0.5 * float(np.log1p(squares * (1 - correlations**2)).sum())


def information_curve(correlations: Array, beta: float) -> dict[str, Array]:
    """Return the information curve of correlations (r): columns beta, axes, kept and relevant, in nats, by rising β.

    It has all critical betas and `beta`, and ends beyond both.
    """
    critical = critical_betas(correlations)
    last = FAR * max(float(critical[-1]), beta)
    grid = 1 + np.geomspace(max(float(critical[0]) - 1, ALIKE), last - 1, STEPS)
    betas = np.unique(np.concatenate([critical, grid[grid >= critical[0]], [beta]]))
    found = np.array([information(correlations, value) for value in betas.tolist()])
    axes = np.array([open_axes(correlations, value) for value in betas.tolist()], dtype=np.float64)
    return {"beta": betas, "axes": axes, "kept": found[:, 0], "relevant": found[:, 1]}


def require_noise(pairs: Canonical, views: Sequence[Whitening], points: Sequence[Array],
                  columns: Sequence[Sequence[str]]) -> None:
    """Raise DataError where a correlation is one: no β bounds the length of such an axis.

    `views` are the whitenings of both views' points (n x d, n x e), `columns` their names.
    """
    if not len(pairs.correlations) or 1 - pairs.correlations[0] ** 2 > ALIKE:
        return
    spare = sum(view.rank for view in views) - (len(points[0]) - 1)
    if spare > 0:
        raise DataError("COPIES", f"a combination of the first view's columns equals one of the second's: with "
                        f"{views[0].rank} and {views[1].rank} independent columns in {len(points[0])} rows, {spare} "
                        "canonical correlations are 1 for any data", where="input.view",
                        hint="give fewer columns ({input.columns}), or more rows")
    one, other = scaled_columns(points[0]), scaled_columns(points[1])
    crossed = np.abs(one.T @ other)
    row, column = divmod(int(crossed.argmax()), crossed.shape[1])
    if 1 - float(crossed[row, column]) ** 2 <= ALIKE:
        what = f"{columns[0][row]!r} of the first view and {columns[1][column]!r} of the second are copies"
    else:
        shares = [np.abs(view.into @ turn[:, 0]) * column_lengths(part - part.mean(axis=0))
                  for view, turn, part in zip(views, (pairs.first, pairs.second), points, strict=True)]
        row, column = (int(share.argmax()) for share in shares)
        what = (f"a combination of the first view's columns, mostly of {columns[0][row]!r}, equals one of the "
                f"second's, mostly of {columns[1][column]!r}")
    raise DataError("COPIES", f"{what}: their canonical correlation is 1, and no β bounds what T keeps of it",
                    where="input.view", hint="leave the column out of one view ({input.columns}, "
                    "{input.view.columns})")


def scaled_columns(points: Array) -> Array:
    """Return the columns of points (n x d), centered and of length one; a constant one is zero."""
    centered = points - points.mean(axis=0)
    lengths = column_lengths(centered)
    return centered / np.where(lengths > 0, lengths, 1.0)


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
    axes: Axes = Axes()

    def solve(self, data: TwoViews, compute: Compute) -> Model:
        """Compute A = diag(α) Wᵀ for the canonical directions W of the first view, of variance one."""
        views, parts = whiten_views(data), [data.values, data.view.values]
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
                     information=information_curve(related, beta) if len(related) else None,
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

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the axes' variances, their correlations with the second view, β, and the information of coordinates."""
        yield from super().checks(subject)
        model = subject.model
        related = model.ranks.solved[model.ranks.solved > UNRELATED]
        asked = self.openings(related)[0] if len(related) else float(model.fit["beta"])
        yield from bottleneck_checks(subject.data, model, related, asked)
