"""A context variable that has another value within a `with` block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def assigned(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Gives a variable a value, and at the end of the block the one that it had before."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
