"""A run in memory: the steps that led to its input, and the result of its fit."""

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Input
from mlcli.config.run_config import RunConfig
from mlcli.core.metrics.distances import with_metric_of
from mlcli.data.options.input import Input as InputOptions
from mlcli.data.prepare.missing import Dropped
from mlcli.data.prepare.prepare import Prepared
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table, coordinates
from mlcli.data.write.table import text_names
from mlcli.findings.frame.onto import OntoRows
from mlcli.methods import Method, Model
from mlcli.rundir.model import Reduction, ScoredModel, StoredModel
from mlcli.rundir.onto import MapRows, hash_of, points_of

if TYPE_CHECKING:
    from mlcli.data.prepare.variable_genes import GeneTable


@frozen
class ReducedInput:
    """PCA before a method: its input, and its fit."""

    given: Prepared
    method: Method  # PCA, resolved
    model: Model

    @property
    def scores(self) -> Table:
        """The scores as the table that the method gets: rows in memory, laid out as those read from a file."""
        return coordinates(self.given.table, np.ascontiguousarray(self.model.embedding))


@frozen
class Start:
    """The input of a run's method, and the steps that led to it."""

    source: Table
    run: StoredModel | None  # whose embedding the source is
    prepared: Prepared  # the method's input
    reduced: ReducedInput | None = None
    held_out: Table | None = None  # rows that were read and not fitted, for `report.calibration`
    onto: OntoRows | None = None  # of a run that adds the source's rows to the map of another

    @property
    def previous_steps(self) -> tuple[Reduction, ...]:
        """The steps that led to the source."""
        if self.onto is not None:
            return self.onto.parent.reductions
        return () if self.run is None else self.run.steps

    @property
    def reductions(self) -> tuple[Reduction, ...]:
        """All steps ahead of the method."""
        first = self.reduced
        return self.previous_steps if first is None else (
            *self.previous_steps, Reduction(first.given.preparation, first.model.projector))

    @property
    def way_back(self) -> tuple[Reduction, ...]:
        """The steps ahead of the method that its features lead back through, the last one first."""
        steps, later = [], self.prepared.preparation
        for step in reversed(self.reductions):
            if step.projector.decoder is None or not later.invertible:
                break
            steps.append(step)
            later = step.preparation
        return tuple(steps)

    @property
    def genes(self) -> "GeneTable | None":
        """The statistics of genes, where variable ones were chosen."""
        return self.prepared.genes if self.reduced is None else self.reduced.given.genes

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features that decoded rows have."""
        return tuple(self.way_back[-1].preparation.names if self.way_back else self.prepared.table.columns)

    @property
    def features(self) -> int:
        """The number of features of decoded rows."""
        return len(self.columns)

    def undone(self, values: Array) -> Array:
        """Return prepared rows, an (m, k) array, in units of the input that they lead back to; may be out of range."""
        values = self.prepared.preparation.undone(values)
        for step in self.way_back:
            values = step.undone(values)
        return values

    def back(self, values: Array) -> Array:
        """Return rows, an (m, k) array, as `undone` does, for results; raises NumericalError out of range."""
        values = self.prepared.preparation.features(values)
        for step in self.way_back:
            values = step.features(values)
        return values

    @property
    def facts(self) -> dict[str, Any]:
        """Facts for run.json of rows that were held out, and of PCA before the method; none without them."""
        return {**({} if self.held_out is None else {"held_out": len(self.held_out.ids)}), **self._facts_of_reduction}

    @property
    def _facts_of_reduction(self) -> dict[str, Any]:
        if self.reduced is None:
            return {}
        kept, spectrum = self.reduced.model.embedding.shape[1], self.reduced.model.ranks
        return {"reduced": {"components": kept, "columns": self.reduced.given.table.values.shape[1],
                            "proportion": float(spectrum.proportions[:kept].sum())}}

    def with_scores(self, scores: Array) -> "Start":
        """Return the start with the scores of PCA as the run wrote them, an (n, k) array."""
        assert self.reduced is not None
        reduced = replace(self.reduced, model=replace(self.reduced.model, embedding=scores))
        return replace(self, reduced=reduced, prepared=replace(self.prepared, table=reduced.scores))

    def finished(self, input: InputOptions, embedding: Table, model: Model) -> StoredModel:
        """Return the model of a run for later use; new rows are read as those of the first input were."""
        if self.onto is not None:
            return self._onto(self.onto, embedding, model)
        here = StoredModel(kind=input.gives, id_name=text_names(embedding)[0],
                           trained=() if input.kind == "features" else embedding.ids, transpose=input.transpose,
                           categories=self.source.categories, coding=self.source.coding, rule=self.source.rule,
                           reductions=self.reductions,
                           preparation=self.prepared.preparation, projector=model.projector,
                           views=tuple(map(Reduction, self.prepared.views, model.others)), joint=model.joint,
                           files={file.name: file.table.columns for file in self.source.files},
                           invented=isinstance(embedding.ids, RowNumbers))
        first = self.run
        return here if first is None else replace(
            here, kind=first.kind, trained=first.trained, transpose=first.transpose, categories=first.categories,
            coding=first.coding, rule=first.rule, files=first.files)

    def _onto(self, onto: OntoRows, embedding: Table, model: Model) -> StoredModel:
        """Return the model of a run that added rows: that of the former run, with the projector of this one."""
        table, kept = self.prepared.table, onto.kept
        if model.kept is not None:  # which the fit chose among all rows
            table, kept = table.take(model.kept), np.flatnonzero(np.isin(model.kept, kept))
        places = model.kept[kept] if model.kept is not None else kept
        of_rows = embedding.values[kept] if onto.is_fixed else onto.coordinates[places]
        points = None if points_of(model.projector, len(table.ids)) is not None else np.array(table.values)
        return replace(onto.parent, id_name=text_names(embedding)[0], projector=model.projector,
                       invented=isinstance(embedding.ids, RowNumbers),
                       onto=MapRows(onto.way, kept, hash_of(of_rows), points, len(table.ids),
                                       model.registration))


@frozen
class Result:
    """A run after its fit: its options, its input, and its model."""

    config: RunConfig  # with defaults resolved for the data
    input: Start | None  # None where the input of a finished run is gone
    embedding: Table
    dropped: tuple[Dropped, ...]
    model: Model
    scored: ScoredModel | None = None  # for later use; None before rows are scored, and where none were held out

    @property
    def start(self) -> Start:
        """The input with the steps that led to it; for a run whose input is at hand."""
        assert self.input is not None
        return self.input

    @property
    def source(self) -> Table:
        """The table that was read."""
        return self.start.source

    @property
    def method_input(self) -> Table:
        """All rows of the method's input."""
        return self.start.prepared.table

    @cached_property
    def prepared(self) -> Table:
        """The rows that were embedded."""
        return embedded_rows(self.method_input, self.model)

    @cached_property
    def decoded(self) -> tuple[Start, Table]:
        """The start whose features the decoder gives, and its rows that were embedded: the input's, or a view's."""
        decoder, start = self.model.projector.decoder, self.start
        if decoder is None or decoder.view == 1:
            return start, self.prepared
        number = decoder.view - 1
        prepared = Prepared(start.prepared.table.views[number], start.prepared.views[number - 1], ())
        return Start(start.source.views[number], None, prepared), self.prepared.views[number]

    def sample(self, most: int | None = None) -> Indices | None:
        """Return rows of a table read in blocks that are in memory, at most `most`; None where all are in memory."""
        rows = rows_of(self.prepared.values)
        return None if rows is None else rows.some(most)

    def finished(self) -> StoredModel:
        """Return the model for later use, without scores of rows off the manifold."""
        return self.start.finished(self.config.input, self.embedding, self.model)


def embedded_rows(table: Table, model: Model) -> Table:
    """Return the rows of a method's input that its model embeds; none of a covariance."""
    table = table if model.kept is None else table.take(model.kept)
    return table if table.rows else table.take(())


def as_compared(result: Result, table: Table) -> Input:
    """Return some of the prepared rows in the form in which the method compared them."""
    data, method = table.data(), result.config.method
    if isinstance(data, Dissimilarities):
        return method.compared(data, result.model)
    return with_metric_of(data, method.compared(result.method_input.data(), result.model))
