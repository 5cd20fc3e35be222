"""The context of running code: all that surrounds a stage and changes no result of it, as one frozen value.

A stage is a function of its arguments. Its listeners, threads, checkpoints, memo and scratch files are found here, in
the one context variable of the program. `set_context` replaces fields for the length of a `with` block. Threads that
compute blocks start with the default context, and forked processes with that of their parent.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from mlcli.base.frozen import frozen
from mlcli.errors import MlcliError, Spelling, as_assignment

if TYPE_CHECKING:  # the rooms that these types are of look the context up
    from collections.abc import Callable, Iterator

    from mlcli.base.machine.footprint import AfterFit
    from mlcli.base.machine.rates import Rates
    from mlcli.base.rows.blocks import Workers
    from mlcli.base.rows.memo import Memo
    from mlcli.base.rows.scratch import Scratch
    from mlcli.base.stages.checkpoints import Keeper, Place
    from mlcli.base.stages.stage import Listener

E = TypeVar("E", bound=MlcliError)


@frozen
class Context:
    """The surroundings of running code; each field is read by functions of the room that defines its type."""

    listeners: tuple[Listener, ...] = ()  # the one that was installed first is the outermost
    stage: str = ""  # the name of the running stage
    part: str = ""  # and of the part of it, where it has any
    keeper: Keeper | None = None  # of the checkpoints of the next loop
    loop: Place[Any] | None = None  # the place of the checkpoints of the running loop
    threads: int = 1  # that a stage may start
    portable: bool = False  # whether results are to be the same on other machines
    workers: Workers | None = None  # for blocks, instead of threads
    memo: Memo | None = None
    maps: bool = False  # whether large inputs may stay in the system's cache: their state is checked at the run's end
    scratch: Scratch | None = None  # where large arrays are made in files
    gate: Callable[[float, float], None] | None = None  # waits until so many bytes are free of a limit
    after_fit: AfterFit | None = None  # what the run takes once its model is fitted
    local_workers: int = 0  # processes that the run has started on this machine
    rates: Rates | None = None  # that predictions of time use; None for the reference
    sketch: bool = False  # whether the first rows of a file stand for all, as for a prediction
    neighbors: int = 1  # that a search finds, at least
    network: bool = False  # whether the input of a finished run is opened on a network
    spelling: Spelling = as_assignment  # of options in messages

    def changed(self, fields: dict[str, Any]) -> Context:
        """Return the context with other values of some fields; a run does this 400 times, so without `__init__`."""
        other = object.__new__(Context)
        other.__dict__.update(self.__dict__)
        other.__dict__.update(fields)
        if len(other.__dict__) != len(self.__dict__):
            raise TypeError(f"the context has no {', '.join(fields.keys() - self.__dict__.keys())}")
        return other


_context: ContextVar[Context] = ContextVar("context", default=Context())  # noqa: B039  (frozen)


def context() -> Context:
    """Return the context of the code that runs."""
    return _context.get()


@contextmanager
def set_context(**fields: Any) -> Iterator[None]:
    """Replace these fields of the context for the length of a `with` block."""
    token = _context.set(_context.get().changed(fields))
    try:
        yield
    finally:
        _context.reset(token)


def spelled(error: E) -> E:
    """Return an error whose hint names options as the command at hand has them."""
    return error.spelled(context().spelling)
