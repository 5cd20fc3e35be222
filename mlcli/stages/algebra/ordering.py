"""Elimination orders by nested dissection, which decide the cost of every sparse elimination (George, 1973; METIS)."""

import importlib.util

import numpy as np

from mlcli.base.types import AnyArray, Indices


def available() -> bool:
    """Whether METIS is installed; it has no wheels for every machine."""
    return importlib.util.find_spec("pymetis") is not None


def nested_dissection(starts: AnyArray, indices: AnyArray) -> Indices:
    """Return the order (n) in which to eliminate the vertices of an undirected graph without loops, separators last.

    `starts` (n + 1) and `indices` are the row pointers and the column indices of the n x n adjacency matrix (CSR).
    """
    import pymetis

    if len(indices) == 0:
        return np.arange(len(starts) - 1)
    adjacency = pymetis.CSRAdjacency(starts.astype(np.int32), indices.astype(np.int32))
    order, _ = pymetis.nested_dissection(adjacency)
    return np.asarray(order, dtype=np.int64)
