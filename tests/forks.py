"""A server that has imported mlcli once and forks for each command, so that tests of processes pay for one start.

Called as `python forks.py SOCKET`. A client (`forked.py`) hands over its arguments, folder, environment, mask and
standard streams; the fork makes them its own and starts the program, as `mlcli` does with its own, or a script. The
server has one thread, whatever it imports: a fork copies no other. It ends with its standard input.
"""

import gc
import importlib
import io
import json
import os
import runpy
import select
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LATER = ("mlcli.cli.batch.launch", "mlcli.pipeline.run", "mlcli.report.page.page", "mlcli.rundir.shapes",
         "mlcli.pipeline.read_run", "mlcli.pipeline.certify", "mlcli.data.read.table", "mlcli.data.read.blocks",
         "mlcli.findings.dimension.rules", "mlcli.findings.quality.measure", "mlcli.report.page.figure_files",
         "mlcli.core.chain.columns", "mlcli.core.chain.functions", "mlcli.core.chain.distance_chains",
         "mlcli.methods.geodesic.isomap", "mlcli.report.paper.drawings",
         "numpy.ma")  # what a run imports on its way, but for Arrow, which starts a thread


def prepare() -> None:
    """Imports the program and what its runs need."""
    from mlcli.cli.group import COMMANDS

    for name in (*(f"mlcli.cli.commands.{command}" for command in COMMANDS), *LATER,
                 *filter(find_spec, ["typer._adapters"])):  # which only newer versions have
        importlib.import_module(name)
    for choices in (importlib.import_module("mlcli.methods").METHODS,
                    importlib.import_module("mlcli.core.metrics").METRICS,
                    importlib.import_module("mlcli.core.chain.kernels").KERNELS):
        choices.load_all()  # which each fork would import again, as it names them
    assert len([*Path("/proc/self/task").iterdir()]) == 1
    gc.freeze()


def serve(place: str) -> tuple[dict[str, Any], list[int]]:
    """Answers clients until standard input ends; returns in each fork, with what its client asks for."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen(64)
        os.write(1, b"ready\n")
        while sys.stdin.fileno() not in select.select([server, sys.stdin.fileno()], [], [])[0]:
            client, _ = server.accept()
            if os.fork() == 0:
                server.close()
                return ask(client)
            client.close()
            while ended():
                pass
    Path(place).unlink()
    Path(place).parent.rmdir()
    raise SystemExit


def ended() -> bool:
    """Whether a fork has ended that nobody has waited for."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def ask(client: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Returns in another fork, with what the client asks for; this one tells the client how that one ends."""
    told, streams, *_ = socket.recv_fds(client, 1 << 16, 3)
    while part := client.recv(1 << 16):
        told += part
    worker = os.fork()
    if worker:
        for stream in streams:
            os.close(stream)
        client.sendall(str(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])).encode())
        os._exit(0)
    client.close()
    return json.loads(told), streams


def become(asked: dict[str, Any], streams: list[int]) -> None:
    """Takes the client's place, with memory of its own to share with the process that supervises it."""
    from mlcli.process.shared_status import STATUS, SharedStatus

    vars(STATUS).update(vars(SharedStatus()))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["folder"])
    os.umask(asked["mask"])
    for name in set(os.environ) - set(asked["environment"]):
        del os.environ[name]
    os.environ.update(asked["environment"])
    sys.argv = [asked["script"] or "mlcli", *asked["arguments"]]
    for number, (name, mode, errors) in enumerate((("stdin", "r", "strict"), ("stdout", "w", "strict"),
                                                   ("stderr", "w", "backslashreplace"))):
        raw = open(number, f"{mode}b", closefd=False)  # noqa: SIM115
        setattr(sys, name, io.TextIOWrapper(raw, "utf-8", errors, line_buffering=name == "stderr" or raw.isatty()))


if __name__ == "__main__":
    prepare()
    asked, streams = serve(sys.argv[1])
    become(asked, streams)
    if asked["script"]:
        runpy.run_path(asked["script"], run_name="__main__")
    else:
        from mlcli.__main__ import main

        main()
