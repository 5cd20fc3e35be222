"""Threads, memory and kind of processor that this process may use. Imports nothing heavy."""

import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from mlcli.base.machine import scheduler
from mlcli.base.machine.scheduler import MOST, Memory, Threads
from mlcli.errors import ConfigError

ROOT = Path("/")
CHOSEN = "MLCLI_THREADS"
CORE = "OPENBLAS_CORETYPE"  # names the processor whose kernels OpenBLAS takes
UNLIMITED = 2**60  # bytes: version 1 of control groups writes "none" as a number near 2**63


def threads(environment: Mapping[str, str] = os.environ, root: Path = ROOT) -> Threads:
    """Return MLCLI_THREADS, else the smallest of the limits; raises ConfigError for a bad MLCLI_THREADS."""
    text = environment.get(CHOSEN, "").strip()
    if not text:
        return min(thread_limits(environment, root), key=lambda limit: limit.count)
    if not 0 < scheduler.number(text) <= MOST:
        raise ConfigError("THREADS", f"{text[:40]!r} is not a number of threads from 1 to {MOST}", where=CHOSEN,
                          hint="write it as 4, or unset it")
    return Threads(scheduler.number(text), CHOSEN)


def thread_limits(environment: Mapping[str, str] = os.environ, root: Path = ROOT) -> list[Threads]:
    """Return the limits of the batch job, OMP_NUM_THREADS, the control groups' quota and the affinity, where set."""
    nested = scheduler.number(environment.get("OMP_NUM_THREADS", "").partition(",")[0])  # it may list nested levels
    limits = [*scheduler.threads(environment), Threads(nested, "OMP_NUM_THREADS"),
              Threads(cpu_quota(root), "cgroup quota"), Threads(affinity(), "affinity")]
    return [Threads(min(limit.count, MOST), limit.source) for limit in limits if limit.count > 0]


def affinity() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def cpu_quota(root: Path) -> int:
    """The cores' worth of time that the control groups grant, rounded up, read once; 0 where they set no limit."""
    shares = []
    for folder in group_folders("cpu", root):
        quota, period = (words(folder / "cpu.max") or
                         [*words(folder / "cpu.cfs_quota_us"), *words(folder / "cpu.cfs_period_us")] or ["", ""])[:2]
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            shares.append(max(1, math.ceil(int(quota) / int(period))))
    return min(shares, default=0)


def forget_peak_memory() -> None:
    """Lets the peak of this process's memory begin anew, where the system can do that (Linux)."""
    with suppress(OSError):
        (ROOT / "proc/self/clear_refs").write_bytes(b"5")


def memory_limits(environment: Mapping[str, str] = os.environ, root: Path = ROOT) -> list[Memory]:
    """The bytes that the batch job, the control groups and the machine each allow, as far as they say so."""
    group = group_memory(root)
    return [*scheduler.memory(environment), *([Memory(group, "control group")] if group else []),
            Memory(machine_memory(), "machine memory")]


@cache
def group_memory(root: Path) -> int:
    """The bytes that the control groups grant, read once: a run asks often; 0 where they set no limit."""
    texts = [text for folder in group_folders("memory", root)
             for name in ("memory.max", "memory.limit_in_bytes") for text in words(folder / name)[:1]]
    limits = [int(text) for text in texts if text.isdecimal()]
    return min((limit for limit in limits if 0 < limit < UNLIMITED), default=0)


def machine_memory() -> int:
    """The machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def mebibytes(peak: int) -> float:
    """Convert a peak of resident memory by getrusage(2) to MiB: it is in KiB, and on macOS in bytes."""
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def group_folders(controller: str, root: Path) -> Iterator[Path]:
    """The folders of this process's control groups and of the groups around them, of version 2 and version 1.

    /proc/self/cgroup gives the groups' folders below the mount. In a container whose own group is mounted as the root,
    the inner folders are absent and the root holds the limits.
    """
    lines = text_of(root / "proc/self/cgroup").splitlines() or ["0::/", f"1:{controller}:/"]
    for number, names, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        mounts = ("", "unified") if number == "0" and not names else dict.fromkeys((names, controller))
        if names and controller not in names.split(","):
            continue
        parts = [part for part in path.split("/") if part]
        parts = [] if ".." in parts else parts  # a group outside the container's own root
        for mount in mounts:
            for size in range(len(parts), -1, -1):
                yield root.joinpath("sys/fs/cgroup", mount, *parts[:size])


def words(file: Path) -> list[str]:
    """The words of a small file; empty where it cannot be read."""
    return text_of(file).split()


def text_of(file: Path) -> str:
    """The text of a small file; empty where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def instruction_set() -> str:
    """Return the instruction set that linear algebra libraries can use: v4 (AVX-512), v3 (AVX2) or base."""
    _, features = processor()
    return "v4" if "avx512f" in features else "v3" if {"avx2", "fma"} <= features else "base"


@cache
def processor(root: Path = ROOT) -> tuple[str, frozenset[str]]:
    """The vendor and the features of the first core, as Linux names them, read once; nothing elsewhere."""
    fields = {}
    try:
        with (root / "proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:  # up to the second core: asking hundreds of cores takes long
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                fields[key.strip()] = value.strip()
    except OSError:
        return "", frozenset()
    return fields.get("vendor_id", ""), frozenset(fields.get("flags", "").split())
