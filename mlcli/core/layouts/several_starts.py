"""Minimizations from several starts: side by side on threads, as none depends on another."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from threading import Event
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed, single_threaded_blas
from mlcli.base.rows.blocks import in_order
from mlcli.base.stages.checkpoints import Place, keeping, loop
from mlcli.base.stages.stage import running
from mlcli.base.stored import result
from mlcli.base.types import Array

SIDE_BY_SIDE = 4_000  # points up to which a run from one start is short: beyond, its own steps are checkpoints


@result("layout-run")
@frozen
class Minimization:
    """The end of one minimization: coordinates of distinct points (u x p), stress, and the course of the stress."""

    points: Array
    stress: float
    trace: Array
    converged: bool

    @property
    def facts(self) -> dict[str, Any]:
        """The entries `iterations` and `converged` of a model's `fit`."""
        return {"iterations": len(self.trace), "converged": self.converged}


@result("layout-starts")
@frozen
class BestMinimization:
    """What is kept of the runs that have ended: the one of least stress, and the stress of each, in their order."""

    best: Minimization
    stresses: Array


@frozen
class Starts:
    """Starts (u x p each), made one after the other when they are needed, without the first `done`."""

    count: int
    points: int
    make: Callable[[], Iterable[Array]]
    done: int = 0

    def __len__(self) -> int:
        return self.count - self.done

    def __iter__(self) -> Iterator[Array]:
        return islice(self.make(), self.done, None)


class Halt(Place[Any]):
    """The place of loops on a thread, which keeps nothing: at its next step a loop ends where the program has to."""

    def __init__(self) -> None:
        self.asked = Event()

    def place(self, kind: type[Any]) -> Place[Any]:
        """The place of every loop."""
        return self

    def apart(self) -> AbstractContextManager[None]:
        """Do nothing: loops have no numbers."""
        return nullcontext()

    def offer(self, checkpoint: Callable[[], Any]) -> None:
        """End the loop if that was asked for."""
        if self.asked.is_set():
            raise Halted


class Halted(Exception):
    """The end of a loop whose result nobody waits for."""


def run_starts(run: Callable[[Array], Minimization], starts: Starts) -> BestMinimization:
    """Return the run of least stress from some starts, the first of equal ones: the same for any number of threads.

    Starts are made when they run, and of the other runs only the stress is kept, so that memory does not grow with
    their number. On threads, a checkpoint holds what is kept. One after the other, each run offers its own steps.
    """
    stresses = np.empty(starts.count)
    found: BestMinimization | None = None
    if workers(starts.count, starts.points, allowed()) == 1:
        with single_threaded_blas():
            for number, start in enumerate(starts):
                found = _with_run(found, run(start), stresses, number)
        assert found is not None, "there is one start at least"
        return found
    halt = Halt()

    def alone(start: Array) -> Minimization | None:
        with keeping(halt), suppress(Halted):
            return run(start)
        return None

    with running("iterate"), loop(BestMinimization) as place:
        found = place.left
        done = 0 if found is None else len(found.stresses)
        if found is not None:
            stresses[:done] = found.stresses
        rest = replace(starts, done=done)
        for number, one in enumerate(in_order(alone, rest, progress=True, done=done, stop=halt.asked.set), done):
            assert one is not None, "only what nobody waits for is halted"
            found = _with_run(found, one, stresses, number)
            place.offer(partial(replace, found))  # this one, and not a later one
    assert found is not None, "there is one start at least"
    return found


def _with_run(ended: BestMinimization | None, run: Minimization, stresses: Array, number: int) -> BestMinimization:
    """Return what is kept of the runs with a further one, whose stress is put into the (s,) `stresses`."""
    stresses[number] = run.stress
    best = run if ended is None or run.stress < ended.best.stress else ended.best
    return BestMinimization(best, stresses[: number + 1])


def workers(starts: int, points: int, threads: int) -> int:
    """Return how many starts run side by side."""
    return min(starts, max(threads, 1)) if points <= SIDE_BY_SIDE else 1
