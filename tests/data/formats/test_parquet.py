"""Parquet files of many columns and row groups come out as the table they hold."""

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mlcli.base.values.compute import Compute
from mlcli.data.files.source import FileId
from mlcli.data.formats import columns
from mlcli.data.formats.parquet import column_bytes
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError, RefusedByPlan, StorageError
from tests.processes import python

VALUES = np.random.default_rng(0).standard_normal((500, 60))


def saved(folder: Path, rows: int) -> str:
    """The values between columns of text, in row groups of so many rows."""
    parts = {f"x{i}": VALUES[:, i] for i in range(30)} | {"name": [f"r{i}" for i in range(500)]}
    parts |= {f"x{i}": VALUES[:, i].astype(np.float32 if i % 2 else np.float64) for i in range(30, 60)}
    parts["kind"] = [f"k{i % 3}" for i in range(500)]
    parquet.write_table(pa.table(parts), folder / "t.parquet", row_group_size=rows)
    return str(folder / "t.parquet")


@pytest.mark.medium
@pytest.mark.parametrize(("rows", "batch", "turned"), [(500, 1 << 16, 4096), (70, 64, 16), (1, 64, 16), (499, 100, 33)])
def test_all_row_groups_and_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, batch: int,
                                    turned: int) -> None:
    monkeypatch.setattr("mlcli.data.formats.parquet.BATCH", batch)
    monkeypatch.setattr(columns, "ROWS", turned)
    table = read(Input(path=saved(tmp_path, rows), id_column="name", label_columns=("kind",)))
    expected = VALUES.copy()
    expected[:, 31::2] = expected[:, 31::2].astype(np.float32)
    assert np.array_equal(table.values, expected)
    assert table.values.flags.c_contiguous
    assert table.ids == tuple(f"r{i}" for i in range(500))
    assert table.labels["kind"] == tuple(f"k{i % 3}" for i in range(500))


def test_columns_in_an_order_of_their_own(tmp_path: Path) -> None:
    names = ("x40", "x3", "x4", "x0", "x58")
    table = read(Input(path=saved(tmp_path, 200), columns=names, id_column="name", label_columns=("kind",)))
    assert table.columns == names
    assert np.array_equal(table.values, VALUES[:, [40, 3, 4, 0, 58]])


LONG = "a" * (1 << 20)
GROWING = {  # texts of a megabyte, as they are written: the options, the texts
    "a large dictionary": ({"use_dictionary": ["kind"]}, [f"{i}{LONG}" for i in range(300)]),
    "one text for all rows": ({"use_dictionary": ["kind"]}, [LONG[:-100]] * 300),
    "changes of the text before": ({"use_dictionary": False, "column_encoding": {"kind": "DELTA_BYTE_ARRAY"}},
                                   [LONG[:-100]] * 300)}


@pytest.mark.medium
@pytest.mark.parametrize("name", [pytest.param("a large dictionary", marks=pytest.mark.slow), *list(GROWING)[1:]])
def test_texts_that_grow_are_refused_before_they_take_memory(tmp_path: Path, name: str) -> None:
    options, texts = GROWING[name]
    table = pa.table({"x": np.arange(300.0), "kind": texts})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd", store_schema=False, write_statistics=False,
                        dictionary_pagesize_limit=2**30, **options)
    del table
    pa.default_memory_pool().release_unused()
    assert (tmp_path / "t.parquet").stat().st_size < 200_000
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(DataError) as caught:
        read(Input(path=str(tmp_path / "t.parquet"), label_columns=("kind",)))
    assert caught.value.code in ("E-DECOMPRESS-RATIO", "E-FIELD-SIZE")
    assert pa.default_memory_pool().max_memory() == before  # which writing the file has set: 300 texts


@pytest.mark.parametrize("encoding", [None, "PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
@pytest.mark.parametrize("batch", [1 << 16, 7])
def test_texts_come_out_alike_in_every_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int,
                                                encoding: str | None) -> None:
    monkeypatch.setattr("mlcli.data.formats.parquet.BATCH", batch)
    labels = [None if i % 7 == 0 else f"label {i % 40}" for i in range(200)]
    options = {} if encoding is None else {"use_dictionary": False, "column_encoding": {"kind": encoding}}
    parquet.write_table(pa.table({"x": np.arange(200.0), "kind": labels}), tmp_path / "t.parquet", row_group_size=90,
                        **options)
    found = read(Input(path=str(tmp_path / "t.parquet"), label_columns=("kind",))).labels["kind"]
    assert found == tuple(label or "" for label in labels)


def test_the_memory_of_texts_counts(tmp_path: Path) -> None:
    texts = [np.random.default_rng(i).bytes(50_000).hex() for i in range(100)]
    parquet.write_table(pa.table({"x": np.arange(100.0), "kind": texts}), tmp_path / "t.parquet")
    read(Input(path=str(tmp_path / "t.parquet"), label_columns=("kind",)), Compute(memory_limit="500M"))
    with pytest.raises(RefusedByPlan):
        read(Input(path=str(tmp_path / "t.parquet"), label_columns=("kind",)), Compute(memory_limit="5M"))


@pytest.mark.parametrize(("stored", "most"), [(0.0, 3.0), (7500 * 9.0, 4.5)])
def test_a_row_group_of_one_batch_takes_itself_and_a_copy(stored: float, most: float) -> None:
    """With its page, and where numbers are stored in a dictionary with that and places in it."""
    assert column_bytes(10_000, 7500, stored) == most * 8 * 7500
    assert column_bytes(1 << 10, 1 << 20, 0.0) == 8 * (3 * (1 << 10) + 20_000)


def test_arrow_reads_through_a_stream_where_descriptors_have_no_names(tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str) -> None:
        raise FileNotFoundError(path)

    path = saved(tmp_path, 500)
    wanted = read(Input(path=path, id_column="name", label_columns=("kind",)))
    monkeypatch.setattr(pa, "OSFile", missing)
    found = read(Input(path=path, id_column="name", label_columns=("kind",)))
    assert np.array_equal(found.values, wanted.values)
    assert (found.ids, found.labels) == (wanted.ids, wanted.labels)


def folder_of_parts(folder: Path, parts: int = 3) -> list[Path]:
    """Write a table of four columns in several files, each of three row groups."""
    values = np.random.default_rng(0).standard_normal((parts, 60, 4))
    files = [folder / f"part{number}.parquet" for number in range(parts)]
    for path, some in zip(files, values, strict=True):
        parquet.write_table(pa.table({f"x{column}": some[:, column] for column in range(4)}), path, row_group_size=20)
    return files


def test_the_files_of_a_folder_are_hashed_as_they_are_read(tmp_path: Path) -> None:
    files = folder_of_parts(tmp_path)
    source = read(Input(path=str(tmp_path))).source
    assert source is not None
    assert {name: known["sha256"] for name, known in source.files.items()} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_forked_process_hashes_the_files_of_a_folder_as_well(tmp_path: Path) -> None:
    """The thread that does so in its parent is not in it."""
    folder_of_parts(tmp_path)
    code = ("import os, signal, sys\n"
            "from mlcli.data.options.input import Input\n"
            "from mlcli.data.read.table import read\n"
            "known, child = read(Input(path=sys.argv[1])).source.digest(), os.fork()\n"
            "if child == 0:\n"
            "    signal.alarm(20)\n"
            "    os._exit(read(Input(path=sys.argv[1])).source.digest() != known)\n"
            "print(os.waitpid(child, 0)[1])")
    assert python(code, tmp_path).strip() == "0"


def test_a_file_of_a_folder_that_changes_after_it_was_read_is_refused(tmp_path: Path) -> None:
    files = folder_of_parts(tmp_path)
    source = read(Input(path=str(tmp_path))).source
    assert source is not None
    with files[1].open("ab") as file:
        file.write(b"more")
    with pytest.raises(StorageError) as caught:
        source.digest()
    assert (caught.value.code, str(files[1]) in str(caught.value.where)) == ("E-CHANGED", True)


@pytest.mark.parametrize(("columns", "advised"), [((), True), (("x0", "x2"), True), (("x1",), False)])
def test_the_disk_reads_ahead_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             columns: tuple[str, ...], *, advised: bool) -> None:
    """All bytes of all files but for little at the edges of row groups; nothing where few columns are read."""
    spans: dict[str, list[tuple[int, int]]] = {}
    monkeypatch.setattr(FileId, "expect", lambda id, *span: spans.setdefault(id.path, []).append(span))
    files = folder_of_parts(tmp_path)
    read(Input(path=str(tmp_path), columns=columns))
    assert set(spans) == {str(path) for path in files if advised}
    for path, found in spans.items():
        every = sorted(set(found))
        assert every[0][0] == 0 and every[-1][1] == Path(path).stat().st_size
        assert all(before[1] == after[0] for before, after in pairwise(every))
