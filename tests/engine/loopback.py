"""A Dask scheduler and workers on loopback, processes of their own by `dask scheduler` and `dask worker`."""

import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from tests.processes import neutral

READY = 120.0  # seconds, on a machine that is busy


def free_port() -> int:
    """A port that nothing listens at."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens at, each another one: the system may give one that was closed again at once."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(server.getsockname()[1]) for server in servers]


class Loopback:
    """The processes; all of them end with the `with` block."""

    def __init__(self, folder: Path, *options: str, scheme: str = "tcp", **settings: str) -> None:
        self.folder, self.options, self.settings = folder, options, settings
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.begun: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--host", f"{scheme}://127.0.0.1", "--port", "0", "--scheduler-file",
                                     str(self.file))
        until = time.monotonic() + READY
        while not self.address:
            assert time.monotonic() < until and self.scheduler.poll() is None, self.log()
            time.sleep(0.05)

    def worker(self, preload: str = "", threads: int = 1) -> subprocess.Popen[bytes]:
        """Starts a worker; a program that is given is run in it first."""
        more: list[str] = []
        if preload:
            program = self.folder / f"preload{len(self.begun)}.py"
            program.write_text(preload)
            more = ["--preload", str(program)]
        process = self._start("worker", "--scheduler-file", str(self.file), "--host", "127.0.0.1", "--no-nanny",
                              "--nthreads", str(threads), "--memory-limit", "0", "--local-directory",
                              str(self.folder), *more)
        self.workers.append(process)
        return process

    @property
    def address(self) -> str:
        """The scheduler's; empty until it is there."""
        try:
            return str(json.loads(self.file.read_text())["address"])
        except (OSError, ValueError):
            return ""

    @property
    def cluster(self) -> str:
        """As --cluster takes it."""
        return f"file:{self.file}"

    def log(self) -> str:
        """What all of them said."""
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def __enter__(self) -> "Loopback":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for process in self.begun:
            process.kill()
        for process in self.begun:
            process.wait()

    def _start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "dask", kind, *arguments, "--no-dashboard", *self.options]
        with (self.folder / f"{kind}{len(self.begun)}.log").open("wb") as log:
            process = subprocess.Popen(command, env=neutral(**self.settings), stdout=log, stderr=log, cwd=self.folder)
        self.begun.append(process)
        return process
