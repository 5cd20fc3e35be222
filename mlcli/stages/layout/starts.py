"""Minimizations from several starts: side by side on threads, as none depends on another."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event
from typing import Any

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
class Run:
    """The end of one minimization: coordinates of distinct points (u x p), stress, and the course of the stress."""

    points: Array
    stress: float
    trace: Array
    converged: bool

    @property
    def facts(self) -> dict[str, Any]:
        """The entries `iterations` and `converged` of a model's `fit`."""
        return {"iterations": len(self.trace), "converged": self.converged}


@result("layout-runs")
@frozen
class Runs:
    """The runs that have ended, in the order of their starts."""

    ended: tuple[Run, ...]


class Halt(Place[Any]):
    """The place of loops on a thread, which keeps nothing: at its next step a loop ends where the program has to."""

    def __init__(self) -> None:
        self.asked = Event()

    def place(self, kind: type[Any]) -> Place[Any]:
        """The place of every loop."""
        return self

    def offer(self, checkpoint: Callable[[], Any]) -> None:
        """End the loop if that was asked for."""
        if self.asked.is_set():
            raise Halted


class Halted(Exception):
    """The end of a loop whose result nobody waits for."""


def run_starts(run: Callable[[Array], Run], starts: Sequence[Array]) -> list[Run]:
    """Return the runs from starts (u x p each), in their order: the same for any number of threads.

    On threads, a checkpoint holds the runs that have ended. One after the other, each run offers its own steps.
    """
    if workers(len(starts), len(starts[0]), allowed()) == 1:
        with single_threaded_blas():
            return [run(start) for start in starts]
    halt = Halt()

    def alone(start: Array) -> Run | None:
        with keeping(halt), suppress(Halted):
            return run(start)
        return None

    with running("iterate"), loop(Runs) as place:
        ended = list(place.left.ended if place.left else ())
        rest = starts[len(ended):]
        for one in in_order(alone, rest, progress=True, done=len(ended), stop=halt.asked.set):
            assert one is not None, "only what nobody waits for is halted"
            ended.append(one)
            place.offer(lambda: Runs(tuple(ended)))
    return ended


def workers(starts: int, points: int, threads: int) -> int:
    """Return how many starts run side by side."""
    return min(starts, max(threads, 1)) if points <= SIDE_BY_SIDE else 1
