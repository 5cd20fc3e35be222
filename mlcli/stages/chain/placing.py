"""Points placed by the kernel rows of landmarks (Nyström's formula): in memory, or a few rows of a file at a time."""

from contextlib import closing
from dataclasses import replace

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import by_rows, held, let_go, room
from mlcli.base.rows.source import Part, Rows
from mlcli.base.stages.steps import Passes
from mlcli.base.types import Array
from mlcli.base.values.signs import leading_signs
from mlcli.engine.executor import results
from mlcli.stages.chain.setting import Fitted
from mlcli.stages.similarities import Projector

TOGETHER = 1 << 19  # numbers of kernel rows that a thread holds
HELD = 3  # arrays of them at once
COPIES = 3  # arrays of coordinates at once


@frozen
class Placing:
    """Coordinates of rows in a file: a source of blocks."""

    rows: Rows
    projector: Projector

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks

    def work(self, number: int) -> list[Part]:
        """Those of a block, with the place of the first of each part."""
        place, axes = self.projector, self.projector.axes
        return [(first + some.start, place.centering(place.similarity.rows(rows[some])) @ axes)
                for first, rows in self.rows.parts(number) for some in row_blocks(len(rows), TOGETHER, len(axes))]

    def stop(self) -> None:
        """Blocks are short."""


def placed(fit: Fitted, rows: Array) -> Fitted:
    """The fit of landmarks with all points placed by their kernel rows (n x landmarks), axes rotated again."""
    return _signed(fit, fit.projector.centering(rows) @ fit.projector.axes)


def placed_rows(fit: Fitted, rows: Rows) -> Fitted:
    """The same of points in a file, by one pass."""
    embedding = room(len(rows), fit.projector.axes.shape[1])
    with closing(results(Placing(rows, fit.projector))) as every:
        for block in every:
            for first, some in block:
                embedding[first : first + len(some)] = some
            let_go()
    return _signed(fit, embedding)


def placing_memory(rows: Rows | None, points: int, landmarks: int, axes: int, threads: int) -> float:
    """The bytes that placing so many points takes, in memory, or of rows in a file."""
    if rows is None:
        return 8.0 * 2 * landmarks * points
    return rows.at_once(threads) * (8.0 * HELD * max(TOGETHER, landmarks) + rows.nbytes) + held(COPIES, points * axes)


def placing_passes(rows: Rows, landmarks: int, axes: int, seconds: float) -> Passes:
    """The same as a cluster would do it, of rows in a file."""
    working = placing_memory(rows, points=0, landmarks=landmarks, axes=axes, threads=1)
    return Passes(1, seconds, rows.blocks, sent=8.0 * landmarks * (rows.shape[1] + axes),
                  returned=8.0 * len(rows) * axes, working=working)


def _signed(fit: Fitted, embedding: Array) -> Fitted:
    signs = leading_signs(embedding)
    return replace(fit, embedding=by_rows(lambda some: some * signs, embedding),
                   spectrum=replace(fit.spectrum, vectors=fit.spectrum.vectors * signs),
                   projector=replace(fit.projector, axes=fit.projector.axes * signs))
