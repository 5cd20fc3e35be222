"""Elimination orders by nested dissection, which decide the cost of every sparse elimination (George, 1973; METIS)."""

import importlib.util

import numpy as np

from mlcli.base.types import AnyArray, Indices

REFINEMENTS = 10  # METIS's own choice
FEW = 1  # takes four fifths of the time for 3 % more fill, where a factor is used for a few solutions only


def available() -> bool:
    """Whether METIS is installed; it has no wheels for every machine."""
    return importlib.util.find_spec("pymetis") is not None


def nested_dissection(starts: AnyArray, indices: AnyArray, refinements: int = REFINEMENTS) -> Indices:
    """Return the order (n) in which to eliminate the vertices of an undirected graph without loops, separators last.

    `starts` (n + 1) and `indices` are the row pointers and the column indices of the n x n adjacency matrix (CSR).
    `refinements` is the number of times that METIS improves a separator at each level.
    """
    import pymetis

    if len(indices) == 0:
        return np.arange(len(starts) - 1)
    adjacency = pymetis.CSRAdjacency(starts.astype(np.int32), indices.astype(np.int32))
    order, _ = pymetis.nested_dissection(adjacency, options=pymetis.Options(niter=refinements))
    return np.asarray(order, dtype=np.int64)
