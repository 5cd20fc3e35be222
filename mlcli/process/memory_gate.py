"""Memory among processes that share a limit: a fit begins once there is room for what it is predicted to take."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from mlcli.base.context import assigned
from mlcli.process.signals import at_once

Gate = Callable[[float, float], None]  # waits until so many bytes are free of a limit

_gate: ContextVar[Gate | None] = ContextVar("gate", default=None)


def admitted_by(gate: Gate) -> AbstractContextManager[None]:
    """For the length of a `with` block, fits wait at a gate."""
    return assigned(_gate, gate)


def admit(needed: float, limit: Callable[[], float]) -> None:
    """Waits until a fit may take so many bytes of the limit; without a gate it may at once."""
    gate = _gate.get()
    if gate is not None:
        with at_once():
            gate(needed, limit())
