"""The plan of a fit: the method resolved for prepared rows, its steps, and the memory that is needed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import AfterFit, memory_after_fit
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.base.values.naming import listed
from mlcli.config.run_config import RunConfig
from mlcli.data.options.wording import place
from mlcli.data.prepare.prepare import Preparation
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.findings.frame.result import Start
from mlcli.methods import Method
from mlcli.methods.method import checks_memory, peak, require_memory


@frozen
class FitPlan:
    """A fit before it is made: the method resolved for its input, its steps, and the memory that is needed."""

    config: RunConfig
    start: Start
    data: Input
    method: Method
    after: AfterFit  # what findings and figures need

    @classmethod
    def of(cls, config: RunConfig, start: Start, after: AfterFit) -> "FitPlan":
        """Resolve the method for prepared rows; raises ConfigError and DataError for options that do not fit them."""
        table = start.prepared.table
        _require_rows(table, len(start.prepared.dropped))
        data = table.data()
        with table.rows_named(), labels_named(table), left_out_named(start.prepared.preparation):
            return cls(config, start, data, config.method.resolve(data), after)

    @property
    def compute(self) -> Compute:
        """The use of the machine."""
        return self.config.compute

    @property
    def table(self) -> Table:
        """The prepared rows."""
        return self.start.prepared.table

    @property
    def points(self) -> bool:
        """Whether the input has rows, which a covariance matrix has not."""
        return self.data.kind != "covariance"

    @cached_property
    def normalized(self) -> Any:
        """The data in units that keep squares in range; raises DataError."""
        with running("prepare"):
            return self.method.in_range(self.data)

    @cached_property
    def steps_before(self) -> Sequence[Step]:
        """The steps whose memory the data alone determines."""
        onto = self.start.onto
        if onto is not None and onto.is_fixed:
            return self.steps(None)
        return self.method.steps_before_fit(self.normalized, self.compute)

    def steps(self, measure: float | None) -> Sequence[Step]:
        """Return all steps of the fit; with `measure`, that share of the most expensive work is timed."""
        onto = self.start.onto
        if onto is not None and onto.is_fixed:
            return self.method.steps_among(self.normalized, len(onto.moving), self.compute)
        return self.method.steps(self.normalized, self.compute, measure)

    @cached_property
    def memory(self) -> float:
        """The bytes at the peak, as far as the data alone determines them."""
        with self.table.rows_named(), memory_after_fit(self.after):
            return peak(self.steps_before, self.data, self.method, self.compute)

    def require_memory(self) -> None:
        """Raise RefusedByPlan where memory is known not to suffice."""
        with self.table.rows_named(), memory_after_fit(self.after):
            require_memory(self.steps_before, self.data, self.method, self.compute)

    @cached_property
    def memory_after(self) -> float:
        """The bytes for the checks of a result."""
        with memory_after_fit(self.after):
            return checks_memory(self.method, self.data)


def _require_rows(table: Table, dropped: int) -> None:
    """Raise DataError for a single point: coordinates tell how points differ."""
    if table.rows == 1:
        what, left = ("row", "is left") if dropped else ("row" if table.kind == "features" else "point", "is there")
        raise DataError("ONE-ROW", f"only one {what} {left}, and an embedding shows how {what}s differ",
                        where=place(table.source.path) if table.source else "", hint="give two or more")


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


@contextmanager
def left_out_named(preparation: Preparation) -> Iterator[None]:
    """An error of a column that a method names, and that is not among those of the largest variance, says so."""
    try:
        yield
    except ConfigError as error:
        kept = preparation.names
        left = (name for name in preparation.columns if f"column {name[:80]!r}" in error.found and name not in kept)
        if error.code != "E-UNKNOWN-COLUMN" or next(left, None) is None:
            raise
        raise error.changed(found=f"{error.found} among the {len(kept)} with the largest variance",
                            hint="keep more columns with {prepare.top_variance}, or take this one out") from error
