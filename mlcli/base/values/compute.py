"""Options of the machine's use: seed, threads, memory, time, cache and cluster."""

import math
import os
import re
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base import units
from mlcli.base.machine import limits, resources
from mlcli.base.machine.blas import environment_threads
from mlcli.base.machine.footprint import MIB, resident
from mlcli.base.machine.scheduler import MOST, Memory, Threads
from mlcli.base.values.file_names import FileName
from mlcli.base.values.options import Options, option
from mlcli.errors import ConfigError, RefusedByPlan

FOREVER = 1e9  # seconds, which is 31 years; timers take no more than some powers of ten above it
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SMALL = 4 * MIB  # bytes of data
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
ThreadCount = Annotated[int, Field(ge=1, le=MOST)]


class Compute(Options):
    """Seed of a run, and its use of the machine: threads, memory, time, cache and cluster."""

    unkeyed: ClassVar[tuple[str, ...]] = ("cache", "cache_limit", "time_limit", "cluster", "cluster_folder",
                                          "memory_enforce", "portable")
    seed: int = option(0, "Seed of the random numbers.", ge=0)
    threads: ThreadCount | Literal["auto"] = option(
        "auto", "Number of threads (auto: MLCLI_THREADS, else the smallest limit set by the batch job, "
        "OMP_NUM_THREADS, CPU affinity and control groups).")
    portable: bool = option(
        False, "Whether every method gives the same bytes on all machines of one architecture with the same versions, "
        "by code that all of them have and one thread for linear algebra (docs/reproducibility.md).")
    memory_limit: int | str = option(
        "auto", "Memory the run may use, as 8G or 500M (auto: the smallest limit set by the batch job, control "
        "groups, `ulimit` and the machine). A run that is predicted to need more reads its table in blocks, or is "
        "refused before it starts.")
    memory_enforce: bool = option(
        False, "Whether a run that exceeds the memory limit in spite of the prediction is ended. Memory that "
        "libraries and threads reserve without using it does not count.")
    time_limit: str | None = option(
        None, "Time after which the command stops, as 90s, 30m or 2h, leaving a checkpoint to resume from (default: "
        "the end of the SLURM job).", min_length=1)
    cache: FileName | None = option(
        None, "Folder of the cache, which saves intermediate results for later runs (default: MLCLI_CACHE, else none).")
    cache_limit: int | str = option(
        "10G", "Largest size of the cache, as 8G or 500M; the least recently used results are removed first.")
    cluster: FileName | None = option(
        None, "Dask cluster for large kernels and files, long neighbor searches, and the quality of many points: "
        "local or local:4 for workers on this machine, tcp://host:8786, tls://host:8786, or file:scheduler.json.")
    cluster_folder: FileName | None = option(
        None, "Folder for large arrays that this machine and all workers can read and write (default: a temporary "
        "folder for local; else none, and each worker repeats the elimination of the graph).")

    def generator(self) -> np.random.Generator:
        """Return a fresh random generator; every call gives the same stream."""
        return np.random.default_rng(self.seed)

    def thread_count(self) -> int:
        """Return the number of threads to use."""
        return self.allowed_threads().count

    def allowed_threads(self) -> Threads:
        """Return the threads to use, chosen or from the environment, with the source of the number."""
        return environment_threads() if self.threads == "auto" else Threads(int(self.threads), "compute.threads")

    def memory_bytes(self) -> int:
        """Return the memory limit in bytes."""
        return self.allowed_memory().bytes

    def allowed_memory(self) -> Memory:
        """Return the memory to use with the source of the number: the chosen one, else the smallest of the limits.

        No choice can go beyond what `ulimit` leaves.
        """
        chosen = (resources.memory_limits() if self.memory_limit == "auto"
                  else [Memory(parse_bytes(self.memory_limit), "compute.memory_limit")])
        return min([*chosen, *limits.memory(self.thread_count())], key=lambda limit: limit.bytes)

    def time_seconds(self) -> float:
        """Return the time limit in seconds; infinite where there is none. Raises ConfigError."""
        return math.inf if self.time_limit is None else parse_seconds(self.time_limit)

    def cache_folder(self) -> Path | None:
        """Return the folder for results of stages: the chosen one, else MLCLI_CACHE; None where there is none."""
        chosen = self.cache or os.environ.get("MLCLI_CACHE", "")
        return Path(chosen) if chosen else None

    def require_data(self, size: float, purpose: str, hint: str = "") -> None:
        """Raise RefusedByPlan for data that takes so many bytes beside the program, before it is read.

        Of small data the program is not counted: the fit refuses it, and says how many rows fit.
        """
        self.require(size + (resident(self.thread_count()) if size > SMALL else 0), purpose, hint)

    def require(self, needed: float, purpose: str, hint: str = "") -> None:
        """Raise RefusedByPlan for work whose predicted memory, in bytes, is over the limit.

        `hint` says how to need less; the remedy that raises the limit depends on its source.
        """
        limit = self.allowed_memory()
        if needed > limit.bytes:
            left = f"{limits.source_text(limit.source)} is" if limit.source in limits.LIMITS else "the limit is"
            fewer = "use fewer threads" if limit.source in limits.LIMITS and self.thread_count() > 1 else ""
            raise RefusedByPlan(
                "MEMORY", f"{purpose} needs about {units.memory(needed)} and {left} {units.memory(limit.bytes)}",
                where=limit.source, hint=", or ".join(filter(None, (hint, fewer, limit.remedy))))


def parse_seconds(text: str, where: str = "compute.time_limit") -> float:
    """Return the seconds of 90s, 30m, 2h, 1.5d or 1h30m, at most `FOREVER`; raises ConfigError."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    seconds = sum(float(size) * SECONDS[unit] for size, unit in parts)
    if "".join(map("".join, parts)) != text or not seconds:
        raise ConfigError("TIME-LIMIT", f"{text[:40]!r} is not a time", where=where,
                          hint="write it as 90s, 30m, 2h or 1h30m")
    return min(seconds, FOREVER)


def parse_bytes(text: int | str, where: str = "compute.memory_limit") -> int:
    """Return the bytes of 8G, 500M or 1024; raises ConfigError."""
    digits = str(text).strip().upper().removesuffix("IB").removesuffix("B")
    unit = digits[-1:] if digits[-1:].isalpha() else ""
    try:
        size = int(float(digits.removesuffix(unit)) * UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise ConfigError("MEMORY-LIMIT", f"{text!r} is not a size in bytes", where=where,
                          hint="write it as 8G, 500M or a number of bytes")
    return size
