"""Whether p of new rows is what it says: the share of honest rows below 0.05, and of rows from elsewhere, by method.

Usage: python benchmarks/off_manifold.py RESULTS.json [METHOD ...]   measures these methods, or all, and adds to RESULTS
       python benchmarks/off_manifold.py RESULTS.json --write         writes the tables into docs/off-manifold.md

Each of 20 splits of a data set has 200 rows to fit, 201 that `--calibrate` holds out, and as many honest new rows as
remain, at most 200. Rows from elsewhere are of another class where there is one, honest rows with their columns
permuted, and normal noise with the columns' means and deviations. Data sets are those of the folder SHARED, and
generated ones. scikit-learn's detectors are fitted to all 401 rows, with a contamination of 0.05.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mlcli
from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.data.samples import sample
from mlcli.errors import MlcliError
from mlcli.methods import METHODS

SHARED = Path(os.environ.get("SHARED", "shared"))
PAGE = Path(__file__).parents[1] / "docs" / "off-manifold.md"
FIT, HELD, NEW, SPLITS, APPROXIMATE = 200, 201, 200, 20, 4
LEVEL = 0.05
FAST = ("pca", "ppca", "fa", "mds", "kpca", "ica", "nmf", "random", "vae", "autoencoder", "isomap", "lle", "ltsa",
        "hlle", "mlle", "npe", "lpp", "lltsa", "laplacian", "diffusion", "phate", "sammon", "smacof", "sfa", "umap",
        "tsne", "sde", "gplvm", "nmds")
LARGER = {"hlle": {"method.neighbors.count": 12}}
ELSEWHERE = ("class", "permuted", "noise")
DETECTORS = ("IsolationForest", "EllipticEnvelope")


@frozen
class DataSet:
    """Rows of one kind, and those of another."""

    rows: Array  # n x d
    others: Array  # o x d; none where there is no other class


def data_sets() -> Mapping[str, DataSet]:
    """Return the twelve data sets by name."""
    def load(name: str) -> Array:
        return np.asarray(np.load(SHARED / "data" / name), dtype=np.float64)

    none = np.zeros((0, 1))
    digits, names = load("mnist/X.npy"), load("mnist/y.npy")
    wine, color = load("wine_quality/X.npy"), np.load(SHARED / "data" / "wine_quality" / "color.npy")
    oil, flow = load("oil_flow/X_train.npy"), load("oil_flow/y_train.npy")
    flow = flow.argmax(axis=1) if flow.ndim > 1 else flow
    first, usual = color == color[0], flow != flow[0]
    generated = {name: DataSet(sample(name, 1000, 7, noise).values, none) for name, noise in (
        ("swiss-roll", 0.1), ("s-curve", 0.05), ("torus", 0.05), ("noisy-plane", None), ("ball", None),
        ("spots", 0.02))}
    return {
        "mnist ones": DataSet(digits[names == 1], digits[names == 7]), "mnist threes": DataSet(
            digits[names == 3], digits[names == 8]),
        "wine": DataSet(wine[first], wine[~first]), "oil flow": DataSet(oil[usual], oil[~usual]),
        "faces": DataSet(load("isomap_faces/X_32x32.npy").reshape(698, -1), none),
        "frey": DataSet(load("frey_faces/X.npy").reshape(-1, 560), none), **generated}


@frozen
class Split:
    """The rows of one split: to fit and hold out, honest new ones, and those from elsewhere."""

    rows: Array
    honest: Array
    elsewhere: Mapping[str, Array]

    @classmethod
    def of(cls, data: DataSet, number: int) -> "Split":
        """Return a split by its number."""
        generator = np.random.default_rng((48, number))
        order = generator.permutation(len(data.rows))
        rows, honest = data.rows[order[: FIT + HELD]], data.rows[order[FIT + HELD :][:NEW]]
        permuted = np.column_stack([generator.permutation(column) for column in honest.T])
        noise = rows.mean(axis=0) + rows.std(axis=0) * generator.standard_normal(honest.shape)
        others = data.others[generator.permutation(len(data.others))[:NEW]]
        return cls(rows, honest, {"class": others, "permuted": permuted, "noise": noise})


def options_of(method: str, data: str) -> dict[str, Any]:
    """Return the options of a method for a data set: defaults, a graph in pieces connected, numbers of one scale."""
    options = {**LARGER.get(method, {})}
    fields = METHODS[method].model_fields
    if "neighbors" in fields and "pieces" in getattr(type(fields["neighbors"].default), "model_fields", {}):
        options["method.neighbors.pieces"] = "connect"
    if data in ("wine", "oil flow") and method != "nmf":
        options["prepare.scale"] = "standard"
    return options


def share(values: Array) -> float | None:
    """Return the share of p (m) below the level; None of no rows."""
    return float(np.mean(values < LEVEL)) if len(values) else None


def measure(method: str, data: str, split: Split, number: int) -> dict[str, Any]:
    """Return the shares below the level of one split, exact and approximate."""
    def shares(run: Any) -> dict[str, float | None]:
        sets = {"honest": split.honest, **split.elsewhere}
        if method == "nmf":  # takes no negative numbers
            sets = {name: np.maximum(rows, 0.0) for name, rows in sets.items()}
        return {name: share(run.off_manifold(rows).p) if len(rows) else None for name, rows in sets.items()}

    own = {"threads": 1, "seed": number}
    rows = np.maximum(split.rows, 0.0) if method == "nmf" else split.rows
    exact = mlcli.embed(rows, method, calibrate=HELD / (FIT + HELD), set=options_of(method, data), **own)
    found: dict[str, Any] = {"exact": shares(exact)}
    if number < APPROXIMATE:
        found["approximate"] = shares(mlcli.embed(rows[:FIT], method, set=options_of(method, data), **own))
    return found


def detect(name: str, split: Split, number: int) -> dict[str, Any]:
    """Return the shares that a detector of scikit-learn takes for outliers."""
    from sklearn.covariance import EllipticEnvelope
    from sklearn.ensemble import IsolationForest

    detector = (IsolationForest(contamination=LEVEL, random_state=number) if name == "IsolationForest" else
                EllipticEnvelope(contamination=LEVEL, random_state=number))
    detector.fit(split.rows)
    sets = {"honest": split.honest, **split.elsewhere}
    return {"exact": {name: float(np.mean(detector.predict(rows) < 0)) if len(rows) else None
                      for name, rows in sets.items()}}


def add(path: Path, names: Sequence[str]) -> None:
    """Measure methods and add them to the results, one after the other."""
    warnings.simplefilter("ignore")
    sets = data_sets()
    for name in names:
        results = json.loads(path.read_text()) if path.exists() else {}
        if name in results:
            continue
        results[name], start = {}, time.monotonic()
        for data, rows in sets.items():
            made: list[dict[str, Any]] = []
            for number in range(SPLITS):
                try:
                    split = Split.of(rows, number)
                    if name == "EllipticEnvelope" and split.rows.shape[1] > FIT // 2:
                        break
                    made.append(detect(name, split, number) if name in DETECTORS else
                                measure(name, data, split, number))
                except MlcliError as error:
                    made.append({"error": error.code})
                    if number == 1 and all("error" in one for one in made):
                        break
            results[name][data] = made
        path.write_text(json.dumps(results))
        print(name, f"{time.monotonic() - start:.0f} s", flush=True)


def mean_of(splits: Sequence[Mapping[str, Any]], kind: str, rows: str) -> float | None:
    """Return the mean share over splits; None where there is none."""
    found = [one[kind][rows] for one in splits if kind in one and one[kind][rows] is not None]
    return float(np.mean(found)) if found else None


def tables(results: Mapping[str, Any]) -> str:
    """Return the table of methods: honest shares by data set in range and mean, approximate ones, and those found."""
    lines = ["| | honest, exact | least and most of the data sets | honest, approximate | another class | permuted | "
             "noise | data sets |", "|---|---|---|---|---|---|---|---|"]
    for name, sets in results.items():
        exact = [value for value in (mean_of(made, "exact", "honest") for made in sets.values()) if value is not None]
        if not exact:
            continue
        cells = [f"{np.mean(exact):.3f}", f"{min(exact):.3f} to {max(exact):.3f}"]
        for kind, rows in (("approximate", "honest"), *(("exact", rows) for rows in ELSEWHERE)):
            values = [value for value in (mean_of(made, kind, rows) for made in sets.values()) if value is not None]
            cells.append(f"{np.mean(values):.3f}" if values else "")
        lines.append(f"| {name} | " + " | ".join([*cells, str(len(exact))]) + " |")
    return "\n".join(lines)


BEGIN, END = "<!-- benchmarks/off_manifold.py -->", "<!-- end -->"


def write(path: Path) -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{tables(json.loads(path.read_text()))}\n{END}{rest.split(END)[1]}",
                    encoding="utf-8")


if __name__ == "__main__":
    place, *asked = sys.argv[1:]
    if asked == ["--write"]:
        write(Path(place))
    else:
        add(Path(place), asked or [*DETECTORS, *FAST])
