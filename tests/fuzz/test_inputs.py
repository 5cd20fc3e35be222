"""Every reader of inputs refuses damage by name: no internal error, no 2 GiB, no 20 seconds."""

import io
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse
from scipy.io import mmwrite

from tests.fuzz.arrays import of_bytes, of_npy, of_npz
from tests.fuzz.directories import SAMPLES
from tests.fuzz.documents import Damage, of_yaml
from tests.fuzz.tables import of_csv
from tests.fuzz.trials import MEMORY, peak, tried

POINTS = np.random.default_rng(0).standard_normal((30, 4))
RING = sparse.csr_array(np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0))
EDGES = "\n".join(["source,target,length", *(f"p{i},p{(i + 1) % 12},{1 + i / 7}" for i in range(12)), ""]).encode()
EACH = 1250  # damages of every format in the long suite: 12,500 in all
CALLS = (("check",), ("plan",), ("embed", "-o", "-", "-q"))


def table() -> pa.Table:
    """Numbers, ids and labels."""
    return pa.table({"id": [f"p{i}" for i in range(30)], "kind": [f"k{i % 3}" for i in range(30)],
                     **{f"x{j}": POINTS[:, j] for j in range(4)}})


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    """The bytes that something writes."""
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def arrow(stream: io.BytesIO) -> None:
    """The table as an Arrow stream."""
    with pa.ipc.new_stream(stream, table().schema) as writer:
        writer.write_table(table())


FORMATS: dict[str, tuple[Callable[[], bytes], Callable[[bytes], list[Damage]], tuple[str, ...]]] = {
    "x.csv": (lambda: (SAMPLES / "us_arrests.csv").read_bytes(), of_csv, ()),
    "d.csv": (lambda: (SAMPLES / "eurodist.csv").read_bytes(), of_csv, ("--dissimilarities", "-m", "mds")),
    "x.npy": (lambda: saved(lambda stream: np.save(stream, POINTS)), of_npy, ()),
    "x.npz": (lambda: saved(lambda stream: np.savez_compressed(stream, x=POINTS)), of_npz, ()),
    "x.parquet": (lambda: saved(lambda stream: pyarrow.parquet.write_table(table(), stream)), of_bytes,
                  ("--id-column", "id", "--label-column", "kind")),
    "x.arrow": (lambda: saved(arrow), of_bytes, ("--id-column", "id", "--label-column", "kind")),
    "g.csv": (lambda: EDGES, of_csv, ("--graph", "-m", "isomap")),
    "g.npz": (lambda: saved(lambda stream: sparse.save_npz(stream, RING)), of_npz, ("--graph", "-m", "isomap")),
    "g.mtx": (lambda: saved(lambda stream: mmwrite(stream, RING, symmetry="symmetric")), of_bytes,
              ("--graph", "-m", "isomap")),
    "x.phy": (lambda: (SAMPLES / "us_cities.phy").read_bytes(), of_bytes, ("--dissimilarities", "-m", "mds")),
}


def faults(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """What went wrong with damages drawn at random, in words to repeat them by."""
    make, of_format, options = FORMATS[name]
    every, draw, found = of_format(make()), random.Random(f"{name} {seed}"), []
    for told, content in draw.sample(every, min(count, len(every))):
        try:
            (folder / name).write_bytes(content())
        except (ValueError, TypeError, IndexError, OverflowError):  # not every change can be made of every array
            continue
        for command, *rest in CALLS:
            known = options if command != "check" or "-m" not in options else options[:1]
            trial = tried(command, str(folder / name), *known, *rest)
            if trial.fault:
                found.append(f"{name}, {told}: {command}: {trial.fault}: {trial.err[:300]}")
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_inputs_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert faults(tmp_path, name, 4, seed=0) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", FORMATS)
def test_all_damages_of_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert faults(tmp_path, name, EACH, seed=1) == []
    assert peak() < MEMORY


CONFIGS = {"pca-iris": "iris.csv", "chain-geodesic-gaussian": "helix.npy"}


def config_faults(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """The same of configurations that `plan` and `run` are given."""
    path, found = folder / "run.yaml", []
    tried("run", str(SAMPLES.parent / "configs" / f"{name}.yaml"), "--set",
          f"input.path={SAMPLES / CONFIGS[name]}", "-o", str(folder / "whole"), "-q")
    every = of_yaml((folder / "whole" / "config.yaml").read_bytes())
    for told, content in random.Random(seed).sample(every, min(count, len(every))):
        path.write_bytes(content())
        for arguments in (("plan", str(path)), ("run", str(path), "-o", str(folder / "again"), "--force", "-q")):
            trial = tried(*arguments)
            if trial.fault:
                found.append(f"{name}, {told}: {arguments[0]}: {trial.fault}: {trial.err[:300]}")
    return found


@pytest.mark.parametrize("name", CONFIGS)
def test_damaged_configurations_are_refused_by_name(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert config_faults(tmp_path, name, 12, seed=0) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", CONFIGS)
def test_all_damages_of_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert config_faults(tmp_path, name, EACH, seed=1) == []
