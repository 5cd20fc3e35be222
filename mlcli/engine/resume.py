"""Files that let the same command resume a run: results of stages, and checkpoints of loops.

The files are those of the stage cache, in the folder of the output's claim. A key follows from content alone, so that
nothing is taken that another input, configuration or version has made. It is made only if something is looked up or
saved; saving costs only a small share of the time that it can save.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.stages.checkpoints import Place
from mlcli.base.stages.stage import Note, Stage
from mlcli.base.stored import RESULTS
from mlcli.base.values.options import Options
from mlcli.engine.cache import Folder, Noting, repeat_notes
from mlcli.process import signals
from mlcli.process.shared_status import STATUS
from mlcli.storage.archive import Archive, stored_parts
from mlcli.storage.keys import Keys

LOOP, STEP = "at", "in"  # names of the checkpoints of a loop, and of the parts of its steps
EVERY = 10.0  # seconds of a loop, or of a stage, that are worth keeping what came of them
SHARE = 0.05  # of these seconds that keeping may take
HELD = 4  # size of a checkpoint that is kept, in that of a result
SPEED = 2e8  # bytes a second that are hashed and written; less once it was measured


@dataclass(repr=False, eq=False)
class Scope:
    """A stage or a whole run whose results are kept; its loops are counted, and its parts whose loops count apart."""

    name: str
    inputs: Callable[[], Any]
    loops: int = 0
    parts: int = 0

    @cached_property
    def key(self) -> str | None:
        """The key of the content of the inputs; None where there is none: live state."""
        try:
            return Keys().of((self.name, self.inputs()))
        except TypeError:
            return None

    def file(self, kind: str, number: int = 0) -> str:
        """The name of the file for the result, or for the checkpoint of a loop; empty where there is no key."""
        prefix = f"{self.name} {kind}".strip().replace(" ", "-")
        return f"{prefix}-{Keys().of((self.key, kind, number))}.stage" if self.key else ""


class Resuming(Noting):
    """Keeps results and checkpoints of a run in a folder, and restores those of an earlier process.

    `environment` says what results depend on besides their inputs: versions, kernels, threads. What has more than
    `room` bytes is not kept, of checkpoints `HELD` times as many, as the loop itself holds them; nor are results of
    stages without `results`, where a cache has them.
    """

    def __init__(self, folder: Folder, environment: Callable[[], Any], room: float, *, results: bool = True) -> None:
        super().__init__()
        self.folder, self.environment, self.room, self.results = folder, environment, room, results
        self.taken: list[str] = []  # names of what an earlier process had kept
        self._left = [entry.path.name for entry in folder.entries()]
        self._archive, self._speed = Archive(RESULTS, finite=False), SPEED
        self._scopes = [Scope("run", lambda: object())]  # of which nothing is kept until it is known what it is

    @contextmanager
    def fitting(self, inputs: Callable[[], Any]) -> Iterator[None]:
        """Set the inputs that key the run's own loops; in the block, a stop waits for a checkpoint where it can."""
        self._scopes[0] = Scope("run", lambda: (inputs(), self.environment()))
        with signals.stop_at_checkpoints():
            yield

    def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], Any]) -> Any:
        """The result of a stage: an earlier process's, else that of the call."""
        scope = Scope(stage.name, lambda: (stage.version, inputs, self.environment()))
        known = self._found(scope, "") if self.results else None
        if known is not None:
            return repeat_notes(known)
        with signals.before_checkpoint(offered=False), self._inside(scope) as notes:
            begun = time.monotonic()
            result = call()
            if self.results:
                self.keep(scope, "", 0, time.monotonic() - begun, (result, notes))
            signals.pause()
        return result

    def place(self, kind: type[Any]) -> Place[Any]:
        """The place of the next loop of the stage that is running, or of the run."""
        scope = self._scopes[-1]
        scope.loops += 1
        return CheckpointPlace(self, scope, self.restore(scope, LOOP, scope.loops, kind))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count the loops in the block apart, so that those after it have the same numbers if there are none."""
        scope = self._scopes[-1]
        scope.parts += 1
        part = scope.parts
        self._scopes.append(Scope(scope.name, lambda: (scope.key, part) if scope.key else object()))
        try:
            yield
        finally:
            self._scopes.pop()

    def restore(self, scope: Scope, name: str, number: int, kind: type[Any]) -> Any:
        """Return the checkpoint of this kind that an earlier process kept; None where there is none."""
        known = self._found(scope, name, number)
        return None if known is None or not isinstance(known[0], kind) else known[0]

    def keep(self, scope: Scope, kind: str, number: int, seconds: float, value: Any) -> bool:
        """Write a value that took `seconds` to compute, if that is worthwhile; returns whether it was tried."""
        if seconds < EVERY and not signals.pending():
            return False
        size = size_of(value)
        cheap = size <= SHARE * seconds * self._speed
        room = self.room * (HELD if kind else 1)
        if size > room or not (cheap or signals.pending()) or not (name := scope.file(kind, number)):
            return False
        begun = time.monotonic()
        self.folder.keep(name, self._archive, value if kind == "" else (value, ()), {"stage": scope.name})
        STATUS.post(saved=time.monotonic(), gained=True)
        self._speed = min(self._speed, max(size, 1 << 20) / max(time.monotonic() - begun, 1e-3))
        return True

    def _found(self, scope: Scope, kind: str, number: int = 0) -> Any:
        """Load a value that an earlier process kept, with its notes; None where there is none."""
        prefix = f"{scope.name} {kind}".strip().replace(" ", "-")
        if not any(name.rpartition("-")[0] == prefix for name in self._left) or not (name := scope.file(kind, number)):
            return None
        known = self.folder.take(name, self._archive)
        if known is not None:
            self.taken.append(scope.name)
        return known

    @contextmanager
    def _inside(self, scope: Scope) -> Iterator[list[Note]]:
        """Makes a stage the one that is running."""
        self._scopes.append(scope)
        try:
            with self.noting() as notes:
                yield notes
        finally:
            self._scopes.pop()


class CheckpointPlace(Place[Any]):
    """The place of a loop that is kept, or of the parts of its steps."""

    def __init__(self, keeper: Resuming, scope: Scope, left: Any, kind: str = LOOP) -> None:
        self.keeper, self.scope, self.number, self.left, self.kind = keeper, scope, scope.loops, left, kind
        self.last = time.monotonic()
        self._inside: CheckpointPlace | None = None

    @property
    def wanted(self) -> bool:
        """Whether the run pauses once it has kept a checkpoint."""
        return signals.pending()

    def offer(self, checkpoint: Callable[[], Any]) -> None:
        """Keeps the checkpoint where that is worth it, and always before the run pauses."""
        seconds = time.monotonic() - self.last
        if seconds < EVERY and not signals.pending():
            return
        if self.keeper.keep(self.scope, self.kind, self.number, seconds, checkpoint()):
            self.last = time.monotonic()
        signals.pause()

    def within(self, kind: type[Any]) -> Place[Any]:
        """The place of the parts of each step: one after the other, they take the same file."""
        if self._inside is None:
            known = self.keeper.restore(self.scope, STEP, self.number, kind)
            self._inside = CheckpointPlace(self.keeper, self.scope, known, STEP)
            self._inside.number = self.number
        self._inside.last = time.monotonic()
        return self._inside

    def running(self) -> AbstractContextManager[None]:
        """Let a stop wait for what the loop offers."""
        return signals.before_checkpoint(offered=True)


def size_of(value: Any) -> int:
    """The bytes of the arrays of a value; infinite for what is not plain data."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if value is None or isinstance(value, bool | int | float | str | Options):
        return 0
    if isinstance(value, Mapping):
        return sum(map(size_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    try:
        return size_of(stored_parts(value))
    except TypeError:
        return 1 << 62
