"""Memory among processes that share a limit: a fit begins once there is room for what it is predicted to take."""

from collections.abc import Callable

from mlcli.base.context import context
from mlcli.process.signals import stop_at_once


def admit(needed: float, limit: Callable[[], float]) -> None:
    """Wait at the gate of the context, where it has one, until a fit may take so many bytes of the limit."""
    gate = context().gate
    if gate is not None:
        with stop_at_once():
            gate(needed, limit())
