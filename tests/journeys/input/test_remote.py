"""Inputs on an object store: the values and errors of local files, from a server on this machine."""

import io
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, fs, ipc, parquet
from scipy import sparse

from mlcli.base.rows.source import rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.files import remote
from mlcli.data.files.source import open_input
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError, DependencyMissing, InputMissing, MlcliError, StorageError
from tests.data.helpers import noted
from tests.journeys.support import Caller
from tests.object_store import serving, variables, with_bucket
from tests.wording import Wording

VALUES = np.random.default_rng(0).standard_normal((400, 3))
TABLE = pa.table({"name": [f"r{row}" for row in range(400)],
                  **{f"x{place}": column for place, column in enumerate(VALUES.T)}})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Where a store answers."""
    with serving() as endpoint:
        yield endpoint


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[fs.FileSystem]:
    """A file system of the store, which the environment leads to."""
    settings(monkeypatch, server)
    yield with_bucket(server)
    remote._system.cache_clear()


def settings(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    for name, value in variables(endpoint).items():
        monkeypatch.setenv(name, value)
    remote._system.cache_clear()


def saved(store: fs.FileSystem, name: str) -> str:
    """A file in the bucket, in the format of its name."""
    with store.open_output_stream(f"bucket/{name}") as out:
        if name.endswith("parquet"):
            parquet.write_table(TABLE, out, row_group_size=150)
        elif name.endswith("arrow"):
            with ipc.new_file(out, TABLE.schema) as file:
                file.write_table(TABLE, max_chunksize=150)
        elif name.endswith("csv"):
            csv.write_csv(TABLE, out)
        else:
            np.save(out, VALUES)
    return f"s3://bucket/{name}"


@pytest.mark.medium
@pytest.mark.parametrize(("name", "stream"), [
    ("t.parquet", "always"), ("t.csv", "never"), ("t.npy", "always"), ("t.arrow", "never"), *(
        pytest.param(*some, marks=pytest.mark.slow) for some in (
            ("t.parquet", "never"), ("t.csv", "always"), ("t.npy", "never"), ("t.arrow", "always")))])
def test_a_file_on_a_store_holds_what_a_local_one_holds(store: fs.FileSystem, name: str, stream: str) -> None:
    with noted():
        table = read(Input(path=saved(store, name), stream=stream), streams=True)
    rows = rows_of(table.values)
    assert (rows is not None) == (stream == "always")
    values = table.values if rows is None else rows.read(np.arange(400))
    assert np.allclose(values, VALUES, rtol=0, atol=0)
    if name != "t.npy":
        assert tuple(table.ids) == tuple(TABLE["name"].to_pylist())
    assert table.source is not None and len(table.source.sha256) == 64


@pytest.mark.parametrize("name", ["t.h5", "t.npz"])
def test_sparse_tables_and_hdf5_on_a_store(store: fs.FileSystem, name: str) -> None:
    content = io.BytesIO()
    if name == "t.h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(content, "w") as file:
            file["x"] = VALUES
    else:
        sparse.save_npz(content, sparse.csr_array(VALUES))
    with store.open_output_stream(f"bucket/{name}") as out:
        out.write(content.getvalue())
    with noted():
        assert np.array_equal(read(Input(path=f"s3://bucket/{name}")).values, VALUES)


@pytest.mark.medium
def test_the_files_under_a_path_are_one_table(store: fs.FileSystem) -> None:
    for number in range(3):
        saved(store, f"parts/part-{number}.parquet")
    with noted():
        table = read(Input(path="s3://bucket/parts/"))
    assert np.array_equal(table.values, np.concatenate([VALUES] * 3)) and len(table.source.files) == 3


@pytest.mark.medium
def test_a_run_of_a_file_on_a_store_is_verified(store: fs.FileSystem, mlcli: Caller) -> None:
    path = saved(store, "run.parquet")
    called = mlcli("embed", path, "-o", "run", "-q", "--set", "input.stream=always")
    assert called.code == 0, called.err
    assert "on a network" in mlcli("verify", "run").out
    assert "unchanged" in mlcli("verify", "run", "--network").out
    with store.open_output_stream("bucket/run.parquet") as out:
        parquet.write_table(TABLE.slice(0, 300), out)
    assert "changed" in mlcli("verify", "run", "--network").out
    store.delete_file("bucket/run.parquet")
    assert "missing" in mlcli("verify", "run", "--network").out


def test_a_file_that_changes_is_refused(store: fs.FileSystem) -> None:
    path = saved(store, "t.npy")
    with pytest.raises(StorageError, match="changed"), open_input(path, Compute()):
        store.copy_file("bucket/t.npy", "bucket/other.npy")
        store.delete_file("bucket/t.npy")
        saved(store, "t.parquet")
        store.move("bucket/t.parquet", "bucket/t.npy")


@pytest.mark.parametrize("path", ["s3://bucket/none.csv", "s3://no-bucket/t.csv", "s3://bucket/folder",
                                  "s3://no-bucket/parts/", "s3://no-bucket/", "s3://bucket/no-parts/"])
def test_what_is_not_there_is_named(store: fs.FileSystem, path: str) -> None:
    saved(store, "folder/t.csv")
    with pytest.raises(InputMissing) as caught:
        read(Input(path=path))
    assert caught.value.code == "E-INPUT-MISSING" and path in str(caught.value)


@pytest.mark.parametrize("path", ["s3://bucket/faces", "s3://bucket/faces/"])
def test_images_are_read_from_this_machine_alone(store: fs.FileSystem, path: str, wording: Wording) -> None:
    with store.open_output_stream("bucket/faces/a.png") as out:
        out.write(b"\x89PNG\r\n")
    with wording.raises(InputMissing, "INPUT-MISSING"):
        read(Input(path=path))


def test_what_is_wrong_in_a_file_is_said_as_of_a_local_one(store: fs.FileSystem) -> None:
    with store.open_output_stream("bucket/wrong.csv") as out:
        out.write(b"x,y\n1,2\n3,oops\n5,6\n")
    with pytest.raises(DataError, match=r"'oops' in line 3, row 2"):
        read(Input(path="s3://bucket/wrong.csv"))


@pytest.mark.medium
def test_a_store_that_does_not_answer_ends_the_run_in_time(monkeypatch: pytest.MonkeyPatch, mlcli: Caller) -> None:
    monkeypatch.setattr(remote, "REQUEST", 1.0)
    monkeypatch.setattr(remote, "ATTEMPTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (9, silent.getsockname()[1]):  # nothing there; something that never answers
            settings(monkeypatch, f"http://127.0.0.1:{port}")
            with pytest.raises(DependencyMissing) as caught:
                read(Input(path="s3://bucket/t.csv"))
            assert caught.value.code == "E-REMOTE" and "AWS_ENDPOINT_URL" in str(caught.value)
    called = mlcli("embed", "s3://bucket/t.csv", "-o", "none")
    assert called.code == 69 and "Traceback" not in called.err and len(called.err.splitlines()) == 1
    remote._system.cache_clear()


@pytest.mark.parametrize(("error", "kind"), [
    (OSError("AWS Error ACCESS_DENIED during HeadObject operation: No response body."), "E-REMOTE-DENIED"),
    (PermissionError(13, "denied"), "E-REMOTE-DENIED"), (FileNotFoundError(2, "gone"), "E-INPUT-MISSING"),
    (OSError("Unable to load libjvm"), "E-REMOTE")])
def test_refusals_of_stores_are_told_apart(error: OSError, kind: str) -> None:
    with pytest.raises(MlcliError) as caught, remote.store_errors("s3://bucket/t.csv"):
        raise error
    assert caught.value.code == kind and caught.value.exit_code == (69 if kind == "E-REMOTE" else 66)


@pytest.mark.parametrize("path", ["s3://b/t.npy", "gs://b/t.npy", "hdfs://h:8020/t.npy"])
def test_a_store_that_cannot_be_used_has_its_own_remedy(path: str, wording: Wording) -> None:
    with wording.raises(DependencyMissing, "REMOTE"), remote.store_errors(path):
        raise OSError("Unable to load the library")


def test_a_path_with_credentials_is_refused(wording: Wording) -> None:
    with wording.raises(ConfigError, "REMOTE-SECRET"):
        read(Input(path="s3://key:secret@bucket/t.csv"))


@pytest.mark.medium
def test_paths_of_this_machine_are_no_remote_ones(tmp_path: Path) -> None:
    assert not any(map(remote.is_remote, ("-", "t.csv", "s3/t.csv", str(tmp_path), "c://x", "s3:/x")))
