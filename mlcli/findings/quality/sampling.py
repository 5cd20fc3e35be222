"""Anchors: the points from which quality is measured, and standard errors where they are a sample."""

from collections.abc import Callable

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.sample_size import automatic

Sums = dict[str, AnyArray]  # terms of each anchor in a sum, along the first axis
Values = Callable[[Sums], dict[str, Array]]  # measures from sums, over any leading axes


@frozen
class Anchors:
    """The points from which neighborhoods and distances are measured."""

    rows: Indices  # row numbers in ascending order
    size: int  # number of all points

    @property
    def exact(self) -> bool:
        """Whether they are all points."""
        return len(self.rows) == self.size

    @classmethod
    def choose(cls, size: int, work: float, sample: int | str, generator: np.random.Generator) -> "Anchors":
        """Return all points, or a simple random sample; `work` is the cost of one pair's distances in multiplications.
        """
        count = int(sample) if sample != "auto" else automatic(size, work)
        rows = np.arange(size) if count >= size else np.sort(generator.choice(size, count, replace=False))
        return cls(rows, size)

    def estimates(self, values: Values, sums: Sums) -> dict[str, Array]:
        """Return the measures of all anchors together and, where they are a sample, their standard errors as NAME_se.

        The errors are the jackknife's (Efron and Tibshirani, 1993, section 11.5), with the correction for a sample
        without replacement.
        """
        total = {name: part.sum(axis=0) for name, part in sums.items()}
        estimates, count = values(total), len(self.rows)
        if self.exact:
            return estimates
        without = values({name: total[name] - part for name, part in sums.items()})
        factor = (1 - count / self.size) * (count - 1) / count
        errors = {name: np.sqrt(factor * np.square(part - part.mean(axis=0)).sum(axis=0))
                  for name, part in without.items()}
        return estimates | {f"{name}_se": error for name, error in errors.items()}
