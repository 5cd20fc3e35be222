"""Large runs by passes over pairs or files, beside their peers: whole processes, seconds and peak memory.

Usage: python benchmarks/passes.py pcoa|landmarks|parquet ROWS FOLDER [PEER]

`pcoa` makes counts of 1,000 taxa in ROWS samples, a tenth of them over zero, computes principal coordinates of their
Bray-Curtis dissimilarities and the PERMANOVA of three factors of eleven levels with 999 permutations; its peer is
scikit-bio, with dissimilarities by SciPy and one factor in its PERMANOVA. `landmarks` places ROWS points of 50 normal
columns by kernel PCA of 1,000 landmarks; its peer is scikit-learn's Nystroem followed by PCA. `parquet` writes ROWS of
200 columns in files of eight row groups, reads them by PCA of two axes in at most 1 GB, and decodes them alone, by as
many threads in batches of the same size, before and after. FOLDER holds data and results, PEER is a Python that has the
peer. The full sizes are 113721, 1000000 and 12500000 (20 GB).
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

TAXA, READS, KINDS = 1000, 1000, 12
COLUMNS, GROUP, GROUPS = 200, 50_000, 8  # of a Parquet table: its columns, the rows of a group, and groups of a file
DECODE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from os import sched_getaffinity
from pyarrow import parquet
def decode(place):
    file = parquet.ParquetFile(place[0], page_checksum_verification=True, pre_buffer=False, buffer_size=1 << 16)
    return sum(batch.num_rows for batch in file.iter_batches(5242, [place[1]], use_threads=False))
places = [(path, group) for path in sorted(glob(sys.argv[1] + "/*.parquet"))
          for group in range(parquet.ParquetFile(path).metadata.num_row_groups)]
with ThreadPoolExecutor(len(sched_getaffinity(0))) as threads:
    assert sum(threads.map(decode, places)) == int(sys.argv[2])
"""
PEERS = {
    "pcoa": """
import sys, numpy as np
from scipy.spatial.distance import squareform, pdist
from skbio import DistanceMatrix
from skbio.stats.distance import permanova
from skbio.stats.ordination import pcoa
counts = np.load(sys.argv[1])
apart = DistanceMatrix(squareform(pdist(counts, "braycurtis")))
pcoa(apart, method="fsvd", dimensions=2)
groups = [line.split(",")[1] for line in open(sys.argv[2]).read().split()[1:]]
print(permanova(apart, groups, permutations=999)["test statistic"])
""",
    "landmarks": """
import sys, numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
points = np.load(sys.argv[1])
print(PCA(2).fit_transform(Nystroem(gamma=0.01, n_components=1000, random_state=0).fit_transform(points)).shape)
"""}


def measure(name: str, command: list[str]) -> None:
    """Run a process and print its seconds, processor seconds and peak memory; raises SystemExit if it fails."""
    begun = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} ended with {os.waitstatus_to_exitcode(status)}")
    print(f"{name}: {time.perf_counter() - begun:.1f} s, {used.ru_utime + used.ru_stime:.1f} processor seconds, "
          f"{used.ru_maxrss / 1024:.0f} MiB", flush=True)


def counts(rows: int, folder: Path) -> tuple[Path, Path]:
    """Write counts of taxa in samples of some kinds of places, and three factors of the samples; return both files."""
    data, factors = folder / f"taxa{rows}.npy", folder / f"factors{rows}.csv"
    generator = np.random.default_rng(1)
    centers = generator.normal(0, 2.2, TAXA) + generator.normal(0, 2, (KINDS, TAXA))
    loads, kinds = generator.normal(0, 1, (3, TAXA)), generator.integers(0, KINDS, rows)
    drawn = np.lib.format.open_memmap(data, mode="w+", dtype=np.float64, shape=(rows, TAXA))
    for start in range(0, rows, 2000):
        some = kinds[start : start + 2000]
        logits = centers[some] + generator.normal(size=(len(some), 3)) @ loads + generator.normal(
            size=(len(some), TAXA))
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        drawn[start : start + 2000] = generator.multinomial(READS, shares / shares.sum(axis=1, keepdims=True))
    drawn.flush()
    codes = [kinds % 11, *generator.integers(0, 11, (2, rows))]
    lines = (f"{row},a{a},b{b},c{c}" for row, (a, b, c) in enumerate(zip(*codes, strict=True), 1))
    factors.write_text("\n".join(["id,a,b,c", *lines]) + "\n", encoding="utf-8")
    return data, factors


def table(rows: int, folder: Path) -> Path:
    """Write a table with five strong directions as Parquet files, unless they are there; return their folder."""
    from pyarrow import Table, parquet

    place = folder / f"table{rows}"
    place.mkdir(exist_ok=True)
    generator = np.random.default_rng(2)
    loads, size = generator.standard_normal((5, COLUMNS)), GROUP * GROUPS
    for number, start in enumerate(range(0, rows, size)):
        path, count = place / f"part{number:05}.parquet", min(size, rows - start)
        drawn = np.random.default_rng([2, number])
        if path.exists():
            continue
        with parquet.ParquetWriter(f"{path}.new", Table.from_pydict(
                {f"x{j}": np.zeros(0) for j in range(COLUMNS)}).schema, use_dictionary=False) as writer:
            for first in range(0, count, GROUP):
                some = min(GROUP, count - first)
                values = drawn.standard_normal((some, 5)) @ loads + drawn.standard_normal((some, COLUMNS))
                writer.write_table(Table.from_pydict({f"x{j}": values[:, j] for j in range(COLUMNS)}))
        Path(f"{path}.new").rename(path)
    return place


def main(kind: str, rows: int, folder: Path, peer: str | None) -> None:
    """Make the data, and run mlcli and the peer."""
    folder.mkdir(parents=True, exist_ok=True)
    mlcli, run, files = [sys.executable, "-P", "-m", "mlcli"], str(folder / kind), [""]
    if kind == "pcoa":
        data, factors = counts(rows, folder)
        files = [str(data), str(factors)]
        measure("mds", [*mlcli, "embed", str(data), "--method", "mds", "--metric", "braycurtis", "--output", run,
                        "--force"])
        measure("relate", [*mlcli, "relate", run, "--with", str(factors), "--columns", "a", "--formula", "a + b + c",
                           "--by", "terms", "--output", run + "-relate", "--force"])
    elif kind == "parquet":
        with ProcessPoolExecutor(1) as writer:  # the peak of a process is at least that of the one which starts it
            files = [str(writer.submit(table, rows, folder).result())]
        decode = [sys.executable, "-c", DECODE, *files, str(rows)]
        measure("decoding", decode)
        measure("pca", [*mlcli, "embed", *files, "--method", "pca", "--memory-limit", "1G", "--output", run, "--force"])
        measure("decoding", decode)
    else:
        files = [str(folder / f"normal{rows}.npy")]
        np.save(files[0], np.random.default_rng(0).normal(size=(rows, 50)))
        measure("kpca", [*mlcli, "embed", files[0], "--method", "kpca", "--set", "method.landmarks=1000",
                         "--set", "method.kernel.rate=0.01", "--output", run, "--force"])
    if peer:
        measure("peer", [peer, "-c", PEERS[kind], *files])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
