"""A map that grows in parts beside one fit of all rows: neighbors kept, and seconds; the table of docs/growing.md.

`python benchmarks/onto.py --help`. Rows are chosen at random, and cut into parts of one size; the first is fitted, the
others are added one after another by `mlcli embed --onto`. Neighbor recall is the share of the 15 nearest rows in the
data that are among the 15 nearest in the map, of 1,000 random rows. With `--weights`, old rows are also tied to their
places: how far they move in an addition is the median over the radius R of the former map, as a mean of all additions.
With `--bound`, the last part is added to a layout in which all others lie where the fit of all rows has them: what is
lost then is lost by placing rows, and all else by the places of rows before. With `--last`, the parts are one of so
many rows, and all rows before it. With `--peer`, an environment that has umap-learn, its `update` adds the same parts.
"""

import argparse
import json
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
    subprocess.run([sys.executable, "-P", "-m", "mlcli", "embed", *map(str, arguments), "-q", "--outputs",
                    "embedding,model"], check=True)
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


def radius(points: Any) -> float:
    """The root mean square distance of points from their mean."""
    return float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))


def grown(folder: Path, first: Path, parts: int, place: Path, *options: object) -> tuple[Path, float, float]:
    """Adds all parts but the first to its run; the last run, its seconds, and the mean of the medians of moves over R.
    """
    last, seconds, moves = first, 0.0, []
    for part in range(1, parts):
        run = place / str(part)
        seconds = embedded(folder / f"part{part}.npy", "--onto", last, "-o", run, *options)
        moved = json.loads((run / "run.json").read_text())["onto"].get("moved", {}).get("median", 0.0)
        moves.append(moved / radius(coordinates(last)))
        last = run
    return last, seconds, float(np.mean(moves))


def bound(method: str, data: Any, size: int, places: Any) -> Any:
    """Coordinates of all rows, of which so many first ones are fixed at their places in the fit of all (n x p)."""
    from mlcli.base.values.compute import Compute
    from mlcli.base.values.inputs import Features
    from mlcli.methods import METHODS

    def features(rows: int) -> Any:
        names = [f"x{column}" for column in range(data.shape[1])]
        return Features(data[:rows], ids=[f"{row}" for row in range(rows)], columns=names)

    compute, first = Compute(), features(size)
    chosen = METHODS[method]().resolve(first)
    measured = chosen.in_range(first)
    model = chosen.fit_in_range(measured, chosen.steps_before_fit(measured, compute), compute)
    known = np.full(places.shape, np.nan)
    known[:size] = places[:size]
    return chosen.place_among(features(len(data)), known, np.arange(size, len(data)), model, compute).embedding


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
    parser.add_argument("--weights", nargs="+", type=float, default=[], help="of old places, of rows that are tied")
    parser.add_argument("--bound", action="store_true", help="of layouts: all parts but the last as the fit has them")
    parser.add_argument("--last", type=int, default=0, help="rows of the last of two parts")
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    images = np.load(given.images, mmap_mode="r")
    generator = np.random.default_rng(1)
    data = np.array(images[generator.permutation(len(images))[: given.rows]], dtype=float).reshape(given.rows, -1)
    if given.reduce:
        _, _, axes = np.linalg.svd(data - data.mean(axis=0), full_matrices=False)
        data = np.ascontiguousarray((data - data.mean(axis=0)) @ axes[: given.reduce].T)
    rows = generator.choice(given.rows, min(SOME, given.rows), replace=False)
    known = nearest(data, rows)
    cuts = [0, given.rows - given.last, given.rows] if given.last else (
        [given.rows // given.parts * part for part in range(given.parts + 1)])
    parts = len(cuts) - 1
    np.save(given.folder / "all.npy", data)
    for part in range(parts):
        np.save(given.folder / f"part{part}.npy", data[cuts[part] : cuts[part + 1]])
    print("| method | old rows | recall of one fit | grown | ratio | move over R | fit of all, s | last part, s |\n"
          "|---|---|---|---|---|---|---|---|", flush=True)
    for method in given.methods:
        place = given.folder / method
        whole = embedded(given.folder / "all.npy", "-m", method, "-o", place / "all")
        embedded(given.folder / "part0.npy", "-m", method, "-o", place / "0")
        one = recall(known, coordinates(place / "all"), rows)
        for way, options in [("fixed", ()), *((f"tied {weight:g}", ("--onto-way", "tied", "--onto-weight", weight))
                                              for weight in given.weights)]:
            last, seconds, move = grown(given.folder, place / "0", parts, place / way.replace(" ", ""), *options)
            other = recall(known, coordinates(last), rows)
            print(f"| `{method}` | {way} | {one:.3f} | {other:.3f} | {other / one:.2f} | {move:.3f} | {whole:.1f} | "
                  f"{seconds:.1f} |", flush=True)
        if given.bound:
            other = recall(known, bound(method, data, cuts[-2], coordinates(place / "all")), rows)
            print(f"| `{method}` | bound | {one:.3f} | {other:.3f} | {other / one:.2f} | | | |", flush=True)
    if given.peer:
        begun = time.monotonic()
        done = subprocess.run([given.peer, "-c", PEER, str(given.folder), str(parts)], check=True,
                              capture_output=True, text=True)
        one, other = (recall(known, np.load(given.folder / f"peer-{name}.npy"), rows) for name in ("all", "grown"))
        print(f"| umap-learn `update` | | {one:.3f} | {other:.3f} | {other / one:.2f} | | "
              f"{time.monotonic() - begun:.1f} in all | {float(done.stdout.split()[-1]):.1f} |")


if __name__ == "__main__":
    main()
