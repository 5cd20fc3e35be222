"""A process of the program: what outlives a run and is shared by those after it, such as their input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import Memo
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import Note, running, tell
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TextColumns
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.table.table import Table
from mlcli.rundir.journal import recording
from mlcli.rundir.reading import is_there

if TYPE_CHECKING:
    from mlcli.engine.cluster.connect import Connections

Reader = Callable[[Input, Compute, TextColumns, bool], Table]


@dataclass(repr=False, eq=False)
class SharedInput:
    """The table that was read last and the notes of reading it; nothing changes the table."""

    key: tuple[Any, ...] = ()  # the reader, its options and the state of the files
    table: Table | None = None
    notes: list[Note] = field(default_factory=list)

    def read(self, config: RunConfig, reader: Reader) -> Table:
        """Return the table of a file, which is read unless it was the last one and its files are as they were."""
        state = state_of(config.input)
        key = (reader, config.input_of_method, config.method.distance.categories, config.streams, config.compute.seed,
               state)
        if self.table is not None and key == self.key and None not in state:
            for note in self.notes:
                tell(note)
            return self.table
        if not context().sketch:
            self.table = None  # so that memory does not hold two tables
        with recording() as journal:
            table = read_input(config, reader)
        if not is_sketch(table):
            self.key, self.table, self.notes = key, table, journal.notes
        return table


def read_input(config: RunConfig, reader: Reader, shared: SharedInput | None = None) -> Table:
    """Return the table of a file, from `shared` where several runs have one input."""
    if shared is not None:
        return shared.read(config, reader)
    with running("read"):
        return reader(config.input_of_method, config.compute, config.method.distance.categories, config.streams)


def is_sketch(table: Table) -> bool:
    """Whether the first rows of a file stand for all."""
    rows = rows_of(table.values)
    return rows is not None and rows.sketched


def state_of(input: Input) -> tuple[tuple[int, ...] | None, ...]:
    """Return a fingerprint of the files of an input; None for one that is not a regular file."""
    states: list[tuple[int, ...] | None] = []
    for path in map(Path, filter(None, (
            input.path, *(view.path for view in input.views), input.labels.path))):
        known = path.stat() if is_there(path) and path.is_file() else None
        states.append(known and (known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns, known.st_ctime_ns))
    return tuple(states)


@frozen
class Process:
    """Resources that the runs of a process share; none by default, as in a process of one run."""

    input: SharedInput | None = None  # for runs of one input, whose table is read once
    connections: Connections | None = None  # to clusters; without, a run closes its own
    memo: Memo | None = None
    neighbors: int = 1  # that every search finds at least, where the runs search for several counts


ALONE = Process()
