"""The two scores of the points of a layout: perturbation and singularity.

Source: Liu, Ma and Zhong, "Assessing and improving reliability of neighbor embedding methods: a map-continuity
perspective", Nature Communications, 2025.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.core.arithmetic import dot, product, transposed_product
from mlcli.core.graph.candidates import TREE_COLUMNS
from mlcli.core.layouts.first_coordinates import principal_start
from mlcli.core.layouts.own_losses import LayoutLosses, eigen_of_each, first_inverses, minima
from mlcli.findings.discontinuity import FIGURES, SCORES
from mlcli.findings.discontinuity.thresholds import Threshold, threshold_of
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.frame.result import Result
from mlcli.methods.layouts import LayoutMethod, StressMethod
from mlcli.rundir.reading import damaged

DIRECTIONS = 3  # principal ones, along which inputs are moved, each both ways
SPREAD = 0.5  # longest move, relative to the standard deviation along its direction
MOVED = 2**21  # numbers of a block of moved inputs and their dissimilarities
LEAST = 10  # rows beside the neighbors of a point, below which scores say nothing
STEP = 0.5  # longest step of a search for a minimum, relative to the size of the layout


@frozen
class Scores:
    """The scores of n points, and how far inputs were moved along each direction; none where they cannot be."""

    perturbation: Array  # n, over the size of the layout, or over the longest move of an input where lengths are kept
    singularity: Array  # n, infinite where a loss has no minimum at its point
    lengths: Array  # of the moves of inputs
    unit: float = 1.0  # of perturbation


def scores_of(losses: LayoutLosses) -> Scores:
    """Return the scores of all points of a layout.

    Singularity is the inverse of the smallest eigenvalue of the Hessian of a point's own loss, infinite where that is
    not positive. Perturbation is the largest move of the minimum of the loss, when the input is moved along a principal
    direction: over the size of the layout, or over the longest of these moves where a layout keeps lengths.
    """
    least = eigen_of_each(losses.bends)[0][:, 0]
    singularity = np.where(least > 0, 1 / np.where(least > 0, least, 1.0), np.inf)
    if losses.features is None:
        return Scores(np.full(len(least), np.nan), singularity, np.zeros(0))
    moves = moves_of(losses.features, losses.reach)
    lengths = np.sqrt(np.sum(moves * moves, axis=1))
    unit = (float(lengths.max(initial=0.0)) or 1.0) if losses.keeps_lengths else size_of(losses.points)
    return Scores(perturbations(losses, moves) / unit, singularity, lengths, unit)


def size_of(points: Array) -> float:
    """Return the root of the mean variance of the axes of a layout (n x p); one where all points are equal."""
    centered = points - points.mean(axis=0)
    return float(np.sqrt(dot(centered, centered) / centered.size)) or 1.0


def moves_of(features: Array, reach: float) -> Array:
    """Return the moves of inputs (n x d) along their first principal directions (k x d).

    A move is as long as a typical input is from the last of its neighbors, but no longer than half the standard
    deviation along the direction, so that moved inputs stay among the others.
    """
    centered = np.ascontiguousarray(features - features.mean(axis=0))
    scores = principal_start(centered, min(DIRECTIONS, *centered.shape))
    directions = transposed_product(centered, np.ascontiguousarray(scores)).T
    directions = directions / np.sqrt(np.sum(directions * directions, axis=1, keepdims=True))
    along = product(centered, np.ascontiguousarray(directions.T))
    spreads = np.sqrt(np.mean(along * along, axis=0))
    return np.asarray(directions * np.minimum(reach, SPREAD * spreads)[:, None])


def perturbations(losses: LayoutLosses, moves: Array) -> Array:
    """Return the largest move (n) of the minimum of each point's loss, when its input is moved both ways."""
    assert losses.features is not None and losses.moved is not None
    points, features, size = losses.points, losses.features, size_of(losses.points)
    shifts = np.concatenate([np.zeros((1, features.shape[1])), moves, -moves])
    inverses, count = first_inverses(losses.bends), len(shifts)
    everywhere = np.arange(count) > 0
    found = np.empty(len(points))
    for rows in one_by_one(row_blocks(len(points), MOVED, count * max(losses.width, features.shape[1]))):
        own = np.repeat(np.arange(rows.start, rows.stop), count)
        here = rows.stop - rows.start
        ends = minima(losses.moved(rows, shifts), points[own], inverses[own], STEP * size,
                      everywhere=np.tile(everywhere, here)).reshape(here, count, -1)
        apart = ends[:, 1:] - ends[:, :1]
        found[rows] = np.sqrt(np.sum(apart * apart, axis=2).max(axis=1))
    return found


def measure_discontinuity(result: Result) -> Mapping[str, Any] | None:
    """Return the contents of discontinuity.json and discontinuity.csv, or None with a note.

    None where points have no loss of their own, where they are few, or where rows or points are all equal.
    """
    method, model, data = result.config.method, result.model, result.method_input.data()
    assert isinstance(method, LayoutMethod)
    least = LEAST + ceil(method.neighborhood)
    if len(data.values) < least:
        note("N-DISCONTINUITY", f"discontinuity is not measured: it needs at least {least} rows, not "
             f"{len(data.values)}")
        return None
    if all_equal(model.embedding) or (isinstance(data, Features) and all_equal(data.values)):
        note("N-DISCONTINUITY", "discontinuity is not measured: all rows are equal, and no map of them can tear")
        return None
    losses = method.point_losses(method.in_range(data), model, result.config.compute)
    if losses is None:
        note("N-DISCONTINUITY", "discontinuity is not measured: clusters were laid out, and a point is the mean of the "
             "places of its clusters, without a loss of its own")
        return None
    losses = losses if can_move(method) else replace(losses, features=None)
    found = scores_of(losses)
    limits = threshold_of(method.name, method.neighborhood)
    doubtful, alarm = doubtful_points(found, limits), limits.share is not None
    unit = model.projector.input_unit
    figures = {"rows": len(doubtful), "method": method.name, "neighbors": method.neighborhood,
               "moved": unit.plain(found.lengths).tolist(),
               "unit": float(model.projector.output_unit.plain(np.array(found.unit))),
               "perturbation": limits.perturbation if len(found.lengths) else None,
               "singularity": limits.singularity, "share": limits.share,
               "doubtful": int(doubtful.sum()) if alarm else None, "torn": is_torn(doubtful, limits)}
    scores = CsvColumns({"id": tuple(result.embedding.ids), "perturbation": found.perturbation,
                         "singularity": found.singularity, "doubtful": np.where(alarm, doubtful, np.nan)})
    return {FIGURES.name: figures, SCORES.name: scores}


def all_equal(values: Array) -> bool:
    """Whether all rows (n x d) are the same."""
    return bool((values == values[:1]).all())


def can_move(method: LayoutMethod) -> bool:
    """Whether inputs moved along principal directions are still in the domain of the method's metric."""
    metric = method.distance
    return metric.plain or (metric.embeds and not metric.amounts and not metric.categories and not metric.presence)


def doubtful_points(found: Scores, limits: Threshold) -> AnyArray:
    """Return whether each point has a score above its threshold, an (n,) mask; none has where there are no thresholds.
    """
    over = np.zeros(len(found.singularity), dtype=bool)
    for values, limit in ((found.perturbation, limits.perturbation), (found.singularity, limits.singularity)):
        if limit is not None:
            over |= values > limit  # false for NaN
    return over


def is_torn(doubtful: AnyArray, limits: Threshold) -> bool | None:
    """Return whether more points are doubtful (n) than in continuous maps; None where there is no alarm."""
    return None if limits.share is None else bool(np.mean(doubtful) > limits.share)


def require_scores(figures: Mapping[str, Any], scores: CsvColumns, rows: int, path: Path) -> None:
    """Raise UnsafeFile where scores are not those of so many rows, or not those that the figures count."""
    doubtful = scores.array("doubtful")
    if len(doubtful) != rows or figures["rows"] != rows:
        raise damaged(path, f"it has {len(doubtful)} rows, not {rows} as in run.json")
    alarm = figures["doubtful"] is not None
    if (not np.isin(doubtful, (0.0, 1.0)).all() or int(doubtful.sum()) != figures["doubtful"] if alarm else
            not np.isnan(doubtful).all()):
        raise damaged(path, "its doubtful points are not those that discontinuity.json counts")
    if any((scores.array(name) < 0).any() for name in ("perturbation", "singularity")):
        raise damaged(path, "a score is below zero")


SEARCH = 2 * (2 * DIRECTIONS) + 1  # searches for a minimum for each point
PLACES = 12  # of a loss that a search looks at
PAIR, KERNEL = 12.0, 0.3  # work of a pair in a Hessian of stress, and by the kernel, in functions
SHIFTS = 1.4  # of a pair where neighbors of all shifts are searched for
PLACE, PULL, PUSH = 180.0, 4.0, 0.4  # of a place that a search looks at, of a neighbor there, and of another point
MOST = 6_000  # points up to which the repulsion of all is summed
SQUARES = 2  # matrices of all pairs beside the layout, where a loss is of all
ENTRY = 60.0  # bytes of a neighbor of a point


def discontinuity_step(method: LayoutMethod, data: Input, compute: Compute) -> Step:
    """Return the predicted cost of Hessians of all pairs, and of searches for the minima of moved inputs."""
    rows, threads = len(data.values), compute.thread_count()
    near = method.neighborhood
    all_pairs = isinstance(method, StressMethod)
    each = 1.5 * rows if all_pairs else PLACE + PULL * 3 * near + (PUSH * rows if rows <= MOST else 0.0)
    pair = PAIR if all_pairs else KERNEL + (SHIFTS if data.values.shape[1] > TREE_COLUMNS else 0.0)
    seconds = (pair * float(rows) ** 2 + SEARCH * PLACES * rows * each) * rates().bent / threads
    held = 8.0 * SQUARES * float(rows) ** 2 if all_pairs else 3 * ENTRY * near * rows
    held += 8.0 * (6 * MOVED + data.values.size)
    return Step("discontinuity", f"{SEARCH} minima of the loss of each of {rows:,} points", seconds, held)
