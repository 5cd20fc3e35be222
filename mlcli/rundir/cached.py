"""A run with a cache of stages, and what run.json says of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from mlcli.base.stages.stage import listening
from mlcli.engine.cache import Folder, StageCache
from mlcli.rundir.machine import environment


@contextmanager
def caching(folder: Folder | None, threads: int) -> Iterator[StageCache | None]:
    """Use a cache of stages in the block, where there is a folder for it."""
    if folder is None:
        yield None
        return
    cache = StageCache(folder, environment(threads))
    with listening(cache):
        yield cache


def cache_facts(cache: StageCache | None) -> dict[str, Any]:
    """Return the facts of a cache for run.json: the stages taken from it, and how the others differ."""
    return {} if cache is None else {"cache": [asdict(answer) for answer in cache.answers]}
