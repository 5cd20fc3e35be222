"""A generated experiment: counts of genes in cells of several types and batches, reproducible by seed."""

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.data.table.table import Table

TYPES = {"B": 0.3, "T": 0.25, "NK": 0.15, "monocyte": 0.15, "dendritic": 0.1, "platelet": 0.05}  # with their shares
BATCHES = ("one", "two", "three")
MARKERS, RAISED = 0.03, 2.0  # share of the genes that a type raises, and the mean of their log ratios
BATCH, SIZE = 0.5, 0.35  # standard deviations of log ratios: of a gene between batches, of a cell's size
DEPTH = 2000.0  # mean total count of a cell
SPREAD = 4.0  # shape of the gamma distribution: its variance is the square of its mean over this
BLOCK = 256  # cells drawn from one stream


def cell_counts(rows: int, genes: int, seed: int) -> Table:
    """Return negative binomial counts (rows x genes), with the labels `type` and `batch`.

    A gene's mean is a cell's size times a log-normal base, times the ratios of its type and its batch.
    Types and batches are independent. The first m rows of n are the sample of m rows.
    """
    levels = np.random.default_rng([seed, 2])
    base = np.exp(levels.normal(0.0, 1.5, genes))
    marked = levels.random((len(TYPES), genes)) < MARKERS
    raised = marked * levels.normal(RAISED, 0.5, (len(TYPES), genes))
    shifted = levels.normal(0.0, BATCH, (len(BATCHES), genes))
    types, batches, sizes = cells(rows, seed)
    values = np.empty((rows, genes))
    for number, start in enumerate(range(0, rows, BLOCK)):
        some = slice(start, min(start + BLOCK, rows))
        means = base * np.exp(raised[types[some]] + shifted[batches[some]])
        means *= (DEPTH * sizes[some] / means.sum(axis=1))[:, None]
        noise, counts = (np.random.default_rng([seed, stream, number]) for stream in (3, 4))
        values[some] = counts.poisson(means * noise.gamma(SPREAD, 1 / SPREAD, means.shape))
    names = tuple(TYPES)
    return Table(values=values, columns=tuple(f"gene{number}" for number in range(1, genes + 1)),
                 ids=tuple(f"cell{number}" for number in range(1, rows + 1)),
                 labels={"type": tuple(names[place] for place in types.tolist()),
                         "batch": tuple(BATCHES[place] for place in batches.tolist())})


def cells(rows: int, seed: int) -> tuple[Indices, Indices, Array]:
    """Return the type, the batch and the size (mean one) of each cell."""
    uniform = np.random.default_rng([seed, 0]).random((rows, 2))
    normal = np.random.default_rng([seed, 1]).standard_normal(rows)
    ends = np.cumsum(list(TYPES.values()))[:-1]
    batches = (uniform[:, 1] * len(BATCHES)).astype(np.int64)
    return np.searchsorted(ends, uniform[:, 0]).astype(np.int64), batches, np.exp(SIZE * normal - SIZE**2 / 2)
