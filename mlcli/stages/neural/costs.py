"""What training a network costs, predicted before it starts."""

from collections.abc import Sequence
from itertools import pairwise

from mlcli.base.steps import Step
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.neural.learning import Learning

START = 2.5  # seconds until JAX is imported and has compiled a step
SHARE = 0.6  # of the rate of large products in double precision that a step of training reaches in single precision
LOADED = 320 * 2**20  # bytes that JAX takes by itself
COPIES = 8  # of the weights: gradients, Adam's moments, the best ones, and those that a checkpoint holds


def network_steps(shape: tuple[int, ...], sizes: Sequence[int], learning: Learning, threads: int) -> list[Step]:
    """The training of an encoder with so many units from the inputs to the code and of its decoder; then one pass."""
    rows, weights, units = shape[0], 2 * sum(a * b for a, b in pairwise(sizes)), sum(sizes)
    number = 4 if learning.precision == "float32" else 8
    operations, rate = 6.0 * weights * rows * learning.epochs, SHARE * product_rate(threads) * 4 / number
    held = number * (COPIES * weights + 6.0 * learning.batch * units) + 16.0 * rows + LOADED
    placing = 4.0 * weights * rows / product_rate(threads)
    return [Step("training", f"at most {learning.epochs} epochs of {rows} rows, {weights:,} weights",
                 START + operations / rate, held),
            Step("coordinates", "one pass through both networks", placing, 8.0 * rows * sizes[-1] * 2 + held)]
