"""The threads of a computation, and the settings under which its results are portable."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute


@contextmanager
def threads_of(compute: Compute, extras: Sequence[str] = ()) -> Iterator[None]:
    """Limit the threads, within the block, to those that the options allow.

    Raises ConfigError where results are to be portable and would not be, of a method that requires these `extras`.
    """
    if compute.portable:
        from mlcli.engine.portable import require_portable

        require_portable(extras)
    with limit_threads(compute.thread_count(), portable=compute.portable):
        yield
