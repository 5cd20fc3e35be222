"""Likelihoods of rows given the decoder's outputs."""

from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array
from mlcli.base.values.inputs import Features
from mlcli.base.values.options import Options, option
from mlcli.errors import DataError
from mlcli.methods.networks.network import Activation
from mlcli.methods.networks.standard import Standard

if TYPE_CHECKING:
    Values = Any  # an array of NumPy, or one that JAX follows


class GaussianLikelihood(Options):
    """Gaussian noise, equal for every cell."""

    name: Literal["gaussian"] = "gaussian"
    last: ClassVar[Activation] = "identity"  # of the decoder
    dense: ClassVar[bool] = True  # whether it is a density, whose logarithm depends on the unit
    noise: float | None = option(None, "Variance of the noise (default: learned).", power=2, gt=0)

    def standard(self, data: Features) -> Standard:
        """Return the standardization of rows: centered, over one scale; raises DataError where all are equal."""
        found = Standard.of(data.values)
        found.require_variation()
        return found

    def level(self, standard: Standard) -> float | None:
        """Return the logarithm of the noise's variance over the squared scale; None where it is learned."""
        return None if self.noise is None else float(np.log(self.noise) - 2 * np.log(standard.scale))

    def log_density(self, rows: "Values", sums: "Values", level: "Values", module: Any) -> "Values":
        """Return log p of each row, given the decoder's sums; `module` is numpy or jax.numpy."""
        squares = module.square(rows - sums) / module.exp(level)
        return -0.5 * module.sum(squares + level + np.log(2 * np.pi), axis=-1)


class BernoulliLikelihood(Options):
    """Every cell is 1 with a probability of its own; numbers between 0 and 1 count as shares of both."""

    name: Literal["bernoulli"] = "bernoulli"
    last: ClassVar[Activation] = "logistic"
    dense: ClassVar[bool] = False

    def standard(self, data: Features) -> Standard:
        """Return the standardization that changes nothing; raises DataError for a cell outside of 0 to 1."""
        wrong = first_outside(data.values) if data.unit.exponent == 0 else (0, 0, float(data.values[:1][0, 0]))
        if wrong is not None:
            row, column, value = wrong
            raise DataError("BERNOULLI", f"column {data.columns[column]!r}: {data.unit.number(value):.6g} is not "
                            "between 0 and 1", where="method.likelihood", row=row,
                            hint="choose method.likelihood.name gaussian, or {prepare.scale=range}")
        return Standard.plain(data.values.shape[1])

    def level(self, standard: Standard) -> float | None:
        """Return 0: there is no noise."""
        return 0.0

    def log_density(self, rows: "Values", sums: "Values", level: "Values", module: Any) -> "Values":
        """Return log p of each row, given the logits."""
        return module.sum(rows * sums - module.logaddexp(sums, 0.0), axis=-1)


def first_outside(points: Array) -> tuple[int, int, float] | None:
    """Return row, column and value of the first number of points (n x d) that is not between 0 and 1, or None."""
    rows = rows_of(points)
    if rows is not None and rows.min(axis=0).min() >= 0 and rows.max(axis=0).max() <= 1:
        return None
    blocks = [(0, points)] if rows is None else chain.from_iterable(map(rows.parts, range(rows.blocks)))
    for first, some in blocks:
        for row, column in np.argwhere((some < 0) | (some > 1))[:1].tolist():
            return first + row, column, float(some[row, column])
    return None


Likelihood = Annotated[GaussianLikelihood | BernoulliLikelihood, Field(discriminator="name")]
