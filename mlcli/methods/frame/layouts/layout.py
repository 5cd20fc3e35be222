"""The bases of all layouts and of neighbor embeddings among them, and the principal axes of a layout."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from pydantic import PrivateAttr

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input, LengthGraph
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.errors import ConfigError
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Powers
from mlcli.stages.eigen.axes import AUTO


@frozen
class FirstPoints:
    """Coordinates of points (m x p), by their ids (m), that a layout starts from in place of its own start."""

    points: Array
    ids: Sequence[str]

    def of(self, ids: Sequence[str]) -> Array:
        """Return the coordinates of some of the points, in their order (n x p)."""
        places = {name: place for place, name in enumerate(self.ids)}
        return np.array(self.points[[places[name] for name in ids]])


class LayoutMethod(Method):
    """The base of methods that minimize an objective over pairs of points, without an eigenproblem."""

    takes_start: ClassVar[bool] = True  # whether it can start from coordinates of the points
    _first: FirstPoints | None = PrivateAttr(default=None)  # a value of a call, and no option: a file has none

    ranked_by: ClassVar = None
    decodes: ClassVar = None
    rules: ClassVar[tuple[str, ...]] = ()
    has_loadings: ClassVar = False
    variance_shares: ClassVar = False
    beside_baseline: ClassVar = True

    def stored(self, data: Input) -> float:
        """Return the bytes of training rows in the model, all of which place new points."""
        return 0.0 if data.points is None else 8.0 * data.points.size

    def starting_at(self, points: Array, ids: Sequence[str]) -> Self:
        """Return the method that starts from given coordinates (m x p), in the layout's unit, of points by their ids.

        Their number of axes is that of the layout; raises ConfigError where another one was chosen.
        """
        axes, asked = points.shape[1], self.axes.components
        if self.axes.chosen("components") and asked not in (axes, AUTO):
            raise ConfigError("START", f"the start has {axes} {'axis' if axes == 1 else 'axes'}, and {asked} "
                              f"{'was' if asked == 1 else 'were'} requested", where="start",
                              hint="give a column for each axis, or leave the number of axes out")
        started = self.with_axes(axes)
        started._first = FirstPoints(points, ids)
        return started

    def first_points(self, data: Input) -> Array | None:
        """Return the coordinates that were given to start from (n x p); None where none were."""
        return None if self._first is None else self._first.of(data.ids)[:, : self.axes.count]

    def measured_in(self, unit: Unit, where: str = "method") -> Self:
        """Return the method in a unit of the data, which the coordinates to start from have as the layout has it."""
        measured, first = super().measured_in(unit, where), self._first
        if first is None:
            return measured
        measured, length = measured.replace(), unit**self.powers.coordinates
        measured._first = replace(first, points=length.measured(first.points))
        return measured


class NeighborEmbedding(LayoutMethod):
    """The base of layouts that only keep neighbors, of every kind of input that has them; the scale is of no meaning.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph, AffinityGraph)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    scaleless: ClassVar = True


def principal(points: Array) -> Array:
    """Return coordinates (n x p), centered and turned to their principal axes, with the common rule of signs."""
    center, axes = principal_axes(points)
    return np.asarray((points - center) @ axes)


def principal_axes(points: Array) -> tuple[Array, Array]:
    """Return the mean (p) and the principal axes (p x p, columns) of coordinates (n x p), with the rule of signs."""
    center = points.mean(axis=0)
    centered = points - center
    _, axes = np.linalg.eigh(centered.T @ centered)
    turn = axes[:, ::-1]
    return center, turn * leading_signs(centered @ turn)


def centered_axes(points: Array) -> Array:
    """Return coordinates (n x p) on principal axes, where they may lie far from zero: with small means taken again."""
    centered = points - points.mean(axis=0)
    return principal(centered - centered.mean(axis=0))
