"""The Gaussian information bottleneck, by canonical correlations (Chechik, Globerson, Tishby and Weiss, 2005).

The best noisy linear summary T = A x + N(0, I) of one view about another minimizes I(T; X) - β I(T; Y). Its axes are
the canonical directions of x. That of correlation ρ opens at the critical β = 1 / ρ², and then has a length that grows
with β. All of it follows from the correlations: information is in nats, of Gaussian data with the sample's covariances.
"""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.inputs import TwoViews
from mlcli.core.eigen.options import Axes
from mlcli.core.latent.canonical import ALIKE, SHARED, Canonical, canonical, whiten_views
from mlcli.core.whitening import Whitening, column_lengths
from mlcli.errors import DataError, GeometryError

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


def openings(correlations: Array, beta: float | None, axes: Axes) -> tuple[float, int]:
    """Return β and the number of axes for correlations above zero, an (r,) array; raises GeometryError.

    Where no `beta` is chosen it follows from the number of axes.
    """
    if not len(correlations):
        return beta or 1.0, axes.available_count(0, SHARED)
    critical = critical_betas(correlations)
    if beta is None:
        count = axes.available_count(len(correlations), SHARED)
        return default_beta(critical, min(count, len(critical))), count
    opened = open_axes(correlations, beta)
    if not opened:
        raise GeometryError("BETA", f"no axis is open: beta is {beta:g}, and the first one opens at "
                            f"{critical[0]:.6g}", where="method.beta", hint="choose a larger one, or leave it out")
    return beta, axes.available_count(opened, SHARED) if axes.chosen("components") else opened


@frozen
class GaussianBottleneck:
    """The best noisy linear summary of the first of two views about the second."""

    views: Sequence[Whitening]  # both
    pairs: Canonical
    related: Array  # r: the correlations above zero
    beta: float
    count: int  # p, of axes

    @classmethod
    def of(cls, data: TwoViews, beta: float | None, axes: Axes) -> "GaussianBottleneck":
        """Return the summary of two views; raises DataError where a correlation is one, and GeometryError by β."""
        views = whiten_views(data)
        pairs = canonical(*views)
        require_noise(pairs, views, [data.values, data.view.values], [data.columns, data.view.columns])
        related = pairs.correlations[pairs.correlations > UNRELATED]
        return cls(views, pairs, related, *openings(related, beta, axes))

    @property
    def lengths(self) -> Array:
        """The lengths of the axes (p) for noise of variance one, zero for a closed one."""
        found = axis_lengths(self.related[:self.count], self.beta)
        return np.pad(found, (0, self.count - len(found)))

    @property
    def information(self) -> tuple[float, float]:
        """I(T; X) and I(T; Y) in nats."""
        return information(self.related[:self.count], self.beta)

    @property
    def critical(self) -> Array:
        """The β (r) from which on each axis is open."""
        return critical_betas(self.related)

    @property
    def curve(self) -> dict[str, Array] | None:
        """The information curve; None where no correlation is above zero."""
        return information_curve(self.related, self.beta) if len(self.related) else None
