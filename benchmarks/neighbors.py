"""Times the exact and the approximate search for neighbors beside PyNNDescent's, FAISS's and hnswlib's.

`python benchmarks/neighbors.py --help`. Each search is a process of its own, whose processor seconds count loading too;
the recall is that of 1,000 random rows. Peers run in the environment of `--peer PYTHON`. The issue's size:

    python benchmarks/neighbors.py --rows 1300000 --columns 50 --peer PYTHON --threads 2
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OWN, PEERS = ("exact", "approximate"), ("pynndescent", "faiss-flat", "faiss-ivf", "hnswlib")
CHECKED = 1000


def cells(rows: int, columns: int, seed: int) -> np.ndarray:
    """Groups on curved surfaces, with columns of falling variance, as components of cells are (rows x columns)."""
    random = np.random.default_rng(seed)
    groups, inner = 40, min(12, columns)
    labels = random.integers(0, groups, rows)
    centers, turns = random.standard_normal((groups, inner)) * 2, random.standard_normal((groups, inner, columns))
    places = random.standard_normal((rows, inner))
    found = np.empty((rows, columns))
    for group in range(groups):
        some = labels == group
        found[some] = np.tanh(places[some] / 2) @ turns[group] + centers[group] @ turns[0]
    return (found + 0.3 * random.standard_normal((rows, columns))) / np.sqrt(1 + np.arange(columns))


def own(name: str, points: np.ndarray, count: int, threads: int) -> np.ndarray:
    """Return the neighbors (n x k) of a search of mlcli."""
    from mlcli.base.machine.threads import limit_threads
    from mlcli.core.graph.approximate import approximate_lists
    from mlcli.core.graph.search import nearest

    with limit_threads(threads):
        found = (nearest if name == "exact" else approximate_lists)(points, count)
    return found.indices.reshape(-1, count)


def of_peer(name: str, points: np.ndarray, count: int, threads: int) -> np.ndarray:
    """Return the neighbors (n x k) of a library, with the settings of its documentation."""
    single = points.astype(np.float32)
    if name == "pynndescent":
        from pynndescent import NNDescent

        return NNDescent(single, n_neighbors=count + 1, n_jobs=threads, random_state=0).neighbor_graph[0][:, 1:]
    if name == "hnswlib":
        import hnswlib

        index = hnswlib.Index(space="l2", dim=points.shape[1])
        index.init_index(len(points), ef_construction=200, M=16, random_seed=0)
        index.set_num_threads(threads)
        index.add_items(single)
        index.set_ef(100)
        return index.knn_query(single, count + 1)[0][:, 1:]
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(points.shape[1])
    if name == "faiss-ivf":
        lists = int(4 * np.sqrt(len(points)))
        index = faiss.IndexIVFFlat(index, points.shape[1], lists)
        index.train(single)
        index.nprobe = max(8, lists // 32)
    index.add(single)
    return index.search(single, count + 1)[1][:, 1:]


def worker(name: str, given: argparse.Namespace) -> None:
    """Search, and print what it took and the recall of some rows."""
    points, exact = np.load(given.points), np.load(given.exact)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    before, start = usage.ru_utime + usage.ru_stime, time.perf_counter()
    found = (own if name in OWN else of_peer)(name, points, given.count, given.threads)
    took, usage = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    checked, last = exact[:, 0].astype(np.int64), exact[:, 1]
    gaps = np.sqrt(np.square(points[checked][:, None] - points[found[checked]]).sum(axis=2))
    print(json.dumps({"search": name, "seconds": round(took, 2),
                      "processor": round(usage.ru_utime + usage.ru_stime - before, 2),
                      "recall": round(float((gaps <= last[:, None] * (1 + 1e-6)).mean()), 4),
                      "memory_mib": usage.ru_maxrss // 1024, "bytes": hash_of(found)}))


def hash_of(found: np.ndarray) -> str:
    """Return a short hash of lists, by which runs are compared."""
    import hashlib

    return hashlib.sha256(np.ascontiguousarray(found, dtype=np.int64)).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--input", type=Path, help="an array in a .npy file instead of generated cells")
    parser.add_argument("--peer", help="a Python with PyNNDescent, FAISS and hnswlib")
    parser.add_argument("--searches", nargs="*", default=[*OWN, *PEERS])
    parser.add_argument("--points", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--exact", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        return worker(given.worker, given)
    from mlcli.core.graph.search import nearest_of_some

    points = cells(given.rows, given.columns, 0) if given.input is None else np.load(given.input).astype(np.float64)
    rows = np.sort(np.random.default_rng(0).choice(len(points), min(CHECKED, len(points)), replace=False))
    last = nearest_of_some(points, rows, given.count).lengths.reshape(-1, given.count)[:, -1]
    print(f"{points.shape[0]:,} x {points.shape[1]}, {given.count} neighbors, {given.threads} threads")
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("points.npy", "exact.npy")]
        np.save(files[0], points)
        np.save(files[1], np.column_stack([rows, last]))
        del points
        for name in given.searches:
            python = sys.executable if name in OWN else given.peer
            if python:
                command = [python, "-P", __file__, "--worker", name, "--points", files[0], "--exact", files[1],
                           "--count", str(given.count), "--threads", str(given.threads)]
                subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
