"""The bases of all layouts and of neighbor embeddings among them, and the principal axes of a layout."""

from typing import ClassVar

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input, LengthGraph
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Powers


class LayoutMethod(Method):
    """The base of methods that minimize an objective over pairs of points, without an eigenproblem."""

    ranked_by: ClassVar = None
    decodes: ClassVar = None
    rules: ClassVar[tuple[str, ...]] = ()
    has_loadings: ClassVar = False
    variance_shares: ClassVar = False
    beside_baseline: ClassVar = True

    def stored(self, data: Input) -> float:
        """Return the bytes of training rows in the model, all of which place new points."""
        return 0.0 if data.points is None else 8.0 * data.points.size


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
