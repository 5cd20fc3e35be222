"""Work that dies at checkpoints and is begun again, with nothing but what was stored."""

import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mlcli.base import stored as stored_kinds
from mlcli.base.stages.checkpoints import Place, keeping
from mlcli.storage.archive import Archive

RESULTS = Archive(stored_kinds.RESULTS, finite=False)


def stored(value: Any) -> tuple[str, bytes]:
    """A value as text and bytes."""
    tree, arrays = RESULTS.stored({"value": value})
    return json.dumps(tree), b"".join(arrays)


def restored(tree: str, arrays: bytes) -> Any:
    """The value again."""
    return RESULTS.restored(json.loads(tree), io.BytesIO(arrays), len(arrays))["value"]


class Died(Exception):
    """The end of a process."""


class Dying:
    """Keeps the latest checkpoint of each loop, and dies at every so many of them."""

    def __init__(self, every: int = 1, *, wanted: Callable[[], bool] = lambda: False) -> None:
        self.every, self.deaths, self.offers, self.loops, self.wanted = every, 0, 0, 0, wanted
        self.kept: dict[int, tuple[str, bytes]] = {}

    def place(self, kind: type[Any]) -> Place[Any]:
        self.loops += 1
        return Remembered(self, self.loops)

    def apart(self) -> AbstractContextManager[None]:
        return nullcontext()


class Remembered(Place[Any]):
    """The place of one of its loops."""

    def __init__(self, keeper: Dying, number: int) -> None:
        self.keeper, self.number = keeper, number
        self.left = restored(*keeper.kept[number]) if number in keeper.kept else None

    @property
    def wanted(self) -> bool:
        return self.keeper.wanted()

    def offer(self, checkpoint: Callable[[], Any]) -> None:
        self.keeper.offers += 1
        self.keeper.kept[self.number] = stored(checkpoint())
        if self.keeper.offers % self.keeper.every == 0:
            self.keeper.deaths += 1
            raise Died


def in_parts(work: Callable[[], Any], every: int = 1, *, wanted: Callable[[], bool] = lambda: False) -> tuple[Any, int]:
    """What work ends with that dies at every so many checkpoints and is begun again, and how often it died."""
    keeper = Dying(every, wanted=wanted)
    while True:
        keeper.loops = 0
        try:
            with keeping(keeper):
                return work(), keeper.deaths
        except Died:
            continue
