"""The Laplacian kernel: similarity falls exponentially with distance."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.options import Power, option
from mlcli.base.values.products import Name
from mlcli.base.values.scaling import Unit
from mlcli.core.kernels.functions import median_length
from mlcli.core.kernels.options import OF_DISTANCES, KernelOptions


@stored("laplacian")
class LaplacianKernel(KernelOptions):
    """exp(-rate d), with d the distance of two points: rougher than the gaussian kernel, and with a longer tail."""

    name: Literal["laplacian"] = "laplacian"
    of_distances: ClassVar[bool] = True
    bent: ClassVar[bool] = True
    makes: ClassVar[tuple[Name, ...]] = ("distances", "kernel")
    rules: ClassVar[tuple[str, ...]] = OF_DISTANCES
    exponent: ClassVar[int] = 1
    unit_power: ClassVar[int] = 0  # power of the data's unit in the coordinates
    rate: float | None = option(
        None, "Rate r of exp(-r d) (default: one over the median of d over all pairs of different points).",
        power=-1, gt=0, synonyms={
            "gamma": Power("gamma", 1, 1), "sigma": Power("1 / sigma", 1, -1), "length_scale": "1 / length_scale"})

    def for_halved(self, values: Array, unit: Unit) -> "LaplacianKernel":
        """Return the kernel with a default rate fixed from an (n, n) array of -δ²/2, with δ in `unit`."""
        if self.rate is not None:
            return self
        middle = median_length(values, self.exponent)
        if not middle:
            return self.replace(rate=1.0)
        note("N-RATE", f"laplacian rate {(unit**-1).shown(1 / middle)}: one over the median distance",
             rate=(unit**-1).number(1 / middle))
        return self.replace(rate=1 / middle)

    def of_halved(self, values: Array) -> Array:
        """Turn an array of -δ²/2 for any distances δ, of any shape, into values in place."""
        values *= -2
        np.sqrt(values, out=values)
        values *= -(self.rate or 0.0)
        return np.exp(values, out=values)
