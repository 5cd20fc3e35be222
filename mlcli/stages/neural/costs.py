"""Predicted costs of training a network."""

from collections.abc import Sequence
from itertools import pairwise

from mlcli.base.machine.footprint import JAX
from mlcli.base.machine.rates import rates
from mlcli.base.rows.scratch import bytes_in_memory
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.neural.feeding import feeding_memory
from mlcli.stages.neural.learning import Learning

BATCH = 30  # overhead of a batch, in small calls
CODES = 2  # arrays of the size of the coordinates
COPIES = 8  # of the weights: gradients, Adam's moments, the best ones, and those of a checkpoint


def network_steps(points: Array, sizes: Sequence[int], learning: Learning, threads: int) -> list[Step]:
    """Return the steps of training on points (n x d), with encoder layers of these sizes, and of one pass after it."""
    rows, weights, units = len(points), 2 * sum(a * b for a, b in pairwise(sizes)), sum(sizes)
    number = 4 if learning.precision == "float32" else 8
    batches = -(-rows // learning.batch)
    each = 6.0 * weights * rows * rates().trained * number / 4 / threads + BATCH * rates().called * batches
    in_file, codes = rows_of(points) is not None, rows * sizes[-1]
    order = feeding_memory(points, learning, threads) if in_file else 16.0 * rows
    taken = number * (COPIES * weights + 6.0 * learning.batch * units) + order
    placing = 4.0 * weights * rows / product_rate(threads)
    return [repeated("training", f"{weights:,} weights, epochs of {rows} rows", each, taken,
                     usual=learning.epochs, most=learning.epochs, needs=JAX),
            Step("coordinates", "one pass through both networks", placing,
                 (bytes_in_memory(CODES, codes) if in_file else 8.0 * CODES * codes) + taken)]
