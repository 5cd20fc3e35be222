"""Centering of the kernel rows of new points, as the training rows were centered (`core/kernels/forms.py`).

A kernel is a symmetric linear operator on n points. Centering it moves the origin of the feature space to the mean of
the points: H K H with H = I - 11ᵀ/n.
"""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import result, stored
from mlcli.base.types import Array


@result("centering")
@stored("centering", means="c")
@frozen
class Centering:
    """The centering of kernel rows of new points by the column means of the training rows."""

    means: Array  # one for each column of the rows
    across: bool  # whether each row's own mean goes as well, as in H K H

    def __call__(self, rows: Array, out: Array | None = None) -> Array:
        """Return centered rows (m x n) of kernel rows (m x n), in `out` if given, which may be these."""
        moved = np.subtract(rows, self.means, out=out)
        return np.subtract(moved, moved.mean(axis=1, keepdims=True), out=moved) if self.across else moved


def uncentered(size: int) -> Centering:
    """Return the centering of rows with `size` columns that changes nothing."""
    return Centering(np.zeros(size), across=False)
