"""What the model of a run that adds rows to a map holds beside its projector, for certificate and later runs."""

from hashlib import sha256

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.core.similarities.projector import NoProjection, Projector
from mlcli.core.similarities.registration import Registration


def hash_of(coordinates: Array) -> str:
    """Return the SHA-256 of coordinates (n x p), as doubles in little-endian order."""
    return sha256(np.ascontiguousarray(coordinates, dtype="<f8").tobytes()).hexdigest()


@stored("map-rows", kept="K", points="RD")
@frozen
class MapRows:
    """The rows of a map that grew: those whose coordinates are the former run's, and the prepared rows."""

    way: str  # fixed, refit or tied
    kept: Indices  # m: rows that the former run has as well, but for those placed anew
    sha256: str  # of their coordinates in this run if they are fixed, else of those in the former one
    points: Array | None  # r x k; None where the similarity of the model holds them
    rows: int  # r
    registration: Registration | None = None  # of rows that were fitted anew

    def __post_init__(self) -> None:
        """Raise ValueError for places of rows that are not there, as of a damaged model."""
        if self.kept.size and not 0 <= self.kept.min() <= self.kept.max() < self.rows:
            raise ValueError("places are those of rows")
        if self.points is not None and len(self.points) != self.rows:
            raise ValueError("there is a point for each row")


def points_of(projector: Projector | NoProjection, count: int) -> Array | None:
    """Return the rows (n x d) of a fit, in plain numbers, that a projector holds; None where it does not hold all."""
    if isinstance(projector, NoProjection):
        return None
    parts = projector.similarity.parts
    points, moved = parts.points, parts.origin is not None and bool(parts.origin.any())
    if points is None or moved or parts.landmarks is not None or len(points) != count:
        return None
    return np.asarray(projector.input_unit.plain(points))
