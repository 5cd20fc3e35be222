"""Lists of nearest neighbors in data and embedding, and how often each point is in one.

Source: Radovanović, Nanopoulos and Ivanović, 2010.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.sample_size import EXACT, sample_of
from mlcli.base.values.scaling import all_finite
from mlcli.core.similarities.spaces import EuclideanSpace, input_space
from mlcli.findings.frame.result import Result, as_compared

FEWEST = 3  # number of points with a skewness
BLOCK = 2**18  # distances in a block


def measure_hubness(result: Result, neighbors: int) -> Mapping[str, Any] | None:
    """Return the content of hubness.json; None where there are too few points."""
    table, embedding, seed = result.prepared, result.model.embedding, result.config.compute.seed
    if (sample := result.sample(EXACT)) is not None:
        table, embedding = table.take(sample), embedding[sample]
    rows = np.arange(len(embedding)) if all_finite(table.values) else np.flatnonzero(
        np.isfinite(table.values).all(axis=1))
    rows = rows[sample_of(len(rows), EXACT, result.config.compute.generator())]
    if len(rows) < FEWEST:
        return None
    if len(rows) < result.prepared.rows:
        note("N-HUBNESS-ROWS", f"hubness is counted among {len(rows):,} of {result.prepared.rows:,} rows")
    count = min(neighbors, len(rows) - 1)
    space = input_space(as_compared(result, table), rows)
    return {"rows": len(rows), "neighbors": count, "distances": space.name,
            "data": occurrences(lists(space, rows, count, seed), len(rows)),
            "embedding": occurrences(lists(EuclideanSpace.of(embedding, rows), rows, count, seed), len(rows))}


def lists(space: Any, rows: Indices, count: int, seed: int = 0) -> Indices:
    """Return the `count` nearest neighbors of each point among `rows`, an (m, count) array of positions in `rows`.

    `rows` is an (m,) array. Equal distances are in random order, drawn for each point: in a fixed order early points
    would be hubs.
    """
    def work(block: slice) -> Indices:
        apart = np.array(space.between(rows[block], rows), dtype=np.float64)
        apart[np.arange(len(apart)), np.arange(block.start, block.stop)] = np.inf
        places = np.broadcast_to(np.arange(len(rows)), apart.shape)
        order = np.random.default_rng([seed, block.start]).permuted(places, axis=1)
        first = np.argpartition(np.take_along_axis(apart, order, axis=1), count - 1, axis=1)[:, :count]
        return np.take_along_axis(order, first, axis=1)

    return np.concatenate(list(in_order(work, row_blocks(len(rows), BLOCK, len(rows)), progress=True)))


def occurrences(near: Indices, size: int) -> dict[str, Any]:
    """Return how often each of `size` points is in lists: N_k, its skewness E(N - μ)³/σ³, and the share in none.

    `near` is an (m, k) array of positions. Source: Radovanović, Nanopoulos and Ivanović, 2010.
    """
    numbers = np.bincount(near.ravel(), minlength=size)
    apart: Array = numbers - numbers.mean()
    spread = float(apart.std())
    return {"skewness": float(np.mean(apart**3) / spread**3) if spread > 0 else None,
            "antihubs": float(np.mean(numbers == 0)), "largest": int(numbers.max()),
            "counts": np.bincount(numbers).tolist()}
