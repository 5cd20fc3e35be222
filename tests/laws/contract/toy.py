"""Two methods in the table beside the others, and commands run with them: one without a spectrum and with a decoder of
its own, one that cannot place new points.

As a program, with a JSON list of command lines as its argument, it prints the exit code of each.
"""

import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli import methods
from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.quantity import Quantity
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import Axes
from mlcli.core.minimize import Minimize
from mlcli.core.model import Model
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Decoder, NoProjection, Projector


@stored(mean="d", slope="d", bend="d")
@frozen
class Parabola(Decoder):
    """A curve in the space of the features: mean + slope y + bend y²."""

    mean: Array  # d
    slope: Array  # d
    bend: Array  # d

    def __call__(self, embedding: Array) -> Array:
        """The points of the curve."""
        return self.mean + embedding * self.slope + embedding**2 * self.bend


class Toy(methods.Method):
    """The first column as the coordinate, and the parabola in it nearest to the points.

    Source: this test.
    """

    accepts: ClassVar = (Features,)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    name: Literal["toy"] = "toy"
    axes: Axes = Axes()
    minimize: Minimize = Minimize()

    def limit(self, data: Input) -> int:
        """One axis."""
        return 1

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """One minimization."""
        return [Step("iterate", "some dozens of iterations", 1e-6 * data.values.size, 8.0 * data.values.size)]

    def solve(self, data: Features, compute: Compute) -> Model:
        """min Σ ‖x - mean - slope y - bend y²‖²."""
        mean = data.values.mean(axis=0)
        axes = np.eye(len(mean), 1)
        embedding = (data.values - mean) @ axes
        basis = np.column_stack([embedding, embedding**2])

        def errors(parameters: Array) -> tuple[float, Array]:
            off = basis @ parameters.reshape(2, -1) - (data.values - mean)
            return float(np.sum(off**2)), 2 * (basis.T @ off).ravel()

        found = self.minimize(errors, compute.generator().standard_normal(2 * len(mean)))
        slope, bend = found.state.values.reshape(2, -1)
        projector = Projector(Columns(), Centering(mean, across=False), axes, Parabola(mean, slope, bend))
        return Model(embedding=embedding, projector=projector, objective=Quantity(found.trace, 2),
                     fit={"left": Quantity(found.state.objective, 2), **found.facts})


class Fixed(methods.Method):
    """The first two columns as coordinates, with no way to place other points.

    Source: this test.
    """

    accepts: ClassVar = (Features,)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    name: Literal["fixed"] = "fixed"
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Two axes."""
        return 2

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """A copy."""
        return [Step("iterate", "a copy", 1e-9 * data.values.size, 8.0 * data.values.size)]

    def solve(self, data: Features, compute: Compute) -> Model:
        """The columns, centered."""
        return Model(embedding=data.values[:, :2] - data.values[:, :2].mean(axis=0), projector=NoProjection(
            "fixed coordinates belong to the rows of their fit alone", "fit all rows together"))


def main(commands: Sequence[Sequence[str]]) -> list[Any]:
    """The exit codes of commands, where the toy is one of the methods; what they print goes to standard error."""
    methods.METHODS.add(Toy)
    methods.METHODS.add(Fixed)
    from mlcli.cli.program import run

    codes = []
    for command in commands:
        with contextlib.redirect_stdout(sys.stderr):
            codes.append(run([*command]))
    return codes


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
