"""The compiled module, if it is installed; MLCLI_SIMD names its instruction set, and `none` disables it."""

import os
from collections.abc import Callable
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
        _require(named, lambda level: False)
        absent = isinstance(error, ModuleNotFoundError) and error.name == MODULE
        why = ("mlcli was installed without its native kernels" if absent
               else f"the native kernels do not load ({error})")
        return None, f"{why}; {REMEDY}"
    _require(named, library.choose_level)
    return library, ""


def _require(named: str, choose: Callable[[str], bool]) -> None:
    if named and not choose(named):
        known = [level for level in LEVELS if choose(level)]
        raise ConfigError("SIMD", f"{named[:80]!r} is not one of this machine's instruction sets", where="MLCLI_SIMD",
                          hint=f"set it to one of {', '.join([*known, 'none'])}, or leave it unset")


_library, _reason = _load()


def available() -> bool:
    """Whether the native kernels can be used."""
    return _library is not None


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
