"""Units of work of which the predicted seconds of stages are made, by the machine's rates for them.

The rates stand in `base/machine/rates.py`. They are the same whatever the load of this machine; they choose between
algorithms and show a user whether to expect minutes or hours. What a stage costs stands beside what it computes.
"""

from mlcli.base.machine.rates import rates

FIRST = 8  # passes that one is worth which takes the memory for the first time


def product_rate(threads: int) -> float:
    """Floating-point operations a second of a matrix product in double precision."""
    return threads / rates().product


def pass_cost(numbers: float) -> float:
    """Seconds of a pass over `numbers` doubles with little work on each."""
    return 8.0 * numbers * rates().moved
