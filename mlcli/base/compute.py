"""What a run may use of the machine: seed, threads, memory."""

import os
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base.options import Options, option
from mlcli.errors import ConfigError, RefusedByPlan

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
ThreadCount = Annotated[int, Field(ge=1)]


class Compute(Options):
    """What a run may use of the machine."""

    seed: int = option(0, "Seed of every random choice.", ge=0)
    threads: ThreadCount | Literal["auto"] = option(
        "auto", "Threads for the numerical kernels (auto: all cores allowed).")
    memory_limit: int | str = option("auto", "Memory the run may use, as 8G or 500M (auto: what the machine has).")
    cluster: str | None = option(None, "A cluster to compute on.")

    def generator(self) -> np.random.Generator:
        """A fresh random generator; every call gives the same stream."""
        return np.random.default_rng(self.seed)

    def thread_count(self) -> int:
        """The number of threads to use: as chosen, else what the process may run on."""
        if self.threads != "auto":
            return int(self.threads)
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def memory_bytes(self) -> int:
        """The limit in bytes: as chosen, else the container's, else the machine's memory."""
        if self.memory_limit != "auto":
            return parse_bytes(self.memory_limit)
        return min(limit for limit in (machine_memory(), container_memory()) if limit > 0)

    def require(self, needed: float, purpose: str, hint: str) -> None:
        """Refuses work whose predicted memory is over the limit; raises RefusedByPlan."""
        limit = self.memory_bytes()
        if needed > limit:
            raise RefusedByPlan(
                "MEMORY", f"{purpose} needs about {needed / 2**30:.1f} GiB and the limit is {limit / 2**30:.1f} GiB",
                where="compute.memory_limit", hint=hint)


def parse_bytes(text: int | str) -> int:
    """Bytes from 8G, 500M, 1024; raises ConfigError."""
    digits = str(text).strip().upper().removesuffix("IB").removesuffix("B")
    unit = digits[-1:] if digits[-1:].isalpha() else ""
    try:
        size = int(float(digits.removesuffix(unit)) * UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise ConfigError("MEMORY-LIMIT", f"{text!r} is not a size of memory", where="compute.memory_limit",
                          hint="write it as 8G, 500M or a number of bytes")
    return size


def machine_memory() -> int:
    """The machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def container_memory() -> int:
    """The memory limit of this container or job in bytes, 0 where there is none."""
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(file).read_text().strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < 2**60:
            return int(text)
    return 0
