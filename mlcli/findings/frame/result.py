"""A planned run and the result of a fit, as the findings use them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Input
from mlcli.config.run_config import RunConfig
from mlcli.core.metrics.points import with_metric_of
from mlcli.data.table.table import Table
from mlcli.methods import Method, Model

if TYPE_CHECKING:
    from mlcli.data.prepare.variable_genes import GeneTable

@frozen
class Planned:
    """A planned run: its options, table and the steps of the fit."""

    config: RunConfig
    method: Method  # with defaults resolved for the data
    table: Table  # prepared rows
    features: int  # number of columns of decoded rows
    fit: Sequence[Step]
    memory: float  # bytes for the checks of a result

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self.config.compute.thread_count()

    @property
    def points(self) -> bool:
        """Whether the input has rows, which a covariance matrix has not."""
        return self.table.kind != "covariance"


class FeatureMap(Protocol):
    """The map from prepared rows back to features."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the features of decoded rows."""

    @property
    def features(self) -> int:
        """The number of features."""

    @property
    def genes(self) -> "GeneTable | None":
        """The statistics of genes, where variable ones were chosen."""

    def undone(self, values: Array) -> Array:
        """Return prepared rows, an (m, c) array, as features, an (m, d) array, which may be out of range."""

    def back(self, values: Array) -> Array:
        """Return prepared rows, an (m, c) array, as features, an (m, d) array; raises NumericalError if out of range.
        """


class Result(Protocol):
    """The result of a run after its fit."""

    @property
    def config(self) -> RunConfig:
        """The options, with defaults resolved for the data."""

    @property
    def start(self) -> FeatureMap:
        """The map back to features."""

    @property
    def source(self) -> Table:
        """The table as it was read."""

    @property
    def method_input(self) -> Table:
        """All rows of the method's input."""

    @property
    def prepared(self) -> Table:
        """The rows that were embedded."""

    @property
    def embedding(self) -> Table:
        """The embedding."""

    @property
    def model(self) -> Model:
        """The fit."""

    def sample(self, most: int | None = None) -> Indices | None:
        """Return rows of a table read in blocks that are in memory, at most `most`; None where all are in memory."""


def as_compared(result: Result, table: Table) -> Input:
    """Return some of the prepared rows in the form in which the method compared them."""
    return with_metric_of(table.data(), result.config.method.with_metric(result.method_input.data()))
