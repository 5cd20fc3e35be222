"""Fits of the same method to rows drawn again: with repetition (Efron, 1979), or some of them without."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.errors import GeometryError, NumericalError
from mlcli.findings.frame.likeness import principal_angles
from mlcli.methods import Model

Fit = Callable[[Indices], Model]  # row numbers, perhaps repeated, to a fit of these rows


@frozen
class Resample:
    """A fit to rows drawn again, in comparison with the run's own."""

    rows: Indices  # (r,) array, ascending: the rows of the draw, each once
    moved: Array  # (r, 2) or (r, 1) array: difference from the run's coordinates after alignment, in `unit_of`
    eigenvalues: Array  # m, scaled to the number of rows of the run
    shares: Array  # m, of the trace; NaN where that is unknown
    angle: float  # degrees: the largest principal angle between the spans of both fits' axes; NaN where there is none


def draws(size: int, count: int, share: float | None, generator: np.random.Generator) -> list[Indices]:
    """Return `count` draws of rows in ascending order: of all with repetition, or of a share without."""
    if share is None:
        return [np.sort(generator.integers(0, size, size)) for _ in range(count)]
    some = draw_size(size, share)
    return [np.sort(generator.choice(size, some, replace=False)) for _ in range(count)]


def draw_size(size: int, share: float) -> int:
    """Return the number of rows of a draw without repetition."""
    return min(max(round(share * size), 2), size - 1)


def refit_draws(model: Model, fit: Fit, drawn: Sequence[Indices]) -> list[Resample]:
    """Return a fit to each draw in comparison with the run's model, without those that fail.

    `drawn` holds (m,) arrays of rows. Notes of the refits are suppressed.
    """
    made = []
    for done, rows in enumerate(drawn, start=1):
        try:
            with no_listeners():
                made.append(compare_fit(model, fit(rows), rows))
        except (GeometryError, NumericalError):  # for example, a graph of fewer points is in pieces
            pass
        advance(done, len(drawn))
    return made


def compare_fit(model: Model, other: Model, drawn: Indices) -> Resample:
    """Return the comparison of a fit to the drawn rows, an (m,) array, with the model of all rows."""
    inside = drawn if other.kept is None else drawn[other.kept]
    rows, first = np.unique(inside, return_index=True)
    unit = unit_of(model)
    own, again = unit.measured(model.embedding[inside]), unit.measured(other.embedding)
    own, again = pad_axes(own, again.shape[1]), pad_axes(again, own.shape[1])
    moved = (align(again, own) - own)[first, : min(2, model.embedding.shape[1])]
    grown = len(model.embedding) / len(inside)
    return Resample(rows, moved, grown * other.ranks.eigenvalues, other.ranks.proportions,
                    angle_between(model, other, own, again))


def unit_of(model: Model) -> Unit:
    """Return the unit in which coordinates are compared: squares in it stay in range."""
    return Unit.of(model.embedding)


def align(values: Array, onto: Array) -> Array:
    """Return points, an (m, p) array, rotated, reflected and moved, not stretched, onto others (Schönemann, 1966)."""
    from scipy.linalg import orthogonal_procrustes  # takes longer to load than many runs take

    center, target = values.mean(axis=0), onto.mean(axis=0)
    turn, _ = orthogonal_procrustes(values - center, onto - target)
    return np.asarray((values - center) @ turn + target)


def angle_between(model: Model, other: Model, own: Array, again: Array) -> float:
    """Return the largest principal angle between the axes, in degrees; NaN where an axis has no extent.

    It is the angle of the loadings where there are any, else of the coordinates of the drawn rows, (m, p) arrays.
    """
    pair = (own - own.mean(axis=0), again - again.mean(axis=0)) if not has_loadings(model) else (
        model.loadings.values, other.loadings.values)  # type: ignore[union-attr]
    angles = principal_angles(*pair)
    return float(angles[-1]) if len(angles) == model.embedding.shape[1] else float("nan")


def has_loadings(model: Model) -> bool:
    """Whether axes are directions of the columns."""
    return model.loadings is not None


def pad_axes(values: Array, width: int) -> Array:
    """Return coordinates, an (m, p) array, with axes of zeros up to `width`."""
    return np.pad(values, ((0, 0), (0, max(width - values.shape[1], 0))))
