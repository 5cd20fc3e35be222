"""Configurations with a number at the edge of its range: every option of every method, and of what all runs share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mlcli.base.values.options import TAG
from mlcli.config.describe import rows
from mlcli.config.run_config import RunConfig
from tests.faults.fuzz.trials import SECONDS, tried

WHOLE = [-1, 0, 1, 2, 3, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 2**63 - 1, 2**63, 2**64, 10**30]
REAL = [-1e308, -1.0, -5e-324, 0.0, 5e-324, 1e-300, 1e-17, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 1e17, 1e150, 1.79e308]
PLACES = frozenset({"compute.memory_enforce", "compute.cluster", "compute.memory_limit", "output"})  # not of a method
LONG = frozenset({"restarts", "resamples", "replicates", "epochs"})  # 2^31 of them are allowed, and take as long
SIZE, COLUMNS = 24, 5
AFTER = (("verify", "run"), ("report", "run"), ("collect", "run", "-o", "table", "--force"), ("plan", "case.yaml"),
         ("run", "run/config.yaml", "-o", "again", "--force", "-q"))


@dataclass(frozen=True)
class Edge:
    """An option with a value at the edge of its range, and the sections that it needs."""

    path: str
    only: Mapping[str, str]
    value: float

    def document(self, *, listed: bool = False) -> dict[str, Any]:
        """The configuration, with the value in a list where the option takes one."""
        method = self.only.get("method", "pca")
        found: dict[str, Any] = {"input": {"path": "points.npy"}, "method": {TAG: method}}
        if method == "lda":
            found = {"input": {"path": "classes.csv", "label_columns": ["k"]}, "method": {TAG: method, "label": "k"}}
        if method in ("nmf", "ca", "mca", "ib"):
            found["input"]["path"] = "counts.npy"
        if method == "bilinear":
            found["input"] = {"path": "classes.csv", "label_columns": ["s", "k"]}
        if method in ("cca", "ibfa", "gib", "vib", "rda", "dbrda", "mvgplvm"):
            found["input"]["view"] = {"path": "view.npy"}
        for section, name in sorted(self.only.items()):
            put(found, f"{section}.{TAG}", name)
        put(found, self.path, [self.value] if listed else self.value)
        return found


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Sets an option in nested sections."""
    *sections, name = path.split(".")
    for section in sections:
        document = document.setdefault(section, {})
    document[name] = value


def edges() -> Iterator[Edge]:
    """Every number of a configuration with each value at an edge."""
    for row in rows(RunConfig):
        if row.path not in PLACES:
            for kind, values in (("a whole number", WHOLE), ("a number", REAL)):
                yield from (Edge(row.path, row.only, value) for value in values
                            if kind in row.type and not (value > 2**20 and row.path.rpartition(".")[2] in LONG))


def write_inputs(folder: Path) -> None:
    """The tables that the configurations name."""
    points = np.random.default_rng(0).standard_normal((SIZE, COLUMNS)).cumsum(axis=0)
    np.save(folder / "points.npy", points)
    np.save(folder / "counts.npy", np.random.default_rng(2).integers(1, 5, (SIZE, COLUMNS)).astype(float))
    np.save(folder / "view.npy", points[:, :3] + np.random.default_rng(1).standard_normal((SIZE, 3)))
    lines = [",".join([*map(repr, row), "pqr"[place % 3], "uv"[place // 3 % 2]])
             for place, row in enumerate(points.tolist())]
    folder.joinpath("classes.csv").write_text("\n".join(["a,b,c,d,e,k,s", *lines, ""]), encoding="utf-8")


def faults(edge: Edge) -> Iterator[str]:
    """What is wrong with a run of an edge in the current folder, or with what other commands make of it."""
    told = f"{edge.path} {dict(edge.only)} = {edge.value!r}"
    trial = run_of(edge.document())
    if trial.code == 78 and "list" in trial.err:
        trial = run_of(edge.document(listed=True))
    if trial.seconds > SECONDS or "TimeoutError" in trial.err:
        return  # thousands of iterations that were asked for are long and no fault
    if trial.fault:
        yield f"{told}: {trial.fault}: {trial.err[:300]}"
    if trial.code:
        return
    for command in AFTER:
        trial = tried(*command)
        if trial.fault or trial.code:
            yield f"{told}: {command[0]}: {trial.code} {trial.fault}: {trial.err[-300:]}"
    if Path("run/embedding.csv").is_file() and (
            Path("run/embedding.csv").read_bytes() != Path("again/embedding.csv").read_bytes()):
        yield f"{told}: the run's configuration gives another embedding"


def run_of(document: Mapping[str, Any]) -> Any:
    """The end of a run of a configuration."""
    Path("case.yaml").write_text(yaml.safe_dump(dict(document)), encoding="utf-8")
    return tried("run", "case.yaml", "-o", "run", "--force", "-q")
