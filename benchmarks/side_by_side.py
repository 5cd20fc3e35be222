"""Whole-process timings of mlcli beside its peers: A B A B on one machine, medians, with the same BLAS settings.

    python benchmarks/side_by_side.py                     every job whose data is there
    python benchmarks/side_by_side.py isomap-swiss-20000  one job
    python benchmarks/side_by_side.py --rounds 5 --write  and writes docs/scale.md

Needs scikit-learn (tapkee, openTSNE, umap-learn for some jobs, R with vegan for another) beside mlcli, or in an
interpreter of their own (`--peers PYTHON`); MNIST is read from `--data`, a folder that holds mnist/X.npy.
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
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
MARKS = "<!-- timings -->", "<!-- /timings -->"
QUOTED = HERE.parent / "docs" / "scale.md"
WARM = 1  # rounds before those that count: files, libraries and memory are then as near to one side as to the other
BLAS = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}


@dataclass(frozen=True)
class Job:
    """A job, as mlcli does it and as a peer does."""

    name: str
    peer: str
    data: Callable[[Path, Path], Path]  # scratch and data folders -> the input file
    ours: tuple[str, ...]  # arguments of mlcli embed
    script: str  # of the peer, run as `python peers.py SCRIPT INPUT OUTPUT`, or `Rscript SCRIPT INPUT OUTPUT`


def swiss(rows: int) -> Callable[[Path, Path], Path]:
    """A swiss roll of so many points as NPY."""

    def make(scratch: Path, data: Path) -> Path:
        path = scratch / f"swiss_{rows}.npy"
        if not path.exists():
            mlcli("sample", "swiss-roll", "--rows", str(rows), "--seed", "1", "-o", str(path))
        return path

    return make


def mnist(rows: int) -> Callable[[Path, Path], Path]:
    """The first rows of MNIST as NPY."""

    def make(scratch: Path, data: Path) -> Path:
        path = scratch / f"mnist_{rows}.npy"
        if not path.exists():
            np.save(path, np.load(data / "mnist" / "X.npy")[:rows].astype(np.float64))
        return path

    return make


def counts(rows: int) -> Callable[[Path, Path], Path]:
    """Random counts of 40 species at so many sites as CSV."""

    def make(scratch: Path, data: Path) -> Path:
        path = scratch / f"counts_{rows}.csv"
        if not path.exists():
            values = np.random.default_rng(1).negative_binomial(0.5, 0.5 / 3.5, (rows, 40))
            values[values.sum(axis=1) == 0, 0] = 1
            np.savetxt(path, values, delimiter=",", fmt="%d", header=",".join(f"s{k}" for k in range(40)), comments="")
        return path

    return make


def gauss(rows: int, columns: int, kind: str = "npy") -> Callable[[Path, Path], Path]:
    """Normal data whose columns shrink in scale, as NPY or Parquet."""

    def make(scratch: Path, data: Path) -> Path:
        path = scratch / f"gauss_{rows}_{columns}.{kind}"
        if not path.exists():
            values = np.random.default_rng(0).standard_normal((rows, columns)) * np.linspace(3, 0.2, columns)
            if kind == "npy":
                np.save(path, values)
            else:
                import pyarrow as pa
                import pyarrow.parquet as pq

                pq.write_table(pa.table({f"x{j}": values[:, j] for j in range(columns)}), path)
        return path

    return make


JOBS = [
    Job("isomap-swiss-8000", "scikit-learn", swiss(8000), ("--method", "isomap"), "isomap"),
    Job("isomap-swiss-8000-tapkee", "tapkee", swiss(8000), ("--method", "isomap"), "tapkee"),
    Job("isomap-swiss-20000", "scikit-learn", swiss(20000), ("--method", "isomap"), "isomap"),
    Job("isomap-mnist-10000", "scikit-learn", mnist(10000), ("--method", "isomap"), "isomap"),
    *(Job(f"tsne-mnist-{rows}", "openTSNE", mnist(rows), ("--method", "tsne"), "tsne") for rows in (10000, 70000)),
    *(Job(f"umap-mnist-{rows} ({kind})", "umap-learn", mnist(rows), ("--method", "umap"), kind)
      for rows in (10000, 70000) for kind in ("umap", "umap-seed")),
    Job("lle-mnist-10000", "scikit-learn", mnist(10000), ("--method", "lle"), "lle"),
    Job("ltsa-swiss-20000", "scikit-learn", swiss(20000),
        ("--method", "ltsa", "--set", "method.neighbors.count=12"), "ltsa"),
    Job("hlle-swiss-20000", "scikit-learn", swiss(20000),
        ("--method", "hlle", "--set", "method.neighbors.count=12"), "hessian"),
    Job("mlle-swiss-20000", "scikit-learn", swiss(20000),
        ("--method", "mlle", "--set", "method.neighbors.count=12"), "modified"),
    Job("nmf-mnist-10000", "scikit-learn", mnist(10000),  # to an objective no higher than that of the peer
        ("--method", "nmf", "-p", "16", "--set", "method.iterate.tolerance=1e-4"), "nmf"),
    Job("kpca-20000x50", "scikit-learn", gauss(20000, 50),
        ("--method", "kpca", "--kernel", "gaussian", "--set", "method.kernel.rate=0.02"), "kpca"),
    *(Job(f"nmds-counts-1000 ({peer})", peer, counts(1000),  # the layout alone: the peers measure no quality
          ("--method", "nmds", "--metric", "braycurtis", "--set", "method.starts=1", "--outputs", "embedding",
           "--outputs", "spectrum"), script)
      for peer, script in (("vegan", "monomds.R"), ("scikit-learn", "nmds"))),
    Job("pca-200000x500", "scikit-learn", gauss(200000, 500), ("--method", "pca"), "pca"),
    Job("pca-200000x500-parquet", "scikit-learn", gauss(200000, 500, "parquet"), ("--method", "pca"), "pca"),
]


def mlcli(*arguments: str) -> None:
    """Runs mlcli quietly."""
    subprocess.run([sys.executable, "-P", "-m", "mlcli", *arguments], check=True)


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of a whole process, by the operating system's account."""
    import time

    started = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, **BLAS}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return seconds, usage.ru_maxrss / 1024


def peer_command(script: str, python: str) -> list[str]:
    """The command of a peer, but for input and output."""
    if script.endswith(".R"):
        return ["Rscript", str(HERE / script)]
    return [python, str(HERE / "peers.py"), script]


def measure(job: Job, rounds: int, scratch: Path, data: Path, *, python: str) -> dict[str, float | str]:
    """Both sides in turn, and the medians."""
    making = multiprocessing.get_context("fork").Process(target=job.data, args=(scratch, data))
    making.start()  # apart: what this process ever held would count as the peak of every process that it starts
    making.join()
    os.sync()  # nothing is left to be written while others are timed
    path = job.data(scratch, data)
    ours, theirs = [], []
    for number in range(-WARM if rounds > 1 else 0, rounds):
        out = scratch / f"{job.name}-{number}"
        command = [sys.executable, "-P", "-m", "mlcli", "embed", str(path), *job.ours, "-o", str(out), "--force", "-q"]
        one = timed(command)
        other = timed([*peer_command(job.script, python), str(path), str(scratch / "peer.csv")])
        if number < 0:
            continue
        ours.append(one)
        theirs.append(other)
        print(f"  {job.name}: mlcli {ours[-1][0]:.2f} s {ours[-1][1]:.0f} MiB, {job.peer} {theirs[-1][0]:.2f} s "
              f"{theirs[-1][1]:.0f} MiB", flush=True)
    seconds, memory = (statistics.median(run[i] for run in ours) for i in (0, 1))
    peer_seconds, peer_memory = (statistics.median(run[i] for run in theirs) for i in (0, 1))
    return {"job": job.name, "peer": job.peer, "seconds": seconds, "memory": memory, "peer_seconds": peer_seconds,
            "peer_memory": peer_memory, "ratio": peer_seconds / seconds, "memory_ratio": peer_memory / memory,
            "rounds": rounds}


def machine() -> str:
    """The machine, the versions and the date, in a line."""
    versions = []
    for name in ("mlcli", "numpy", "scipy", "scikit-learn", "tapkee"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, "
            f"{', '.join(versions)}; {date.today().isoformat()}")


def table(rows: list[dict]) -> str:
    """The results in Markdown, with machine, versions and date."""
    head = [f"{machine()}; medians of whole processes, run alternately.", "",
            "| work | against | runs | mlcli | peer | times as fast | mlcli's memory | peer's | times as small |",
            "|---|---|---|---|---|---|---|---|---|"]
    lines = [f"| {r['job']} | {r['peer']} | {r['rounds']} | {r['seconds']:.2f} s | {r['peer_seconds']:.2f} s | "
             f"{r['ratio']:.1f} | {r['memory']:.0f} MiB | {r['peer_memory']:.0f} MiB | {r['memory_ratio']:.1f} |"
             for r in rows]
    return "\n".join([*head, *lines]) + "\n"


def quote(path: Path, text: str) -> None:
    """Puts the results between the marks of a page."""
    before, _, rest = path.read_text().partition(MARKS[0])
    path.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{rest.partition(MARKS[1])[2]}")


def main() -> None:
    """Runs the jobs named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared" / "data")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has the peers")
    chosen = parser.parse_args()
    results = HERE / "results.json"
    known = {row["job"]: row for row in json.loads(results.read_text())} if results.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for job in JOBS:
            if not chosen.jobs or job.name in chosen.jobs:
                known[job.name] = measure(job, chosen.rounds, Path(folder), chosen.data, python=chosen.peers)
    text = table([known[job.name] for job in JOBS if job.name in known])
    print(text)
    if chosen.write:
        results.write_text(json.dumps(list(known.values()), indent=1) + "\n")
        quote(QUOTED, text)


if __name__ == "__main__":
    main()
