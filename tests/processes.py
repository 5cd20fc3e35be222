"""Processes of their own: the installed program, or Python with the installed package, in a neutral environment."""

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

SETTINGS = re.compile(  # of numbers, threads and memory; of which package is imported, and of what is printed
    r"(OPENBLAS|GOTO|OMP|MKL|BLIS|NUMEXPR|VECLIB|MLCLI|SLURM|PBS|LSB|PYTHON)|"
    r"(NSLOTS|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES)$")
KEPT = ("MLCLI_REQUIRE_NATIVE", "MLCLI_SIMD")  # which build of the kernels is tested
CORE = "OPENBLAS_CORETYPE"
HERE = Path(__file__).parent
OWN_KERNEL = {CORE: os.environ[CORE]} if CORE in os.environ else {}  # by which this process, too, does linear algebra
PACKAGES = ("PYTHONPATH",) if sys.flags.no_site else ()  # without site packages nothing else leads to them

_servers: list[subprocess.Popen[bytes]] = []


def neutral(**settings: str) -> dict[str, str]:
    """The environment of this process without its settings of programs and libraries, and with these."""
    left = {name: value for name, value in os.environ.items()
            if name in (*KEPT, *PACKAGES) or not SETTINGS.match(name)}
    return {**left, **settings}


def own_folders(place: Path) -> dict[str, str]:
    """The variable by which pytest makes its folders in a place.

    In the usual one it deletes those of earlier sessions, all files of a suite among them.
    """
    return {"PYTEST_DEBUG_TEMPROOT": str(place)}


def program() -> list[str]:
    """The command of the installed program; never the source tree, whatever the folder: -P."""
    script = Path(sys.executable).with_name("mlcli")
    return [str(script)] if script.exists() else [sys.executable, "-P", "-m", "mlcli"]


def process(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Starts `mlcli` as a process of its own, its streams in pipes."""
    command = [*program(), *map(str, arguments)]
    usual = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "env": neutral()}
    return subprocess.Popen(command, **{**usual, **options})


@cache
def server() -> str:
    """Where the server of forks answers, which is started once for a process of the tests and ends with it."""
    place = str(Path(tempfile.mkdtemp(dir="/tmp", prefix="mlcli-forks-")) / "socket")
    command = [sys.executable, "-P", str(HERE / "forks.py"), place]
    settings = neutral(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", **OWN_KERNEL)
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings, cwd="/")
    assert started.stdout is not None and started.stdout.readline() == b"ready\n"
    _servers.append(started)
    return place


def forked(*arguments: object, script: str = "", **options: Any) -> subprocess.Popen[bytes]:
    """The same as `process`, or as a script in Python, for a third of its time: from a server that has imported mlcli.

    It is no process to send signals to, and its linear algebra has one thread.
    """
    command = [sys.executable, "-I", "-S", str(HERE / "forked.py"), server(), script, *map(str, arguments)]
    usual = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "env": neutral()}
    return subprocess.Popen(command, **{**usual, **options})


def code_of(*arguments: object, **options: Any) -> int:
    """The exit code of such a fork, whatever it says."""
    child = forked(*arguments, **options)
    child.communicate()
    return child.returncode


def seconds_of_forks() -> float:
    """Processor seconds of the servers' forks that have ended."""
    texts = [Path(f"/proc/{started.pid}/stat").read_text().rpartition(")")[2].split() for started in _servers]
    return sum(int(ticks) for text in texts for ticks in text[11:15]) / os.sysconf("SC_CLK_TCK")


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
