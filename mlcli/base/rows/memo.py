"""What was computed last, kept for the length of a run or of several runs that ask for the same again.

Unlike a cache of stages it holds live values in memory, one of each kind, found by the content of what they follow
from; what no run asked for is dropped at its end. Blocks on other threads neither look here nor leave anything.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mlcli.base.context import assigned

R = TypeVar("R")


@dataclass
class Held:
    """A value, what it follows from, and whether the run that goes on has asked for it."""

    given: Sequence[Any]
    value: Any
    asked: bool = True


_held: ContextVar[dict[str, Held] | None] = ContextVar("held", default=None)
_alone: ContextVar[bool] = ContextVar("alone", default=True)  # whether no other run follows


@contextmanager
def recalling() -> Iterator[None]:
    """Keeps what is `recalled` in the block; inside another such block, the value goes on to the next run."""
    outer = _held.get()
    held: dict[str, Held] = {} if outer is None else outer
    for known in held.values():
        known.asked = False
    try:
        with assigned(_held, held), assigned(_alone, outer is None):
            yield
    finally:
        for kind in [kind for kind, known in held.items() if not known.asked]:
            del held[kind]


def recalled(kind: str, given: Sequence[Any], make: Callable[[], R], *, once: bool = False) -> R:
    """A value of a kind that follows from arrays, texts and numbers: the last one of its kind, or a new one.

    Nothing may change the arrays, nor the value where it is given to others. Where a run asks for it only `once`, it is
    kept for other runs alone.
    """
    held = _held.get()
    if held is None or (once and _alone.get()):
        return make()
    if kind not in held or not _same(held[kind].given, given):
        held.pop(kind, None)  # makes room for the next
        held[kind] = Held(given, make())
    held[kind].asked = True
    value: R = held[kind].value
    return value


def _same(given: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(given) == len(other) and all(one is another or np.array_equal(one, another)
                                            for one, another in zip(given, other, strict=True))
