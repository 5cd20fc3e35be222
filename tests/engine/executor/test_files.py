"""Passes over a file give the same bytes wherever its blocks are read."""

import os
import pickle
import platform
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, ipc, parquet
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows.source import Rows, Sample
from mlcli.base.rows.sparse import SparseRows
from mlcli.config.build import build
from mlcli.config.layers import from_assignments
from mlcli.core.moments_pass import Gathering
from mlcli.data.files.source import FileId, plain_stream
from mlcli.engine.cluster.serialize import Packing
from mlcli.engine.cluster.worker import reading_here
from mlcli.engine.executor import running_on
from mlcli.errors import InputMissing, MlcliError, StorageError
from mlcli.findings.frame.result import Result
from mlcli.pipeline.run import compute
from mlcli.pipeline.session import Session
from mlcli.process.file_hash import state
from tests.wording import Wording

GENERATOR = np.random.default_rng(3)
GROUPS = GENERATOR.integers(0, 3, 600)
VALUES = GENERATOR.standard_normal((600, 6)) * np.arange(6, 0, -1) + 4.0 * np.eye(3, 6)[GROUPS]
VALUES += 0.09 * VALUES.std(axis=0) - VALUES.mean(axis=0)  # so near zero that products are corrected, not rows moved
TABLE = pa.table({**{f"x{place}": column for place, column in enumerate(VALUES.T)},
                  "kind": [f"kind {group}" for group in GROUPS]})
NUMBERS = TABLE.drop_columns("kind")
WIDE = GENERATOR.standard_normal((1040, 1030)) * np.geomspace(30, 0.01, 1030)  # so wide that FᵀF is only applied


def arrow(path: str) -> None:
    with ipc.new_file(path, NUMBERS.schema) as file:
        file.write_table(NUMBERS, max_chunksize=150)


FILES: Mapping[str, Callable[[str], object]] = {
    "t.parquet": lambda path: parquet.write_table(NUMBERS, path, row_group_size=150),
    "kinds.parquet": lambda path: parquet.write_table(TABLE, path, row_group_size=150),
    "t.csv": lambda path: csv.write_csv(NUMBERS, path), "t.arrow": arrow, "t.npy": lambda path: np.save(path, VALUES),
    "wide.npy": lambda path: np.save(path, WIDE), "condensed.npy": lambda path: np.save(path, pdist(VALUES)),
    "square.npy": lambda path: np.save(path, squareform(pdist(VALUES))),
    "gaps.npy": lambda path: np.save(path, np.where(GENERATOR.random(VALUES.shape) < 0.01, np.nan, VALUES)),
    "t.npz": lambda path: sparse.save_npz(path, sparse.random_array((400, 1200), density=0.05, format="csr",
                                                                    random_state=np.random.default_rng(0)))}


def run(path: str, *options: str) -> Result:
    assignments = [f"input.path={path}", "input.stream=always", *options]
    with Session.open(build(from_assignments(assignments))) as session:
        return compute(session)


@pytest.mark.medium
@pytest.mark.parametrize(("path", "options"), [
    ("t.parquet", ["method.name=pca"]), ("t.npy", ["method.name=pca"]), ("t.csv", ["method.name=pca"]),
    ("t.arrow", ["method.name=ppca"]),
    ("t.npy", ["method.name=fa"]), ("wide.npy", ["method.name=pca"]), ("t.npz", ["method.name=pca"]),
    ("kinds.parquet", ["method.name=lda", "input.label_columns=[kind]"]),
    ("t.npy", ["method.name=kpca", "method.landmarks=40"]),
    ("t.npy", ["method.name=pca", "prepare.scale=standard"]),
    ("t.csv", ["method.name=pca", "prepare.transform=[unit]"]),
    ("t.npz", ["method.name=pca", "prepare.transform=[log1p]", "prepare.scale=standard"]),
    ("gaps.npy", ["method.name=pca", "prepare.missing=mean", "prepare.top_variance=4"]),
    ("gaps.npy", ["method.name=pca", "prepare.missing=drop"]),
    ("square.npy", ["method.name=mds", "input.kind=dissimilarities"]),
    ("condensed.npy", ["method.name=mds", "input.kind=dissimilarities"])],
                         ids=lambda part: part if isinstance(part, str) else part[0].rpartition("=")[2])
def test_a_run_of_a_file(path: str, options: list[str], processes: Executor, tmp_path: Path,
                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where the processes are not
    FILES[path](path)
    with limit_threads(2):
        here = run(path, *options).model
        with running_on(processes, 2):
            there = run(path, *options).model
    assert here.embedding.tobytes() == there.embedding.tobytes()
    assert here.spectrum is not None and there.spectrum is not None
    assert here.spectrum.values.tobytes() == there.spectrum.values.tobytes()


def test_rows_travel_without_what_a_pass_has_shown() -> None:
    source = SparseRows(sparse.random_array((10_000, 50), density=0.2, format="csr"))
    sample = Sample(np.arange(10_000), np.ones((10_000, 50)))
    message = Packing(whole=False).message(Gathering(Rows(source, sample=sample), np.zeros(50), True, np.arange(10)))
    assert len(message.pickled) < 3000 and not message.passing
    assert sum(array.nbytes for array in message.lasting.values()) < 1.01 * source.buffer_bytes


@pytest.mark.parametrize(("change", "kind"), [(os.unlink, InputMissing),
                                              (lambda path: np.save(path, VALUES[:30]), StorageError)],
                         ids=["absent", "another file"])
def test_a_worker_that_does_not_see_the_file(change: Callable[[Path], object], kind: type[MlcliError],
                                             tmp_path: Path, wording: Wording) -> None:
    np.save(path := tmp_path / "t.npy", VALUES)
    with path.open("rb") as file:
        id = FileId(str(path), state(file.fileno()))
    there = pickle.loads(pickle.dumps(id))
    change(path)
    with pytest.raises(kind) as raised, reading_here():
        there.open_once(plain_stream)
    assert wording(str(raised.value).replace(platform.node(), "NODE")) == [] and raised.value.code == "E-CLUSTER-INPUT"
