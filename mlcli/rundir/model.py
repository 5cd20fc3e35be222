"""The model of a run: the reading of new rows, and the steps that place them, each with its preparation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.similarities.projector import NoProjection, Projector, require_projector
from mlcli.data.options.wording import counted, listed
from mlcli.data.prepare.categories import Categories
from mlcli.data.prepare.prepare import Preparation
from mlcli.data.table.table import Table, coordinates
from mlcli.data.write.table import text_names
from mlcli.errors import ConfigError

if TYPE_CHECKING:
    from mlcli.core.classifier import Memberships
    from mlcli.core.model import JointViews
    from mlcli.data.table.coding import Coding

@stored("reduction")
@frozen
class Reduction:
    """A dimension reduction of new rows, and the way back to features."""

    preparation: Preparation
    projector: Projector | NoProjection

    def place(self, table: Table) -> Table:
        """The coordinates of new rows, treated as those of the fit were; raises ConfigError where there are none."""
        projector = require_projector(self.projector)
        prepared = self.preparation.apply(table) if table.kind == "features" else table
        with prepared.rows_named():
            projector.similarity.check(prepared.values, prepared.ids, prepared.columns)
            labels = next(iter(prepared.labels.values()), None)
            placed = coordinates(prepared, projector.place(prepared.values, labels))
        unlike = np.flatnonzero(projector.unexplained(prepared.values, placed.values))
        if len(unlike):
            rows = [placed.ids[row] for row in unlike.tolist()]
            note("W-UNLIKE", f"{len(rows):,} of {counted(len(placed.values), 'row')} differ from all rows that the "
                 f"model was fitted to; their coordinates are not reliable: {listed(rows)}", rows=len(rows))
        if blank := [placed.columns[axis] for axis in np.flatnonzero(~projector.axes.any(axis=0))]:
            note("W-NO-COORDINATE", f"new points have no coordinate on {', '.join(blank)}, and 0 is written: such an "
                 "axis has no extent, or cost 1, and is not determined by neighbors", axes=blank)
        return placed

    def classify(self, table: Table) -> Table:
        """Return the classes of new rows, prepared as those of the fit were; ConfigError where there are none."""
        from mlcli.methods.discriminant.discriminants import ClassProjector

        projector = require_projector(self.projector)
        if not isinstance(projector, ClassProjector):
            raise ConfigError("NO-CLASSES", "this run gives no classes to new rows", where="--classes",
                              hint="leave it out: only lda does")
        prepared = self.preparation.apply(table)
        with prepared.rows_named():
            projector.similarity.check(prepared.values, prepared.ids, prepared.columns)
            return classes_table(projector.classify(prepared.values), prepared)

    def features(self, embedding: Array) -> Array:
        """Features (m x i) of coordinates (m x p); only where there is a decoder."""
        return self.preparation.features(require_projector(self.projector).reconstruct(embedding))

    def undone(self, embedding: Array) -> Array:
        """Return features as `features` does, (m, k) array to (m, d) array, for pictures: they may leave the range."""
        return self.preparation.undone(require_projector(self.projector).reconstruct(embedding))


def classes_table(found: "Memberships", rows: Table) -> Table:
    """Return the table of the classes of some rows, with their ids."""
    name = text_names(rows)[0]
    return replace(rows, values=found.probabilities, columns=found.columns, labels={"class": tuple(found.classes)},
                   id_name="id" if name == "class" else name, kind="features", view=None, graph=None)


@frozen
class StoredModel:
    """The model of a run, with those of the runs that its input went through."""

    kind: str  # of the first input, as are the next four but `id_name`
    id_name: str  # as the run wrote it
    trained: Sequence[str]  # ids of the training points, where that input is a square matrix
    transpose: bool  # whether the columns of the file are the points
    categories: Categories  # texts that numbers of a column stand for
    reductions: tuple[Reduction, ...]  # ahead of the method, the first one first
    preparation: Preparation
    projector: Projector | NoProjection
    views: tuple[Reduction, ...] = ()  # of rows of the second view and further ones
    coding: "Coding | None" = None  # of answers, in words or reverse-keyed
    joint: "JointViews | None" = None  # how coordinates given several views follow
    invented: bool = False  # whether the ids of its rows are their numbers, which no file gave

    def of_view(self, number: int) -> "StoredModel":
        """Return the model that places rows of one view alone; the first has number 1."""
        if number == 1:
            return self
        view = self.views[number - 2]
        return replace(self, reductions=(), preparation=view.preparation, projector=view.projector, views=(),
                       joint=None)

    @property
    def drops(self) -> bool:
        """Whether new rows with gaps are dropped."""
        return self.steps[0].preparation.missing == "drop"

    @property
    def steps(self) -> tuple[Reduction, ...]:
        """The whole way from the first input to coordinates."""
        return (*self.reductions, Reduction(self.preparation, self.projector))
