"""Statistics over resamples: intervals of eigenvalues and shares, angles, and deviations of each point."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, running
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.base.values.scaling import Unit
from mlcli.findings.frame.contents import Rows
from mlcli.findings.frame.csv_text import csv_table, digits
from mlcli.findings.frame.result import Result
from mlcli.findings.stability import Stability
from mlcli.findings.stability.resamples import Resample, draw_size, draws, has_loadings, refit_draws, unit_of
from mlcli.methods import Model
from mlcli.rundir.plain import plain
from mlcli.rundir.reading import damaged

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
    return replace(found, figures=plain(found.figures))


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
               "angle": {"of": "loadings" if has_loadings(model) else "coordinates",
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


def read_stability(figures: dict[str, Any], moves: Rows | None, shape: tuple[int, ...], path: Path) -> StabilityResult:
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
