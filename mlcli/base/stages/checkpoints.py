"""Checkpoints: the state of a loop. A loop offers them to a keeper, and goes on from the latest of an earlier process.

A loop is an iteration, the passes of an eigensolver or the epochs of a training; it knows of no keeper. What it goes on
from leads to the same bytes. A loop inside of another one offers none: the outer one repeats it. A step that is long,
as a pass is, offers where it stands itself (`step`).

A new loop is a `loop(kind)` whose checkpoint is a `@result`. The checkpoint must follow from the inputs of the stage,
or from method, data and options of the run: these are its key (`engine/resume.py`).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, Protocol, TypeVar

from mlcli.base.context import context, set_context

C = TypeVar("C")


class Place(Generic[C]):
    """The destination of a loop's checkpoints; this base discards them."""

    left: C | None = None  # the checkpoint of an earlier process

    def offer(self, checkpoint: Callable[[], C]) -> None:
        """Offer a checkpoint between two steps. It is written before the loop goes on, so it need not be a copy."""

    @property
    def wanted(self) -> bool:
        """Whether the run ends at the next checkpoint, so that a long step offers one early."""
        return False

    def within(self, kind: type[Any]) -> "Place[Any]":
        """The place of the parts of a step, whose checkpoints are of this kind."""
        return Place()

    def running(self) -> AbstractContextManager[None]:
        """Surround the loop while it runs."""
        return nullcontext()


class Keeper(Protocol):
    """A store of checkpoints."""

    def place(self, kind: type[Any]) -> Place[Any]:
        """The place of the next loop, whose checkpoints are of this kind."""

    def apart(self) -> AbstractContextManager[None]:
        """Count the loops in the block apart, so that those after it have the same numbers if there are none."""


def keeping(keeper: Keeper | None) -> AbstractContextManager[None]:
    """Have loops in the block give their checkpoints to `keeper`; None turns checkpoints off."""
    return set_context(keeper=keeper)


@contextmanager
def loop(kind: type[C]) -> Iterator[Place[C]]:
    """The place of a loop, which is the block."""
    keeper = context().keeper
    place: Place[C] = Place() if keeper is None else keeper.place(kind)
    with set_context(keeper=None, loop=place), place.running():
        yield place


@contextmanager
def step(kind: type[C]) -> Iterator[Place[C]]:
    """The place of the parts of a long step: within that of the loop around it, else one of its own.

    The step itself must tell whether the checkpoint that was left is one of it.
    """
    outer = context().loop
    if outer is None:
        with loop(kind) as place:
            yield place
    else:
        yield outer.within(kind)
