"""A cache of stages in memory: a listener that keeps results as the archive's bytes, and answers with them."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from mlcli.base import stored as stored_kinds
from mlcli.base.stage import Note, Stage, Watcher, tell
from mlcli.storage.archive import Archive
from mlcli.storage.keys import Keys

RESULTS = Archive(stored_kinds.RESULTS, finite=False)


def stored(value: Any) -> tuple[str, bytes]:
    """A value as text and bytes."""
    tree, arrays = RESULTS.stored({"value": value})
    return json.dumps(tree), arrays


def restored(tree: str, arrays: bytes) -> Any:
    """The value again."""
    return RESULTS.restored(json.loads(tree), io.BytesIO(arrays), len(arrays))["value"]


class Cache(Watcher):
    """Answers for some stages; all that have a version have a key, by which what they made is known."""

    def __init__(self, *answered: str) -> None:
        self.answered, self.keys, self.kept = answered, Keys(), dict[str, tuple[str, bytes]]()
        self.computed, self.found = list[str](), list[str]()  # names of stages
        self._noted: list[list[Note]] = []  # of each stage that is being computed

    def note(self, note: Note) -> None:
        for notes in self._noted:
            notes.append(note)

    def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], Any]) -> Any:
        if stage.version is None:
            return call()
        key = self.keys.of_stage(stage, inputs)
        result = self._answer(key, stage, call) if stage.name in self.answered else call()
        self.keys.made(result, key)
        return result

    def _answer(self, key: str, stage: Stage, call: Callable[[], Any]) -> Any:
        if key in self.kept:
            self.found.append(stage.name)
            result, notes = restored(*self.kept[key])
            for note in notes:
                tell(note)
            return result
        self.computed.append(stage.name)
        self._noted.append([])
        try:
            result = call()
            self.kept[key] = stored((result, self._noted[-1]))
            return result
        finally:
            self._noted.pop()
