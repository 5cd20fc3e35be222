"""A job of `side_by_side.py` by mlcli alone, killed at some seconds and begun again each time, to its certificate.

    python benchmarks/resumed.py umap-cells-1300000 FOLDER [--kills 300,900]

FOLDER holds the input, which is made there where it lacks, and the run. Each part is a line with its seconds and with
the most memory that its largest process had resident; the last one is `mlcli verify`.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from jobs import HERE, JOBS, Job
from side_by_side import make

PAUSE = 0.5  # seconds between looks at the memory


def largest(session: int) -> float:
    """The most MiB that a process of a session has had resident."""
    most = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError, ValueError):  # of processes that end meanwhile
            if os.getsid(int(status.parent.name)) == session:
                lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
                most = max(most, float(lines.get("VmHWM", "0 kB").split()[0]) / 1024)
    return most


def part(command: list[str], limit: float) -> tuple[int | None, float, float]:
    """The exit code of a process, None where it was killed after so many seconds, and its seconds and MiB."""
    began, memory = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and time.monotonic() - began < limit:
        memory = max(memory, largest(process.pid))
        time.sleep(PAUSE)
    code = process.poll()
    if code is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return code, time.monotonic() - began, memory


def main() -> None:
    """Runs the job in parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=[job.name for job in JOBS if isinstance(job, Job)], metavar="JOB")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", default="", help="seconds after which each part but the last is killed")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    chosen = parser.parse_args()
    job = next(job for job in JOBS if job.name == chosen.job)
    assert isinstance(job, Job)
    chosen.folder.mkdir(exist_ok=True)
    out = chosen.folder / job.name
    command = job.commands(make(job.data, chosen.folder, chosen.data), out, sys.executable)[0]
    limits = [*map(float, filter(None, chosen.kills.split(","))), float("inf")]
    for limit in limits:
        code, seconds, memory = part(command, limit)
        print(f"{job.name}: {'killed' if code is None else f'exit {code}'} after {seconds:.0f} s, {memory:.0f} MiB",
              flush=True)
        if code is not None:
            break
    if code == 0:
        code, seconds, memory = part([sys.executable, "-P", "-m", "mlcli", "verify", str(out)], float("inf"))
        print(f"verify: exit {code} after {seconds:.0f} s, {memory:.0f} MiB")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
