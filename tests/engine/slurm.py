"""A Slurm of one node, this machine: its own daemons on loopback, for the length of a `with` block."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.engine.loopback import free_ports

DAEMONS = ("slurmctld", "slurmd")
READY = 60.0  # seconds, on a machine that is busy
NODE = socket.gethostname().partition(".")[0]
SETTINGS = {"ClusterName": "test", "SlurmctldHost": f"{NODE}(127.0.0.1)", "AuthType": "auth/none",
            "CredType": "cred/none", "SlurmUser": "root", "SlurmdUser": "root", "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none", "SwitchType": "switch/none", "MpiDefault": "none",
            "JobAcctGatherType": "jobacct_gather/none", "AccountingStorageType": "accounting_storage/none",
            "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}


def lacking() -> bool:
    """Whether Slurm's daemons or the right to start them are not there."""
    return os.geteuid() != 0 or not all(map(shutil.which, (*DAEMONS, "sbatch")))


@contextmanager
def running(folder: Path, processors: int) -> Iterator[Mapping[str, str]]:
    """The variable that leads `sbatch` to a node of so many processors."""
    ports = {f"{daemon.capitalize()}Port": str(port)
             for daemon, port in zip(DAEMONS, free_ports(len(DAEMONS)), strict=True)}
    places = {"StateSaveLocation": "state", "SlurmdSpoolDir": "spool",
              **{f"{daemon.capitalize()}PidFile": f"{daemon}.pid" for daemon in DAEMONS}}
    values = {**SETTINGS, **ports, **{name: str(folder / place) for name, place in places.items()}}
    lines = [*(f"{name}={value}" for name, value in values.items()),
             f"NodeName={NODE} NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN",
             f"PartitionName=all Nodes={NODE} Default=YES State=UP"]
    (settings := folder / "slurm.conf").write_text("\n".join([*lines, ""]))
    with ExitStack() as stack:
        for daemon in DAEMONS:
            log = stack.enter_context((folder / f"{daemon}.log").open("wb"))
            process = subprocess.Popen([daemon, "-D", "-f", settings], stdout=log, stderr=log, cwd=folder)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        until = time.monotonic() + READY
        while "idle" not in subprocess.run(["sinfo", "--noheader"], env={"SLURM_CONF": str(settings)}, check=False,
                                           capture_output=True, text=True).stdout:
            assert time.monotonic() < until, (folder / "slurmd.log").read_text()
            time.sleep(0.2)
        yield {"SLURM_CONF": str(settings)}
