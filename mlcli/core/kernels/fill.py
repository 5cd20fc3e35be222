"""Number of entries in the factor of a sparse cost; of many points extrapolated from two samples."""

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import in_stages
from mlcli.base.rows.memo import memoize
from mlcli.base.types import Array
from mlcli.core.graph.search import nearest

SIZES = 1000, 4000  # rows of the samples: a surface shows only over two doublings
SURFACE, MOST = 1.4, 2.0  # growth of a row's entries as points double: the most of a surface's, and of many dimensions'


def fill_of(points: Array, count: int, *, squared: bool) -> float | None:
    """Return about how many entries the factor has, for an (n, d) array of points with `count` neighbors each.

    The cost joins neighbors and, where it is `squared`, points that share a neighbor. By nested dissection a row's
    entries grow with the logarithm of the number of points on a surface, and with a power of it in more dimensions.
    Of points that are no more than the larger sample it is their number. None where there are no native kernels.
    """
    rows = len(points)
    if not native.available():
        return None
    if rows <= SIZES[1]:
        return float(_fill(points, min(count, rows - 1), squared))
    few, many = (_fill(points[np.linspace(0, rows - 1, size).astype(np.int64)], min(count, size - 1), squared) / size
                 for size in SIZES)
    apart, beyond = np.log2(SIZES[1] / SIZES[0]), np.log2(rows / SIZES[1])
    doubled = float(max(many, 1.0) / max(few, 1.0)) ** (1 / apart)
    if doubled <= SURFACE:
        return float(rows * (many + max(many - few, 0.0) / apart * beyond))
    return float(rows * many * min(doubled, MOST) ** beyond)


def _fill(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries below the diagonal of the factor, for a sample."""
    return memoize(f"fill {len(points)}", (points, count, squared), lambda: _eliminated(points, count, squared))


def _eliminated(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries below the diagonal of the factor of RᵀR.

    R has a row for each neighborhood where the cost is `squared`, else for each pair of neighbors.
    """
    lists, size = nearest(points, count), len(points)
    own = np.arange(size) if squared else lists.rows
    members = np.column_stack([own, lists.indices.reshape(len(own), -1)])
    starts = members.shape[1] * np.arange(len(own) + 1)
    factors = native.NormalCholesky(starts, members.ravel(), np.ones(members.size), columns=size, shift=1.0)
    for _ in in_stages(factors.steps, factors.prepare):
        pass
    return factors.fill
