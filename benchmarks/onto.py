"""A map that grows in parts beside one fit of all rows: neighbors kept, and seconds; the table of docs/growing.md.

`python benchmarks/onto.py --help`. Rows are chosen at random, and cut into parts of one size; the first is fitted, the
others are added one after another by `mlcli embed --onto`. Neighbor recall is the share of the 15 nearest rows in the
data that are among the 15 nearest in the map, of 1,000 random rows. With `--peer`, an environment that has umap-learn,
its `update` adds the same parts.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

NEAR, SOME = 15, 1_000
PEER = """
import sys, time, numpy as np, umap
folder, parts = sys.argv[1], int(sys.argv[2])
tables = [np.load(f"{folder}/part{i}.npy") for i in range(parts)]
fit = umap.UMAP(random_state=0).fit(np.vstack(tables)); np.save(f"{folder}/peer-all.npy", fit.embedding_)
model, begun = umap.UMAP(random_state=0).fit(tables[0]), 0.0
for table in tables[1:]:
    begun = time.monotonic(); model.update(table)
print(time.monotonic() - begun)
np.save(f"{folder}/peer-grown.npy", model.embedding_)
"""


def embedded(*arguments: object) -> float:
    """Makes a run of numbers alone; its seconds."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-m", "mlcli", "embed", *map(str, arguments), "-q", "--outputs", "embedding,model"],
                   check=True)
    return time.monotonic() - begun


def nearest(values: Any, rows: Any) -> Any:
    """The nearest others of some rows."""
    found = []
    for row in rows.tolist():
        squares = np.sum((values - values[row]) ** 2, axis=1)
        squares[row] = np.inf
        found.append(np.argpartition(squares, NEAR)[:NEAR])
    return np.array(found)


def recall(known: Any, points: Any, rows: Any) -> float:
    """The share of known neighbors that are near in a map."""
    return float(np.mean([len({*one.tolist()} & {*other.tolist()}) / NEAR
                          for one, other in zip(known, nearest(points, rows), strict=True)]))


def coordinates(run: Path) -> Any:
    """The coordinates of a run."""
    return np.loadtxt(run / "embedding.csv", delimiter=",", skiprows=1)[:, 1:]


def main() -> None:
    """Grows a map by each method, and prints a line of Markdown for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path, help="images as .npy, a row or a square for each")
    parser.add_argument("folder", type=Path, help="where the runs are kept; it must not exist")
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=["pca", "isomap", "umap", "tsne"])
    parser.add_argument("--reduce", type=int, default=0, help="axes of PCA ahead of all methods but pca, of all rows")
    parser.add_argument("--peer", help="the Python of an environment with umap-learn")
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    images = np.load(given.images, mmap_mode="r")
    generator = np.random.default_rng(1)
    data = np.array(images[generator.permutation(len(images))[: given.rows]], dtype=float).reshape(given.rows, -1)
    if given.reduce:
        _, _, axes = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)
        data = (data - data.mean(axis=0)) @ axes[: given.reduce].T
    rows = generator.choice(given.rows, min(SOME, given.rows), replace=False)
    known, size = nearest(data, rows), given.rows // given.parts
    np.save(given.folder / "all.npy", data)
    for part in range(given.parts):
        np.save(given.folder / f"part{part}.npy", data[part * size : (part + 1) * size])
    print("| method | recall of one fit | grown | ratio | fit of all, s | last part, s |\n|---|---|---|---|---|---|")
    for method in given.methods:
        place = given.folder / method
        whole = embedded(given.folder / "all.npy", "-m", method, "-o", place / "all")
        embedded(given.folder / "part0.npy", "-m", method, "-o", place / "0")
        last = 0.0
        for part in range(1, given.parts):
            last = embedded(given.folder / f"part{part}.npy", "--onto", place / str(part - 1), "-o", place / str(part))
        one, other = (recall(known, coordinates(place / name), rows) for name in ("all", str(given.parts - 1)))
        print(f"| `{method}` | {one:.3f} | {other:.3f} | {other / one:.2f} | {whole:.1f} | {last:.1f} |", flush=True)
    if given.peer:
        begun = time.monotonic()
        done = subprocess.run([given.peer, "-c", PEER, str(given.folder), str(given.parts)], check=True,
                              capture_output=True, text=True)
        one, other = (recall(known, np.load(given.folder / f"peer-{name}.npy"), rows) for name in ("all", "grown"))
        print(f"| umap-learn `update` | {one:.3f} | {other:.3f} | {other / one:.2f} | "
              f"{time.monotonic() - begun:.1f} in all | {float(done.stdout.split()[-1]):.1f} |")


if __name__ == "__main__":
    main()
