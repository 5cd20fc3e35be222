"""Many runs in one process under some settings, and what two such processes must agree in."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mlcli.base.machine import resources
from mlcli.base.machine.blas import NEEDED
from mlcli.base.machine.resources import CORE
from mlcli.base.types import Array
from mlcli.methods import METHODS
from mlcli.runs.repetition import COORDINATES, EIGENVALUES, ITERATED, LEAST_TOLERANCE, LONG, SEPARATE, SINGLE
from tests.laws.contract.test_contract import CONFIGURATIONS
from tests.laws.contract.test_stages import configured
from tests.processes import neutral, program

ROOT = Path(__file__).parents[3]
ROWS = 2200  # above the sizes from which spectra are found in part and quality is measured on a sample
TIMED = {"run.json", "report.html"}  # seconds, memory, and the time of day
PLACED = TIMED | {"config.yaml"}  # and paths
REFLECTED = ("fa",)  # whose signs earlier versions had from scores, not loadings
LEVELS = {"base": set(), "v3": {"avx2", "fma", "bmi2"}, "v4": NEEDED, "none": set()}


@dataclass(frozen=True)
class Settings:
    """How a process is started: arguments, variables, and what it may differ by."""

    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    umask: int = 0o022


def has(flags: set[str]) -> bool:
    """Whether the processor has these instructions."""
    return resources.processor()[1] >= flags


def write_runs(folder: Path, runs: dict[str, dict[str, Any]]) -> None:
    """A file for each run in `configs`, all with their input beside it and their output below the working directory."""
    (folder / "configs").mkdir(exist_ok=True)
    for name, document in runs.items():
        text = yaml.safe_dump({**document, "output": f"runs/{name}"})
        (folder / "configs" / f"{name}.yaml").write_text(text, encoding="utf-8")


def ways(folder: Path) -> dict[str, dict[str, Any]]:
    """Every way of every method, with 60 rows."""
    runs = {}
    for name, (method, options) in CONFIGURATIONS.items():
        called = name.replace(" ", "-")
        (folder / "data" / called).mkdir(parents=True)
        given = configured(folder / "data" / called, method, options).input.model_dump(mode="json", exclude_unset=True)
        given["path"] = f"../data/{called}/data.csv"
        given |= {"view": {"path": f"../data/{called}/view.csv"}} if "view" in given else {}
        runs[called] = {"input": given, "method": {"name": method, **options}}
    return runs


def examples(folder: Path) -> dict[str, dict[str, Any]]:
    """The examples of `configs`, whose options are the defaults for the most part; a sweep's run stands there alone."""
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    runs = {}
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        view = document["input"].get("view", {})
        labels = document["input"].get("labels")
        given = [document["input"], *filter(None, [view, labels]), *view.get("further", ())]
        if "sweep" in document or not all((ROOT / part["path"]).exists() for part in given):
            continue
        for part in given:
            part["path"] = f"../{part['path']}"
        runs[f"example-{path.stem}"] = document
    return runs


def large(folder: Path, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Some runs of a noisy sheet in 20 dimensions, with a column of labels."""
    generator = np.random.default_rng(4)
    sheet: Array = generator.random((ROWS, 2))
    points = np.column_stack([sheet, np.sin(3 * sheet)]) @ generator.standard_normal((4, 20))
    points += 0.05 * generator.standard_normal(points.shape)
    lines = [",".join([*(f"x{i}" for i in range(20)), "side"])]
    lines += [",".join([*(f"{value:.6g}" for value in row), "ab"[int(across > 0.5)]])
              for row, across in zip(points.tolist(), sheet[:, 0], strict=True)]
    (folder / "sheet.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    methods: dict[str, dict[str, Any]] = {
        "isomap": {}, "kpca": {}, "polynomial": {"name": "kpca", "kernel": {"name": "polynomial"}},
        "landmarks": {"name": "mds", "landmarks": 100}, "pca": {}, "lle": {}, "laplacian": {}}
    return {f"large-{name}": {"input": {"path": "../sheet.csv", "label_columns": ["side"]},
                              "method": {"name": name, **methods[name]}} for name in names}


def carried_out(folder: Path, name: str, settings: Settings, before: Sequence[str] = ()) -> dict[str, Path]:
    """The directories of all runs, by their names, made by one process in a working directory of its own.

    The emulator `before` the command takes no script.
    """
    place = folder / name
    place.mkdir()
    started = [*before, sys.executable, "-P", "-m", "mlcli"] if before else program()
    command = [*started, "run", *map(str, sorted((folder / "configs").glob("*.yaml"))), "--no-cache", "-q"]
    ended = subprocess.run([*command, *settings.arguments], cwd=place, env=neutral(**settings.variables),
                           preexec_fn=lambda: os.umask(settings.umask), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return {path.name: path for path in sorted((place / "runs").iterdir())}


def files(run: Path, without: set[str]) -> dict[str, bytes]:
    """The files of a run but some."""
    return {path.name: path.read_bytes() for path in run.iterdir() if path.name not in without}


def differing(left: Path, right: Path, without: set[str]) -> list[str]:
    """The files that two runs do not have in common, byte by byte."""
    one, other = files(left, without), files(right, without)
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def untimed(run: Path) -> tuple[dict[str, Any], str]:
    """run.json and the report without seconds, memory, the time of day and absolute paths."""
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for stage in record["stages"]:
        del stage["seconds"], stage["peak_memory_mib"]
    parts = [record["input"]]
    for part in parts:  # its views, one in the other, and the tables of labels
        part.pop("absolute", None)
        parts += [part[name] for name in ("view", "labels") if part.get(name)]
    finished = record.pop("finished")
    del record["seconds"], record["files"]["report.html"]
    page = (run / "report.html").read_text(encoding="utf-8")
    page, headers = re.subn(r", [0-9.e+-]+ s, finished [^<]+", "", page)
    page, sections = re.subn(r"<h2>Timings</h2>.*?</section>", "", page, flags=re.DOTALL)
    assert (headers, sections) == (1, 1)
    assert finished[11:16] not in page, "the page says the time of day somewhere else as well"
    return record, page


def timeless_differences(left: Path, right: Path) -> list[str]:
    """The files that two runs do not have in common, entries of run.json, and where their pages first differ."""
    (record, page), (other, other_page) = untimed(left), untimed(right)
    entries = [f"run.json: {name}" for name in record.keys() | other.keys() if record.get(name) != other.get(name)]
    tags = zip_longest(page.split("<"), other_page.split("<"), fillvalue="")
    first = [f"report.html: {one[:200]!r}, {two[:200]!r}" for one, two in tags if one != two][:1]
    return [*differing(left, right, TIMED), *sorted(entries), *first]


def kernels(run: Path) -> set[str]:
    """The kernels of OpenBLAS that a run used."""
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return {library["kernel"].lower() for library in record["blas"]}


def table(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}


def coordinates(run: Path) -> Array | None:
    """The embedding (n x p); None where the input has no rows."""
    path = run / "embedding.csv"
    columns = table(path) if path.exists() else {}
    points = [list(map(float, values)) for name, values in columns.items() if re.fullmatch(r"y\d+", name)]
    return np.array(points).T if points else None


def spectrum(run: Path) -> Array:
    """What axes are ranked by; empty where there is nothing of the kind."""
    path = run / "spectrum.csv"
    return np.array([float(value) for value in list(table(path).values())[1]]) if path.exists() else np.zeros(0)


def separate(values: Array, axes: int) -> Array:
    """Which of the axes are far enough from their neighbors in the spectrum to be compared one by one."""
    if not len(values):
        return np.ones(axes, dtype=bool)
    far = np.abs(np.diff(values)) >= SEPARATE * np.abs(values).max()
    return (np.r_[True, far] & np.r_[far, True])[:axes]


def turned(run: Path, one: Array, other: Array) -> float:
    """How far axes are turned, over twice what the certain digits of a run allow; zero where it has none."""
    given = table(run / "spectrum.csv").get("certain_digits", []) if (run / "spectrum.csv").exists() else []
    digits = np.array([float(cell or "nan") for cell in given[:one.shape[1]]])
    sizes = np.linalg.norm(one, axis=0)
    known = np.flatnonzero(np.isfinite(digits) & (sizes[:len(digits)] > 0))
    unit = one[:, known] / sizes[known] - other[:, known] / np.linalg.norm(other[:, known], axis=0)
    return float((np.linalg.norm(unit, axis=0) * 10 ** digits[known] / 2).max(initial=0.0))


def apart(left: Path, right: Path) -> float:
    """How far two runs are apart, over what they may be: the largest of spectra, coordinates and objectives."""
    method = yaml.safe_load((left / "config.yaml").read_text(encoding="utf-8"))["method"]
    one, other = coordinates(left), coordinates(right)
    if method["name"] in REFLECTED and one is not None and other is not None:
        other = other * np.where((one * other).sum(axis=0) < 0, -1.0, 1.0)
    iterated = METHODS[method["name"]].repeat_tolerance if method["name"] in ITERATED else 0.0
    if precision(left) != precision(right):
        iterated = SINGLE
    if "minimize" in method and len(objectives(left)) > LONG:
        least = LEAST_TOLERANCE if method["name"] in ITERATED else 0.0
        return minimized_apart(left, right, max(method["minimize"]["tolerance"], least))
    found = distance(spectrum(left), spectrum(right)) / max(EIGENVALUES, iterated)
    if one is None or other is None:
        assert one is other and len(spectrum(left))
        return found
    kept = separate(spectrum(left), one.shape[1])
    return max(found, turned(left, one, other), distance(one, np.where(kept, other, one)) / max(COORDINATES, iterated))


def precision(run: Path) -> str | None:
    """The precision of geodesic distances; None of a run without them."""
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))["facts"]
    return next((fact["precision"] for fact in facts if fact["code"] == "F-PATHS"), None)


def minimized_apart(left: Path, right: Path, tolerance: float) -> float:
    """The same of long minimizations: of objectives and coordinates.

    The tolerance bounds what the last five iterations brought, and what is left may be many times that. A descent that
    nears its end at least as one over the number of iterations has no more left than the second half of them brought.
    Around the minimum coordinates move by the root of what the objective, in nats for each number, does.
    """
    one, other = objectives(left), objectives(right)
    second_half = max(abs(course[-1] - course[len(course) // 2 - 1]) for course in (one, other))
    moved = distance(coordinates(left), coordinates(right)) / (10 * tolerance**0.5)
    return max(abs(one[-1] - other[-1]) / second_half, moved)


def objectives(run: Path) -> list[float]:
    """What the iterations of a fit lowered or raised, one by one."""
    path = run / "trace.csv"
    return [float(value) for value in table(path)["objective"]] if path.exists() else []


def distance(one: Array, other: Array) -> float:
    """The largest difference of two arrays over the largest entry of the first."""
    assert one.shape == other.shape
    return float(np.abs(one - other).max(initial=0.0) / np.abs(one).max(initial=1e-300))


PRESCOTT = {"prescott", "katmai"}  # one set of kernels under two names
SETTINGS: dict[str, tuple[Settings, bool]] = {  # with whether this processor can run under them
    **{f"{count} threads": (Settings(("--threads", str(count))), True) for count in (1, 2, 3)},
    **{name: (Settings(variables={name: "1"}), True) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")},
    **{name: (Settings(variables={CORE: name}), has(flags)) for name, flags in (
        ("Haswell", LEVELS["v3"]), ("Prescott", {"pni"}), ("SkylakeX", LEVELS["v4"]))},
    **{f"SIMD {name}": (Settings(variables={"MLCLI_SIMD": name}), has(flags)) for name, flags in LEVELS.items()},
}
SURROUNDINGS = {
    "again": Settings(), "hash seed": Settings(variables={"PYTHONHASHSEED": "7"}),
    "locale": Settings(variables={"LC_ALL": "C", "LANG": "de_DE.UTF-8"}),
    "time zone": Settings(variables={"TZ": "Asia/Kathmandu"}), "umask": Settings(umask=0o077),
}
