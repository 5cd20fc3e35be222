"""Group A of the failure table: files and readers. A row's number begins the name of its cases."""

import bz2
import gzip
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.faults.failures.support import Refusal, answers, coordinates, embed, npy, npy_of, refuses, saved, zipped
from tests.journeys.support import Caller

POINTS = np.random.default_rng(7).integers(-50, 50, (12, 3)).astype(float)
DICTIONARY = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}"


def csv(*changes: tuple[int, int, str]) -> bytes:
    """The points as CSV, with other texts in some cells."""
    rows = [[repr(cell) for cell in row] for row in POINTS.tolist()]
    for row, column, text in changes:
        rows[row - 1][column] = text
    return "\n".join(["a,b,c", *map(",".join, rows), ""]).encode()


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    """A table as a Parquet file."""
    return saved(lambda stream: pyarrow.parquet.write_table(pa.table(columns), stream, **options))


PLAIN, ARRAY = csv(), npy(POINTS)
PARQUET = parquet({name: POINTS[:, place] for place, name in enumerate("abc")}, write_page_checksum=True)
LABELS = ("--set", "input.label_columns=[n]")
REFUSED: dict[str, tuple[str, bytes | None, tuple[str, ...], int, str, str]] = {
    # name, content, options, exit, error, a part of the place
    "A1 missing": ("x.csv", None, (), 66, "E-INPUT-MISSING", "x.csv"),
    "A1 below a file": ("data.csv/x.csv", None, (), 66, "E-INPUT-MISSING", "data.csv/x.csv"),
    "A1 a device": ("/dev/null", None, (), 66, "E-NOT-A-FILE", "/dev/null"),
    "A2 empty": ("x.csv", b"", (), 65, "E-EMPTY", "x.csv"),
    "A2 a header only": ("x.csv", b"a,b\n", (), 65, "E-EMPTY", "x.csv"),
    "A2 no rows": ("x.npy", npy(POINTS[:0]), (), 65, "E-EMPTY", "x.npy"),
    "A2 no columns": ("x.npy", npy(POINTS[:, :0]), (), 65, "E-EMPTY", "x.npy"),
    "A2 no rows in Parquet": ("x.parquet", parquet({"a": pa.array([], pa.float64())}), (), 65, "E-EMPTY", "x.parquet"),
    "A3 a cell less": ("x.csv", b"a,b\n1,2\n3\n", (), 65, "E-RAGGED", "x.csv:3"),
    "A3 a cell more": ("x.csv", b"a,b\n1,2\n3,4,5\n", (), 65, "E-RAGGED", "x.csv:3"),
    "A4 text in a cell": ("x.csv", csv((5, 1, "few")), (), 65, "E-NOT-A-NUMBER", "x.csv"),
    "A4 a column of text": ("x.csv", b"a,b\n1kg,1\n2kg,2\n", (), 65, "E-TEXT-COLUMN", "x.csv"),
    "A5 underscores": ("x.csv", csv((2, 0, "1_000")), (), 65, "E-NOT-A-NUMBER", "x.csv"),
    "A5 full width": ("x.csv", csv((2, 0, "１２")), (), 65, "E-NOT-A-NUMBER", "x.csv"),
    "A5 Arabic digits": ("x.csv", csv((2, 0, "١")), (), 65, "E-NOT-A-NUMBER", "x.csv"),
    "A6 too large": ("x.csv", csv((3, 2, "1e400")), (), 65, "E-OVERFLOW", "x.csv"),
    "A7 semicolons in some rows": ("x.csv", b"a;b\n1;2\n3\n", (), 65, "E-SEPARATOR", "x.csv"),
    "A7 decimal commas": ("x.csv", b"1,5;2,5\n3,5;4,5\n", (), 65, "E-TEXT-COLUMN", "x.csv"),
    "A7 one byte": ("x.csv", PLAIN.replace(b"a", b"\xe9"), (), 65, "E-ENCODING", "x.csv"),
    "A7 a zero byte": ("x.csv", csv((4, 0, "1\0")), (), 65, "E-NUL", "x.csv:5"),
    "A8 equal columns": ("x.csv", b"a,b,a\n1,2,3\n", (), 65, "E-DUPLICATE-COLUMNS", "x.csv"),
    "A8 equal ids": ("x.csv", b"id,a\np,1\nq,2\np,3\n", ("--id-column", "id"), 65, "E-DUPLICATE-IDS", "x.csv"),
    "A10 a long cell": ("x.csv", b"n,a\nx,1\n" + b"y" * 131_073 + b",2\n", LABELS, 65, "E-FIELD-SIZE", "x.csv:3"),
    "A10 an open quote": ("x.csv", b'n,a\nx,1\n"y,2\n' + b"z,3\n" * 40_000, LABELS, 65, "E-FIELD-SIZE", "x.csv"),
    "A11 an empty cell": ("x.csv", csv((6, 1, "")), (), 65, "E-MISSING", "x.csv"),
    "A11 nan": ("x.csv", csv((6, 1, "nan")), (), 65, "E-MISSING", "x.csv"),
    "A12 inf": ("x.csv", csv((6, 1, "-inf")), (), 65, "E-INFINITE", "x.csv"),
    "A13 objects": ("x.npy", npy(POINTS.astype(object), allow_pickle=True), (), 83, "E-NPY-OBJECTS", "x.npy"),
    "A13 objects in an archive": ("x.npz", zipped({"x.npy": npy(POINTS.astype(object), allow_pickle=True)}), (), 83,
                                  "E-NPY-OBJECTS", "x.npz"),
    "A14 cut": ("x.npy", ARRAY[:-1], (), 65, "E-CORRUPT", "x.npy"),
    "A14 a forged shape": ("x.npy", npy_of(DICTIONARY.format("'<f8'", "(1000000, 1000000)"), bytes(80)), (), 65,
                           "E-CORRUPT", "x.npy"),
    "A14 a shape beyond all bytes": ("x.npy", npy_of(DICTIONARY.format("'<f8'", f"({2**61}, {2**61})")), (), 65,
                                     "E-CORRUPT", "x.npy"),
    "A15 bytes after the end": ("x.npy", ARRAY + b"\0", (), 65, "E-CORRUPT", "x.npy"),
    "A16 a header that is none": ("x.npy", npy_of("{'descr': "), (), 65, "E-CORRUPT", "x.npy"),
    "A16 a call in the header": ("x.npy", npy_of("__import__('os').system('true')"), (), 65, "E-CORRUPT", "x.npy"),
    "A16 an endless header": ("x.npy", b"\x93NUMPY\x02\0\xff\xff\xff\xff", (), 65, "E-CORRUPT", "x.npy"),
    "A16 an empty archive": ("x.npz", zipped({}), (), 65, "E-EMPTY", "x.npz"),
    "A16 a broken archive": ("x.npz", zipped({"x.npy": ARRAY})[:-9], (), 65, "E-CORRUPT", "x.npz"),
    **{f"A17 {name}": ("x.npy", npy(array), (), 65, "E-ARRAY", "x.npy") for name, array in {
        "complex": POINTS * 1j, "dates": np.zeros((4, 2), "M8[s]"), "void": np.zeros((4, 2), "V3"),
        "text": POINTS.astype(str), "one axis": POINTS[:, 0], "five axes": POINTS[None, None, None]}.items()},
    "A17 records": ("x.npy", npy(np.zeros((4, 2), [("a", "f8")])), (), 65, "E-ARRAY", "x.npy"),
    "A19 two arrays": ("x.npz", zipped({"x.npy": ARRAY, "y.npy": ARRAY}), (), 65, "E-NPZ-KEY", "x.npz"),
    "A19 an unknown key": ("x.npz", zipped({"x.npy": ARRAY}), ("--set", "input.key=y"), 78, "E-UNKNOWN-KEY",
                           "input.key"),
    "A19 a bomb": ("x.npz", zipped({"x.npy": npy(np.zeros((2000, 2000)))}), (), 65, "E-DECOMPRESS-RATIO", "x.npz"),
    "A21 an empty file": ("x.parquet", b"", (), 65, "E-CORRUPT", "x.parquet"),
    **{f"A21 cut to {size}": ("x.parquet", PARQUET[:size], (), 65, "E-CORRUPT", "x.parquet")
       for size in (4, 200, len(PARQUET) - 8, len(PARQUET) - 1)},
    "A24 a bomb of gzip": ("x.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 600_000), (), 65, "E-DECOMPRESS-RATIO",
                           "x.csv.gz"),
    "A24 a bomb of bz2": ("x.csv.bz2", bz2.compress(b"a,b\n" + b"1,2\n" * 600_000), (), 65, "E-DECOMPRESS-RATIO",
                          "x.csv.bz2"),
    "A24 a bomb of zstd": ("x.csv.zst", pa.compress(b"a,b\n" + b"1,2\n" * 600_000, "zstd", asbytes=True), (), 65,
                           "E-DECOMPRESS-RATIO", "x.csv.zst"),
    "A24 a limit of the size": ("x.csv.gz", gzip.compress(PLAIN * 9), ("--set", "input.decompress_limit=1K"), 65,
                                "E-DECOMPRESS-LIMIT", "x.csv.gz"),
    "A25 a null": ("x.parquet", parquet({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 4.0]}), (), 65, "E-MISSING",
                   "x.parquet"),
    "A25 text": ("x.parquet", parquet({"a": [1.0, 2.0], "t": ["u", "v"]}), ("--columns", "a,t"), 65, "E-TEXT-COLUMN",
                 "x.parquet"),
    "A25 lists": ("x.parquet", parquet({"a": [1.0, 2.0], "l": [["u"], ["v"]]}), (), 65, "E-COLUMN-TYPE", "x.parquet"),
    "A25 lists of two lengths": ("x.parquet", parquet({"a": [1.0, 2.0], "l": [[1.0], [2.0, 3.0]]}), (), 65, "E-LISTS",
                                 "x.parquet"),
    "A25 records": ("x.parquet", parquet({"a": [1.0, 2.0], "r": [{"q": 1}, {"q": 2}]}), (), 65, "E-COLUMN-TYPE",
                    "x.parquet"),
    "A25 dates": ("x.parquet", parquet({"a": [1.0, 2.0], "d": np.array([0, 1], "M8[s]")}), (), 65, "E-COLUMN-TYPE",
                  "x.parquet"),
}


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row: str, mlcli: Caller) -> None:
    name, content, options, code, error, where = REFUSED[row]
    if content is not None:
        Path(name).write_bytes(content)
    refuses(mlcli, Refusal(embed(name, *options), code, error, where))


def test_a1_a_directory_that_is_no_run(mlcli: Caller) -> None:
    Path("x").mkdir()
    refuses(mlcli, Refusal(embed("x"), 66, "E-NOT-A-FILE", "x"))


ANSWERED: dict[str, tuple[str, bytes, tuple[str, ...], str]] = {  # name, content, options, warning: the same points
    "A7 a byte order mark": ("x.csv", b"\xef\xbb\xbf" + PLAIN, (), ""),
    "A7 carriage returns": ("x.csv", PLAIN.replace(b"\n", b"\r\n"), (), ""),
    **{f"A7 {name}": ("x.csv", PLAIN.replace(b",", mark), (), "") for name, mark in (
        ("semicolons", b";"), ("tabs", b"\t"), ("bars", b"|"), ("blanks", b" "))},
    "A7 decimal commas, found": ("x.csv", PLAIN.replace(b",", b";").replace(b".", b","), (), ""),
    "A7 two bytes": ("x.csv", PLAIN.decode().encode("utf-16"), (), ""),
    "A7 semicolons, said": ("x.csv", PLAIN.replace(b",", b";"), ("--set", "input.separator=;"), ""),
    "A7 decimal commas, said": ("x.csv", PLAIN.replace(b",", b";").replace(b".", b","), (
        "--set", "input.separator=;", "--set", "input.decimal=,"), ""),
    "A7 two bytes, said": ("x.csv", PLAIN.decode().encode("utf-16"), ("--set", "input.encoding=utf-16"), ""),
    **{f"A18 {kind}": ("x.npy", npy(POINTS.astype(kind)), (), "")
       for kind in (">f8", "<f2", "<f4", "g", "<i2", ">i8", "i1")},
    "A20 Fortran order": ("x.npy", npy(np.asfortranarray(POINTS)), (), ""),
    "A20 an archive": ("x.npz", zipped({"x.npy": ARRAY}), (), ""),
    "A25 a dictionary of ids": ("x.parquet", parquet({
        "id": pa.array([str(i) for i in range(12)]).dictionary_encode(),
        **{name: POINTS[:, place] for place, name in enumerate("abc")}}), ("--id-column", "id"), ""),
    "A25 decimals": ("x.parquet", parquet({name: pa.array(POINTS[:, place].astype(int)).cast(pa.decimal128(25, 3))
                                           for place, name in enumerate("abc")}), (), ""),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """The embedding of the points from a plain CSV file."""
    from mlcli.cli.program import run

    folder = tmp_path_factory.mktemp("plain")
    (folder / "x.csv").write_bytes(PLAIN)
    assert run(["embed", str(folder / "x.csv"), "-o", str(folder / "out"), "-q"]) == 0
    return np.genfromtxt(folder / "out/embedding.csv", delimiter=",", skip_header=1)[:, 1:]


@pytest.mark.parametrize("row", ANSWERED)
def test_answered(row: str, mlcli: Caller, expected: np.ndarray) -> None:
    name, content, options, warning = ANSWERED[row]
    Path(name).write_bytes(content)
    answers(mlcli, *embed(name, *options), warning=warning)
    assert np.array_equal(coordinates(), expected)  # to the bit


WARNED: dict[str, tuple[str, bytes, str]] = {
    "A6 too small": ("x.csv", csv((3, 2, "1e-400")), "W-UNDERFLOW"),
    "A9 a column that counts": ("x.csv", b"\n".join(
        b"%d,%s" % (place, line) if place else b"n," + line for place, line in enumerate(PLAIN.splitlines())),
        "W-ID-LIKE"),
    "A18 integers beyond 2**53": ("x.npy", npy((POINTS * 2**55).astype(np.int64) + 1), "W-INT-PRECISION"),
}


@pytest.mark.parametrize("row", WARNED)
def test_warned(row: str, mlcli: Caller) -> None:
    name, content, warning = WARNED[row]
    Path(name).write_bytes(content)
    answers(mlcli, "embed", name, "-o", "out", warning=warning)


def test_a11_policies_are_recorded(mlcli: Caller) -> None:
    Path("x.csv").write_bytes(csv((6, 1, "")))
    answers(mlcli, "embed", "x.csv", "-o", "out", "--set", "prepare.missing=drop", warning="W-DROPPED")
    assert len(coordinates()) == 11 and Path("out/dropped.csv").read_text().splitlines()[1].startswith("6")
    answers(mlcli, "embed", "x.csv", "-o", "out", "--set", "prepare.missing=mean", warning="W-FILLED")
    assert len(coordinates()) == 12 and "missing: mean" in Path("out/config.yaml").read_text()


def test_a27_new_points_are_matched_by_the_names_of_their_columns(mlcli: Caller) -> None:
    Path("x.csv").write_bytes(PLAIN)
    answers(mlcli, *embed("x.csv"))
    cells = [line.split(b",") for line in PLAIN.splitlines()]
    Path("turned.csv").write_bytes(b"\n".join(b",".join([row[2], row[0], row[1]]) for row in cells))
    Path("less.csv").write_bytes(b"\n".join(b",".join(row[:2]) for row in cells))
    project = partial(mlcli, "project", "out")
    assert "N-REORDERED" in project("turned.csv", "-o", "new.csv").err
    new, own = np.genfromtxt("new.csv", delimiter=",", skip_header=1)[:, 1:], coordinates()  # and beside them scores
    assert np.allclose(new[:, : own.shape[1]], own, rtol=0, atol=1e-12)
    called = project("less.csv", "-o", "less-new.csv")
    assert (called.code, Path("less-new.csv").exists()) == (65, False) and "'c'" in called.err


def test_a28_rows_come_out_as_they_came_in(mlcli: Caller) -> None:
    ids = [f"p{place}" for place in np.random.default_rng(0).permutation(12)]
    head, *rows = PLAIN.decode().splitlines()
    Path("x.csv").write_text("\n".join([f"id,{head}", *(f"{id},{row}" for id, row in zip(ids, rows, strict=True))]))
    answers(mlcli, *embed("x.csv", "--id-column", "id", "-m", "isomap", "-k", "4"))
    found = [line.partition(",")[0] for line in Path("out/embedding.csv").read_text().splitlines()[1:]]
    assert found == ids
