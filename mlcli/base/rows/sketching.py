"""Whether the first rows of a file stand for all, as where a run is predicted before its file is read."""

from contextlib import AbstractContextManager
from contextvars import ContextVar

from mlcli.base.context import assigned

_sketching: ContextVar[bool] = ContextVar("sketching", default=False)


def sketching() -> AbstractContextManager[None]:
    """For the length of a `with` block, no pass is made over a file: its first rows stand for all, for a prediction."""
    return assigned(_sketching, True)


def is_sketching() -> bool:
    """Whether first rows stand for all."""
    return _sketching.get()
