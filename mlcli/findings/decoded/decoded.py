"""The numbers of a decoder's pictures, the content of decoded.npz."""

import io
from math import isqrt

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices

ROWS = 8  # number of rows with reconstructions
CANDIDATES = 2_000  # number of rows from which these are chosen
IMAGES, LINES = 10, 5  # places along each axis of the grid: of images, of profiles
CELLS = 2**18  # pixels of all images of the grid together, about
FEWEST = 3  # places along an axis where images are large
SHADES = 60, 65  # cells of the background across and up, at most


@stored("decoded", within={"rows": "n"}, rows="m", originals="md", reconstructed="md", errors="m", plane="gd",
        ends="at", deviations="uv")
@frozen
class Decoded:
    """Rows with their reconstructions, and the features of places on the plane of the first two axes.

    Features are in the input's units, or as a transform without an inverse left them.
    """

    rows: Indices  # m: row numbers in the embedding, from the smallest error to the largest
    originals: Array  # m x d, NaN where a cell is missing
    reconstructed: Array  # m x d
    errors: Array  # m: distance to the reconstruction, in the units of the prepared data
    plane: Array  # s² x d: from the upper left, y2 downward and y1 to the right; s x d where there is one axis
    ends: Array  # 2 x 2: the first and the last place of the grid on each axis; 1 x 2
    deviations: Array | None = None  # cells up x across: posterior standard deviations over the scatter plot's panel

    @property
    def side(self) -> int:
        """Number of places along an axis of the grid."""
        return len(self.plane) if len(self.ends) == 1 else isqrt(len(self.plane))

    def require_sense(self) -> None:
        """Raise ValueError where the numbers cannot be drawn, or are more than a run writes."""
        for name, value in vars(self).items():
            fine = value is None or (~np.isinf(value) if name == "originals" else np.isfinite(value)).all()
            if not fine or (value is not None and not value.size):
                raise ValueError(f"{name} is empty, or holds a number that is not finite")
        many = len(self.rows) > ROWS or self.side > IMAGES or len(self.plane) != self.side ** len(self.ends)
        if many or self.ends.shape not in ((1, 2), (2, 2)):
            raise ValueError("its rows or its grid are of another size")
        if self.deviations is not None and (self.deviations.shape[0] > SHADES[1] or self.deviations.shape[1] > SHADES[0]
                                            or self.deviations.min() < 0):
            raise ValueError("deviations are below zero, or more than a run writes")

    def npz(self) -> bytes:
        """Return the content of decoded.npz."""
        buffer = io.BytesIO()
        np.savez(buffer, **{name: value for name, value in vars(self).items() if value is not None})
        return buffer.getvalue()
