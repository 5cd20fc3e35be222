"""Settings that the linear algebra libraries read once, when NumPy loads: threads, and OpenBLAS's kernel.

OpenBLAS takes AMD's newer processors for a Haswell and leaves their AVX-512 unused (fixed upstream in
OpenBLAS PR 6033); it also ignores the quota of a container. Both are corrected before anything heavy is imported.
"""

import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from dataclasses import field, replace
from itertools import takewhile
from pathlib import Path

from mlcli.base.frozen import frozen
from mlcli.base.machine import resources
from mlcli.base.machine.resources import CORE, ROOT
from mlcli.base.machine.scheduler import MOST, Threads, number
from mlcli.errors import ConfigError

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
OFF = "MLCLI_NO_BLAS_TUNE"
FLAG = "--portable"  # which makes results portable (`portable.py`)
AGAIN = "MLCLI_PORTABLE"  # set for a second start, which is then made as with the flag
QUICKEST = "SKYLAKEX"  # of OpenBLAS's core types on AMD processors with AVX-512: 1.7 times as quick as HASWELL (Zen 5)
SLOWER = ("HASWELL", "ZEN", "SANDYBRIDGE", "NEHALEM", "PRESCOTT")  # core types without AVX-512
NEEDED = frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd"})  # what SKYLAKEX's kernels use


@frozen
class Settings:
    """The settings of the linear algebra libraries, and the reasons for them."""

    threads: Threads | None = None  # of the environment as the user gave it; None where it is wrong
    count: int = 1  # of threads that the command line asks for, else the environment
    limits: tuple[Threads, ...] = ()  # all that the environment names
    exported: Mapping[str, str] = field(default_factory=dict)  # the variables set here
    early: bool = False  # whether NumPy was not loaded yet: a new start may set others
    portable: bool = False  # whether the start was to make results portable
    reason: str = "NumPy was loaded by another program"  # for OpenBLAS's core type, or for not setting it

    def facts(self) -> dict[str, object]:
        """Return the settings as plain values, for run.json and doctor."""
        return {"exported": dict(self.exported), "core_type": self.exported.get(CORE), "reason": self.reason}


_settings: ContextVar[Settings | None] = ContextVar("blas", default=None)


def settings() -> Settings:
    """Return the settings made when the program started; the defaults if `export` was not called."""
    return _settings.get() or Settings()


def environment_threads() -> Threads:
    """The threads that the environment allows; our own exports do not count. Raises ConfigError."""
    return settings().threads or resources.threads()


def environment_limits() -> tuple[Threads, ...]:
    """All limits of threads that the environment names; our own exports do not count."""
    return settings().limits or tuple(resources.thread_limits())


def allow(threads: Threads) -> None:
    """Set the number of threads that the environment allows: the share of one of several processes."""
    _settings.set(replace(settings(), threads=threads))


def export(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ, root: Path = ROOT) -> Settings:
    """Sets the variables that are not set yet, unless NumPy is already loaded and would not see them."""
    try:
        allowed = resources.threads(environment, root)
    except ConfigError:  # reported when the threads are needed
        allowed = None
    count = requested_threads(arguments) or (allowed.count if allowed else 1)
    limits = tuple(resources.thread_limits(environment, root))
    portable = FLAG in takewhile("--".__ne__, arguments) or AGAIN in environment
    settings = Settings(allowed, count, limits)
    if "numpy" not in sys.modules:
        pools = {name: str(1 if portable else count) for name in POOLS if not environment.get(name)}
        chosen, reason = portable_kernels(environment, root) if portable else core_type(environment, root)
        settings = Settings(allowed, count, limits, pools | chosen, early=True, portable=portable, reason=reason)
    environment.pop(AGAIN, None)  # of this start alone
    environment.update(settings.exported)
    _settings.set(settings)
    return settings


def requested_threads(arguments: Sequence[str]) -> int:
    """The number that --threads gives on a command line not yet parsed; 0 where there is none or it is not valid."""
    texts = [""]
    for place, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--threads":
            texts.extend(arguments[place + 1:place + 2])
        elif argument.startswith("--threads="):
            texts.append(argument.partition("=")[2])
    asked = number(texts[-1])
    return asked if asked <= MOST else 0


def portable_kernels(environment: Mapping[str, str], root: Path) -> tuple[dict[str, str], str]:
    """Return the variables that make all machines of the architecture compute the same bytes, and the reason."""
    from mlcli.base.machine.portable import OPTION, variables

    return variables(environment, root), f"{OPTION}: kernels that all processors of the architecture have"


def core_type(environment: Mapping[str, str], root: Path) -> tuple[dict[str, str], str]:
    """Return the variable that sets OpenBLAS's core type, where one is to be set, and the reason."""
    vendor, flags = resources.processor(root)
    wide = vendor == "AuthenticAMD" and flags >= NEEDED
    if chosen := environment.get(CORE):
        quicker = f"; {QUICKEST} is quicker on this processor" if wide and chosen.upper() in SLOWER else ""
        return {}, f"{CORE} was set already{quicker}"
    if environment.get(OFF, "0") not in ("", "0"):
        return {}, f"{OFF} is set"
    if vendor != "AuthenticAMD":
        return {}, "not an AMD processor"
    if not wide:
        return {}, "an AMD processor without AVX-512"
    return {CORE: QUICKEST}, "an AMD processor with AVX-512, which OpenBLAS may take for a Haswell"
