"""Elimination orders by nested dissection, which decide the cost of every sparse elimination (George, 1973).

METIS orders where it is installed. The kernels' own dissection takes half its time and leaves up to a half more work
(relaxations of ten neighbors' graphs: a roll 7 to 10 % more, a torus 10, a sphere 19, wines 35, digits 57), so that it
orders where METIS has no wheels. Elimination in its order is still 30 to 1,000 times quicker than searches from all
points.
"""

import importlib.util

import numpy as np

from mlcli import native
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Indices


def available() -> bool:
    """Whether METIS is installed; it has no wheels for every machine."""
    return importlib.util.find_spec("pymetis") is not None


def nested_dissection(starts: AnyArray, indices: AnyArray) -> Indices:
    """Return the order (n) in which to eliminate the vertices of an undirected graph without loops, separators last.

    `starts` (n + 1) and `indices` are the row pointers and the column indices of the n x n adjacency matrix (CSR).
    """
    if len(indices) == 0:
        return np.arange(len(starts) - 1)
    if not available():
        note("N-NO-METIS", "pymetis is not installed: the kernels' own dissection orders the graph, whose "
                           "elimination takes up to half as long again")
        return native.dissection(starts, indices)
    import pymetis

    adjacency = pymetis.CSRAdjacency(starts.astype(np.int32), indices.astype(np.int32))
    order, _ = pymetis.nested_dissection(adjacency)
    return np.asarray(order, dtype=np.int64)
