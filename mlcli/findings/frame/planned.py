"""A planned run, from which findings predict their cost."""

from collections.abc import Sequence

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.config.run_config import RunConfig
from mlcli.data.table.table import Table
from mlcli.methods import Method


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
