"""Compressed text is read under a limit, and never when it is cut off."""

import bz2
import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from mlcli.errors import ConfigError, DataError, MlcliError
from tests.data.helpers import feed, refused, table_of, written

SMALL = b"id,a,b\nx,1.5,2\ny,3,4\nz,5,6\n"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "zst": lambda content: pa.compress(content, codec="zstd", asbytes=True)}
FORMS = list(PACK)


def zstd(content: bytes) -> bytes:
    """A frame as the zstd tool writes it, without the size of the content."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inner", ["csv", "tsv", "CSV"])
def test_compressed_text_is_read(tmp_path: Path, form: str, inner: str) -> None:
    content = SMALL.replace(b",", b"\t") if inner == "tsv" else SMALL
    table = table_of(tmp_path, PACK[form](content), f"data.{inner}.{form}", id_column="id")
    assert table.values.tolist() == [[1.5, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("form", FORMS)
def test_parts_put_one_after_the_other_are_read(tmp_path: Path, form: str) -> None:
    parts = PACK[form](SMALL[:10]) + PACK[form](SMALL[10:])
    assert table_of(tmp_path, parts, f"data.csv.{form}", id_column="id").ids == ("x", "y", "z")


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_off_file_is_refused_wherever_it_is_cut(tmp_path: Path, form: str) -> None:
    whole = zstd(SMALL) if form == "zst" else PACK[form](SMALL)
    for cut in range(len(whole)):
        code = "EMPTY" if cut == 0 and form != "bz2" else "CORRUPT"
        refused(written(tmp_path, whole[:cut], f"data.csv.{form}"), DataError, code, id_column="id")


@pytest.mark.parametrize("form", ["gz", "bz2"])
def test_a_flipped_bit_is_noticed(tmp_path: Path, form: str) -> None:
    whole, draw = PACK[form](SMALL), random.Random(0)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[draw.randrange(10, len(whole))] ^= 1 << draw.randrange(8)
        try:
            table = table_of(tmp_path, bytes(damaged), f"data.csv.{form}", id_column="id")
            assert table.values.tolist() == [[1.5, 2], [3, 4], [5, 6]]
        except MlcliError as error:
            assert error.exit_code == 65


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_compressed_at_all_is_refused(tmp_path: Path, form: str) -> None:
    refused(written(tmp_path, SMALL, f"data.csv.{form}"), DataError, "CORRUPT")


@pytest.mark.parametrize("form", FORMS)
def test_a_bomb_is_stopped_by_its_ratio(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, PACK[form](b"0,0\n" * 600_000), f"data.csv.{form}")
    assert "input.decompress_ratio" in refused(path, DataError, "DECOMPRESS-RATIO").hint


@pytest.mark.parametrize("form", FORMS)
def test_a_bomb_is_stopped_by_its_size(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, PACK[form](b"0,0\n" * 600_000), f"data.csv.{form}")
    error = refused(path, DataError, "DECOMPRESS-LIMIT", decompress_ratio=10**6, decompress_limit="2M")
    assert "2M" in error.what


@pytest.mark.medium
@pytest.mark.parametrize("form", FORMS)
def test_the_limits_can_be_raised(tmp_path: Path, form: str) -> None:
    packed = PACK[form](b"0,0\n" * 600_000)
    assert len(table_of(tmp_path, packed, f"data.csv.{form}", decompress_ratio=10**6).ids) == 600_000


def test_a_small_file_may_be_compressed_to_any_ratio(tmp_path: Path) -> None:
    assert len(table_of(tmp_path, gzip.compress(b"0,0\n" * 200_000), "data.csv.gz").ids) == 200_000


def test_a_limit_that_is_no_size_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(SMALL), "data.csv.gz")
    assert refused(path, ConfigError, "MEMORY-LIMIT", decompress_limit="lots").exit_code == 78


@pytest.mark.parametrize("name", ["data.npy.gz", "data.parquet.gz", "data.npz.zst"])
def test_binary_formats_are_not_read_compressed(tmp_path: Path, name: str) -> None:
    refused(written(tmp_path, b"", name), ConfigError, "FORMAT")


def test_gzip_under_a_plain_name_is_named(tmp_path: Path) -> None:
    error = refused(written(tmp_path, gzip.compress(SMALL)), DataError, "NOT-TEXT")
    assert ".csv.gz" in error.hint


@pytest.mark.parametrize(("content", "remedy"), [
    (gzip.compress(SMALL), "zcat FILE | mlcli"), (b"BZh9", "bzcat FILE | mlcli"), (b"PAR1", "write it to a file"),
    (b"\x93NUMPY", "write it to a file")], ids=["gzip", "bz2", "parquet", "npy"])
def test_on_standard_input_the_remedy_is_a_pipe_or_a_file(content: bytes, remedy: str,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, content)
    error = refused("-", DataError, "NOT-TEXT")
    assert remedy in error.hint and "input.format" not in error.hint
