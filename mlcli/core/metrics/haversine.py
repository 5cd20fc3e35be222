"""Great-circle distances on the globe."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.arithmetic import series
from mlcli.core.metrics.base import Metric
from mlcli.core.metrics.domain import Domain
from mlcli.errors import DataError

RADIUS = 6371.0088  # kilometers, the mean radius of the Earth (IUGG)
# Series of sin x / x in x² up to x = π/2, and of arcsin x / x up to x = sin(π/16), to the last digit.
ODD = np.arange(1.0, 24, 2)
SINE: Array = np.cumprod(np.append(1.0, -1 / ((ODD + 1) * (ODD + 2))))[::-1].astype(float)
ARCSINE: Array = np.cumprod(np.append(1.0, ODD * ODD / ((ODD + 1) * (ODD + 2))))[::-1].astype(float)


@stored("haversine-metric")
class Haversine(Metric):
    """The shortest way over a sphere of the Earth's mean radius, 6371.0088 km, in kilometers.

    Two columns, latitude and longitude, in degrees. The Earth is flatter than a sphere: up to 0.6 % off.
    """

    name: Literal["haversine"] = "haversine"
    column_seconds: ClassVar[float] = 1e-8
    scalable: ClassVar[bool] = False

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse other shapes than n x 2, latitudes beyond ±90 and longitudes beyond ±360; raises DataError."""
        if points.shape[1] != 2:
            raise DataError("METRIC", f"haversine needs two columns, latitude and longitude, not {points.shape[1]}",
                            where="method.metric", hint="choose them with {input.columns}, latitude first")
        Domain(self.name, points, ids, columns).require_cells(
            np.abs(points) <= [90.0, 360.0], "up to 90 degrees of latitude, then 360 of longitude",
            "correct the cell; latitude is the first column ({input.columns=latitude,longitude})")

    def represent(self, points: Array) -> Array:
        """Return latitude and longitude in degrees, and the latitude's cosine (n x 3).

        Differences of degrees are exact for near points.
        """
        return np.column_stack([points, _cosine(2 * points[:, 0])])

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) in kilometers of represented rows (m x 3, n x 3)."""
        (latitude, longitude, cosine), (other, across, beside) = left.T[:, :, None], right.T
        chord = _sine(latitude - other) ** 2 + cosine * beside * _sine(longitude - across) ** 2
        found: Array = 2 * RADIUS * _arcsine(np.minimum(chord, 1.0))
        rows, columns = np.nonzero(chord > 0.5)
        found[rows, columns] = RADIUS * np.pi - self._compare_beyond(left[rows], right[columns])
        return found

    def _compare_beyond(self, left: Array, right: Array) -> Array:
        """Return distances (m) of points (m x 3) from the antipodes of others (m x 3).

        The arcsine of a chord near one has half the digits, so far points are measured from the antipode. One less
        the squared chord is sin²((φ + φ')/2) sin²((λ - λ')/2) + cos²((φ - φ')/2) cos²((λ - λ')/2).
        """
        (latitude, longitude, _), (other, across, _) = left.T, right.T
        away, along = latitude - other, longitude - across
        rest = (_sine(latitude + other) * _sine(along)) ** 2 + (_cosine(away) * _cosine(along)) ** 2
        found: Array = 2 * RADIUS * _arcsine(rest)
        return found


def _sine(degrees: Array) -> Array:
    """Return the sine of half an angle in degrees, but for its sign."""
    angles = (degrees - 360 * np.rint(degrees / 360)) * (np.pi / 360)  # from -π/2 to π/2
    return np.asarray(angles * series(angles * angles, SINE))


def _cosine(degrees: Array) -> Array:
    """Return the cosine of half an angle in degrees, but for its sign."""
    return _sine(180 - np.abs(degrees))


def _arcsine(square: Array) -> Array:
    """Return the angle whose sine has some square up to a half, from that of a fourth of the angle."""
    for _ in range(2):
        square = square / (2 * (1 + np.sqrt(1 - square)))
    return np.asarray(4 * np.sqrt(square) * series(square, ARCSINE))
