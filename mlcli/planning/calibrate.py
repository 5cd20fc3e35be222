"""Rates of this machine: pieces of the work of a run, each timed briefly on one thread."""

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.machine.rates import Rates, document, reference
from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.inputs import Features
from mlcli.core.euclidean_distances import squared_distances
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.paths.elimination import Analysis, EliminationRows
from mlcli.core.paths.floyd import floyd_warshall
from mlcli.core.paths.geodesics import WITHOUT, dijkstra_rows
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.row_numbers import ROW
from mlcli.data.table.table import Table, coordinates
from mlcli.data.write.table import write_csv
from mlcli.findings.quality.measure import quality
from mlcli.native import available
from mlcli.publication.publish import writing
from mlcli.rundir.json_values import json_text
from mlcli.rundir.machine import environment

TIMES, LEAST = 3, 0.02  # least number of runs and seconds of a probe
POINTS, NEIGHBORS = 4000, 10
CLOSE = {"kept": "loaded", "trained": "product", "factored": "relaxation"}  # rates scaled like another one

Probe = tuple[Callable[[], object], float]  # work, and the number of its units


def measure_rates() -> Rates:
    """Return the rates of this machine."""
    known, measured = reference(), {"start": start_seconds()}
    with limit_threads(1), tempfile.TemporaryDirectory(prefix="mlcli-") as folder:
        for probes in (arithmetic_probes, neighbor_probes, lambda: table_probes(Path(folder))):
            measured |= {name: time_work(*probe) for name, probe in probes().items()}
    if available():
        measured |= elimination_rates(known)
    for name, like in CLOSE.items():
        measured[name] = getattr(known, name) * measured.get(like, getattr(known, like)) / getattr(known, like)
    return replace(known, **measured)


def store(rates: Rates, path: Path) -> None:
    """Write rates to a file; raises StorageError."""
    facts = environment(1)
    machine = {"processor": processor(), "kernels": facts["kernels"], "blas": facts["blas"], "mlcli": facts["mlcli"]}
    with writing(path):
        path.write_text(json_text(document(rates, machine)), encoding="utf-8")


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else "an unknown processor"


def time_work(work: Callable[[], object], units: float) -> float:
    """Return seconds of one core for a unit of work: the fastest of several runs after a warm-up."""
    work()
    begun, quickest, count = time.process_time(), np.inf, 0
    while count < TIMES or time.process_time() - begun < LEAST:
        before = time.process_time()
        work()
        quickest, count = min(quickest, time.process_time() - before), count + 1
    return max(float(quickest), 1e-9) / units


def start_seconds() -> float:
    """Return the seconds of a process that imports the modules every run imports."""
    before = sum(os.times()[2:4])
    for _ in range(TIMES):
        subprocess.run([sys.executable, "-c", "import mlcli.pipeline.run, mlcli.cli.program, "
                        "mlcli.cli.group, mlcli.pipeline.read_run"], check=True)
    return (sum(os.times()[2:4]) - before) / TIMES


def arithmetic_probes() -> Mapping[str, Probe]:
    """Return probes of products, decompositions, passes over memory, functions, small calls, and quality of pairs."""
    random = np.random.default_rng(0)
    square, many, few = random.standard_normal((600, 600)), random.standard_normal(2**22), np.eye(4)
    even, points = square + square.T, random.standard_normal((700, 3))
    data = Features(points, [str(row) for row in range(len(points))], ("x", "y", "z"))
    return {"product": (lambda: square @ square, 2.0 * 600**3),
            "decomposed": (lambda: np.linalg.eigh(even), 9.0 * 600**3),
            "moved": (lambda: many - many.mean(), 8.0 * many.size),
            "called": (lambda: [np.linalg.solve(few, few).sum() for _ in range(500)], 500.0),
            "bent": (lambda: np.exp(-squared_distances(points, points)), 700.0**2 * 1.5),
            "measured": (lambda: quality(data, points[:, :2], generator=np.random.default_rng(0)), 700.0**2)}


def neighbor_probes() -> Mapping[str, Probe]:
    """Return probes of the k-d tree, the neighbor graph, and shortest paths from single points and between all."""
    points = np.random.default_rng(0).random((POINTS, 3))
    lists, wide = nearest(points, NEIGHBORS), np.random.default_rng(0).random((1500, 400))
    graph, small = graph_of(lists, "union"), graph_of(nearest(points[:400], NEIGHBORS), "union")
    room, sources = np.empty((400, 400)), np.arange(40)
    steps = len(sources) * (2 * graph.edges + POINTS * np.log2(POINTS + 1))
    heap, cube = (1.0, 1.0) if available() else (WITHOUT["heap"], WITHOUT["cube"])
    return {"branch": (lambda: nearest(points, NEIGHBORS), POINTS * (5 + NEIGHBORS) * np.log2(POINTS + 2)),
            "paired": (lambda: nearest(wide, NEIGHBORS), len(wide) ** 2 * wide.shape[1]),
            "neighbor": (lambda: graph_of(lists, "union"), POINTS * NEIGHBORS),
            "heap": (lambda: dijkstra_rows(graph, sources), steps * heap),
            "cube": (lambda: floyd_warshall(small, room), 400.0**3 * cube)}


def elimination_rates(known: Rates) -> dict[str, float]:
    """Time the order of elimination and a pass over all shortest paths, whose two rates are scaled alike."""
    points = np.random.default_rng(0).random((POINTS, 3))
    graph = graph_of(nearest(points, NEIGHBORS), "union")
    analysis = Analysis.of(graph)
    source = EliminationRows.of(analysis, "float32")
    vectors = np.ones((POINTS, source.width))
    seconds = time_work(lambda: [source.fold(number, vectors, moments=True) for number in range(source.blocks)], 1.0)
    expected = analysis.native.relaxations("float32") * known.relaxation + POINTS**2 * known.entry
    return {"relaxation": known.relaxation * seconds / expected, "entry": known.entry * seconds / expected,
            "ordered": time_work(lambda: Analysis.of(graph), float(graph.edges))}


def table_probes(folder: Path) -> Mapping[str, Probe]:
    """Return probes of a table read from text and from numbers, and written as text."""
    numbers = np.random.default_rng(0).standard_normal((20_000, 20))
    np.save(folder / "points.npy", numbers)
    table: Table = coordinates(read(Input(path=str(folder / "points.npy"))), numbers)
    with (folder / "points.csv").open("wb") as out:
        write_csv(table, out)
    text, binary = Input(path=str(folder / "points.csv"), id_column=ROW), Input(path=str(folder / "points.npy"))
    return {"parsed": (lambda: read(text), float((folder / "points.csv").stat().st_size)),
            "loaded": (lambda: read(binary), float(numbers.nbytes)),
            "written": (lambda: write_csv(table, io.BytesIO()), float(numbers.size))}
