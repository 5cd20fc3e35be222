"""Whether p of new rows is what it says: the share of honest rows below 0.05, and of rows from elsewhere, by method.

Usage: python benchmarks/off_manifold.py RESULTS.json [METHOD ...]   measures these methods, or all, and adds to RESULTS
       python benchmarks/off_manifold.py RESULTS.json --write         writes its lines into docs/off-manifold.md

Each of 20 splits of a data set has 200 rows to fit, 201 that `--calibrate` holds out, and as many honest new rows as
remain, at most 200. Rows from elsewhere are of another class where there is one, honest rows with their columns
permuted, and normal noise with the columns' means and deviations. Data sets are those of the folder SHARED, and
generated ones. scikit-learn's detectors are fitted to all 401 rows, with a contamination of 0.05.

Methods of amounts take absolute values, those of answers whether a number is above its column's median, and `famd`
such answers of every third column. Groups of columns are the first half of them and the others. Classes, styles and
contents are thirds and halves of random combinations of the columns, and a second view has three of them, bent and
with noise: all of them are functions of the row, so that rows stay exchangeable. For methods of sequences,
which have approximate p alone, a sequence of 200 rows is fitted, and an independent one of the same system is new.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mlcli
from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import CrossLabeled, Labeled, TwoViews
from mlcli.data.read.in_memory import new_rows
from mlcli.data.samples import sample
from mlcli.errors import MlcliError
from mlcli.methods import METHODS

SHARED = Path(os.environ.get("SHARED", "shared"))
PAGE = Path(__file__).parents[1] / "docs" / "off-manifold.md"
FIT, HELD, NEW, SPLITS, APPROXIMATE = 200, 201, 200, 20, 4
LEVEL = 0.05
SLOW, COLUMNS, FEW = ("gplvm", "mvgplvm"), 30, 60  # methods of few columns and new rows: placing each takes long
FEWER = {**dict.fromkeys(SLOW, 1), **dict.fromkeys(("sde", "umap", "tsne", "nmds", "smacof", "sammon", "famd"), 4),
         "gpdm": 2, "gpssm": 2}
SHORT, FEW_STEPS = {"method.minimize.limit": 100}, {"method.minimize.limit": 20}  # iterations
NEEDED: Mapping[str, Mapping[str, Any]] = {
    "hlle": {"method.neighbors.count": 12}, **dict.fromkeys(SLOW, SHORT),
    **dict.fromkeys(("gpdm", "gpssm"), FEW_STEPS)}  # scored by neighbors, whatever their coordinates are
AMOUNTS, ANSWERS, GROUPED, MIXED = ("nmf", "ca", "ib"), ("mca",), ("mfa", "statis"), ("famd",)
SEQUENCES = tuple(name for name, kind in METHODS.items() if kind.ordered)
RARE = 0.05  # share of the rarer answer to a question that is kept
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
    options: dict[str, Any] = {**NEEDED.get(method, {})}
    fields = METHODS[method].model_fields
    if "neighbors" in fields and "pieces" in getattr(type(fields["neighbors"].default), "model_fields", {}):
        options["method.neighbors.pieces"] = "connect"
    if data in ("wine", "oil flow") and method not in (*AMOUNTS, *ANSWERS, *GROUPED, *MIXED):
        options["prepare.scale"] = "standard"
    return options


@frozen
class Taken:
    """Rows as a method takes them, with the labels or the second view that it needs."""

    method: str
    middle: Array  # d, medians of the columns
    asked: Indices  # q, the columns that are answers

    @classmethod
    def of(cls, method: str, rows: Array) -> "Taken":
        """Return how a method takes rows like some (n x d)."""
        middle = np.median(rows, axis=0)
        above = np.mean(rows > middle, axis=0)
        return cls(method, middle, np.flatnonzero(np.minimum(above, 1 - above) > RARE))

    @property
    def mixed(self) -> Indices:
        """The columns of answers beside numbers."""
        return self.asked[self.asked % 3 == 2]

    @property
    def options(self) -> dict[str, Any]:
        """The groups of columns, or those of answers, by their names in a table from an array."""
        if self.method in MIXED:
            return {"method.categories": [f"x{column + 1}" for column in self.mixed.tolist()]}
        count = len(self.middle)
        return {"method.groups": [f"first=x1:x{count // 2}", f"second=x{count // 2 + 1}:x{count}"]} if (
            self.method in GROUPED) else {}

    def rows(self, rows: Array) -> Array:
        """Return rows (m x d) in the domain of the method."""
        if self.method in AMOUNTS:
            return np.abs(rows)
        if self.method in MIXED:
            rows = rows.copy()
            rows[:, self.mixed] = np.where(rows > self.middle, 2.0, 1.0)[:, self.mixed]
        return np.where(rows > self.middle, 2.0, 1.0)[:, self.asked] if self.method in ANSWERS else rows

    def combinations(self, rows: Array) -> Array:
        """Return three random combinations of the columns (m x 3)."""
        return (rows - self.middle) @ np.random.default_rng(48).standard_normal((rows.shape[1], 3))

    def labels(self, rows: Array) -> dict[str, list[str]]:
        """Return the labels of rows (m x d) by the names of their columns; none where the method has no classes."""
        accepts, (one, two, _) = METHODS[self.method].accepts, self.combinations(rows).T
        if CrossLabeled in accepts:
            return {"style": np.where(one > 0, "a", "b").tolist(), "content": np.where(two > 0, "c", "d").tolist()}
        return {"class": np.digitize(one, np.quantile(one, [1 / 3, 2 / 3])).astype(str).tolist()} if (
            Labeled in accepts) else {}

    def beside(self, rows: Array) -> dict[str, Any]:
        """Return what a fit of rows (m x d) takes beside them."""
        labels = self.labels(rows)
        given = {"labels": labels} if labels else {}
        if TwoViews in METHODS[self.method].accepts:
            found = self.combinations(rows)
            found = np.tanh(found / (found.std(axis=0) + 1e-300))
            noise = np.random.default_rng(len(rows)).standard_normal(found.shape)
            given["view"] = found + 0.2 * noise
        return given

    def p(self, run: Any, rows: Array) -> Array:
        """Return p (m) of new rows (m x d) by a run."""
        taken = self.rows(rows)
        if CrossLabeled not in METHODS[self.method].accepts:
            return np.asarray(run.off_manifold(taken).p)
        model = run._model  # places rows by their styles, which the function of arrays does not take
        table = new_rows(taken, model.steps[0].preparation.columns, (), model.kind)
        return np.asarray(model.place(replace(table, labels={
            name: tuple(texts) for name, texts in self.labels(rows).items()})).p)


def share(values: Array) -> float:
    """Return the share of p (m) below the level."""
    return float(np.mean(values < LEVEL))


def measure(taken: Taken, data: str, split: Split, number: int) -> dict[str, Any]:
    """Return the shares below the level of one split, exact and approximate."""
    method = taken.method
    most = FEW if method in SLOW else NEW

    def shares(run: Any) -> dict[str, float | None]:
        return {name: share(taken.p(run, rows[:most])) if len(rows) else None
                for name, rows in {"honest": split.honest, **split.elsewhere}.items()}

    def fitted(rows: Array, **options: Any) -> Any:
        return mlcli.embed(taken.rows(rows), method, set={**options_of(method, data), **taken.options}, threads=1,
                           seed=number, **taken.beside(rows), **options)

    found: dict[str, Any] = {"exact": shares(fitted(split.rows, calibrate=HELD / (FIT + HELD)))}
    if number < APPROXIMATE:
        found["approximate"] = shares(fitted(split.rows[:FIT]))
    return found


def sequences() -> Mapping[str, Callable[[np.random.Generator], Array]]:
    """Return systems by name, each as a function that draws a sequence (FIT x 8) from a start of its own.

    An oscillator with slow and fast parts (Van der Pol), a plane rotation with noise, and two sines of unlike periods;
    eight columns of each with noise.
    """
    mixing = np.random.default_rng(3).standard_normal((4, 8))

    def observed(states: Array, generator: np.random.Generator) -> Array:
        columns = np.tanh(states @ mixing[:states.shape[1]] / 2)
        return columns + 0.05 * generator.standard_normal(columns.shape)

    def oscillator(generator: np.random.Generator) -> Array:
        from scipy.integrate import solve_ivp

        start = float(generator.uniform(20, 40))
        times = start + 0.25 * np.arange(FIT)
        return observed(solve_ivp(lambda _, s: [s[1], 3 * (1 - s[0] ** 2) * s[1] - s[0]], (0, times[-1]), [2.0, 0.0],
                                  t_eval=times, rtol=1e-8).y.T, generator)

    def rotation(generator: np.random.Generator) -> Array:
        turn = 0.98 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
        states = [generator.standard_normal(2)]
        for _ in range(FIT - 1):
            states.append(turn @ states[-1] + 0.2 * generator.standard_normal(2))
        return observed(np.array(states), generator)

    def sines(generator: np.random.Generator) -> Array:
        phases = generator.uniform(0, 2 * np.pi, 2) + np.arange(FIT)[:, None] * [0.35, 0.13]
        return observed(np.hstack([np.sin(phases), np.cos(phases)]), generator)

    return {"oscillator": oscillator, "rotation": rotation, "sines": sines}


def measure_sequence(method: str, draw: Callable[[np.random.Generator], Array], number: int) -> dict[str, Any]:
    """Return the shares below the level of a new sequence, of it with its columns permuted, and of noise."""
    generator = np.random.default_rng((48, number))
    run = mlcli.embed(draw(generator), method, set=NEEDED.get(method, {}), threads=1, seed=number)
    honest = draw(generator)
    noise = honest.mean(axis=0) + honest.std(axis=0) * generator.standard_normal(honest.shape)
    sets = {"honest": honest, "permuted": np.column_stack([generator.permutation(one) for one in honest.T]),
            "noise": noise}
    return {"approximate": {name: share(run.off_manifold(rows).p) for name, rows in sets.items()}}


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


def splits_of(name: str, data: str, rows: DataSet) -> Iterator[dict[str, Any]]:
    """Yield what is measured of each split of a data set, by a method of rows or a detector."""
    taken = None if name in DETECTORS else Taken.of(name, rows.rows)
    for number in range(FEWER.get(name, SPLITS)):
        split = Split.of(rows, number)
        columns = split.rows.shape[1]
        if (name == "EllipticEnvelope" and columns > FIT // 2) or (name in SLOW and columns > COLUMNS):
            return
        yield detect(name, split, number) if taken is None else measure(taken, data, split, number)


def add(path: Path, names: Sequence[str]) -> None:
    """Measure methods and add them to the results, one data set after the other; those that are there stay."""
    warnings.simplefilter("ignore")
    sets, systems = data_sets(), sequences()
    for name in names:
        start = time.monotonic()
        for data in systems if name in SEQUENCES else sets:
            results = json.loads(path.read_text()) if path.exists() else {}
            if data in results.get(name, {}):
                continue
            try:
                made = [measure_sequence(name, systems[data], number) for number in range(FEWER.get(name, SPLITS))] if (
                    name in SEQUENCES) else [*splits_of(name, data, sets[data])]
            except MlcliError as error:  # a method that does not take these data
                made = [{"error": error.code}]
            path.write_text(json.dumps({**results, name: {**results.get(name, {}), data: made}}))
        print(name, f"{time.monotonic() - start:.0f} s", flush=True)


def mean_of(splits: Sequence[Mapping[str, Any]], kind: str, rows: str) -> float | None:
    """Return the mean share over splits; None where there is none."""
    found = [one[kind][rows] for one in splits if kind in one and one[kind].get(rows) is not None]
    return float(np.mean(found)) if found else None


def lines_of(results: Mapping[str, Any]) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the head of the table, and the line of each method: honest shares and those of rows from elsewhere.

    Those of methods with approximate p alone are of these.
    """
    head = ["| | honest, exact | least and most of the data sets | honest, approximate | another class | permuted | "
            "noise | data sets | splits |", "|---|---|---|---|---|---|---|---|---|"]
    lines = {}
    for name, sets in results.items():
        shown = "approximate" if name in SEQUENCES else "exact"
        found = {kind: [value for value in (mean_of(made, kind, "honest") for made in sets.values())
                        if value is not None] for kind in ("exact", "approximate")}
        cells = [f"{np.mean(values):.3f}" if values else NONE for values in found.values()]
        cells.insert(1, f"{min(found[shown]):.3f} to {max(found[shown]):.3f}")
        for rows in ELSEWHERE:
            values = [value for value in (mean_of(made, shown, rows) for made in sets.values()) if value is not None]
            cells.append(f"{np.mean(values):.3f}" if values else NONE)
        cells += [str(len(found[shown])), str(max(map(len, sets.values())))]
        lines[name] = f"| {name} | " + " | ".join(cells) + " |"
    return head, lines


NONE = "none"  # where a method has no such p, or there are no such rows
BEGIN, END = "<!-- benchmarks/off_manifold.py -->", "<!-- end -->"


def write(path: Path) -> None:
    """Write the lines of the measured methods into the table of the page; others keep theirs."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    former, after = rest.split(END)
    head, lines = lines_of(json.loads(path.read_text()))
    known = {line.split(" | ")[0].strip("| "): line for line in former.strip().splitlines()[2:]}
    every = {name: lines.get(name, known.get(name)) for name in (*DETECTORS, *METHODS)}
    text = "\n".join([*head, *(line for line in every.values() if line is not None)])
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    place, *asked = sys.argv[1:]
    if asked == ["--write"]:
        write(Path(place))
    else:
        add(Path(place), asked or [*DETECTORS, *METHODS])
