"""Adds runs of every method, kind of input and way to add rows to a map, as the program at hand writes them.

They are added to the folder of its version.

`python -m tests.museum.add` makes the archives that the folder lacks, and adds to those that are there the ways of a
method that they lack; with `--renew NAME ...` it makes those of some methods or kinds anew, which only a version that
is not yet released may do. The bytes of an archive depend on its files alone.
"""

import io
import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.spatial.distance import cdist

from mlcli import __version__
from mlcli.base.types import AnyArray
from mlcli.base.values.inputs import AffinityGraph, Features, TwoViews, Viewed, ViewedDissimilarities
from mlcli.cli.program import run
from mlcli.methods import METHODS
from mlcli.methods.processes.fitting import GaussianProcessMethod
from tests.faults.certificate.support import write_csv
from tests.laws.contract.repeating import ways, write_runs
from tests.laws.contract.test_contract import CONFIGURATIONS, POINTS
from tests.museum.pieces import FOLDER, KINDS, LABELS, ONTO, TABLES, archive_of, commands, unpack, ways_of
from tests.processes import neutral
from tests.support import in_domain

OUTPUTS = "embedding,spectrum,model,quality,dimension"  # of the ways of a method after its first one
PLACE = "mlcli-museum"  # in the temporary folder; a run keeps the path of its input
FEW = 7  # new rows
NEW_IDS = tuple(f"n{row}" for row in range(FEW))
POINTS_OF_PAIRS = 30
EMPTY = 0.1  # share of cells that are missing
CHAINS = {"graph": {"paths": {}}, "kernel": {"kernel": {"name": "given"}}}  # what chain needs beside its defaults
OLD, ALL = 30, 40  # rows of a map, and of one that rows were added to
WAYS: dict[str, dict[str, Any]] = {  # to add rows to a map, each with a method that stores what the others do not
    "fixed": {"name": "umap", "neighbors": {"count": 8}, "epochs": 50},
    "tied": {"name": "tsne", "perplexity": 5, "descent": {"early_steps": 20, "steps": 30}},
    "refit": {"name": "isomap", "neighbors": {"count": 9}}}
STYLES = ("bilinear",)  # methods that place a new row by its style


def new_rows(method: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Rows between the training rows (7 x d), as numbers that the method takes."""
    return in_domain(method, (POINTS[:FEW] + 3 * POINTS[FEW : 2 * FEW]) / 4)


def folder_of(way: str) -> str:
    """Return the name of the folder of a way of a method."""
    return way.replace(" ", "-")


def make(lacking: Mapping[str, str], folder: Path) -> None:
    """Make some ways of methods, by their folders' names, in the folder of each method, with what is made of them."""
    every = {called: document for called, document in ways(folder).items() if called in lacking}
    write_runs(folder, every)
    for called in every:
        way, method = lacking[called], CONFIGURATIONS[lacking[called]][0]
        place = folder / method / called
        place.mkdir(parents=True)
        shutil.move(folder / "data" / called, place / "data")
        shutil.move(folder / "configs" / f"{called}.yaml", place / "config.yaml")
        text = (place / "config.yaml").read_text(encoding="utf-8").replace(f"../data/{called}/", "data/")
        (place / "config.yaml").write_text(text.replace(f"output: runs/{called}", "output: run"), encoding="utf-8")
        write_csv(place / "new.csv", new_rows(method))
        if method in STYLES:
            given = [line.split(",") for line in (place / "data" / "data.csv").read_text(encoding="utf-8").splitlines()]
            added = [",".join(cells[given[0].index(name)] for name in LABELS) for cells in given]
            lines = (place / "new.csv").read_text(encoding="utf-8").splitlines()
            (place / "new.csv").write_text("".join(
                f"{line},{labels}\n" for line, labels in zip(lines, added, strict=False)), encoding="utf-8")
        use(place, called, () if way == method else ("--outputs", OUTPUTS))


def options_of(method: str, kind: str) -> dict[str, Any]:
    """Return the options of a method for few points; a graph and a kernel have neighbors of their own, or none."""
    fields = METHODS[method].model_fields if kind == "dissimilarities" else {}
    return {**({"neighbors": {"count": 9}} if "neighbors" in fields else {}),
            **({"perplexity": 5} if "perplexity" in fields else {}),
            **(CHAINS.get(kind, {}) if method == "chain" else {})}


def table_of(kind: str) -> tuple[str, str]:
    """Return a table of a kind of input for few points, and one of new rows where there are any, as CSV."""
    known, new = POINTS[:POINTS_OF_PAIRS, :3], new_rows("pca")[:, :3]
    if kind == "covariance":
        names, values, others = ["a", "b", "c"], np.cov(known.T), None
    else:
        names = [f"p{number}" for number in range(len(known))]
        far, others = (np.linalg.norm(rows[:, None] - known, axis=2) for rows in (known, new))
        values = far
        if kind == "kernel":
            values, others = np.exp(-(far / 8) ** 2), np.exp(-(others / 8) ** 2)
        if kind == "graph":
            near = np.argsort(far, axis=1)[:, 1:5]
            edges = [(row, column) for row in range(len(far)) for column in near[row].tolist()
                     if row not in near[column] or row < column]
            return "\n".join(["source,target,length", *(f"p{row},p{column},{float(far[row, column])!r}"
                                                        for row, column in edges), ""]), ""
    return csv_of(names, names, values), "" if others is None else csv_of(NEW_IDS, names, others)


def csv_of(ids: Iterable[str], columns: Iterable[str], values: AnyArray) -> str:
    """Return a table (n x d) with ids as CSV; a number that is missing is an empty cell."""
    lines = [",".join([name, *(cell_of(value) for value in row)])
             for name, row in zip(ids, values.tolist(), strict=True)]
    return "\n".join([",".join(["id", *columns]), *lines, ""])


def cell_of(value: float | str) -> str:
    """Return a cell of a table: a text, a number, or nothing for one that is missing."""
    return value if isinstance(value, str) else "" if math.isnan(value) else f"{value:.7g}"


def make_of_kind(kind: str, folder: Path) -> None:
    """Make a run of each method that takes a kind of input in a folder of its own, and what the program makes of it."""
    data, new = table_of(kind)
    for method, own in METHODS.items():
        if not any(accepted.kind == kind and not issubclass(accepted, AffinityGraph | Viewed)
                   for accepted in own.accepts):
            continue
        place = folder / kind / method
        (place / "data").mkdir(parents=True)
        (place / "data" / "data.csv").write_text(data, encoding="utf-8")
        if new:
            (place / "new.csv").write_text(new, encoding="utf-8")
        document = {"input": {"path": "data/data.csv", "kind": kind}, "output": "run",
                    "method": {"name": method, **options_of(method, kind)}}
        (place / "config.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        use(place, method, ("--outputs", OUTPUTS))


def make_of_tables(kind: str, folder: Path) -> None:
    """Make a run of each method that takes tables of a kind in a folder of its own, and what the program makes of it.
    """
    for method in METHODS:
        files, given = tables_of(kind, method)
        if not files:
            continue
        place = folder / kind / method
        (place / "data").mkdir(parents=True)
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
        document = {"input": {"path": "data/data.csv", "id_column": "id", **given}, "output": "run",
                    "prepare": {"missing": "error" if kind == "view" else "model"}, "method": {"name": method}}
        (place / "config.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        use(place, method, ("--outputs", OUTPUTS) if kind == "missing" else ())


def tables_of(kind: str, method: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the files of a table of a kind for a method, with new rows, and its options; none if it takes no such.

    A tenth of the cells are missing, those of the fit where it takes them, and those of new rows. A view is one that
    the method can be without, or stands beside a matrix of dissimilarities.
    """
    own, points, new = METHODS[method], in_domain(method, POINTS), new_rows(method)
    ids, columns = [f"p{row}" for row in range(len(points))], [f"x{column}" for column in range(points.shape[1])]
    if kind == "view":
        view = {"view": {"path": "data/view.csv"}}
        if any(issubclass(accepted, ViewedDissimilarities) for accepted in own.accepts):
            ids, points = ids[:POINTS_OF_PAIRS], points[:POINTS_OF_PAIRS]
            data, others = table_of("dissimilarities")
            beside = csv_of(ids, ids, cdist(points, points, "cityblock")) if own.views_match else csv_of(
                ids, columns, points)
            return {"data/data.csv": data, "data/view.csv": beside, "new.csv": others}, {
                **view, "kind": "dissimilarities"}
        if {Features, TwoViews} <= {*own.accepts}:
            return {"data/data.csv": csv_of(ids, columns, points), "new.csv": csv_of(NEW_IDS, columns, new),
                    "data/view.csv": csv_of(ids, columns[:2], points[:, :2] ** 2)}, view
        return {}, {}
    chance = np.random.default_rng(9)
    gaps, new_gaps = (chance.random(rows.shape) < EMPTY for rows in (points, new))
    new = np.where(new_gaps, math.nan, new)
    if not issubclass(own, GaussianProcessMethod):
        points = np.where(gaps, math.nan, points)
    if kind == "categories":
        points, new = (np.column_stack([rows.astype(object), np.where(rows[:, :2] > 0, "more", "less")])
                       for rows in (points, new))
        columns += ["first", "second"]
    if (own.missing and Features in own.accepts) if kind == "missing" else "categories" in own.model_fields:
        return {"data/data.csv": csv_of(ids, columns, points), "new.csv": csv_of(NEW_IDS, columns, new)}, {}
    return {}, {}


def make_onto(folder: Path) -> None:
    """Make a run that adds rows to the map of another in each way, in a folder of its own beside that other run."""
    for way, method in WAYS.items():
        place = folder / ONTO / way
        (place / "data").mkdir(parents=True)
        write_csv(place / "data" / "former.csv", POINTS[:OLD])
        write_csv(place / "data" / "data.csv", POINTS[:ALL])
        head, *lines = (place / "data" / "data.csv").read_text(encoding="utf-8").splitlines()
        (place / "data" / "data.csv").write_text("\n".join([head, *lines[OLD:], ""]), encoding="utf-8")
        write_csv(place / "new.csv", new_rows(method["name"]))
        former = {"input": {"path": "data/former.csv", "id_column": "id"}, "output": "former", "method": method}
        document = {"input": {"path": "data/data.csv"}, "output": "run", "onto": {"run": "former", "way": way}}
        (place / "former.yaml").write_text(yaml.safe_dump(former), encoding="utf-8")
        (place / "config.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        with chdir(place):
            require(run(["run", "former.yaml", "--no-cache", "-q", "--outputs", OUTPUTS]), f"{way}, before it")
        use(place, way, ("--outputs", OUTPUTS))


def use(place: Path, called: str, arguments: Sequence[str] = ()) -> None:
    """Make the run of a configuration in a folder, and what the program makes of it."""
    with chdir(place):
        require(run(["run", "config.yaml", "--no-cache", "-q", *arguments]), called)
        for name, command in commands("run", "").items():
            if run([*command, "-q"]):  # a run without a map back, or without a place for new rows
                print(f"{called}: no {name}", file=sys.stderr)


def require(code: int, name: str) -> None:
    """Raise SystemExit where a run ended with an error."""
    if code:
        raise SystemExit(f"{name} ended with exit code {code}")


def pack(archive: Path, folder: Path) -> None:
    """Write the files of a folder in their order, without owners, times and modes."""
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as file:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = len(content), 0o644
            file.addfile(entry, io.BytesIO(content))


def add(names: Iterable[str], lacking: Mapping[str, str]) -> None:
    """Write archives into the folder of this version.

    They are those of some methods, kinds of input, tables and additions to a map, and of some ways of methods, each by
    its folder's name; other ways of their archives stay as they are.
    """
    place = Path(tempfile.gettempdir()) / PLACE
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    chosen = list(names)
    for name in chosen:
        if name in KINDS:
            make_of_kind(name, place)
        if name in TABLES:
            make_of_tables(name, place)
    if ONTO in chosen:
        make_onto(place)
    make(lacking, place)
    for method in dict.fromkeys(CONFIGURATIONS[way][0] for way in lacking.values()):
        for way in ways_of(f"{__version__}/{method}") - lacking.keys():
            unpack(f"{__version__}/{method}", place / method, way)
        chosen.append(method)
    for name in chosen:
        pack(archive_of(__version__, name), place / name)
    shutil.rmtree(place)
    sizes = {name: archive_of(__version__, name).stat().st_size for name in chosen}
    print(json.dumps({"added": sizes, "bytes": sum(sizes.values())}))


def main() -> None:
    """Add the archives and ways of methods that are missing, and make the named ones anew."""
    os.environ["MLCLI_CACHE"] = "off"
    renewed = sys.argv[2:] if sys.argv[1:2] == ["--renew"] else []
    add((name for name in (*KINDS, *TABLES, ONTO) if name in renewed or not archive_of(__version__, name).exists()),
        {folder_of(way): way for way, (method, _) in CONFIGURATIONS.items()
         if method in renewed or folder_of(way) not in ways_of(f"{__version__}/{method}")})


if __name__ == "__main__":
    # a safe path finds the installed program, with its kernels, before the tree
    again = f"import sys; sys.path.append({str(FOLDER.parents[1])!r}); from tests.museum.add import main; main()"
    sys.exit(subprocess.run([sys.executable, "-P", "-c", again, *sys.argv[1:]], env=neutral(), check=False).returncode)
