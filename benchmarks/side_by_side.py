"""Whole-process timings of mlcli beside its peers: A B A B on one machine, medians, with no kernel forced.

    python benchmarks/side_by_side.py                     every job whose data is there, but for those of hours
    python benchmarks/side_by_side.py isomap-swiss-20000  one job
    python benchmarks/side_by_side.py --rounds 5 --write  and writes docs/scale.md
    python benchmarks/side_by_side.py --table             writes docs/scale.md again from results.json

Needs scikit-learn (pandas, tapkee, openTSNE, umap-learn, scikit-bio for some jobs, R with vegan for another) beside
mlcli, or in an interpreter of their own (`--peers PYTHON`); MNIST is read from `--data`, a folder that holds
mnist/X.npy. Each result carries the machine, the versions and the date it was measured with. As much
memory as a process takes is written to before it is timed: a virtual machine gives pages slowly.
"""

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from functools import partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from jobs import HERE, JOBS, Data, Geodesics, Job
from unforced import kernels_in_use, restart_unforced, unforced

MARKS = "<!-- timings -->", "<!-- /timings -->"
QUOTED = HERE.parent / "docs" / "scale.md"
RESULTS = HERE / "results.json"
WARM = 1  # rounds before those that count: files and libraries are then as near to one side as to the other
BLAS = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
UNKNOWN = "machine not recorded"
SIDES = "", "peer_"  # the fields of a row: `seconds` is mlcli's, `peer_seconds` the peer's

Row = dict[str, Any]


def timed(command: list[str], memory: float = 0.0) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of a whole process, by the operating system's account; it took `memory` before."""
    touch(memory)
    started = time.perf_counter()
    process = subprocess.Popen(command, env={**unforced(os.environ), **BLAS}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"failed: {' '.join(command[:8])}")
    return seconds, usage.ru_maxrss / 1024


def touch(memory: float) -> None:
    """Write to so many MiB of free memory, no more than most of what there is.

    A host may take free pages from a virtual machine within seconds, and give them back at 2 s a GiB: a process would
    pay for that by chance.
    """
    most = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.8
    run_in_process(partial(np.ones, int(min(memory * 2**20, most)), np.uint8))


def run_in_process(work: Callable[[], object]) -> None:
    """Do work in a process of its own: the peak of this one would count as that of every process that it starts."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()


def make(source: Data, scratch: Path, data: Path) -> Path:
    """The input of a job, made in a process of its own; raises FileNotFoundError."""
    def work() -> None:
        with suppress(FileNotFoundError):  # raised below
            source(scratch, data)

    run_in_process(work)
    os.sync()  # nothing is left to be written while others are timed
    return source(scratch, data)


def measure(job: Job, data: Path, rounds: int, scratch: Path, python: str) -> Row:
    """Both sides in turn: medians, and the least and the most seconds."""
    runs: list[list[tuple[float, float]]] = []
    run = [(0.0, 0.0)] * 2
    for number in range(-WARM if rounds > 1 else 0, rounds):
        commands = job.commands(data, scratch / f"run{number}", python)
        run = [timed(command, memory) for command, (_, memory) in zip(commands, run, strict=False)]
        if number < 0:
            continue
        runs.append(run)
        print(f"  {job.name}: " + ", ".join(f"{name} {seconds:.2f} s {memory:.0f} MiB" for name, (seconds, memory)
                                            in zip(("mlcli", job.peer), run, strict=False)), flush=True)
    row: Row = {}
    for side, own in zip(SIDES, zip(*runs, strict=True), strict=False):
        seconds, memory = zip(*own, strict=True)
        row |= {f"{side}seconds": statistics.median(seconds), f"{side}spread": [min(seconds), max(seconds)],
                f"{side}memory": statistics.median(memory)}
    return row


def measure_geodesics(job: Geodesics, data: Path, rounds: int, scratch: Path) -> Row:
    """The same of paths alone, which `kernels.py` times in one process: without memory."""
    out = scratch / "times.json"
    subprocess.run([sys.executable, str(HERE / "kernels.py"), "--file", str(data), "--rows", str(job.rows),
                    "--repeats", str(rounds), "--json", str(out)], check=True)
    times = json.loads(out.read_text())
    return {f"{side}{key}": value for side, own in zip(SIDES, (times["float64"], times["scipy"]), strict=True)
            for key, value in (("seconds", statistics.median(own)), ("spread", [min(own), max(own)]))}


def machine() -> str:
    """The processor and its cores."""
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def versions() -> str:
    """The versions of Python, mlcli and the libraries it computes with."""
    return (f"Python {platform.python_version()}, mlcli {version('manifold-cli')}, numpy {version('numpy')}, "
            f"scipy {version('scipy')}")


def version_of(peer: str, python: str) -> str:
    """The name of a peer with its version: of packages of an interpreter, else of R."""
    asked = subprocess.run([python, "-c", "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))", peer],
                           capture_output=True, text=True)
    if asked.returncode:
        asked = subprocess.run(["Rscript", "-e", f"cat(as.character(packageVersion('{peer}')))"], capture_output=True,
                               text=True, check=True)
    return f"{peer} {asked.stdout.strip()}"


def result(job: Job | Geodesics, rounds: int, scratch: Path, data: Path, *, python: str) -> Row:
    """The row of a job, with its machine, versions, kernels and date; raises FileNotFoundError where it has no data."""
    measured = (partial(measure, job, python=python) if isinstance(job, Job) else partial(measure_geodesics, job))
    peers = [version_of(name, python) for name in job.peer.split(" and ") if name]
    return {"job": job.name, "peer": " and ".join(peers), "rounds": rounds, "machine": machine(),
            "versions": versions(), "kernels": kernels_in_use(python), "date": date.today().isoformat(),
            **measured(make(job.data, scratch, data), rounds=rounds, scratch=scratch)}


def seconds_of(row: Row, side: str) -> str:
    """Seconds with their spread, as the table shows them."""
    if f"{side}seconds" not in row:
        return ""
    least, most = row.get(f"{side}spread", (0.0, 0.0))
    return f"{row[f'{side}seconds']:.2f} s" + (f" ({least:.2f} to {most:.2f})" if least < most else "")


def ratio(row: Row, field: str) -> str:
    """How many times as much of a field the peer takes; empty if it does not run."""
    return f"{row[f'peer_{field}'] / row[field]:.1f}" if f"peer_{field}" in row else ""


def memory_of(row: Row, side: str) -> str:
    """Memory, as the table shows it."""
    return f"{row[f'{side}memory']:.0f} MiB" if f"{side}memory" in row else ""


def table(rows: list[Row]) -> str:
    """The results in Markdown: a table for each machine with its versions, the last for those not recorded."""
    def where(row: Row) -> tuple[bool, str, str, str]:
        return "machine" not in row, row.get("machine", UNKNOWN), row.get("versions", ""), row.get("kernels", "")

    lines = ["Medians of whole processes, run alternately; least and most in parentheses. Paths (`geodesics`) are timed"
             " within a process."]
    for (_, *place), group in groupby(sorted(rows, key=where), key=where):
        lines += ["", "; ".join(filter(None, place)) + ":", "",
                  "| work | against | date | runs | mlcli | peer | times as fast | mlcli's memory | peer's | "
                  "times as small |", "|---|---|---|---|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join([
            row["job"], row["peer"] or "none", row.get("date", ""), str(row["rounds"]),
            seconds_of(row, ""), seconds_of(row, "peer_"), ratio(row, "seconds"),
            memory_of(row, ""), memory_of(row, "peer_"), ratio(row, "memory")]) + " |" for row in group]
    return "\n".join(lines) + "\n"


def quote(path: Path, text: str) -> None:
    """Puts the results between the marks of a page."""
    before, _, rest = path.read_text().partition(MARKS[0])
    path.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{rest.partition(MARKS[1])[2]}")


def main() -> None:
    """Runs the jobs named, or all of them."""
    restart_unforced()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", action="store_true", help="measures nothing")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has the peers")
    chosen = parser.parse_args()
    if unknown := set(chosen.jobs) - {job.name for job in JOBS}:
        parser.error(f"no such job: {', '.join(sorted(unknown))}; there are: {', '.join(job.name for job in JOBS)}")
    known = {row["job"]: row for row in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    wanted = [job for job in JOBS if (job.name in chosen.jobs if chosen.jobs else not job.named)]
    if not chosen.table:
        print(f"  {machine()}; {kernels_in_use(chosen.peers)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for job in () if chosen.table else wanted:
            try:
                known[job.name] = result(job, chosen.rounds, Path(folder), chosen.data, python=chosen.peers)
            except FileNotFoundError as missing:
                print(f"  {job.name}: there is no {missing.filename}", file=sys.stderr)
            if chosen.write:  # at once: what was measured for hours is not lost with what comes after it
                RESULTS.write_text(json.dumps(list(known.values()), indent=1) + "\n")
    text = table([known[job.name] for job in JOBS if job.name in known])
    print(text)
    if chosen.write or chosen.table:
        quote(QUOTED, text)


if __name__ == "__main__":
    main()
