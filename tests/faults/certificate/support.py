"""Runs in this process, and what their certificates say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import save_npz

from mlcli.base.types import Array
from mlcli.config.run_config import RunConfig
from mlcli.errors import NumericalError
from mlcli.pipeline import run as pipeline

POINTS = np.random.default_rng(21).standard_normal((60, 5)) * [4, 2, 1, 0.5, 0.25]
NEIGHBORS = {"count": 9}
BARE = ["embedding", "spectrum", "model"]  # what is written beside the certificate, where no test reads the page


def write_csv(path: Path, values: Array, label: bool = False) -> None:
    """A table with ids that are numbers, so that no picture names them, and a label column where one is asked for."""
    names = ["id", *(["kind"] if label else []), *(f"x{j}" for j in range(values.shape[1]))]
    rows = [[str(i), *(["abc"[i % 3]] if label else []), *map(repr, row.tolist())] for i, row in enumerate(values)]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")


def configured(folder: Path, method: dict[str, Any], values: Any = POINTS, **sections: Any) -> RunConfig:
    """A run of points with ids and a label, of a square matrix, or of a graph; with a page if quality is measured."""
    path = folder / "data.csv"
    square = sections.get("input", {}).get("kind") in ("dissimilarities", "kernel", "covariance")
    if sections.get("input", {}).get("kind") == "graph":
        path = folder / "data.npz"
        save_npz(path, values)
        given: dict[str, Any] = {"path": str(path)}
    elif square:
        path = folder / "data.npy"
        np.save(path, values)
        given = {"path": str(path)}
    else:
        write_csv(path, values, label=True)
        given = {"path": str(path), "id_column": "id", "label_columns": ["kind"]}
    if sections.get("report", {}).get("quality") is None:
        sections["report"] = {"outputs": BARE, **sections.get("report", {})}
    return RunConfig.model_validate({**sections, "input": {**given, **sections.get("input", {})}, "method": method,
                                     "output": str(folder / "out")})


def certificate(folder: Path) -> dict[str, Any]:
    """The certificate of a run that was written, or failed."""
    place = folder / "out"
    return json.loads(((place if place.exists() else folder / "out.failed") / "certificate.json").read_text())


def judged(config: RunConfig) -> dict[str, dict[str, Any]]:
    """The checks of a run by name, whether it passed or not; a failure must leave nothing but OUTPUT.failed."""
    folder = Path(str(config.output)).parent
    try:
        pipeline.run(config, force=True)
        assert not (folder / "out.failed").exists()
    except NumericalError as error:
        assert error.code == "E-CERTIFICATE", error
        assert not (folder / "out").exists() and (folder / "out.failed" / "error.json").is_file()
    return {check["name"]: check for check in certificate(folder)["checks"]}
