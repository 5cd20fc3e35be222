"""A memo in memory: the latest value of each kind, used again while what it follows from is equal.

Unlike a cache of stages it holds live values. A value that no call of a run used is dropped at the end of that run.
Blocks on other threads have no memo.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from mlcli.base.context import context, set_context

R = TypeVar("R")


@dataclass(repr=False, eq=False)
class MemoEntry:
    """A value, the inputs that it follows from, and whether the current run used it."""

    inputs: Sequence[Any]
    value: Any
    used: bool = True


@dataclass(repr=False, eq=False)
class Memo:
    """The entries of a memo, by kind."""

    entries: dict[str, MemoEntry] = field(default_factory=dict)
    shared: bool = False  # whether other runs follow that use it


@contextmanager
def open_memo(shared: Memo | None = None) -> Iterator[None]:
    """Open a memo for the length of a run; `shared` is one that outlives it."""
    memo = Memo() if shared is None else shared
    for entry in memo.entries.values():
        entry.used = False
    try:
        with set_context(memo=memo):
            yield
    finally:
        for kind in [kind for kind, entry in memo.entries.items() if not entry.used]:
            del memo.entries[kind]


def memoize(kind: str, inputs: Sequence[Any], make: Callable[[], R], *, once: bool = False) -> R:
    """Return the value of a kind that follows from arrays, texts and numbers: that of the memo, or a new one.

    Nothing may change the arrays, nor the value where others use it. With `once` a run needs the value a single time,
    and it is kept for other runs alone. Loops that `make` runs have numbers of their own: a run that was killed after
    another one of its process goes on in a process that has no value yet.
    """
    keeper = context().keeper
    with nullcontext() if keeper is None else keeper.apart():
        return _memoized(kind, inputs, make, once=once)


def _memoized(kind: str, inputs: Sequence[Any], make: Callable[[], R], *, once: bool) -> R:
    memo = context().memo
    if memo is None or (once and not memo.shared):
        return make()
    entries = memo.entries
    if kind not in entries or not _equal(entries[kind].inputs, inputs):
        entries.pop(kind, None)  # makes room for the next
        entries[kind] = MemoEntry(inputs, make())
    entries[kind].used = True
    value: R = entries[kind].value
    return value


def recall(kind: str, inputs: Sequence[Any]) -> Any:
    """Return the value of a kind whose inputs begin with these; None where the memo has none."""
    memo = context().memo
    entry = None if memo is None else memo.entries.get(kind)
    return entry.value if entry is not None and _equal(entry.inputs[: len(inputs)], inputs) else None


def forget(*kinds: str) -> None:
    """Drop values of some kinds, which the run needs no longer, unless other runs follow."""
    memo = context().memo
    if memo is not None and not memo.shared:
        for kind in kinds:
            memo.entries.pop(kind, None)


def _equal(inputs: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(inputs) == len(others) and all(one is other or np.array_equal(one, other)
                                              for one, other in zip(inputs, others, strict=True))
