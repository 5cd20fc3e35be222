"""NPY and NPZ: every kind of number in double precision; nothing run, nothing believed before it is checked."""

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from mlcli.base.values.compute import Compute
from mlcli.data.formats.npy import read_header, read_values
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError, MlcliError, RefusedByPlan, UnsafeFile
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

SMALL = np.arange(6, dtype=float).reshape(3, 2) + 0.5


def stored(array: Any, **options: Any) -> bytes:
    """The bytes of an NPY file."""
    stream = io.BytesIO()
    np.save(stream, np.asanyarray(array), **options)
    return stream.getvalue()


def forged(header: str, payload: bytes = b"", version: int = 1) -> bytes:
    """An NPY file with a header of one's own."""
    text = header.encode("latin-1")
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + payload


def archive(**arrays: Any) -> bytes:
    """The bytes of an NPZ file."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["<f8", ">f8", "<f4", ">f4", "<f2", ">f2", "i1", "<i2", ">i4", "<i8", "u1", ">u2",
                                  "<u4", ">u8", "?", "longdouble"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_kind_of_number(tmp_path: Path, kind: str, order: Any) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(kind, order=order)
    table = table_of(tmp_path, stored(array), "data.npy")
    assert table.values.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert table.values.dtype == np.dtype("<f8")
    assert table.values.flags.c_contiguous
    assert table.columns == ("x1", "x2", "x3")
    assert table.ids == ("1", "2")


@pytest.mark.medium
@given(array=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)), order=st.sampled_from("CF"))
@settings(max_examples=60, deadline=None)
def test_values_keep_their_bits(array: np.ndarray, order: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = table_of(Path(folder), stored(np.asarray(array, order=order)), "data.npy", kind="features")
    assert table.values.tobytes() == np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_header(tmp_path: Path, version: tuple[int, int]) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, SMALL, version=version)
    assert (table_of(tmp_path, stream.getvalue(), "data.npy").values == SMALL).all()


@pytest.mark.parametrize(("array", "code"), [
    (np.zeros((0, 5)), "EMPTY"), (np.zeros((5, 0)), "EMPTY"), (np.zeros(5), "ARRAY"), (np.zeros((2,) * 5), "ARRAY"),
    (np.array(1.0), "ARRAY"), (np.ones((2, 2), complex), "ARRAY"), (np.array([["a"]]), "ARRAY"),
    (np.array([[b"a"]]), "ARRAY"),
    (np.zeros((2, 2), "M8[D]"), "ARRAY"), (np.zeros((2, 2), "m8[s]"), "ARRAY"), (np.zeros((2, 2), "V8"), "ARRAY"),
    (np.zeros((2, 2), [("a", float)]), "ARRAY")])
def test_other_arrays_are_refused_with_type_and_shape(tmp_path: Path, array: np.ndarray, code: str) -> None:
    error = refused(written(tmp_path, stored(array), "data.npy"), DataError, code)
    assert code == "EMPTY" or "type" in error.what


def test_an_empty_array_is_told_with_its_sides(tmp_path: Path, wording: Wording) -> None:
    error = refused(written(tmp_path, stored(np.zeros((0, 5))), "data.npy"), DataError, "EMPTY")
    assert "E-EMPTY" in wording(error)


@pytest.mark.parametrize("array", [np.array([[1, "x"]], dtype=object), np.zeros((2, 2), [("a", object)])])
def test_python_objects_are_never_loaded(tmp_path: Path, array: np.ndarray) -> None:
    error = refused(written(tmp_path, stored(array, allow_pickle=True), "data.npy"), UnsafeFile, "NPY-OBJECTS")
    assert error.exit_code == 83
    assert "allow_pickle" not in str(error)


def test_an_announced_size_is_not_believed(tmp_path: Path, wording: Wording) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}"
    error = refused(written(tmp_path, forged(header, b"\0" * 64), "data.npy"), DataError, "CORRUPT")
    assert wording(error) == ["E-CORRUPT"]


def test_bytes_after_the_end_are_refused(tmp_path: Path, wording: Wording) -> None:
    error = refused(written(tmp_path, stored(SMALL) + b"\0", "data.npy"), DataError, "CORRUPT")
    assert wording(error) == ["E-CORRUPT"]


@pytest.mark.medium
def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole = stored(SMALL)
    for cut in range(len(whole)):
        refused(written(tmp_path, whole[:cut], "data.npy"), DataError, "CORRUPT")


@pytest.mark.medium
def test_a_flipped_bit_of_the_header_never_crashes(tmp_path: Path) -> None:
    whole = stored(SMALL)
    for bit in range(8 * (len(whole) - SMALL.nbytes)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            table = table_of(tmp_path, bytes(damaged), "data.npy", format="npy")
        except MlcliError as error:
            assert error.exit_code in (65, 83)
        else:
            assert table.values.size <= SMALL.size  # another type of the same size, or the other order


HEADER = "{{'descr': {}, 'fortran_order': {}, 'shape': {}}}"


@pytest.mark.parametrize("header", [
    "", "{", "[]", "(" * 5000, "\xff\xfe", "__import__('os').getcwd()", "{'descr': '<f8'}",
    HEADER.format("'<f8'", "0", "(1, 1)"), HEADER.format("'x9'", "False", "(1, 1)"),
    HEADER.format("'<f8'", "False", "[1, 1]"), HEADER.format("'<f8'", "False", "(1, -1)"),
    HEADER.format("'<f8'", "False", "(True, 1)"), HEADER.format("'<f8'", "False", "(1.0, 1)"),
    HEADER.format("'<f8'", "False", "(1, 1), 'more': 1"), HEADER.format("'<f8'", "False", "(2**63, 1)"),
    HEADER.format("'<f8'", "False", "(9223372036854775807, 9223372036854775807)")])
@pytest.mark.parametrize("version", [1, 2])
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: str, version: int) -> None:
    refused(written(tmp_path, forged(header, b"\0" * 8, version), "data.npy"), DataError, "CORRUPT")


def test_a_header_has_a_limit(tmp_path: Path) -> None:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1)}" + " " * 70_000
    refused(written(tmp_path, forged(header, b"\0" * 8, 2), "data.npy"), DataError, "CORRUPT")


def test_an_array_within_an_array_type_is_refused(tmp_path: Path) -> None:
    header = "{'descr': '2f8', 'fortran_order': False, 'shape': (1, 1)}"
    refused(written(tmp_path, forged(header, b"\0" * 16), "data.npy"), DataError, "ARRAY")


@pytest.mark.parametrize(("value", "warned"), [(2**53, False), (2**53 + 1, True), (-(2**53) - 1, True), (2**62, True)])
def test_integers_that_lose_digits_are_noted(tmp_path: Path, value: int, warned: bool) -> None:
    with noted() as notes:
        table_of(tmp_path, stored(np.array([[value, 1]])), "data.npy")
    assert (notes.codes == ["W-INT-PRECISION"]) is warned


def test_a_long_double_out_of_range_is_refused(tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        array = np.array([[np.longdouble(1e300) * np.longdouble(1e300)]])
    if np.isinf(array[0, 0]):
        pytest.skip("long double is double here")
    refused(written(tmp_path, stored(array), "data.npy"), DataError, "OVERFLOW")


def test_missing_and_infinite_values_are_kept_for_the_preparation(tmp_path: Path) -> None:
    values = np.array([[np.nan, 1], [np.inf, -np.inf]], dtype="<f4")
    np.testing.assert_array_equal(table_of(tmp_path, stored(values), "data.npy").values, values)


def test_columns_are_chosen_by_their_numbers(tmp_path: Path) -> None:
    table = table_of(tmp_path, stored(SMALL), "data.npy", columns=["x2"], id_column="x1")
    assert (table.columns, table.values.tolist(), table.ids) == (("x2",), [[1.5], [3.5], [5.5]], ("0.5", "2.5", "4.5"))


def test_an_array_too_large_for_the_memory_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, stored(np.zeros((600, 600), "u1")), "data.npy")
    refused(path, RefusedByPlan, "MEMORY", Compute(memory_limit="1M"))


def test_the_one_array_of_an_npz(tmp_path: Path) -> None:
    assert (table_of(tmp_path, archive(x=SMALL), "data.npz").values == SMALL).all()


def test_an_array_is_chosen_by_its_key(tmp_path: Path) -> None:
    path = written(tmp_path, archive(x=SMALL, y=2 * SMALL), "data.npz")
    assert (read(Input(path=path, key="y")).values == 2 * SMALL).all()
    assert "'x', 'y'" in refused(path, DataError, "NPZ-KEY").what
    assert refused(path, ConfigError, "UNKNOWN-KEY", key="z").exit_code == 78


def test_the_only_array_with_rows_and_columns_is_read(tmp_path: Path, wording: Wording) -> None:
    with noted() as notes:
        table = table_of(tmp_path, archive(y=SMALL[:, 0], x=SMALL, names=np.array(["p", "q", "r"])), "data.npz")
    assert (table.values == SMALL).all() and wording(notes.message("N-ARRAY")) == []
    both = written(tmp_path, archive(pairs=np.arange(3.0), matrix=1 - np.eye(3)), "both.npz")
    assert (read(Input(path=both, kind="features")).values == 1 - np.eye(3)).all()
    refused(both, DataError, "NPZ-KEY", kind="dissimilarities")  # condensed, or square


def test_a_key_is_of_no_use_elsewhere(tmp_path: Path) -> None:
    refused(written(tmp_path, stored(SMALL), "data.npy"), ConfigError, "FORMAT", key="x")


def test_an_archive_without_arrays_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path, archive(), "data.npz"), DataError, "EMPTY")


def test_an_npz_bomb_is_refused_from_its_directory(tmp_path: Path) -> None:
    path = written(tmp_path, archive(x=np.zeros((1000, 1000))), "data.npz")
    refused(path, DataError, "DECOMPRESS-RATIO")
    refused(path, DataError, "DECOMPRESS-LIMIT", decompress_ratio=10**6, decompress_limit="1M")
    assert read(Input(path=path, decompress_ratio=10**6)).values.shape == (1000, 1000)


@pytest.mark.medium
def test_an_npz_cut_off_or_damaged_is_refused(tmp_path: Path) -> None:
    whole = archive(x=SMALL)
    for cut in range(len(whole)):
        refused(written(tmp_path, whole[:cut], "data.npz"), DataError, "CORRUPT")
    for position in range(0, len(whole), 2):
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        try:
            table = table_of(tmp_path, bytes(damaged), "data.npz", format="npz")
            assert (table.values == SMALL).all()
        except MlcliError as error:
            assert error.exit_code in (65, 83)


def test_objects_in_an_npz_are_never_loaded(tmp_path: Path) -> None:
    refused(written(tmp_path, archive(x=np.array([[{}]], dtype=object)), "data.npz"), UnsafeFile, "NPY-OBJECTS")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_whose_compression_is_damaged_is_refused(tmp_path: Path, method: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        file.writestr("x.npy", stored(np.arange(400.0).reshape(100, 4)))
    damaged = bytearray(stream.getvalue())
    damaged[60:200] = bytes(byte ^ 0x5A for byte in damaged[60:200])
    refused(written(tmp_path, bytes(damaged), "data.npz"), DataError, "CORRUPT")


def test_a_sparse_matrix_is_a_table_and_its_arrays_are_none(tmp_path: Path) -> None:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_array(SMALL))
    np.testing.assert_array_equal(table_of(tmp_path, stream.getvalue(), "data.npz").values, SMALL)
    refused(written(tmp_path, stream.getvalue(), "data.npz"), ConfigError, "FORMAT", key="data")


def test_a_zip_of_other_files_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("readme.txt", "hello")
    refused(written(tmp_path, stream.getvalue(), "data.npz"), DataError, "NOT-READ")


def test_arrays_of_the_same_name_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("x.npy", stored(SMALL))
        file.writestr("x", stored(SMALL))
    refused(written(tmp_path, stream.getvalue(), "data.npz"), DataError, "DUPLICATE-ARRAYS")


def test_the_format_is_known_by_the_first_bytes(tmp_path: Path) -> None:
    table = table_of(tmp_path, stored(SMALL), "data.bin")
    assert table.source is not None
    assert table.source.format == "npy"


def test_an_npz_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("x.npy", stored(SMALL)[:-8])
    content = stream.getvalue()
    short, whole = (len(stored(SMALL)) - lost for lost in (8, 0))
    forged_size = content.replace(short.to_bytes(4, "little"), whole.to_bytes(4, "little"))
    assert forged_size != content
    refused(written(tmp_path, forged_size, "data.npz"), DataError, "CORRUPT")


@pytest.mark.parametrize("change", [-8, 8])
def test_a_stream_of_another_length_than_its_header_is_refused(change: int) -> None:
    content = stored(SMALL)
    stream = io.BytesIO(content[:change] if change < 0 else content + b"\0" * change)
    header = read_header(stream, "data.npy")
    with pytest.raises(DataError) as caught:
        read_values(stream, header, "data.npy")
    assert caught.value.code == "E-CORRUPT"
