"""The compiled module, if it is installed; MLCLI_SIMD names its instruction set, and `none` disables it."""

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray
from mlcli.errors import ConfigError, DependencyMissing

MODULE = "mlcli.native._kernels"
LEVELS = ("base", "v3", "v4")

REMEDY = ("where a C++ compiler and Python's headers are, run in mlcli's source folder: MLCLI_REQUIRE_NATIVE=1 "
          "pip install --no-cache-dir --force-reinstall --no-deps .")
REBUILD = ("for all instruction sets, run in mlcli's source folder: MLCLI_LEVELS=all pip install --no-cache-dir "
           "--force-reinstall --no-deps .")


def _load() -> tuple[ModuleType | None, str]:
    """Return the module with the instruction set that the environment names, or None and the reason.

    Raises ConfigError for an instruction set that this machine does not have.
    """
    named = os.environ.get("MLCLI_SIMD", "")
    if named == "none":
        return None, "MLCLI_SIMD=none does without the native kernels; unset it to have them"
    try:
        library = import_module(MODULE)  # `from mlcli.native import` words an absent module otherwise
    except ImportError as error:
        _require(named, lambda level: False, ())
        absent = isinstance(error, ModuleNotFoundError) and error.name == MODULE
        why = ("mlcli was installed without its native kernels" if absent
               else f"the native kernels do not load ({error})")
        return None, f"{why}; {REMEDY}"
    _require(named, library.choose_level, _up_to(library.processor_level()))
    return library, ""


def _up_to(level: str) -> tuple[str, ...]:
    return LEVELS[:LEVELS.index(level) + 1]


def _require(named: str, choose: Callable[[str], bool], machine: Sequence[str]) -> None:
    if named and not choose(named):
        known = [level for level in LEVELS if choose(level)]
        absent = ("is an instruction set that this build of the kernels lacks" if named in machine
                  else "is not one of this machine's instruction sets")
        build = f"; {REBUILD}" if named in machine else ""
        raise ConfigError("SIMD", f"{named[:80]!r} {absent}", where="MLCLI_SIMD",
                          hint=f"set it to one of {', '.join([*known, 'none'])}, or leave it unset{build}")


_library, _reason = _load()


def available() -> bool:
    """Whether the native kernels can be used."""
    return _library is not None


def machine_levels() -> tuple[str, ...]:
    """Return the instruction sets that this processor runs, lowest first, whether the build has them or not."""
    return () if _library is None else _up_to(_library.processor_level())


def lower_level() -> str:
    """Return why the kernels in use are of a lower instruction set than the processor's; empty if they are not."""
    if _library is None or describe() == machine_levels()[-1]:
        return ""
    used, highest = describe(), machine_levels()[-1]
    named = os.environ.get("MLCLI_SIMD", "")
    why = f"MLCLI_SIMD={named}; unset it to have {highest}" if named else f"the build lacks it; {REBUILD}"
    return f"{used}, though this processor runs {highest}: {why}"


def describe() -> str:
    """Return the instruction set in use: v4 (AVX-512), v3 (AVX2), base, or absent."""
    return "absent" if _library is None else str(_library.level())


def absence() -> str:
    """Return why the kernels are absent and what to do about it; empty if they are available."""
    return _reason


def kernels() -> ModuleType:
    """Return the compiled module; raises DependencyMissing if it is absent."""
    if _library is None:
        raise DependencyMissing("NATIVE", "the native kernels are not installed", where="mlcli.native", hint=absence())
    return _library


def private_copy(values: Any, kind: type) -> AnyArray:
    """Return a read-only copy of an array, so that what a kernel has checked cannot change."""
    copy: AnyArray = np.array(values, dtype=kind, order="C")
    copy.flags.writeable = False
    return copy
