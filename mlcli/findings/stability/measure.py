"""What resamples say together: intervals of eigenvalues and shares, angles, and how far each point moves."""

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
from mlcli.findings.frame.csv_text import digits, written
from mlcli.findings.frame.result import Result
from mlcli.findings.stability import Stability
from mlcli.findings.stability.resamples import Resample, drawn_of, draws, of_loadings, resampled, unit_of
from mlcli.methods import Model
from mlcli.rundir.plain import plain
from mlcli.rundir.reading import damaged

LEADING = 10  # eigenvalues with intervals
FEWEST = 2  # resamples that have a spread


@frozen
class Stable:
    """The content of stability.json and stability.csv."""

    figures: dict[str, Any]
    counts: Array  # n: the resamples that each row was in
    deviations: Array  # n x 2 or n x 1: of each row's place on the first axes; NaN of rows in fewer than two resamples
    correlations: Array  # n: of the two, 0 where one does not move


def stability_of(result: Result, asked: Stability) -> Stable | None:
    """Return how far a run's result would change with other rows; None where too few fits were made."""
    config, model, data = result.config, result.model, result.prepared.data()
    method, size = config.method, len(model.embedding)
    assert isinstance(data, Features | Dissimilarities)
    share = asked.share if method.resampling(config.input.gives) == "subsample" else None
    with running("stability"):
        drawn = draws(size, asked.resamples, share, config.compute.generator())
        again = method.with_axes(model.embedding.shape[1])
        made = resampled(model, lambda rows: again.fit(data.take(rows), config.compute), drawn)
        if len(made) < FEWEST:
            note("N-STABILITY", f"stability is not known: {len(made)} of {len(drawn)} fits to rows drawn again ended "
                 "well")
            return None
        found = stable(model, made, asked=len(drawn), level=asked.level,
                       drawn=None if share is None else drawn_of(size, share))
    return replace(found, figures=plain(found.figures))


def stable(model: Model, made: Sequence[Resample], *, asked: int, level: float, drawn: int | None) -> Stable:
    """The figures of resamples, of which so many were asked for; of `drawn` rows each where none is repeated.

    With repetition, intervals are Efron's percentiles (1979). Without, what m of n rows spread by is multiplied by
    √(m / (n - m)), as in the delete-d jackknife (Shao and Wu, 1989), and intervals reach from the run's own value as
    far as quantiles lie from the median.
    """
    size, factor = len(model.embedding), 1.0
    if drawn is not None:
        factor = math.sqrt(drawn / (size - drawn))
    angles = np.array([part.angle for part in made])
    figures = {"kind": "bootstrap" if drawn is None else "subsample", "resamples": len(made),
               "failed": asked - len(made), "rows": size if drawn is None else drawn, "level": level,
               **intervals(model, made, level, None if drawn is None else factor),
               "angle": {"of": "loadings" if of_loadings(model) else "coordinates", **angles_of(angles, level, factor)}}
    counts, deviations, correlations = moves(size, made, sample=drawn is None)
    return Stable(figures, counts, unit_of(model).plain(factor * deviations), correlations)


def intervals(model: Model, made: Sequence[Resample], level: float, factor: float | None) -> dict[str, Any]:
    """Those of the leading eigenvalues and of their shares; none of a kernel that is the inverse of a cost, whose
    eigenvalues say nothing about those of other rows' kernels.
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
    """A figure with its standard deviation and interval."""
    unit = Unit.of(again)
    near_one = unit.measured(again)
    ends = np.quantile(near_one, [(1 - level) / 2, (1 + level) / 2], method="weibull")  # of B, place (B + 1) q
    deviation = float(near_one.std(ddof=factor is None))
    if factor is not None:
        ends = unit.measured(np.array(value)) + factor * (ends - np.median(near_one))
        deviation *= factor
    low, high, deviation = unit.plain(np.array([*ends, deviation])).tolist()
    return {"value": float(value), "low": low, "high": high, "deviation": deviation}


def angles_of(angles: Array, level: float, factor: float) -> dict[str, float | None]:
    """The median and the level's quantile, in degrees; None where axes have no extent."""
    if not np.isfinite(angles).all():
        return {"median": None, "at_most": None}
    found = np.minimum(factor * np.quantile(angles, [0.5, level]), 90.0)
    return {"median": float(found[0]), "at_most": float(found[1])}


def moves(size: int, made: Sequence[Resample], *, sample: bool) -> tuple[Array, Array, Array]:
    """In how many resamples each row was, the deviations of its moves in them, and their correlation.

    Squares are over one less than the number of resamples where these are a sample, and over it in the jackknife.
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


def spreads_of(found: Stable) -> tuple[Sequence[str], Array]:
    """The names of the columns about the moves of points, and their numbers (n x 3, n x 1 where there is one axis)."""
    names = ("y1", "y2", "correlation") if found.deviations.shape[1] > 1 else ("y1",)
    return names, np.column_stack([found.deviations, found.correlations])[:, : len(names)]


def stability_table(id_name: str, ids: Sequence[str], found: Stable) -> str:
    """stability.csv: for each point the resamples that it was in, and the deviations of its place in them."""
    names, numbers = spreads_of(found)
    return written([id_name, "resamples", *names],
                   ([name, int(count), *("" if math.isnan(value) else digits(value) for value in row)]
                    for name, count, row in zip(ids, found.counts.tolist(), numbers.tolist(), strict=True)))


def stable_of(figures: dict[str, Any], moves: Rows | None, shape: tuple[int, ...], path: Path) -> Stable:
    """Return what the files of a run with an embedding of this shape hold; raises UnsafeFile."""
    if moves is None:
        return Stable(figures, np.empty(0), np.empty((0, 1)), np.empty(0))
    names = ("y1", "y2", "correlation") if shape[1] > 1 else ("y1",)
    if tuple(moves.columns)[2:] != names or len(moves.columns["y1"]) != shape[0]:
        raise damaged(path, f"it does not have the columns {', '.join(names)} and {shape[0]} rows")
    spreads = np.column_stack([moves.array(name) for name in names])
    if np.isinf(spreads).any() or (spreads[:, :2] < 0).any() or (np.abs(spreads[:, 2:]) > 1).any():
        raise damaged(path, "a deviation is below zero or infinite, or a correlation beyond one")
    correlations = spreads[:, 2] if shape[1] > 1 else np.zeros(shape[0])
    return Stable(figures, moves.array("resamples"), spreads[:, :2], correlations)
