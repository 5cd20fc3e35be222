"""A process of the program: what outlives a run and is shared by the runs that follow each other in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import Memo

if TYPE_CHECKING:  # a process of one run needs neither
    from mlcli.engine.cluster.connect import Connections
    from mlcli.pipeline.shared_input import SharedInput


@frozen
class Process:
    """Resources that the runs of a process share; none by default, as in a process of one run."""

    input: SharedInput | None = None  # for runs of one input, whose table is read once
    connections: Connections | None = None  # to clusters; without, a run closes its own
    memo: Memo | None = None
    neighbors: int = 1  # that every search finds at least, where the runs search for several counts


ALONE = Process()
