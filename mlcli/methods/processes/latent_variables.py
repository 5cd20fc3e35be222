"""The base of methods of Gaussian processes: input, number of axes, units and starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.scaling import all_finite
from mlcli.core.chain.starts import Start, standardize
from mlcli.core.eigen.options import Axes, first_columns
from mlcli.core.model import Powers
from mlcli.errors import ConfigError, DataError
from mlcli.methods.method import Method


class GaussianProcessMethod(Method):
    """The base of methods whose coordinates Gaussian processes map to the features; fitted by L-BFGS from a start."""

    accepts: ClassVar = (Features,)
    missing: ClassVar = True
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "relevances of the axes"
    variance_shares: ClassVar = False
    rules: ClassVar = ()
    has_loadings: ClassVar = False
    decoder_variance: ClassVar = True
    repeat_tolerance: ClassVar = 1e-6
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        start: Start
        axes: Axes

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def require_complete(self, data: Input, others: str) -> None:
        """Raise DataError for a missing cell; `others` are the choices to propose."""
        if not all_finite(data.values):
            raise DataError("MISSING", f"{self.name} is fitted to complete rows; only rows that are projected may lack "
                            "cells", where="prepare.missing", hint=f"choose {others}")

    def starts(self, data: Features, compute: Compute) -> list[Array]:
        """Return the coordinates (n x p each) from which iterations start."""
        return [first_columns(standardize(points), self.axes.available_count(points.shape[1]))
                for points in self.start.points(data, compute, self.axes.count)]


def require_distinct(terms: Sequence[str], where: str) -> None:
    """Raise ConfigError for a term that occurs twice in a kernel, with one length scale or with one for each axis."""
    if len({term.removesuffix("-ard") for term in terms}) < len(terms):
        raise ConfigError("TERMS", "a term of the kernel is listed twice", where=where, hint="give it once")
