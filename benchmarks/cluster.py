"""Exact Isomap on a Dask cluster of this machine: processor seconds and bytes against a single process.

Usage: python benchmarks/cluster.py [ROWS] [WORKERS...]   (in the source tree; a scheduler and workers on loopback)

Seconds are of the processor (user and system), so that they hold on a busy machine too. Those of workers are counted
from when they have run some blocks, and so have imported what they need; what they use while they wait is told apart.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.engine.loopback import Loopback
from tests.processes import neutral, program

IDLE = 20.0  # seconds that workers are watched without work
TICKS = os.sysconf("SC_CLK_TCK")


def used(processes: list[subprocess.Popen[bytes]]) -> float:
    """Processor seconds of running processes."""
    stats = [Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split() for process in processes]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / TICKS


def run(*arguments: object) -> float:
    """Processor seconds of a command, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*program(), *map(str, arguments)], env=neutral(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def passes(output: Path) -> int:
    """The passes of a run."""
    record = json.loads((output / "run.json").read_text())
    return next(item for item in record["facts"] if item["code"] == "F-KRYLOV")["passes"]


def on_cluster(workers: int, folder: Path, options: list[object]) -> dict[str, object]:
    """What a run on so many workers takes."""
    (place := folder / f"cluster{workers}").mkdir()
    with Loopback(place) as loopback:
        for _ in range(workers):
            loopback.worker()
        while loopback.log().count("Starting established connection to tcp") < 2 * workers:
            time.sleep(0.2)
        run("sample", "swiss-roll", "--rows", 2100, "-o", place / "warm.csv")
        run("embed", "-m", "isomap", place / "warm.csv", "-o", place / "warm", "-q", "--cluster", loopback.cluster)
        before, scheduled, began = used(loopback.workers), used([loopback.scheduler]), time.monotonic()
        client = run(*options, "-o", folder / f"of{workers}", "--cluster", loopback.cluster)
        taken = {"workers": workers, "client": client, "of workers": used(loopback.workers) - before,
                 "scheduler": used([loopback.scheduler]) - scheduled, "wall": time.monotonic() - began}
        idle, began = used(loopback.workers), time.monotonic()
        time.sleep(IDLE)
        taken["of workers, idle"] = (used(loopback.workers) - idle) / (time.monotonic() - began) * taken["wall"]
    output = folder / f"of{workers}"
    same = (output / "embedding.npy").read_bytes() == (folder / "here" / "embedding.npy").read_bytes()
    return {**taken, "same": same, "passes": passes(output), **json.loads((output / "run.json").read_text())["cluster"]}


def main(rows: int, counts: list[int]) -> None:
    """Prints a line of JSON for each run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("sample", "swiss-roll", "--rows", rows, "-o", folder / "roll.csv")
        options = ["embed", "-m", "isomap", folder / "roll.csv", "--outputs", "embedding,spectrum", "--format", "npy",
                   "--threads", 1, "-q"]
        print(json.dumps({"rows": rows, "single": run(*options, "-o", folder / "here")}), flush=True)
        for count in counts:
            print(json.dumps(on_cluster(count, folder, options)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, [int(text) for text in sys.argv[2:]] or [1, 2, 4])
