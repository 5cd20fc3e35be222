"""Reading a file once, for several runs of one input."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from mlcli.base.context import assigned
from mlcli.base.rows.sketching import is_sketching
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import Note, running, tell
from mlcli.base.values.compute import Compute
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.table.table import Table
from mlcli.rundir.journal import recording
from mlcli.rundir.reading import is_there

Reader = Callable[[Input, Compute, bool, bool], Table]

# what was read last, how, and the notes of that; None where nothing is remembered
_last: ContextVar[list[tuple[Any, Table, list[Note]]] | None] = ContextVar("last", default=None)


def reading_once() -> AbstractContextManager[None]:
    """For the length of a `with` block, a file that was read is not read again while it stays the same.

    For runs of one input; what is remembered is one table, which nothing changes.
    """
    return assigned(_last, [])


def remembered(config: RunConfig, reader: Reader) -> Table:
    """The table of a file; where it is the one that was read last, with the notes of that time."""
    last, state = _last.get(), state_of(config.input)
    asked = reader, config.input, config.method.distance.categories, config.streams, config.compute.seed, state
    for known, table, notes in last or ():
        if known == asked and None not in state:
            for repeated in notes:
                tell(repeated)
            return table
    if last is not None and not is_sketching():
        last.clear()  # so that memory does not hold two tables
    with running("read"), recording() as journal:
        table = reader(config.input, config.compute, config.method.distance.categories, config.streams)
    if last is not None and not is_sketch(table):
        last.clear()
        last.append((asked, table, journal.notes))
    return table


def is_sketch(table: Table) -> bool:
    """Whether the first rows of a file stand for all."""
    rows = rows_of(table.values)
    return rows is not None and rows.sketched


def state_of(input: Input) -> tuple[tuple[int, ...] | None, ...]:
    """What changes when the files of an input do; None for one that is not a regular file."""
    states: list[tuple[int, ...] | None] = []
    for path in map(Path, filter(None, (input.path, input.view.path, input.labels.path))):
        known = path.stat() if is_there(path) and path.is_file() else None
        states.append(known and (known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns))
    return tuple(states)
