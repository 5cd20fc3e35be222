"""Versions of packages, and the linear algebra libraries that they use."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import mlcli
from mlcli import native
from mlcli.base.context import context
from mlcli.base.machine.threads import blas_libraries, numpy_features

PACKAGES = ("numpy", "scipy", "pyarrow", "pydantic", "pyyaml", "typer", "rich", "threadpoolctl")


def packages() -> dict[str, str | None]:
    """The version of every package that mlcli uses; null where it is missing."""
    return {name: installed(name) for name in PACKAGES}


def versions() -> dict[str, str | None]:
    """Return the versions of Python, of the system and of all packages, and the instructions that code is chosen by."""
    return {"python": platform.python_version(), "platform": system(), **packages(),
            "kernels": native.describe(), "numpy_features": " ".join(numpy_features())}


@cache
def system() -> str:
    """The system, its release and its processor: what `platform.platform` says, without the process that it starts.

    A process that is started has the locks of drafts until it runs its program, even if mlcli is killed meanwhile.
    """
    parts = [platform.system(), platform.release(), platform.machine(), *(["-".join(platform.libc_ver())]
                                                                          if platform.libc_ver()[0] else [])]
    return "-".join(parts)


def environment(threads: int) -> dict[str, Any]:
    """Return the facts besides the input that decide the last digits of results: versions, instructions, threads.

    It is the same before and after the libraries that SciPy brings, whose version says what they are, are loaded.
    """
    blas = {f"{name_of(info)} {info.get('architecture')}" for info in blas_libraries().info()
            if info["user_api"] == "blas" and user_of(info) != "scipy"}
    return {"mlcli": mlcli.__version__, "numpy": installed("numpy"), "scipy": installed("scipy"),
            "processor": platform.machine(), "kernels": native.describe(), "numpy_features": numpy_features(),
            "threads": threads, "blas": sorted(blas),
            **({"portable": True} if context().portable else {})}


@cache
def installed(name: str) -> str | None:
    """Return the version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def libraries() -> list[dict[str, Any]]:
    """The numerical libraries loaded, with their kernel and threads, in one order whichever was loaded first."""
    return [{"library": name_of(info), "used_by": user_of(info), "kernel": info.get("architecture"),
             "threads": info["num_threads"]}
            for info in sorted(blas_libraries().info(), key=lambda info: info["filepath"])]


def name_of(info: dict[str, Any]) -> str:
    """A library's name, and its version where the library says it."""
    version = info.get("version")
    return f"{info['internal_api']} {version}" if isinstance(version, str) else str(info["internal_api"])


def user_of(info: dict[str, Any]) -> str:
    """The package that a library came with."""
    return next((name for name in ("numpy", "scipy") if f"{name}.libs" in info["filepath"]), "system")
