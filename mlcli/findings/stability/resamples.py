"""The same method fitted to rows drawn again: with repetition (Efron, 1979), or some of them without."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.errors import GeometryError, NumericalError
from mlcli.findings.frame.likeness import principal_angles
from mlcli.methods import Model

Fit = Callable[[Indices], Model]  # of some of the rows, from 0 and perhaps repeated


@frozen
class Resample:
    """What a fit to rows drawn again says, beside the run's own."""

    rows: Indices  # r, ascending: the rows that were drawn, each once
    moved: Array  # r x 2 or r x 1: how far each lies from its place in the run, once in line with it, in `unit_of`
    eigenvalues: Array  # m, of a kernel of as many rows as the run's
    shares: Array  # m, of the trace; NaN where that is unknown
    angle: float  # degrees: the largest principal angle between the spans of both fits' axes; NaN where there is none


def draws(size: int, count: int, share: float | None, generator: np.random.Generator) -> list[Indices]:
    """So many draws of rows: of all with repetition, or of a share without, in ascending order."""
    if share is None:
        return [np.sort(generator.integers(0, size, size)) for _ in range(count)]
    some = drawn_of(size, share)
    return [np.sort(generator.choice(size, some, replace=False)) for _ in range(count)]


def drawn_of(size: int, share: float) -> int:
    """How many rows a draw without repetition has."""
    return min(max(round(share * size), 2), size - 1)


def resampled(model: Model, fit: Fit, drawn: Sequence[Indices]) -> list[Resample]:
    """A fit to each draw beside the run's model; a draw whose fit fails is left out.

    What the fits note is not heard: it is about rows that nobody gave.
    """
    made = []
    for done, rows in enumerate(drawn, start=1):
        try:
            with no_listeners():
                made.append(beside(model, fit(rows), rows))
        except (GeometryError, NumericalError):  # as where a graph of fewer points is in pieces
            pass
        advance(done, len(drawn))
    return made


def beside(model: Model, other: Model, drawn: Indices) -> Resample:
    """What a fit to drawn rows says, beside the model of all rows."""
    inside = drawn if other.kept is None else drawn[other.kept]
    rows, first = np.unique(inside, return_index=True)
    unit = unit_of(model)
    own, again = unit.measured(model.embedding[inside]), unit.measured(other.embedding)
    own, again = widened(own, again.shape[1]), widened(again, own.shape[1])
    moved = (placed(again, own) - own)[first, : min(2, model.embedding.shape[1])]
    grown = len(model.embedding) / len(inside)
    return Resample(rows, moved, grown * other.ranks.eigenvalues, other.ranks.proportions,
                    angle_between(model, other, own, again))


def unit_of(model: Model) -> Unit:
    """The unit that coordinates are compared in: squares in it stay in range."""
    return Unit.of(model.embedding)


def placed(values: Array, onto: Array) -> Array:
    """Points (m x p) rotated, reflected and moved, not stretched, onto others (Schönemann, 1966)."""
    from scipy.linalg import orthogonal_procrustes  # which takes longer to load than many runs take

    center, target = values.mean(axis=0), onto.mean(axis=0)
    turn, _ = orthogonal_procrustes(values - center, onto - target)
    return np.asarray((values - center) @ turn + target)


def angle_between(model: Model, other: Model, own: Array, again: Array) -> float:
    """The largest principal angle between the axes, in degrees: of the loadings where there are any, else of the
    coordinates of the drawn rows; NaN where an axis has no extent.
    """
    pair = (own - own.mean(axis=0), again - again.mean(axis=0)) if not of_loadings(model) else (
        model.loadings.values, other.loadings.values)  # type: ignore[union-attr]
    angles = principal_angles(*pair)
    return float(angles[-1]) if len(angles) == model.embedding.shape[1] else float("nan")


def of_loadings(model: Model) -> bool:
    """Whether axes are directions of the columns."""
    return model.loadings is not None


def widened(values: Array, width: int) -> Array:
    """Coordinates with axes of zeros, up to so many."""
    return np.pad(values, ((0, 0), (0, max(width - values.shape[1], 0))))
