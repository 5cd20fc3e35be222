"""Signs that data is of another kind than its options say."""

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.checkup.report import Euclidean, Triangle
from mlcli.data.pairs.triangles import SHARE


def look_squared(triangle: Triangle, euclidean: Euclidean | None) -> bool:
    """Whether many triples break the triangle inequality, and the square roots, if examined, are Euclidean."""
    return triangle.share > SHARE and (euclidean is None or euclidean.roots_are_euclidean)


def look_like_dissimilarities(values: Array) -> bool:
    """Whether an (n, d) array is square and symmetric, with a zero diagonal and no number below zero."""
    rows, columns = values.shape
    if rows != columns or rows < 3 or np.diag(values).any() or not values.any():
        return False
    return all(bool((values[block] >= 0).all() and (values[block] == values[:, block].T).all())
               for block in row_blocks(rows, 512))
