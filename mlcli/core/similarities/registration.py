"""The registration of a map onto an earlier one of the same rows: turned or mirrored, moved, scaled if that is free."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.core.arithmetic import combine, dot, inner_products, symmetric_eigen
from mlcli.core.similarities.base import AmongFixed
from mlcli.core.similarities.projector import Affine, NoProjection, Projector
from mlcli.errors import ConfigError

FLAT = 1e-14  # of the largest singular value: a smaller one leaves the direction open


@stored("registration", turn="pp", shift="p")
@frozen
class Registration:
    """The map y -> c y Q + t of coordinates onto those of an earlier run."""

    scale: float
    turn: Array  # Q, orthogonal (p x p)
    shift: Array  # t (p)
    m2: float  # the symmetric Procrustes statistic of the rows that both maps have

    def __call__(self, points: Array) -> Array:
        """Return coordinates (n x p) in the earlier map."""
        return self.scale * combine(points, self.turn) + self.shift

    def undo(self, points: Array) -> Array:
        """Return coordinates (n x p) as they were before."""
        return combine((points - self.shift) / self.scale, np.ascontiguousarray(self.turn.T))

    @classmethod
    def of(cls, points: Array, targets: Array, m2: float, *, scaled: bool) -> "Registration":
        """Return the one with the least Σ |c y Q + t - z|² of points y and their targets z (n x p each).

        Q is the orthogonal factor of Yᵀ Z, both centered, and c the trace of the other factor over Σ |y|². Source:
        Gower, 1975.
        """
        center, middle = points.mean(axis=0), targets.mean(axis=0)
        moved, aims = points - center, targets - middle
        turn = orthogonal_factor(inner_products(moved, aims))
        turned = combine(moved, turn)
        size = dot(moved, moved)
        scale = dot(turned, aims) / size if scaled and size > 0 else 1.0
        if not scale > 0:
            scale = 1.0
        return cls(float(scale), turn, middle - scale * combine(center[None, :], turn)[0], m2)


def orthogonal_factor(matrix: Array) -> Array:
    """Return the orthogonal Q nearest to a matrix (p x p), where that leaves directions open with any of them."""
    values, vectors = symmetric_eigen(inner_products(matrix, matrix))
    order = np.argsort(-values, kind="stable")
    images, columns = combine(matrix, np.ascontiguousarray(vectors[:, order])), list[Array]()
    largest = float(np.sqrt(max(float(values.max(initial=0.0)), 0.0)))
    for image in [*images.T, *np.eye(len(matrix))]:  # those of large values, then what completes them
        rest = image.copy()
        for _ in range(2):
            for column in columns:
                rest = rest - dot(rest, column) * column
        size = float(np.sqrt(dot(rest, rest)))
        floor = FLAT * largest if len(columns) < len(matrix) and any(image is one for one in images.T) else 0.5
        if size > floor and len(columns) < len(matrix):
            columns.append(rest / size)
    return combine(np.stack(columns, axis=1), np.ascontiguousarray(vectors[:, order].T))


@stored("registered", axes="cp")
@frozen
class RegisteredProjector(Projector):
    """A projector whose coordinates are registered onto an earlier map."""

    registration: Registration | None = None

    @property
    def _onto(self) -> Registration:
        assert self.registration is not None
        return self.registration

    def project(self, new: Array) -> Array:
        """Return coordinates (m x p) of new points (m x d) in the earlier map."""
        return self._onto(super().project(new))

    def own_coordinates(self, embedding: Array) -> Array:
        """Return coordinates (m x p) as they were before the turn, in the units of the computation."""
        return super().own_coordinates(self._onto.undo(embedding))

    def unexplained(self, new: Array, embedding: Array) -> AnyArray:
        """Return a mask (m) of the new rows that the decoder does not explain at coordinates (m x p)."""
        return super().unexplained(new, self._onto.undo(embedding))

    @property
    def decode(self) -> Callable[[Array], Array] | None:
        """The map from coordinates to features."""
        found = super().decode
        return None if found is None else lambda points: found(self._onto.undo(points))

    @property
    def decode_rows(self) -> Callable[[Array], Array] | None:
        """The map from coordinates of training rows to features, by other rows."""
        found = super().decode_rows
        return None if found is None else lambda points: found(self._onto.undo(points))

    def deviation(self, places: Array) -> Array | None:
        """Return the posterior standard deviation of a feature at places (m x p)."""
        return super().deviation(self._onto.undo(places))

    @property
    def affine(self) -> Affine | None:
        """The decoder where it is affine, of registered coordinates."""
        found, unit = super().affine, self.output_unit
        if found is None:
            return None
        directions = found.directions @ self._onto.turn / self._onto.scale
        return Affine(found.mean - directions @ unit.measured(self._onto.shift), directions)


def registered(projector: Projector | NoProjection, onto: Registration) -> Projector | NoProjection:
    """Return a projector whose coordinates are registered; of a layout the coordinates of its points are.

    Raises ConfigError for one that does more than place points.
    """
    if isinstance(projector, NoProjection):
        return projector
    similarity = projector.similarity
    if isinstance(similarity, AmongFixed):
        unit = projector.output_unit
        moved = unit.measured(onto(unit.plain(similarity.coordinates)))
        return replace(projector, similarity=replace(similarity, coordinates=moved))  # type: ignore[call-arg]
    if type(projector) is not Projector:
        raise ConfigError("ONTO-WAY", "a fit whose projector gives more than coordinates cannot be turned onto a map",
                          where="onto.way", hint="leave {onto.way=refit} out")
    parts = {name: getattr(projector, name) for name in Projector.__dataclass_fields__}
    return RegisteredProjector(**parts, registration=onto)


def unregistered(projector: Projector | NoProjection, onto: Registration) -> Projector | NoProjection:
    """Return the projector before it was registered."""
    if isinstance(projector, RegisteredProjector):
        return Projector(**{name: getattr(projector, name) for name in Projector.__dataclass_fields__})
    if isinstance(projector, Projector) and isinstance(projector.similarity, AmongFixed):
        unit, similarity = projector.output_unit, projector.similarity
        before = unit.measured(onto.undo(unit.plain(similarity.coordinates)))
        return replace(projector, similarity=replace(similarity, coordinates=before))  # type: ignore[call-arg]
    return projector


def require_turnable(parts: Sequence[object], name: str) -> None:
    """Raise ConfigError for parts of a model, besides coordinates, that cannot be turned with them."""
    if any(part is not None for part in parts):
        raise ConfigError("ONTO-WAY", f"{name} states more of each row than its coordinates, which cannot be turned "
                          "onto a map", where="onto.way", hint="leave {onto.way=refit} out")
