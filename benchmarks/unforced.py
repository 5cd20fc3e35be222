"""An environment that holds no library back and drives none, for both sides of a timing, and the kernels then in use.

What a shell exports for other work (`OPENBLAS_CORETYPE=Haswell`) would slow one side down, or both.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping

FORCING = re.compile(  # kernels and threads of linear algebra, those of NumPy, mlcli and the C library, and no bytecode
    r"(OPENBLAS|GOTO|NVPL|MKL|KMP|OMP|GOMP|BLIS|AOCL|ARMPL|ATLAS|VECLIB|FLEXIBLAS|NUMBA|NPY)_|"
    r"(MLCLI_SIMD|MLCLI_NO_BLAS_TUNE|GLIBC_TUNABLES|PYTHONDONTWRITEBYTECODE)$")
PROBE = """
import numpy.linalg, scipy.linalg
from threadpoolctl import threadpool_info
print("\\n".join(f"{own['internal_api']} {own['version']} {own.get('architecture')}" for own in threadpool_info()
                 if own["user_api"] == "blas"))
"""


def unforced(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment but for those that say how libraries compute."""
    return {name: value for name, value in environment.items() if not FORCING.match(name)}


def restart_unforced() -> None:
    """Start this script again without the variables that force a library, as some are read when NumPy loads."""
    left = unforced(os.environ)
    if dropped := sorted(os.environ.keys() - left.keys()):
        print(f"not set for either side: {', '.join(dropped)}", file=sys.stderr, flush=True)
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], left)


def kernels_of(python: str) -> str:
    """The libraries of linear algebra that NumPy and SciPy load in an interpreter, with their kernels."""
    shown = subprocess.run([python, "-c", PROBE], env=unforced(os.environ), capture_output=True, text=True, check=True)
    return ", ".join(sorted(set(shown.stdout.split("\n")) - {""})) or "unknown"


def kernels_of_mlcli() -> str:
    """The kernels of mlcli and those of the libraries that it loads, which it may choose itself."""
    shown = subprocess.run([sys.executable, "-P", "-m", "mlcli", "doctor", "--json"], env=unforced(os.environ),
                           capture_output=True, text=True, check=True)
    found = json.loads(shown.stdout)
    libraries = sorted({f"{own['library']} {own['kernel']}" for own in found["blas"]})
    return ", ".join([f"own kernels {found['native']}", *libraries])


def kernels_in_use(python: str) -> str:
    """The kernels of both sides: of mlcli, and of peers in an interpreter."""
    return f"mlcli with {kernels_of_mlcli()}; peers with {kernels_of(python)}"
