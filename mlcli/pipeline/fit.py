"""The fit of a method to prepared rows: planned from its input, then made."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import AfterFit, memory_after_fit
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners, running
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.config.run_config import RunConfig
from mlcli.data.options.wording import listed, place
from mlcli.data.prepare.missing import Dropped, dropped_row
from mlcli.data.table.table import Table, coordinates
from mlcli.errors import ConfigError, DataError
from mlcli.findings import FINDINGS
from mlcli.findings.frame.result import Result, Start, embedded_rows
from mlcli.methods import Method, Model
from mlcli.methods.method import peak, require_memory
from mlcli.pipeline.session import Session
from mlcli.report.paper.needs import plot_cost
from mlcli.rundir.disk_space import require_disk


@frozen
class FitPlan:
    """A fit before it is made: the method resolved for its input, its steps, and the memory that is needed."""

    config: RunConfig
    start: Start
    data: Input
    method: Method
    after: AfterFit  # what findings and figures need

    @classmethod
    def of(cls, config: RunConfig, start: Start) -> "FitPlan":
        """Resolve the method for prepared rows; raises ConfigError and DataError for options that do not fit them."""
        table, after = start.prepared.table, drawing_of(config, start)
        _require_rows(table, len(start.prepared.dropped))
        data = table.data()
        with table.rows_named(), labels_named(table):
            return cls(config, start, data, config.method.resolve(data), after)

    @property
    def compute(self) -> Compute:
        """The use of the machine."""
        return self.config.compute

    @cached_property
    def normalized(self) -> Any:
        """The data in units that keep squares in range; raises DataError."""
        with running("prepare"):
            return self.method.in_range(self.data)

    @cached_property
    def steps_before(self) -> Sequence[Step]:
        """The steps whose memory the data alone determines."""
        return self.method.steps_before_fit(self.normalized, self.compute)

    def steps(self, measure: float | None) -> Sequence[Step]:
        """Return all steps of the fit; with `measure`, that share of the most expensive work is timed."""
        return self.method.steps(self.normalized, self.compute, measure)

    @cached_property
    def memory(self) -> float:
        """The bytes at the peak, as far as the data alone determines them."""
        with self.start.prepared.table.rows_named(), memory_after_fit(self.after):
            return peak(self.steps_before, self.data, self.method, self.compute)

    def require_memory(self) -> None:
        """Raise RefusedByPlan where memory is known not to suffice."""
        with self.start.prepared.table.rows_named(), memory_after_fit(self.after):
            require_memory(self.steps_before, self.data, self.method, self.compute)

    def fit(self, session: Session | None = None) -> Result:
        """Fit the method; a session keeps results of stages of this fit.

        Raises RefusedByPlan where disk or memory do not suffice.
        """
        config, prepared, method = self.config, self.start.prepared, self.method
        if config.output is not None:
            require_disk(config, method, prepared.table)
        with (prepared.table.rows_named(), memory_after_fit(self.after),
              nullcontext() if session is None else session.fitting(method, self.data)):
            model = method.fit_in_range(self.normalized, self.steps_before, config.compute)
        config.report.require_arrows(model.embedding.shape[1], loaded=model.loadings is not None)
        config = config.replace(method=method.with_components(model.embedding.shape[1]))
        dropped = (*prepared.dropped, *_rows_left_out(model, prepared.table))
        embedding = coordinates(embedded_rows(prepared.table, model), model.embedding)
        return Result(config=config, input=self.start, embedding=embedding, dropped=dropped, model=model)


def drawing_of(config: RunConfig, start: Start) -> AfterFit:
    """Predict the memory of assessing a fit and drawing its figures; little if only the embedding is streamed.

    Raises ConfigError where figures are to show labels that the table lacks.
    """
    table, asked = start.prepared.table, FINDINGS["dimension"].precedes_fit(config)
    source = start.source.source
    read = AfterFit() if source is None else AfterFit(reading=source.reading, kept=source.kept)
    if config.output == "-":
        return replace(read, rules=asked, quality=False)
    report, measures = config.report, config.report.setting("quality")
    report.require_point_labels(table.rows, table.labels)
    if measures is not None:
        from mlcli.findings.quality.measures import Labels

        with no_listeners():
            Labels.first_of(table.labels, measures.label)  # before the fit: one that has no classes
    if not table.rows:  # a covariance, whose columns have names
        table = table.take(())
    drawn = plot_cost(report, table, unsure=config.method.decoder_variance and config.draws_decoder(start.features))
    beside = 0.0
    if measures is not None and config.method.beside_baseline:
        from mlcli.findings.quality.measure import baseline_steps

        beside = max((step.memory for step in baseline_steps(config.method, table.data(), config.compute)), default=0.0)
    return replace(drawn, rules=report.setting("dimension") is not None or asked, quality=measures is not None,
                   baseline=beside, reading=read.reading, kept=read.kept)


def _require_rows(table: Table, dropped: int) -> None:
    """Raise DataError for a single point: coordinates tell how points differ."""
    if table.rows == 1:
        what, left = ("row", "is left") if dropped else ("row" if table.kind == "features" else "point", "is there")
        raise DataError("ONE-ROW", f"only one {what} {left}, and an embedding shows how {what}s differ",
                        where=place(table.source.path) if table.source else "", hint="give two or more")


def plan_fit(config: RunConfig, start: Start, planned: FitPlan | None = None) -> FitPlan:
    """Return the plan of a fit, as `planned` if it was; raises ConfigError for what the report cannot show of the rows.
    """
    config = config.with_image(start.source.image, start.features)
    config.report.require_image(start.features)
    config.report.require_memory_rows(held=rows_of(start.prepared.table.values) is None)
    return planned or FitPlan.of(config, start)


@contextmanager
def labels_named(table: Table) -> Iterator[None]:
    """An error of more axes than there are columns names the columns that are labels."""
    try:
        yield
    except ConfigError as error:
        if error.code != "E-COMPONENTS" or not table.labels:
            raise
        from mlcli.data.options.texts import proposal

        labels = listed(list(table.labels), 20)
        scale = proposal(filter(None, texts) for texts in table.labels.values())
        coded = f"; {scale} makes answers numbers" if scale else ""
        raise error.changed(hint=f"{error.hint}; text columns are labels, not features: {labels}{coded}") from error


def _rows_left_out(model: Model, table: Table) -> list[Dropped]:
    """Return the rows that the fit left out, with its reason."""
    if model.kept is None:
        return []
    outside = np.setdiff1d(np.arange(len(table.ids)), model.kept)
    return [dropped_row(table, row, model.left_out) for row in outside.tolist()]
