"""What a run may use of the machine: seed, threads, memory."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base import machine
from mlcli.base.blas import environment_threads
from mlcli.base.machine import Threads
from mlcli.base.options import Options, option
from mlcli.errors import ConfigError, RefusedByPlan

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
ThreadCount = Annotated[int, Field(ge=1)]


class Compute(Options):
    """What a run may use of the machine."""

    seed: int = option(0, "Seed of every random choice.", ge=0)
    threads: ThreadCount | Literal["auto"] = option(
        "auto", "Threads for the numerical kernels (auto: MLCLI_THREADS, SLURM_CPUS_PER_TASK, OMP_NUM_THREADS, "
        "else the cores that affinity and control groups allow).")
    memory_limit: int | str = option("auto", "Memory the run may use, as 8G or 500M (auto: what the machine has).")

    def generator(self) -> np.random.Generator:
        """A fresh random generator; every call gives the same stream."""
        return np.random.default_rng(self.seed)

    def thread_count(self) -> int:
        """The number of threads to use."""
        return self.allowed_threads().count

    def allowed_threads(self) -> Threads:
        """The threads to use, as chosen, else as the environment allows, and where the number comes from."""
        return environment_threads() if self.threads == "auto" else Threads(int(self.threads), "compute.threads")

    def memory_bytes(self) -> int:
        """The limit in bytes: as chosen, else the container's, else the machine's memory."""
        if self.memory_limit != "auto":
            return parse_bytes(self.memory_limit)
        return min(limit for limit in (machine.machine_memory(), machine.memory_limit()) if limit > 0)

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
