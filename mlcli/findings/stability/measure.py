"""Statistics over fits to rows drawn again: intervals of eigenvalues and shares, angles, and deviations of points."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, no_listeners, note, running
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.base.values.scaling import Unit
from mlcli.errors import GeometryError, NumericalError
from mlcli.findings.frame.files import csv_table, digits
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.frame.likeness import principal_angles
from mlcli.findings.frame.result import Result
from mlcli.findings.stability import Stability
from mlcli.methods import Model
from mlcli.rundir.json_values import json_value
from mlcli.rundir.reading import damaged

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
    if model.loadings is not None and other.loadings is not None:
        angles = principal_angles(model.loadings.values, other.loadings.values)
    else:
        angles = principal_angles(own - own.mean(axis=0), again - again.mean(axis=0))
    return float(angles[-1]) if len(angles) == model.embedding.shape[1] else float("nan")


def pad_axes(values: Array, width: int) -> Array:
    """Return coordinates, an (m, p) array, with axes of zeros up to `width`."""
    return np.pad(values, ((0, 0), (0, max(width - values.shape[1], 0))))


LEADING = 10  # eigenvalues with intervals
FEWEST = 2  # fewest resamples with a standard deviation


@frozen
class StabilityResult:
    """The content of stability.json and stability.csv."""

    figures: dict[str, Any]
    counts: Array  # n: number of resamples with each row
    deviations: Array  # (n, 2) or (n, 1) array: of each row's first coordinates; NaN in fewer than two resamples
    correlations: Array  # n: of the two, 0 where one does not move


def stability_of(result: Result, asked: Stability) -> StabilityResult | None:
    """Return the stability of a run's result; None where too few fits succeeded."""
    config, model, data = result.config, result.model, result.prepared.data()
    method, size = config.method, len(model.embedding)
    assert isinstance(data, Features | Dissimilarities)
    share = asked.share if method.resampling(config.input.gives) == "subsample" else None
    with running("stability"):
        drawn = draws(size, asked.resamples, share, config.compute.generator())
        again = method.with_axes(model.embedding.shape[1])
        made = refit_draws(model, lambda rows: again.fit(data.take(rows), config.compute), drawn)
        if len(made) < FEWEST:
            note("N-STABILITY", f"stability was not measured: {len(made)} of {len(drawn)} fits to resampled rows "
                 "succeeded")
            return None
        found = summarize(model, made, asked=len(drawn), level=asked.level,
                          drawn=None if share is None else draw_size(size, share))
    return replace(found, figures=json_value(found.figures))


def summarize(model: Model, made: Sequence[Resample], *, asked: int, level: float,
              drawn: int | None) -> StabilityResult:
    """Return the figures of resamples, out of `asked`; each has `drawn` rows where none is repeated.

    With repetition, intervals are Efron's percentiles (1979). Without replacement, the spread of m of n rows is
    multiplied by √(m / (n - m)), as in the delete-d jackknife (Shao and Wu, 1989). Intervals are the run's value plus
    the distances of quantiles from the median.
    """
    size, factor = len(model.embedding), 1.0
    if drawn is not None:
        factor = math.sqrt(drawn / (size - drawn))
    angles = np.array([part.angle for part in made])
    figures = {"kind": "bootstrap" if drawn is None else "subsample", "resamples": len(made),
               "failed": asked - len(made), "rows": size if drawn is None else drawn, "level": level,
               **intervals(model, made, level, None if drawn is None else factor),
               "angle": {"of": "loadings" if model.loadings is not None else "coordinates",
                         **angles_of(angles, level, factor)}}
    counts, deviations, correlations = moves(size, made, sample=drawn is None)
    return StabilityResult(figures, counts, unit_of(model).plain(factor * deviations), correlations)


def intervals(model: Model, made: Sequence[Resample], level: float, factor: float | None) -> dict[str, Any]:
    """Return intervals of the leading eigenvalues and of their shares.

    There are no intervals of eigenvalues if the kernel is the inverse of a cost: such eigenvalues are not comparable
    between kernels of different rows.
    """
    ranks = model.ranks
    count = min([LEADING, len(ranks.eigenvalues), *(len(part.eigenvalues) for part in made)])
    own = {"eigenvalues": ranks.eigenvalues[:count], "shares": ranks.proportions[:count]}
    again = {"eigenvalues": np.array([part.eigenvalues[:count] for part in made]),
             "shares": np.array([part.shares[:count] for part in made])}
    names = [name for name in own if count and not (name == "eigenvalues" and ranks.of_inverse)]
    return {name: [interval(value, again[name][:, axis], level, factor) for axis, value in enumerate(own[name])]
            for name in names if np.isfinite(again[name]).all() and np.isfinite(own[name]).all()}


def interval(value: float, again: Array, level: float, factor: float | None) -> dict[str, float]:
    """Return a figure with its standard deviation and interval; `again` is a (b,) array of its values in resamples."""
    unit = Unit.of(again)
    near_one = unit.measured(again)
    ends = np.quantile(near_one, [(1 - level) / 2, (1 + level) / 2], method="weibull")  # place (B + 1) q of B
    deviation = float(near_one.std(ddof=factor is None))
    if factor is not None:
        ends = unit.measured(np.array(value)) + factor * (ends - np.median(near_one))
        deviation *= factor
    low, high, deviation = unit.plain(np.array([*ends, deviation])).tolist()
    return {"value": float(value), "low": low, "high": high, "deviation": deviation}


def angles_of(angles: Array, level: float, factor: float) -> dict[str, float | None]:
    """Return the median and the level's quantile of angles, a (b,) array, in degrees; None for axes without extent."""
    if not np.isfinite(angles).all():
        return {"median": None, "at_most": None}
    found = np.minimum(factor * np.quantile(angles, [0.5, level]), 90.0)
    return {"median": float(found[0]), "at_most": float(found[1])}


def moves(size: int, made: Sequence[Resample], *, sample: bool) -> tuple[Array, Array, Array]:
    """Return the number of resamples with each row, the deviations of its coordinates, and their correlation.

    (n,), (n, 2) and (n,) arrays. Squares are over one less than the number of resamples where these are a sample, and
    over it in the jackknife.
    """
    axes = made[0].moved.shape[1]
    counts, sums, squares, products = np.zeros(size), np.zeros((size, axes)), np.zeros((size, axes)), np.zeros(size)
    for part in made:
        counts[part.rows] += 1
        sums[part.rows] += part.moved
        squares[part.rows] += part.moved**2
        products[part.rows] += part.moved.prod(axis=1)
    enough = counts >= FEWEST
    many = np.where(enough, counts, FEWEST)
    variances = np.maximum(squares - sums**2 / many[:, None], 0.0)
    both = np.sqrt(variances.prod(axis=1))
    correlations = np.divide(products - sums.prod(axis=1) / many, both, out=np.zeros(size), where=both > 0)
    deviations = np.sqrt(variances / (many - sample)[:, None])
    return counts, np.where(enough[:, None], deviations, np.nan), np.clip(correlations, -1, 1)


def spreads_of(found: StabilityResult) -> tuple[Sequence[str], Array]:
    """Return the column names of the deviations of points, and an (n, 3) or, with one axis, (n, 1) array."""
    names = ("y1", "y2", "correlation") if found.deviations.shape[1] > 1 else ("y1",)
    return names, np.column_stack([found.deviations, found.correlations])[:, : len(names)]


def stability_table(id_name: str, ids: Sequence[str], found: StabilityResult) -> str:
    """Return stability.csv: for each point the number of resamples with it, and the deviations of its coordinates."""
    names, numbers = spreads_of(found)
    return csv_table([id_name, "resamples", *names],
                     ([name, int(count), *("" if math.isnan(value) else digits(value) for value in row)]
                      for name, count, row in zip(ids, found.counts.tolist(), numbers.tolist(), strict=True)))


def read_stability(figures: dict[str, Any], moves: CsvColumns | None, shape: tuple[int, ...],
                   path: Path) -> StabilityResult:
    """Return the content of the files of a run with an embedding of this shape; raises UnsafeFile."""
    if moves is None:
        return StabilityResult(figures, np.empty(0), np.empty((0, 1)), np.empty(0))
    names = ("y1", "y2", "correlation") if shape[1] > 1 else ("y1",)
    if tuple(moves.columns)[2:] != names or len(moves.columns["y1"]) != shape[0]:
        raise damaged(path, f"it does not have the columns {', '.join(names)} and {shape[0]} rows")
    spreads = np.column_stack([moves.array(name) for name in names])
    if np.isinf(spreads).any() or (spreads[:, :2] < 0).any() or (np.abs(spreads[:, 2:]) > 1).any():
        raise damaged(path, "a deviation is below zero or infinite, or a correlation beyond one")
    correlations = spreads[:, 2] if shape[1] > 1 else np.zeros(shape[0])
    return StabilityResult(figures, moves.array("resamples"), spreads[:, :2], correlations)
