"""The memory that a run is predicted to take: what `mlcli plan` shows, and what decides whether a fit is refused.

The figures besides the steps' own were measured as resident memory of whole processes (`tests/cli/test_memory.py`).
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mlcli.base.admission import admit
from mlcli.base.compute import Compute
from mlcli.base.inputs import Given
from mlcli.base.limits import resident
from mlcli.base.steps import Step

EXACT = 2000  # rows up to which quality takes all pairs of points
PAIRS = 3.2  # arrays of all these pairs that it holds at once
SAMPLED, WITNESSES = 20 * 2**20, 60 * 2**20  # bytes beyond that: for quality, and where a kernel is computed again


class Planned(Protocol):
    """What a method says of itself that decides on memory."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def unscaled(self) -> int:
        """How far from one, in powers of two, it takes data without a scaled copy."""

    @property
    def proof(self) -> str:
        """What the certificate checks of the result."""


def peak(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> float:
    """The most bytes that a process holds while it reads the data, takes these steps and checks the result.

    Beside the data as read there is a copy in other units for as long as a fit takes, unless within `unscaled`.
    """
    rows, table, held = len(data.values), float(data.bytes), 1 if method.unscaled else 2
    fit = max(*(step.memory for step in steps), checks_memory(method, rows, table))
    return resident(compute.thread_count()) + max(2 * table, held * table + fit)


def checks_memory(method: Planned, rows: int, table: float) -> float:
    """Bytes of quality and certificate, besides the data."""
    if rows <= EXACT:
        return 8.0 * PAIRS * rows**2 + 2 * table
    return float(SAMPLED + WITNESSES * (method.proof == "kernel"))


def require_memory(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> None:
    """Refuses a fit before it starts, or has it wait for memory that other runs of a sweep take.

    Raises RefusedByPlan with the remedy of the step that takes most.
    """
    most, needed = max(steps, key=lambda step: step.memory), peak(steps, data, method, compute)
    hint = most.remedy or "use fewer rows"
    if most.square:
        alone = resident(compute.thread_count())
        share = max(compute.memory_bytes() - alone, 0.0) / (needed - alone)
        hint = f"about {int(len(data.values) * np.sqrt(share)):,} points fit; {hint}"
    compute.require(needed, f"{method.name} of {len(data.values):,} rows", hint)
    admit(needed, compute.memory_bytes)
