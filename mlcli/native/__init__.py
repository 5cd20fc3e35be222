"""The native kernels: each computes one block of work with the interpreter's lock released."""

from mlcli.native.cholesky import Cholesky
from mlcli.native.differences import differences, squared_at
from mlcli.native.elimination import Elimination, Precision, Weights
from mlcli.native.library import absence, available, describe
from mlcli.native.nearest import KdTree, Smallest, refine, select_neighbors
from mlcli.native.paths import STRIP, dijkstra_rows, floyd_pivot, floyd_rows, pieces
from mlcli.native.text import numbered_lines
from mlcli.native.triangles import undercuts

__all__ = ["STRIP", "Cholesky", "Elimination", "KdTree", "Precision", "Smallest", "Weights", "absence", "available",
           "describe", "differences", "dijkstra_rows", "floyd_pivot", "floyd_rows", "numbered_lines", "pieces",
           "refine", "select_neighbors", "squared_at", "undercuts"]
