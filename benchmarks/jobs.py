"""Jobs that are timed side by side: their data, the command of mlcli, and what a peer does instead."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
Data = Callable[[Path, Path], Path]  # scratch and data folders -> the input: a file, or a folder of files
SKLEARN, SKBIO = "scikit-learn", "scikit-bio"
K12 = ("--set", "method.neighbors.count=12")
IN_BLOCKS = ("--transform", "log1p", "--set", "input.stream=always")
BARE = ("--outputs", "embedding")


@dataclass(frozen=True)
class Job:
    """A job, as mlcli does it and as a peer does."""

    name: str
    peer: str  # packages, joined by " and "; "" where none can do it
    data: Data
    ours: tuple[str, ...]  # arguments of mlcli embed
    script: str = ""  # of the peer, run as `python peers.py SCRIPT INPUT OUTPUT`, or `Rscript SCRIPT INPUT OUTPUT`
    named: bool = False  # whether it takes so long that it runs only when named

    def commands(self, data: Path, out: Path, python: str) -> list[list[str]]:
        """The process of mlcli, and that of the peer if there is one."""
        files = sorted(map(str, data.iterdir())) if data.is_dir() else [str(data)]
        ours = [sys.executable, "-P", "-m", "mlcli", "embed", *files, *self.ours, "-o", str(out), "--force", "-q"]
        if not self.peer:
            return [ours]
        peer = (["Rscript", str(HERE / self.script)] if self.script.endswith(".R") else
                [python, str(HERE / "peers.py"), self.script])
        return [ours, [*peer, str(data), str(out.parent / ("peer" if data.is_dir() else "peer.csv"))]]


@dataclass(frozen=True)
class Geodesics:
    """All shortest paths in a matrix of float64, beside SciPy's in the same process (`kernels.py`)."""

    name: str
    data: Data
    rows: int
    peer: str = "scipy"
    named: bool = False


def mlcli(*arguments: str) -> None:
    """Runs mlcli quietly."""
    subprocess.run([sys.executable, "-P", "-m", "mlcli", *arguments], check=True)


def once(name: str, write: Callable[[Path, Path], None]) -> Data:
    """The file or folder of this name in the scratch folder; `write` makes it, given its path and the data folder."""

    def make(scratch: Path, data: Path) -> Path:
        path = scratch / name
        if not path.exists():
            write(path, data)
        return path

    return make


def swiss(rows: int) -> Data:
    """A swiss roll of so many points as NPY."""

    def write(path: Path, data: Path) -> None:
        mlcli("sample", "swiss-roll", "--rows", str(rows), "--seed", "1", "-o", str(path))

    return once(f"swiss_{rows}.npy", write)


def mnist(rows: int) -> Data:
    """The first rows of MNIST as NPY; raises FileNotFoundError."""

    def write(path: Path, data: Path) -> None:
        np.save(path, np.load(data / "mnist" / "X.npy")[:rows].astype(np.float64))

    return once(f"mnist_{rows}.npy", write)


def counts(rows: int) -> Data:
    """Random counts of 40 species at so many sites as CSV."""

    def write(path: Path, data: Path) -> None:
        values = np.random.default_rng(1).negative_binomial(0.5, 0.5 / 3.5, (rows, 40))
        values[values.sum(axis=1) == 0, 0] = 1
        np.savetxt(path, values, delimiter=",", fmt="%d", header=",".join(f"s{k}" for k in range(40)), comments="")

    return once(f"counts_{rows}.csv", write)


def gauss(rows: int, columns: int, kind: str = "npy") -> Data:
    """Normal data whose columns shrink in scale, as NPY or Parquet."""

    def write(path: Path, data: Path) -> None:
        values = np.random.default_rng(0).standard_normal((rows, columns)) * np.linspace(3, 0.2, columns)
        if kind == "npy":
            np.save(path, values)
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({f"x{j}": values[:, j] for j in range(columns)}), path)

    return once(f"gauss_{rows}_{columns}.{kind}", write)


def curved(rows: int) -> Data:
    """Smooth functions of five hidden variables in 50 columns, with noise, as NPY; a larger one begins otherwise."""

    def write(path: Path, data: Path) -> None:
        generator = np.random.default_rng(0)
        hidden, turns = generator.uniform(size=(rows, 5)), generator.standard_normal((5, 50))
        np.save(path, np.sin(2 * hidden @ turns) + 0.02 * generator.standard_normal((rows, 50)))

    return once(f"curved_{rows}.npy", write)


def counts_of_cells(rows: int) -> Data:
    """Counts of 2,000 genes in so many cells as Parquet."""

    def write(path: Path, data: Path) -> None:
        mlcli("sample", "cells", "--rows", str(rows), "-o", str(path), "--quiet")

    return once(f"counts_of_cells_{rows}.parquet", write)


def cells(rows: int) -> Data:
    """Fifty principal components of ln(1 + x) of these counts, as NPY."""

    def write(path: Path, data: Path) -> None:
        out = path.with_suffix("")
        mlcli("embed", str(counts_of_cells(rows)(path.parent, data)), "--method", "pca", "-p", "50", *IN_BLOCKS, *BARE,
              "--format", "npy", "-o", str(out), "-q")
        (out / "embedding.npy").rename(path)

    return once(f"cells_{rows}.npy", write)


def distances(rows: int) -> Data:
    """Euclidean distances of normal points in ten dimensions, a square matrix as NPY."""

    def write(path: Path, data: Path) -> None:
        from scipy.spatial.distance import pdist, squareform

        points = np.random.default_rng(0).standard_normal((rows, 10)) * np.linspace(3, 0.2, 10)
        np.save(path, squareform(pdist(points)))

    return once(f"distances_{rows}.npy", write)


def files(count: int, rows: int, columns: int) -> Data:
    """A folder of swiss rolls as CSV, each in so many columns."""

    def write(folder: Path, data: Path) -> None:
        folder.mkdir()
        generator = np.random.default_rng(0)
        for number in range(count):
            angle, height = 1.5 * np.pi * (1 + 2 * generator.random(rows)), 21 * generator.random(rows)
            roll = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
            values = roll @ np.linalg.qr(generator.standard_normal((columns, 3)))[0].T
            np.savetxt(folder / f"file_{number:03}.csv", values, delimiter=",", fmt="%.6f", comments="",
                       header=",".join(f"x{column}" for column in range(columns)))

    return once(f"files_{count}", write)


def iris(scratch: Path, data: Path) -> Path:
    """The sample of irises: CSV with ids and labels."""
    return HERE.parent / "sample_data" / "iris.csv"


FILES = files(200, 300, 8)
BATCH = ("--method", "isomap", "--jobs", "2")
LAYOUT = ("--outputs", "embedding,spectrum")  # without what peers do not compute
JOBS: list[Job | Geodesics] = [
    Job("start: pca-iris", f"pandas and {SKLEARN}", iris,
        ("--method", "pca", "--label-column", "Species"), "iris"),
    Job("isomap-swiss-8000", SKLEARN, swiss(8000), ("--method", "isomap"), "isomap"),
    Job("isomap-swiss-8000-tapkee", "tapkee", swiss(8000), ("--method", "isomap"), "tapkee"),
    Job("isomap-swiss-20000", SKLEARN, swiss(20000), ("--method", "isomap"), "isomap"),
    Job("isomap-mnist-10000", SKLEARN, mnist(10000), ("--method", "isomap"), "isomap"),
    Job("isomap-swiss-100000", "", swiss(100_000), ("--method", "isomap")),
    Job("isomap-mnist-70000", "", mnist(70_000), ("--method", "isomap"), named=True),
    Job("isomap-swiss-1000000", "", swiss(1_000_000), ("--method", "isomap"), named=True),
    *(Job(f"tsne-mnist-{rows}", "openTSNE", mnist(rows), ("--method", "tsne"), "tsne") for rows in (10000, 70000)),
    *(Job(f"umap-mnist-{rows} ({kind})", "umap-learn", mnist(rows), ("--method", "umap"), kind)
      for rows in (10000, 70000) for kind in ("umap", "umap-seed")),
    *(Job(f"{method}-cells-{rows}", peer, cells(rows), ("--method", method), method, named=True)
      for method, peer in (("umap", "umap-learn"), ("tsne", "openTSNE")) for rows in (50_000, 200_000, 1_300_000)),
    *(Job(f"{method}-counts-{rows}", "", counts_of_cells(rows), ("--method", method, *IN_BLOCKS, "--reduce", "50"),
          named=True) for method in ("umap", "tsne") for rows in (200_000, 1_300_000)),
    Job("laplacian-swiss-20000", SKLEARN, swiss(20000), ("--method", "laplacian"), "laplacian"),
    *(Job(f"{method}-curved-{rows}", peer if rows <= most else "", curved(rows), ("--method", method, *own), method,
          named=rows > 20_000)
      for method, peer, most, own in (("laplacian", SKLEARN, 200_000, ()), ("phate", "phate", 200_000, ()),
                                      ("diffusion", "scanpy", 1_000_000, ("--set", "method.nearest=15")))
      for rows in (20_000, 100_000, 200_000, 1_000_000)),
    Job("lle-mnist-10000", SKLEARN, mnist(10000), ("--method", "lle"), "lle"),
    Job("lle-swiss-100000-k12", SKLEARN, swiss(100_000), ("--method", "lle", *K12), "lle12"),
    Job("ltsa-swiss-20000", SKLEARN, swiss(20000), ("--method", "ltsa", *K12), "ltsa"),
    Job("hlle-swiss-20000", SKLEARN, swiss(20000), ("--method", "hlle", *K12), "hessian"),
    Job("mlle-swiss-20000", SKLEARN, swiss(20000), ("--method", "mlle", *K12), "modified"),
    Job("nmf-mnist-10000", SKLEARN, mnist(10000),  # to an objective no higher than that of the peer
        ("--method", "nmf", "-p", "16", "--set", "method.iterate.tolerance=1e-4"), "nmf"),
    Job("kpca-20000x50", SKLEARN, gauss(20000, 50),
        ("--method", "kpca", "--kernel", "gaussian", "--set", "method.kernel.rate=0.02"), "kpca"),
    *(Job(f"nmds-counts-1000 ({peer})", peer, counts(1000),  # the layout alone: the peers measure no quality
          ("--method", "nmds", "--metric", "braycurtis", "--set", "method.starts=1", *LAYOUT), script)
      for peer, script in (("vegan", "monomds.R"), (SKLEARN, "nmds"))),
    Job("nmds-counts-1000-20-starts", "vegan", counts(1000),
        ("--method", "nmds", "--metric", "braycurtis", "--set", "method.starts=20", *LAYOUT), "metamds.R"),
    *(Job(f"pcoa-5000 ({kind})", SKBIO, distances(5000), ("--method", "mds", "--dissimilarities"), f"pcoa-{kind}")
      for kind in ("exact", "randomized")),
    Job("pca-200000x500", SKLEARN, gauss(200000, 500), ("--method", "pca"), "pca"),
    Job("pca-200000x500-parquet", SKLEARN, gauss(200000, 500, "parquet"), ("--method", "pca"), "pca"),
    Job("sde-swiss-1000-k5", "", swiss(1000), ("--method", "sde", "-k", "5", "--set", "method.constraints=equal")),
    Job("isomap-200-files", SKLEARN, FILES, BATCH, "isomap"),
    Job("isomap-200-files (embedding and spectrum)", SKLEARN, FILES, (*BATCH, *LAYOUT), "isomap"),
    Geodesics("geodesics-swiss-8000", swiss(8000), 8000),
    *(Geodesics(f"geodesics-mnist-{rows}", mnist(rows), rows) for rows in (10000, 20000)),
]
