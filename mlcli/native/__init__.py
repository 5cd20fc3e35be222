"""The native kernels: each computes one block of work with the interpreter's lock released."""

from mlcli.native.elimination import Elimination, Folded, Precision, Weights
from mlcli.native.library import available, describe
from mlcli.native.nearest import refine, select_neighbors
from mlcli.native.paths import STRIP, dijkstra_rows, floyd_pivot, floyd_rows, floyd_warshall

__all__ = ["STRIP", "Elimination", "Folded", "Precision", "Weights", "available", "describe", "dijkstra_rows",
           "floyd_pivot", "floyd_rows", "floyd_warshall", "refine", "select_neighbors"]
