"""What the installed program sends to workers, beside passes over kernels: the files of one machine, byte for byte."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

pytest.importorskip("distributed", reason="needs mlcli[dask]")

from tests.processes import call

TIMED = ("run.json", "report.html", "config.yaml")
BLOCKS = ("--set", "input.stream=always")


def table(path: Path) -> Path:
    """A file of several row groups, with names, labels and gaps."""
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 3, 3000)
    values = generator.standard_normal((3000, 8)) * np.arange(1, 9) + 3 * np.eye(3, 8)[groups]
    values[generator.random(values.shape) < 1e-3] = np.nan
    names = {"id": [f"r{row}" for row in range(3000)], "kind": [f"k{group}" for group in groups]}
    columns = {f"x{place}": column for place, column in enumerate(values.T)}
    parquet.write_table(pa.table({**names, **columns}), path, row_group_size=500)
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.name not in TIMED and not path.name.startswith(("runs", "index"))}


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("options", [
    ["-m", "pca", *BLOCKS, "--label-column", "kind", "--id-column", "id", "--scale", "standard", "--set",
     "prepare.missing=mean"],
    ["-m", "lda", *BLOCKS, "--label-column", "kind", "--set", "prepare.missing=drop"],
    ["-m", "isomap", *BLOCKS, "--columns", "x0:x7", "--reduce", "4", "--set", "method.landmarks=40", "--set",
     "prepare.missing=drop"]],
                         ids=["filled and scaled", "classes", "reduced ahead"])
def test_an_embedding(options: list[str], tmp_path: Path) -> None:
    data = table(tmp_path / "t.parquet")
    for output, more in {"here": [], "there": ["--cluster", "local:2"]}.items():
        done = call("embed", data, *options, "-o", tmp_path / output, "-q", *more)
        assert done.returncode == 0, done.stderr
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert json.loads((tmp_path / "there" / "run.json").read_text())["cluster"]["blocks"] > 0


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_a_sweep(tmp_path: Path) -> None:
    assert call("sample", "swiss-roll", "--rows", 2300, "-o", tmp_path / "roll.csv").returncode == 0
    (sweep := tmp_path / "sweep.yaml").write_text("method: {name: isomap}\nsweep: {method.neighbors.count: [8, 12]}\n"
                                                  f"input: {{path: {tmp_path / 'roll.csv'}}}\n")
    for output, more in {"here": [], "there": ["--cluster", "local:2"]}.items():
        done = call("run", sweep, "-o", tmp_path / output, "-q", *more)
        assert done.returncode == 0, done.stderr
    assert files(tmp_path / "here") == files(tmp_path / "there")
    for run in (tmp_path / "there").glob("count=*"):
        assert json.loads((run / "run.json").read_text())["cluster"]["blocks"] > 0
