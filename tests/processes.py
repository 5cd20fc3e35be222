"""Processes of their own: the installed program, or Python with the installed package, in a neutral environment."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

SETTINGS = re.compile(  # of numbers, threads and memory; of which package is imported, and of what is printed
    r"(OPENBLAS|GOTO|OMP|MKL|BLIS|NUMEXPR|VECLIB|MLCLI|SLURM|PBS|LSB|PYTHON)|"
    r"(NSLOTS|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES)$")
KEPT = ("MLCLI_REQUIRE_NATIVE", "MLCLI_SIMD")  # which build of the kernels is tested
CORE = "OPENBLAS_CORETYPE"
OWN_KERNEL = {CORE: os.environ[CORE]} if CORE in os.environ else {}  # by which this process, too, does linear algebra
PACKAGES = ("PYTHONPATH",) if sys.flags.no_site else ()  # without site packages nothing else leads to them


def neutral(**settings: str) -> dict[str, str]:
    """The environment of this process without its settings of programs and libraries, and with these."""
    left = {name: value for name, value in os.environ.items()
            if name in (*KEPT, *PACKAGES) or not SETTINGS.match(name)}
    return {**left, **settings}


def program() -> list[str]:
    """The command of the installed program; never the source tree, whatever the folder: -P."""
    script = Path(sys.executable).with_name("mlcli")
    return [str(script)] if script.exists() else [sys.executable, "-P", "-m", "mlcli"]


def process(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Starts `mlcli` as a process of its own, its streams in pipes."""
    command = [*program(), *map(str, arguments)]
    usual = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "env": neutral()}
    return subprocess.Popen(command, **{**usual, **options})


def call(*arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs `mlcli` to its end, under some variables."""
    return subprocess.run([*program(), *map(str, arguments)], env=neutral(**settings), capture_output=True, text=True,
                          check=False)


def python(code: str, *arguments: object, **settings: str) -> str:
    """What a program in Python prints that imports the installed package; it must end well."""
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=neutral(**settings), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
