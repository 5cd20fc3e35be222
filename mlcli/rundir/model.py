"""The model of a run: the reading of new rows, and the steps that place them, each with its preparation."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.naming import listed
from mlcli.core.similarities.off_manifold import ManifoldScore
from mlcli.core.similarities.projector import NoProjection, Projector, require_projector
from mlcli.data.options.wording import counted
from mlcli.data.prepare.categories import Categories
from mlcli.data.prepare.missing import warn_of_gaps
from mlcli.data.prepare.prepare import Preparation
from mlcli.data.table.table import Table, coordinates
from mlcli.data.write.table import text_names
from mlcli.errors import ConfigError
from mlcli.rundir.onto import MapRows, points_of

if TYPE_CHECKING:
    from mlcli.core.classifier import Memberships
    from mlcli.core.model import JointViews
    from mlcli.data.table.coding import Coding
    from mlcli.data.table.similarities import SimilarityRule

@stored("reduction")
@frozen
class Reduction:
    """A dimension reduction of new rows, and the way back to features."""

    preparation: Preparation
    projector: Projector | NoProjection
    score: ManifoldScore | None = None  # None where rows have none, and of models of earlier versions

    def place(self, table: Table) -> Table:
        """The coordinates of new rows, treated as those of the fit were; raises ConfigError where there are none."""
        return self.place_prepared(self.prepared(table))[0]

    def prepared(self, table: Table) -> Table:
        """The new rows as the method takes them."""
        return self.preparation.apply(table) if table.kind == "features" else table

    def place_prepared(self, prepared: Table) -> tuple[Table, Mapping[str, Array]]:
        """The coordinates of prepared rows, and further numbers of theirs by name; ConfigError where there are none."""
        projector = require_projector(self.projector)
        with prepared.rows_named():
            projector.similarity.check(prepared.values, prepared.ids, prepared.columns)
            found, beside = projector.place_with(prepared.values, prepared.labels_with_roles)
            placed = coordinates(prepared, found)
        if prepared.places is not None and not projector.similarity.rowwise:  # rows are a sequence
            warn_of_gaps(prepared.ids, prepared.places, "complete them, or place them by a run that was made with "
                         "{prepare.missing=mean} or model")
        unlike = np.flatnonzero(projector.unexplained(prepared.values, placed.values))
        if len(unlike):
            rows = [placed.ids[row] for row in unlike.tolist()]
            note("W-UNLIKE", f"{len(rows):,} of {counted(len(placed.values), 'row')} "
                 f"{'differs' if len(rows) == 1 else 'differ'} from all rows that the model was fitted to; coordinates "
                 f"of such rows are not reliable: {listed(rows)}", rows=len(rows))
        if blank := [placed.columns[axis] for axis in np.flatnonzero(~projector.axes.any(axis=0))]:
            note("W-NO-COORDINATE", f"new points have no coordinate on {', '.join(blank)}, and 0 is written: such an "
                 "axis has no extent, or cost 1, and is not determined by neighbors", axes=blank)
        return placed, beside

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

    def features(self, embedding: Array, styles: Sequence[str] | None = None) -> Array:
        """Features (m x i) of coordinates (m x p), in `styles` (m) where they are given; only where some lead back."""
        from mlcli.methods.views.style_projector import StyleProjector

        projector = require_projector(self.projector)
        if styles is not None and isinstance(projector, StyleProjector):
            return self.preparation.features(projector.decode_in(embedding, styles))
        return self.preparation.features(projector.reconstruct(embedding))

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
    rule: "SimilarityRule | None" = None  # by which similarities became dissimilarities
    joint: "JointViews | None" = None  # how coordinates given several views follow
    invented: bool = False  # whether the ids of its rows are their numbers, which no file gave
    score: ManifoldScore | None = None  # of the last step
    onto: MapRows | None = None  # of a run that added rows to the map of another
    # columns of each of several files by its name, as it has them; they lie side by side in the input
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def points(self, count: int) -> Array | None:
        """Return the prepared rows (n x d) of a fit to so many rows; None where the model does not hold them all."""
        if self.onto is not None and self.onto.points is not None:
            return self.onto.points
        return points_of(self.projector, count)

    def of_view(self, number: int) -> "StoredModel":
        """Return the model that places rows of one view alone; the first has number 1."""
        if number == 1:
            return self
        view = self.views[number - 2]
        return replace(self, reductions=(), preparation=view.preparation, projector=view.projector, views=(),
                       joint=None, score=view.score)

    @property
    def columns_of_files(self) -> dict[str, tuple[str, ...]]:
        """The columns of each of several files by its name, as they are called in the input."""
        names = iter(self.steps[0].preparation.columns)
        return {file: tuple(islice(names, len(columns))) for file, columns in self.files.items()}

    @property
    def drops(self) -> bool:
        """Whether new rows with gaps are dropped."""
        return self.steps[0].preparation.missing == "drop"

    @property
    def closed(self) -> bool:
        """Whether texts that the columns of the fit do not have are refused in new rows."""
        first = self.steps[0].projector
        return isinstance(first, Projector) and first.similarity.comparison.closed

    @property
    def steps(self) -> tuple[Reduction, ...]:
        """The whole way from the first input to coordinates."""
        return (*self.reductions, Reduction(self.preparation, self.projector, self.score))

    @property
    def way_back(self) -> tuple[Reduction, ...]:
        """The steps that lead from coordinates back to features, the last one first: to another view in a single one.
        """
        decoder = self.projector.decoder
        if decoder is None or decoder.view == 1:
            return self.steps[::-1]
        return (Reduction(self.views[decoder.view - 2].preparation, self.projector),)

    def place(self, table: Table) -> "PlacedRows":
        """The coordinates of new rows by every step, and how far they are off the manifold.

        Scores of the steps of one run have one calibration; of several runs, p is the least of each times their number
        (Bonferroni). Raises ConfigError where a step places no rows.
        """
        scores, shares, linear = list[Array](), list[Array](), dict[str, Array]()
        own, unknown = list[Array](), self.score is None
        beside: Mapping[str, Array] = {}
        for step in self.steps:
            step.projector.require_places()
            prepared = step.prepared(table)
            table, beside = step.place_prepared(prepared)
            score = step.score
            if score is None or unknown:
                continue
            found = score.of(require_projector(step.projector), prepared.values, table.values)
            own.append(found)
            if score.linear:
                projector = require_projector(step.projector)
                unit = projector.input_unit
                linear = {T2: score.hotelling(projector, table.values),
                          Q: unit.plain(unit.plain(found * score.scale))}
            if score.calibration is not None:
                scores.append(np.max(own, axis=0))
                shares.append(score.p(scores[-1]))
                own = []
        if not shares:
            return PlacedRows(table, beside=beside)
        return PlacedRows(table, np.max(scores, axis=0), np.minimum(len(shares) * np.min(shares, axis=0), 1.0),
                          linear if self.steps[-1].score is not None and self.steps[-1].score.linear else {},
                          beside)


SCORE, P, T2, Q = "off_manifold", "off_manifold_p", "hotelling_t2", "q"  # columns beside coordinates


@frozen
class PlacedRows:
    """Coordinates of new rows, and how far each is off the manifold where the model knows."""

    coordinates: Table
    scores: Array | None = None  # m; larger is farther, and a usual training row has about one
    p: Array | None = None  # m
    linear: Mapping[str, Array] = field(default_factory=dict)  # T² and Q of linear models (m each)
    beside: Mapping[str, Array] = field(default_factory=dict)  # further numbers, such as vectors of styles (m each)

    @property
    def table(self) -> Table:
        """The coordinates, with the other numbers as further columns."""
        beside = {**self.beside}
        if self.scores is not None and self.p is not None:
            beside |= {SCORE: self.scores, P: self.p, **self.linear}
        if not beside:
            return self.coordinates
        return replace(self.coordinates, values=np.column_stack([self.coordinates.values, *beside.values()]),
                       columns=(*self.coordinates.columns, *beside))


@frozen
class ScoredModel:
    """The model of a run with scores of rows off its manifold, and the rows that were held out as it places them."""

    model: StoredModel
    held_out: PlacedRows | None = None
