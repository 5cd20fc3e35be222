"""What training a network costs, predicted before it starts."""

from collections.abc import Sequence
from itertools import pairwise

from mlcli.base.footprint import JAX
from mlcli.base.rates import rates
from mlcli.base.steps import Step, repeated
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.neural.learning import Learning

BATCH = 30  # small calls that a batch takes as long as
COPIES = 8  # of the weights: gradients, Adam's moments, the best ones, and those that a checkpoint holds


def network_steps(shape: tuple[int, ...], sizes: Sequence[int], learning: Learning, threads: int,
                  feeding: float = 0.0) -> list[Step]:
    """The training of an encoder with so many units from the inputs to the code and of its decoder; then one pass.

    `feeding` are the bytes that reading its rows takes.
    """
    rows, weights, units = shape[0], 2 * sum(a * b for a, b in pairwise(sizes)), sum(sizes)
    number = 4 if learning.precision == "float32" else 8
    batches = -(-rows // learning.batch)
    each = 6.0 * weights * rows * rates().trained * number / 4 / threads + BATCH * rates().called * batches
    held = number * (COPIES * weights + 6.0 * learning.batch * units) + 16.0 * rows + feeding
    placing = 4.0 * weights * rows / product_rate(threads)
    return [repeated("training", f"{weights:,} weights, epochs of {rows} rows", each, held,
                     usual=learning.epochs, most=learning.epochs, needs=JAX),
            Step("coordinates", "one pass through both networks", placing, 8.0 * rows * sizes[-1] * 2 + held)]
