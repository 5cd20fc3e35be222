"""Whether this process computes what every machine of its architecture does (`compute.portable`), and by what.

The variables of `base/machine/portable.py` count when libraries load, so the libraries are asked what they use.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from shlex import quote
from typing import Any

import mlcli
from mlcli import native
from mlcli.base.machine import blas
from mlcli.base.machine.portable import (
    LEAVE_OUT,
    OPTION,
    XLA,
    Target,
    features_above,
    refusal,
    refused,
    target,
    variables,
)
from mlcli.base.machine.resources import CORE
from mlcli.base.machine.threads import blas_libraries, numpy_features
from mlcli.errors import ConfigError

NEURAL = "neural"  # the extra of methods that train networks, by JAX
SINCE = (0, 10)  # the first version of jaxlib whose results were compared


def require_portable(extras: Sequence[str] = ()) -> Target:
    """Return what all machines of this architecture have; raises ConfigError where this process may round otherwise.

    `extras` are those that the method requires.
    """
    common = require_possible()
    if native.describe() not in common.simd:
        raise refused(f"the native kernels are {native.describe()}, not {' or '.join(common.simd)}")
    if NEURAL in extras:
        require_networks(common)
    if unlike := [*of_libraries(common), *(of_networks(common) if NEURAL in extras else ())]:
        needed = {name: value for name, value in variables(own_environment()).items()
                  if NEURAL in extras or name not in (*common.onednn, XLA)}
        raise ConfigError(
            "PORTABLE", f"portable results need other settings than this process has: {'; '.join(unlike)}",
            where=OPTION, hint=f"set {' '.join(f'{name}={quote(value)}' for name, value in needed.items())} before "
            f"it starts, or {LEAVE_OUT}")
    return common


def require_possible() -> Target:
    """Return what all machines of this architecture have; raises ConfigError where no new start would have it."""
    common, error = target(), refusal(own_environment())
    if error is not None or common is None:
        raise error or refused("")
    return common


def own_environment() -> Mapping[str, str]:
    """The environment without what this program has set in it."""
    return {name: value for name, value in os.environ.items() if name not in blas.settings().exported}


def require_networks(common: Target) -> None:
    """Raise ConfigError where networks cannot be trained with the same bytes on other machines."""
    if not common.xla:
        raise refused(f"networks are trained by XLA, whose code for {common.name} no setting chooses")
    if tuple(map(int, version("jaxlib").split(".")[:2])) < SINCE:
        raise refused(f"jaxlib {version('jaxlib')} chooses products by the processor; {'.'.join(map(str, SINCE))} does "
                      "not have to")


def of_libraries(common: Target) -> list[str]:
    """Return what OpenBLAS and NumPy use here that others do not have; raises ConfigError for another BLAS."""
    found = []
    for library, kernel in kernels():
        if not library.startswith("openblas"):
            raise refused(f"linear algebra is by {library}, and only OpenBLAS lets its kernels be chosen")
        if kernel.upper() != common.core:
            found.append(f"{library} has kernels of {kernel}, not {common.core}")
    if above := [name for name in numpy_features() if name in features_above(common)]:
        found.append(f"NumPy uses {', '.join(above)}")
    if not found and os.environ.get(CORE, "").upper() != common.core:  # which SciPy's own library is to read
        found.append(f"{CORE} is not {common.core}")
    return found


def of_networks(common: Target) -> list[str]:
    """Return the variables of XLA and of what it multiplies by that are not as they must be."""
    flags = os.environ.get(XLA, "").split()
    others = [name for name, value in common.onednn.items() if os.environ.get(name, "").upper() != value]
    return [*(f"{name} is not {common.onednn[name]}" for name in others),
            *(f"{XLA} lacks {flag}" for flag in common.xla if flag not in flags)]


def kernels() -> list[tuple[str, str]]:
    """Return the linear algebra libraries in use, with their versions, and the kernels of each."""
    return sorted({(f"{info['internal_api']} {info.get('version')}", str(info.get("architecture")))
                   for info in blas_libraries().info() if info["user_api"] == "blas"})


def decisive(extras: Sequence[str] = ()) -> dict[str, Any]:
    """Return what portable results depend on besides input and options, of a method that requires these extras.

    Of linear algebra these are the libraries that are loaded by now; raises what `require_portable` does of them.
    """
    common = require_portable(extras)
    packages = ("numpy", "scipy", *(("jax", "jaxlib", "optax") if NEURAL in extras else ()))
    return {"architecture": platform.machine(), "instructions": common.name, "mlcli": mlcli.__version__,
            "python": platform.python_version(), **{name: version(name) for name in packages},
            "blas": [" ".join(one) for one in kernels()], "c_library": " ".join(platform.libc_ver())}
