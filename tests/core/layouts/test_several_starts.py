"""Minimizations from several starts: what is kept of them, and where they go on."""

import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.core.layouts.several_starts import Minimization, Starts, run_starts

COUNT = 60


def ended(start: Array) -> Minimization:
    """A run that ends where it starts, with the first number as its stress."""
    return Minimization(start, float(start[0, 0]), np.zeros(1), converged=True)


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_does_not_grow_with_the_number_of_starts(threads: int) -> None:
    """Starts are made when they run, and of the runs that have ended only the best stays."""
    alive = most = 0

    def end() -> None:
        nonlocal alive
        alive -= 1

    def make() -> Iterator[Array]:
        nonlocal alive, most
        for number in range(COUNT):
            start = np.full((4, 2), float((number - 20) ** 2))
            weakref.finalize(start, end)
            alive += 1
            most = max(most, alive)
            yield start
            del start

    with limit_threads(threads):
        found = run_starts(ended, Starts(COUNT, 4, make))
    assert found.best.stress == 0.0 and found.stresses.tolist() == [(number - 20) ** 2 for number in range(COUNT)]
    assert most <= 2 * threads + 6
