"""The result of a fit, as findings see it."""

from collections.abc import Sequence
from typing import Protocol

from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Input
from mlcli.config.run_config import RunConfig
from mlcli.data.table.table import Table
from mlcli.methods import Model
from mlcli.stages.algebra.metrics.points import with_metric_of


class Begin(Protocol):
    """What a run began with: the way from prepared rows back to features."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the features that decoded rows have."""

    @property
    def features(self) -> int:
        """Their number."""

    def undone(self, values: Array) -> Array:
        """Return prepared rows (m x c) as features (m x d), which may be out of range."""

    def back(self, values: Array) -> Array:
        """Return prepared rows (m x c) as features (m x d); raises NumericalError where these are out of range."""


class Result(Protocol):
    """All that a run has computed once its fit is done."""

    @property
    def config(self) -> RunConfig:
        """The options, with defaults resolved for the data."""

    @property
    def start(self) -> Begin:
        """What the run began with."""

    @property
    def source(self) -> Table:
        """The table that was read."""

    @property
    def given(self) -> Table:
        """All rows that the method was given."""

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
        """Return rows of a table read in blocks that are in memory, at most so many; None where all are."""


def compared(result: Result, table: Table) -> Input:
    """Return some of the prepared rows as the method compared them."""
    return with_metric_of(table.data(), result.config.method.with_metric(result.given.data()))
