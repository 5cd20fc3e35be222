"""The native kernels: each computes one block of work with the interpreter's lock released.

Threads come from `base/rows/blocks.py`. `src/level.cpp` is compiled once for each instruction set into a namespace of
its own and must use no template of the standard library, so that no shared copy needs a newer processor. Indices from
outside are checked in `bind_*.cpp` and nowhere else. `MLCLI_SIMD=base|v3|v4` forces an instruction set, `none` runs
without kernels, and anything else is refused. A build has the instruction set of its machine and the base, or all, by
`MLCLI_LEVELS=native|all`; `MLCLI_REQUIRE_NATIVE=1` makes a build without a compiler fail, and the tests insist on it.
"""

from mlcli.native.library import absence, available, describe, lower_level, machine_levels
from mlcli.native.linalg import (
    ByteRows,
    NormalCholesky,
    dissection,
    gram,
    has_byte_products,
    lift_rows,
    lower_rows,
    products_of_rows,
    project,
)
from mlcli.native.paths import (
    STRIP,
    Elimination,
    Precision,
    Weights,
    dijkstra_rows,
    floyd_pivot,
    floyd_rows,
    join_lists,
    pieces,
    strong_pieces,
    undirected,
)
from mlcli.native.points import (
    GROUP,
    BlockedPoints,
    KdTree,
    Smallest,
    amount_distances,
    block_order,
    differences,
    keys_before,
    numbered_lines,
    order_points,
    pair_sums,
    ranks_of_points,
    refine,
    select_neighbors,
    squared_at,
    undercuts,
)

__all__ = [
           "GROUP",
           "STRIP",
           "BlockedPoints",
           "ByteRows",
           "Elimination",
           "KdTree",
           "NormalCholesky",
           "Precision",
           "Smallest",
           "Weights",
           "absence",
           "amount_distances",
           "available",
           "block_order",
           "describe",
           "differences",
           "dijkstra_rows",
           "dissection",
           "floyd_pivot",
           "floyd_rows",
           "gram",
           "has_byte_products",
           "join_lists",
           "keys_before",
           "lift_rows",
           "lower_level",
           "lower_rows",
           "machine_levels",
           "numbered_lines",
           "order_points",
           "pair_sums",
           "pieces",
           "products_of_rows",
           "project",
           "ranks_of_points",
           "refine",
           "select_neighbors",
           "squared_at",
           "strong_pieces",
           "undercuts",
           "undirected",
]
