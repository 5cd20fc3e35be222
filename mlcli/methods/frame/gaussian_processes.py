"""What the methods of Gaussian processes share: their input, how many axes there can be, units, and where they start.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.scaling import all_finite
from mlcli.errors import ConfigError, DataError
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Powers
from mlcli.stages.chain.starts import Start, standardized
from mlcli.stages.eigen.axes import Axes, first_columns


class OfProcesses(Method):
    """Coordinates from which Gaussian processes lead to the features, found by L-BFGS from a start."""

    accepts: ClassVar = (Features,)
    missing: ClassVar = True
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "relevances of the axes"
    shares: ClassVar = False
    rules: ClassVar = ()
    loaded: ClassVar = False
    unsure: ClassVar = True
    digits: ClassVar = 1e-6
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        start: Start
        axes: Axes

    def limit(self, data: Input) -> int:
        """The smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def require_complete(self, data: Input, others: str) -> None:
        """Raises DataError for a missing cell; `others` are what to choose then."""
        if not all_finite(data.values):
            raise DataError("MISSING", f"{self.name} is fitted to complete rows; only rows that are projected may lack "
                            "cells", where="prepare.missing", hint=f"choose {others}")

    def starts(self, data: Features, compute: Compute) -> list[Array]:
        """The coordinates (n x p each) from which iterations begin."""
        return [first_columns(standardized(points), self.axes.available_count(points.shape[1]))
                for points in self.start.points(data, compute, self.axes.count)]


def require_distinct(terms: Sequence[str], where: str) -> None:
    """Raises ConfigError where a term of a kernel is given twice, with one length scale or with one for each axis."""
    if len({term.removesuffix("-ard") for term in terms}) < len(terms):
        raise ConfigError("TERMS", "a term of the kernel stands twice", where=where, hint="give it once")
