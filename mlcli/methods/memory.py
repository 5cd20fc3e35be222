"""Predicted memory of a run: `mlcli plan` shows it, and a fit over the limit is refused.

The figures besides the steps' own were measured as resident memory of whole processes (`benchmarks/plan.py`).
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mlcli.base.allocators import WORTH
from mlcli.base.context import context, set_context
from mlcli.base.machine.footprint import (
    ARROW,
    ARROW_COLUMN,
    COLUMN,
    DASK,
    MIB,
    WORKER,
    after_fit,
    memory_after_fit,
    resident,
    workers_fitting,
)
from mlcli.base.rows.scratch import bytes_in_memory
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given
from mlcli.base.values.sample_size import EXACT, FEW_COLUMNS, GROUP, automatic
from mlcli.errors import MlcliError
from mlcli.process.signals import stop_at_once

PAIRS = 2.2  # arrays of all pairs that quality has in memory at once
SAMPLED = 18 * MIB  # memory of measures of a sample besides the distances from it: mostly ranks of pairs
COPIES, ROOM = 3.0, 2**20  # arrays of the rows that rules examine, and numbers of these where there are many rows
FITTED, ASSESSED = 2.0, 4.0  # arrays of the size of the coordinates while they are computed, and checked and written
WEIGHED = 8.0  # of the loadings or weights of columns
WRITING = 3.0  # arrays of the size of a model while it is written and checked
SAFE, LESS, TRIES, FEWEST = 0.97, 0.85, 20, 10  # of the search for a number of rows that fits
CHEAP = 2e9  # multiplications of a neighbor search that a refusal may take
READ_IN_BLOCKS = {  # by kind of input
    "features": "a Parquet, Arrow, NPY or plain CSV file is read in blocks (input.stream)",
    "dissimilarities": "an NPY file of the matrix is read in blocks (input.stream)"}
ROW = 160  # bytes of a row's name and its cells in the table that is written


class Planned(Protocol):
    """The properties of a method that determine its memory."""

    @property
    def name(self) -> str:
        """Name in messages."""

    @property
    def unscaled(self) -> int:
        """The power of two up to which data is not scaled, so that there is no copy."""

    @property
    def checked_tables(self) -> float:
        """The number of arrays of the data's size that the certificate's checks hold."""

    @property
    def columns_model(self) -> str:
        """The linear-Gaussian model of the columns, which rules examine."""

    def axes_of(self, data: Any) -> int:
        """Return the largest number of axes that it keeps."""

    def stored(self, data: Any) -> float:
        """Return the bytes of training rows in its model."""

    def streams(self, kind: str) -> bool:
        """Whether it takes such an input in blocks of rows."""

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the stages of a fit with their costs."""


def peak(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> float:
    """Return the peak memory, in bytes, of a process that reads the data, runs the steps, checks and writes results."""
    return sum(footprint(steps, data, method, compute).values())


def footprint(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> dict[str, float]:
    """Return the bytes of a process at its peak, by purpose.

    Workers that it started on this machine are included. During the fit there is a copy of the data in other units,
    unless the method's `unscaled` makes that needless.
    """
    columns = data.values.shape[1] if data.kind == "features" else 0
    most = max(steps, key=lambda step: step.memory)
    needs = [*(step.needs for step in steps), *after_fit().needs]
    moments = {"reading": reading_memory(data, compute),
               most.stage: {**table_memory(data, 1 if method.unscaled else 2), most.stage: most.memory,
                            "the coordinates": FITTED * coordinates_memory(method, data)},
               "checks": {**table_memory(data, blocks=0), "kept of the fit": min(most.memory, float(WORTH)),
                          "rules, quality, files and certificate": checks_memory(method, data)}}
    return {"program, libraries and threads": float(resident(compute.thread_count(), needs)),
            "figures": after_fit().memory,
            "workers": DASK + context().local_workers * worker_memory(steps) if context().local_workers else 0.0,
            "names of columns": (COLUMN + ARROW_COLUMN * (ARROW in sys.modules)) * columns,
            **max(moments.values(), key=lambda parts: sum(parts.values()))}


def reading_memory(data: Given, compute: Compute) -> dict[str, float]:
    """Return the memory of the table during reading: all of it and its format's overhead, or a block per thread."""
    rows = rows_of(data.values)
    if rows is None:
        return {"the table": float(data.bytes), "reading it": after_fit().reading}
    from mlcli.core.moments_pass import pass_bytes

    lanes = rows.at_once(compute.thread_count())
    return {f"{lanes} block{'s' * (lanes > 1)} of the table": lanes * float(data.bytes),
            "sums over it": pass_bytes(rows.shape[1], lanes), "a sample of its rows": sample_memory(rows)}


def table_memory(data: Given, copies: int = 1, blocks: int = 1) -> dict[str, float]:
    """Return the memory of the table after reading, with allocators' remains, or of some of its blocks."""
    rows = rows_of(data.values)
    if rows is None:
        return {"the table": copies * float(data.bytes), "kept of reading it": after_fit().kept}
    return {"a block of the table": blocks * float(data.bytes), "a sample of its rows": sample_memory(rows)}


def sample_memory(rows: Rows) -> float:
    """Return the bytes of the sample of a table that is read in blocks."""
    return 8.0 * len(rows.at_hand) * rows.shape[1]


def coordinates_memory(method: Planned, data: Given) -> float:
    """Return the bytes of the coordinates in memory."""
    return bytes_in_memory(1, len(data.values) * method.axes_of(data)) if rows_of(data.values) is not None else (
        8.0 * len(data.values) * method.axes_of(data))


def weights_memory(method: Planned, data: Given) -> float:
    """Return the bytes of the matrix that maps rows, or their similarities, to coordinates."""
    side = data.values.shape[-1] if data.kind in ("features", "covariance") and not method.stored(data) else 0
    return 8.0 * side * method.axes_of(data)


def worker_memory(steps: Sequence[Step]) -> float:
    """Return the bytes of a worker on this machine that takes part in these steps."""
    return WORKER + max((step.passes.worker_bytes for step in steps if step.passes is not None), default=0.0)


def checks_memory(method: Planned, data: Given) -> float:
    """Return the bytes of rules, quality, and the model while it is written and checked, without the data."""
    rows, columns = len(data.values), data.values.shape[-1]
    of_columns, stored, table = method.columns_model != "none", method.stored(data), float(data.bytes)
    in_file = rows_of(data.values)
    there = rows if in_file is None else len(in_file.at_hand)  # rules examine a sample
    compared_rows = min(there, max(ROOM // max(columns, 1), EXACT)) if of_columns and after_fit().rules else 0
    looked = 8.0 * COPIES * compared_rows * columns
    if rows <= EXACT or in_file is not None:
        few = min(there, EXACT)
        compared = 8.0 * (PAIRS * few**2 + few * columns)
    else:
        wide = data.kind == "features" and columns > FEW_COLUMNS
        compared = SAMPLED + 8.0 * min(automatic(rows, columns) * rows, GROUP) * wide
    compared *= after_fit().quality
    written = WRITING * stored + table * method.checked_tables
    named = in_file is None or isinstance(data.ids, tuple)  # row numbers become text when they are written
    results = ASSESSED * coordinates_memory(method, data) + WEIGHED * weights_memory(method, data)
    return max(looked, max(compared, after_fit().baseline) + stored, written) + ROW * rows * named + results


def require_memory(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> None:
    """Refuse a fit that does not fit in memory, or wait for memory that other runs of a sweep use.

    Raises RefusedByPlan with the remedy of the step that takes most.
    """
    needed = peak(steps, data, method, compute)
    workers = f" by {context().local_workers} workers" if context().local_workers else ""
    hint = remedy(steps, data, method, compute) if needed > compute.memory_bytes() else ""
    compute.require(needed, f"{method.name} of {len(data.values):,} rows{workers}", hint)
    admit(needed, compute.memory_bytes)


def admit(needed: float, limit: Callable[[], float]) -> None:
    """Wait at the gate of the context, where it has one, until a fit may take so many bytes of the limit."""
    gate = context().gate
    if gate is not None:
        with stop_at_once():
            gate(needed, limit())


def remedy(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> str:
    """Return how to need less memory: fewer rows, if some fit, and the remedy of the largest step, if it can help.

    `data` is that of the steps, in their units. Where only the work after the fit is too large, its remedy is returned.
    """
    with memory_after_fit(replace(after_fit(), needs=(), memory=0.0)):
        alone = peak(steps, data, method, compute) <= compute.memory_bytes()
    if alone and after_fit().instead:
        return after_fit().instead
    if context().local_workers and (fewer := fewer_workers(steps, data, method, compute)):
        return fewer
    most, rows = max(steps, key=lambda step: step.memory), fitting_rows(steps, data, method, compute)
    least = resident(compute.thread_count()) + float(data.bytes) + checks_memory(method, data)
    instead = most.remedy if least < compute.memory_bytes() else ""
    whole = rows_of(data.values) is None and method.streams(data.kind)  # not read in blocks, though the method could
    ways = f"about {rows:,} rows fit" if rows else "", instead, READ_IN_BLOCKS[data.kind] if whole else ""
    return "; ".join(filter(None, ways)) or "give more memory"


def fewer_workers(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> str:
    """Return the remedy of fewer workers on this machine; empty where the run would not fit without any."""
    with set_context(local_workers=0):
        left = compute.memory_bytes() - peak(steps, data, method, compute)
    return workers_fitting(left, worker_memory(steps)) if left >= 0 else ""


def fitting_rows(steps: Sequence[Step], data: Given, method: Planned, compute: Compute) -> int:
    """Return how many rows, evenly spaced, fit in memory; 0 where that is not known.

    The first guess follows from the sizes of the steps. It is planned where planning is cheap, and where there is room
    for that, as a refusal takes no more than it allows; else a smaller number is said.
    """
    if rows_of(data.values) is not None:  # their number matters little, and planning would read some of them
        return 0
    if data.kind == "covariance":  # its rows are columns of a table
        return 0
    whole, limit = len(data.values), compute.memory_bytes()
    alone = resident(compute.thread_count(), [step.needs for step in steps])
    share = (limit - alone) / max(peak(steps, data, method, compute) - alone, 1.0)
    square = whole <= EXACT or max(steps, key=lambda step: step.memory).square
    rows = int(whole * SAFE * (np.sqrt(share) if square else share)) if 0 < share < 1 else 0
    stages, room = {step.stage for step in steps}, alone + 2.0 * data.bytes <= limit
    if "paths" in stages and not room:  # the graph of fewer rows chooses their algorithm, and so their memory
        return 0
    planned = room and not ("neighbors" in stages and float(rows) ** 2 * data.values.shape[-1] > CHEAP)
    for _ in range(TRIES):
        if rows < FEWEST:
            break
        some: Any = data
        with suppress(MlcliError):
            some = some.take(np.linspace(0, whole - 1, rows).astype(np.int64)) if planned else first_rows(data, rows)
            fewer = method.steps(some, compute, None) if planned else scaled_steps(steps, rows / whole)
            if peak(fewer, some, method, compute) <= limit:
                return rows if planned else int(rows * LESS)
        rows = int(rows * LESS)
    return 0


def first_rows(data: Given, rows: int) -> Given:
    """Return the first rows of features or of a square, without a copy, for what only their number matters to."""
    values = data.values[:rows] if data.kind == "features" else data.values[:rows, :rows]
    return replace(data, values=values, ids=data.ids[:rows])


def scaled_steps(steps: Sequence[Step], share: float) -> list[Step]:
    """Return the steps with the memory that a share of the rows would take."""
    return [replace(step, memory=step.memory * (share**2 if step.square else share)) for step in steps]
