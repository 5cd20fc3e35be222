"""What resamples say together: intervals of eigenvalues and shares, angles, and how far each point moves."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit
from mlcli.findings.fit_tables import written
from mlcli.findings.stability.resamples import Resample, of_loadings, unit_of
from mlcli.methods import Model

LEADING = 10  # eigenvalues with intervals
FEWEST = 2  # resamples that have a spread


@frozen
class Stable:
    """The content of stability.json and stability.csv."""

    figures: dict[str, Any]
    counts: Array  # n: the resamples that each row was in
    deviations: Array  # n x 2 or n x 1: of each row's place on the first axes; NaN of rows in fewer than two resamples
    correlations: Array  # n: of the two, 0 where one does not move


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


def stability_table(id_name: str, ids: Sequence[str], found: Stable) -> str:
    """stability.csv: for each point the resamples that it was in, and the deviations of its place in them."""
    axes = found.deviations.shape[1]
    names = ["y1", "y2", "correlation"] if axes > 1 else ["y1"]
    numbers = np.column_stack([found.deviations, found.correlations])[:, : len(names)]
    return written([id_name, "resamples", *names],
                   ([name, int(count), *("" if math.isnan(value) else f"{value:.17g}" for value in row)]
                    for name, count, row in zip(ids, found.counts.tolist(), numbers.tolist(), strict=True)))
