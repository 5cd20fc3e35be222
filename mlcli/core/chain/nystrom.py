"""Placement of points by their kernel rows of landmarks (Nyström's formula), in memory or in blocks of a file."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.scratch import allocate, bytes_in_memory, map_blocks, release_pages
from mlcli.base.rows.source import RowPass, Rows
from mlcli.base.stages.steps import Passes
from mlcli.base.types import Array
from mlcli.base.values.signs import leading_signs
from mlcli.core.model import Model
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Projector
from mlcli.engine.executor import results

TOGETHER = 1 << 19  # numbers of kernel rows that a thread holds
HELD = 3  # arrays of them at once
COPIES = 3  # arrays of coordinates at once


@frozen
class Placement(RowPass):
    """A pass that computes coordinates of rows in a file: a source of blocks."""

    projector: Projector
    to_sample: Similarity  # of rows to s sampled ones

    def work(self, number: int) -> list[tuple[int, Array, Array]]:
        """Return the coordinates of a block's parts (m x p), each with the number of its first row and its products.

        These are those of the similarities to the sampled rows with the coordinates and with ones (s x p + 1).
        """
        place, axes, found = self.projector, self.projector.axes, list[tuple[int, Array, Array]]()
        for first, rows in self.rows.parts(number):
            for some in row_blocks(len(rows), TOGETHER, len(axes)):
                placed = place.centering(place.similarity.rows(rows[some])) @ axes
                products = self.to_sample.rows(rows[some]).T @ np.column_stack([placed, np.ones(len(placed))])
                found.append((first + some.start, placed, products))
        return found


def place_points(fit: Model, rows: Array) -> Model:
    """Return the fit of landmarks with all points placed by their kernel rows (n x landmarks), and signs set again.

    The rows are centered in their place.
    """
    return _fix_signs(fit, fit.required_projector.centering(rows, out=rows) @ fit.required_projector.axes)


def place_by_columns(fit: Model, size: int, groups: Iterable[tuple[slice, Array]]) -> Model:
    """Return the fit of landmarks with all n points placed by some landmarks at a time, and signs set again.

    Each group is the numbers of some landmarks, in their order, and their kernel columns as rows (g x n). Only the
    coordinates are held for all points.
    """
    place, axes = fit.required_projector.centering, fit.required_projector.axes
    embedding, sums = np.zeros((size, axes.shape[1])), np.zeros(size)

    for some, columns in groups:
        def add(rows: slice, some: slice = some, columns: Array = columns) -> None:
            moved = columns[:, rows] - place.means[some, None]
            embedding[rows] += moved.T @ axes[some]
            sums[rows] += moved.sum(axis=0)

        each(add, row_blocks(size, TOGETHER, len(axes[some])))
    if place.across:
        embedding -= np.outer(sums / len(axes), axes.sum(axis=0))
    return _fix_signs(fit, embedding)


def place_features(fit: Model, points: Array) -> Model:
    """Return the fit of landmarks with all points (n x d, or n x n dissimilarities) placed, and signs set again.

    Their kernel rows are made a few points at a time on each thread, so that they are never in memory together.
    """
    place, axes = fit.required_projector, fit.required_projector.axes
    embedding = np.empty((len(points), axes.shape[1]))

    def fill(rows: slice) -> None:
        embedding[rows] = place.centering(place.similarity.rows(points[rows])) @ axes

    each(fill, row_blocks(len(points), TOGETHER, len(axes)), progress=True)
    return _fix_signs(fit, embedding)


def place_rows(fit: Model, rows: Rows, to_sample: Similarity) -> tuple[Model, Array]:
    """Return the fit of landmarks with all points of a file placed by one pass, and signs set again.

    Beside it stand the products of the similarities to s sampled rows with the coordinates and with ones (s x p + 1).
    """
    axes = fit.required_projector.axes.shape[1]
    embedding, products = allocate(len(rows), axes), np.zeros((1, axes + 1))
    with closing(results(Placement(rows, fit.required_projector, to_sample))) as every:
        for block in every:
            for first, some, own in block:
                embedding[first : first + len(some)] = some
                products = products + own
            release_pages()
    placed, signs = _fix_signs(fit, embedding), leading_signs(embedding)
    return placed, products * np.append(signs, 1.0)


def placing_memory(rows: Rows | None, points: int, landmarks: int, axes: int, threads: int) -> float:
    """Return the bytes that placing `points` points takes in memory, or from `rows` of a file."""
    if rows is None:
        at_once = min(threads * max(TOGETHER, landmarks), points * landmarks)
        return 8.0 * HELD * at_once + 8.0 * COPIES * points * axes
    passes = rows.at_once(threads) * (8.0 * HELD * max(TOGETHER, landmarks) + rows.nbytes)
    return passes + bytes_in_memory(COPIES, points * axes)


def placing_passes(rows: Rows, landmarks: int, axes: int, seconds: float) -> Passes:
    """Return the passes of a cluster that places rows of a file; `seconds` is the work of all of them."""
    working = placing_memory(rows, points=0, landmarks=landmarks, axes=axes, threads=1)
    return Passes(1, seconds, rows.blocks, sent=8.0 * landmarks * (rows.shape[1] + axes),
                  returned=8.0 * len(rows) * axes, working=working)


def _fix_signs(fit: Model, embedding: Array) -> Model:
    signs = leading_signs(embedding)
    return replace(fit, embedding=map_blocks(lambda some: some * signs, embedding),
                   spectrum=replace(fit.ranks.without_turns(), vectors=fit.ranks.vectors * signs),
                   projector=replace(fit.required_projector, axes=fit.required_projector.axes * signs))
