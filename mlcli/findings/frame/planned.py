"""A run before it is made, as findings see it to predict what they cost."""

from collections.abc import Sequence

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.config.run_config import RunConfig
from mlcli.data.table.table import Table
from mlcli.methods import Method


@frozen
class Planned:
    """A run before it is made."""

    config: RunConfig
    method: Method  # with defaults resolved for the data
    table: Table  # prepared rows
    features: int  # of decoded rows
    fit: Sequence[Step]
    memory: float  # bytes that checks of a result take

    @property
    def threads(self) -> int:
        """How many threads compute."""
        return self.config.compute.thread_count()

    @property
    def points(self) -> bool:
        """Whether rows are at hand, which those of a covariance matrix are not."""
        return self.table.kind != "covariance"
