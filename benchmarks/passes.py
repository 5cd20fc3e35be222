"""Large runs by passes over pairs that are never stored, beside their peers: whole processes, seconds and peak memory.

Usage: python benchmarks/passes.py pcoa|landmarks ROWS FOLDER [PEER]

`pcoa` makes counts of 1,000 taxa in ROWS samples, a tenth of them over zero, computes principal coordinates of their
Bray-Curtis dissimilarities and the PERMANOVA of three factors of eleven levels with 999 permutations; its peer is
scikit-bio, with dissimilarities by SciPy and one factor in its PERMANOVA. `landmarks` places ROWS points of 50 normal
columns by kernel PCA of 1,000 landmarks; its peer is scikit-learn's Nystroem followed by PCA. FOLDER holds data and
results, PEER is a Python that has the peer. The full sizes are 113721 and 1000000.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

TAXA, READS, KINDS = 1000, 1000, 12
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
    else:
        files = [str(folder / f"normal{rows}.npy")]
        np.save(files[0], np.random.default_rng(0).normal(size=(rows, 50)))
        measure("kpca", [*mlcli, "embed", files[0], "--method", "kpca", "--set", "method.landmarks=1000",
                         "--set", "method.kernel.rate=0.01", "--output", run, "--force"])
    if peer:
        measure("peer", [peer, "-c", PEERS[kind], *files])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
