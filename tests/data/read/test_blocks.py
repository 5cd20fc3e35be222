"""A delimited text read in blocks: the values, names and errors of the same text read whole."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcli.base.rows.source import rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.files.source import open_input
from mlcli.data.formats.csv_blocks import TextRows, blocks_of
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError, RefusedByPlan
from tests.data.helpers import noted
from tests.wording import Wording

NUMBERS = st.one_of(st.floats(-1e6, 1e6).map(repr), st.sampled_from(["", "NA", "1", "-2", "inf", "7e-3", " 5"]))
NAMES = st.sampled_from(["a", "b, c", 'with "quotes"', "two\nlines", "two\r\nlines", "d"])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.data.formats.csv_blocks.PIECE", 24)
    monkeypatch.setattr("mlcli.data.formats.csv_blocks.PIECES", 2)


def both(path: Path, **options: object) -> tuple[Table, Table]:
    """The table in memory and that in blocks."""
    whole, blocks = (read(Input(path=str(path), stream=stream, **options), streams=True)
                     for stream in ("never", "always"))
    assert rows_of(blocks.values) is not None
    return whole, blocks


def require_same(whole: Table, blocks: Table) -> None:
    rows = rows_of(blocks.values)
    assert rows is not None and len(rows) == whole.rows
    assert np.array_equal(rows.read(np.arange(whole.rows)), whole.values, equal_nan=True)
    assert (tuple(blocks.ids), blocks.columns, blocks.labels) == (tuple(whole.ids), whole.columns, whole.labels)
    assert blocks.id_name == whole.id_name


@pytest.mark.medium
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NAMES, NUMBERS), min_size=2, max_size=25), st.sampled_from(["\n", "\r\n", "\r"]),
       st.booleans(), st.booleans(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_pieces_hold_what_the_whole_text_holds(tmp_path_factory: pytest.TempPathFactory,
                                               rows: list[tuple[str, str, str]], end: str, blank: bool, last: bool,
                                               encoding: str) -> None:
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if end == "\r" else csv.QUOTE_MINIMAL  # which quotes newlines only with newlines
    writer = csv.writer(text, lineterminator=end + end * blank, quoting=quoting)
    writer.writerow(["x", "kind", "z"])
    writer.writerows([("1", "a", "2"), *rows])
    path = tmp_path_factory.mktemp("texts") / "t.csv"
    path.write_bytes((text.getvalue() if last else text.getvalue().rstrip("\r\n")).encode(encoding))
    with noted():
        require_same(*both(path, label_columns=("kind",)))


@pytest.mark.parametrize("text", ["x\n1\n\n3\n", "1\n\n\n2\r\n\r\n3", "\n5\n6\n7\n", "x\r\n1\r\n\r\n\r\n9"])
def test_blank_lines_are_missing_cells_of_a_single_column(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes((text + "\n" + "4\n" * 30).encode())
    with noted():
        require_same(*both(path))


def test_other_separators_decimals_and_missing_headers(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("".join(f"{row},5\tname {row}\t{row * row}\n" for row in range(40)))
    with noted() as notes:
        require_same(*both(path, decimal=",", header=False))
    assert notes.codes.count("N-TEXT-COLUMNS") == 2  # once for each of the two


ROWS = "".join(f"{row},k{row},{row * row}\n" for row in range(30))
WRONG = {
    "a word": ROWS + "5,k,six\n" + ROWS, "too large": ROWS + "1e999,k,2\n", "too short": ROWS + "1,k\n" + ROWS,
    "too long": ROWS + "1,k,3,4\n", "nothing": "", "a column of words": ROWS.replace(",", ",w", 2).replace(",k", ",w"),
    "an open quote": ROWS + '1,"k,2\n' + ROWS, "bytes": ROWS + "\0\n", "words": "".join(
        f"{row},k,w{row}\n" if row > 60 else f"{row},k,{row}\n" for row in range(400))}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_the_whole_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,kind,z\n" + WRONG[name] if WRONG[name] else "", newline="")
    told = []
    for stream in ("never", "always"):
        with noted(), pytest.raises(MlcliError) as caught:
            read(Input(path=str(path), stream=stream, label_columns=("kind",)), streams=True)
        told.append((caught.value.code, str(caught.value)))
    assert told[0] == told[1]


def test_pieces_are_frames_of_numbers_and_texts_with_what_is_wrong(tmp_path: Path) -> None:
    """A wrong cell in one piece leaves the others whole; its frame has the error of the whole text."""
    path = tmp_path / "t.csv"
    path.write_text("x,kind,z\n" + ROWS + "30,k30,much\n" + ROWS)
    with noted(), open_input(str(path), Compute()) as file:
        found = blocks_of(",", file, Input(path=str(path), stream="always"), Compute(), ())
    assert found is not None and isinstance(found.file, TextRows)
    (text,) = found.file.files
    frames = [text.frame(piece, found.choice.values) for piece in range(text.pieces)]
    (wrong,) = [frame for frame in frames if frame.faults.error is not None]
    assert wrong.faults.error is not None and wrong.faults.error.code == "E-NOT-A-NUMBER"
    assert "line 32, row 31, column 'z'" in str(wrong.faults.error) == str(text.faults().error)
    rows = zip(np.diff(text.firsts).tolist(), frames, strict=True)
    assert all(count == frame.rows or frame is wrong for count, frame in rows) and len(frames) > 10
    for piece, frame in enumerate(frames):
        kinds = [name for (part,) in text.text_parts(piece, found.choice.labels, 2) for name in part]
        assert frame is wrong or [int(name[1:]) for name in kinds] == frame.values[:, 0].tolist()
    assert list(text.text_parts(0, (), 9)) == [] and text.frame(0, ()).faults.error is None


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_a_header_alone_is_no_row(tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"x,kind,z{end}", newline="")
    with pytest.raises(MlcliError) as caught:
        read(Input(path=str(path), stream="always"), streams=True)
    assert caught.value.code == "E-EMPTY"


def test_numbers_that_underflow_are_counted(tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,2e-999\n0,5\n3e-400,1e-150\n" * 20)
    with noted() as notes:
        require_same(*both(path))
    said = [note.message for note in notes.notes if note.code == "W-UNDERFLOW"]
    assert said[0] == said[1] and len(said) == 2 and said[0].startswith("40 ") and wording(said[0]) == []


@pytest.mark.medium
def test_the_texts_of_a_directory_are_one_table(tmp_path: Path, wording: Wording) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    values = np.random.default_rng(0).standard_normal((90, 3))
    lines = [",".join([f"r{row}", *map(repr, numbers.tolist())]) + "\n" for row, numbers in enumerate(values)]
    for number, (first, last) in enumerate(((0, 40), (40, 41), (41, 90))):
        (parts / f"part-{number}.csv").write_text("name,x,y,z\n" + "".join(lines[first:last]))
    (tmp_path / "whole.csv").write_text("name,x,y,z\n" + "".join(lines))
    with noted():
        whole = read(Input(path=str(tmp_path / "whole.csv")))
        memory, blocks = (read(Input(path=str(parts), stream=stream), streams=True) for stream in ("auto", "always"))
        assert np.array_equal(memory.values, whole.values) and memory.ids == whole.ids
        require_same(whole, blocks)
        (parts / "part-1.csv").write_text("name,x,z,y\n" + lines[40])
        with wording.raises(MlcliError, "PARTS"):
            read(Input(path=str(parts)))
        (parts / "part-1.csv").write_text("name,x,y,z\nr40,1,2,oops\n")
        with pytest.raises(MlcliError, match="line 2, row 1"):
            read(Input(path=str(parts)))


@pytest.mark.medium
def test_a_data_frame_as_r_writes_it(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random((60, 3))
    lines = [f'"row {row}" {" ".join(map(repr, values))}\n' for row, values in enumerate(numbers.tolist())]
    path = tmp_path / "frame.txt"
    path.write_text('"a" "b" "c"\n' + "".join(lines))
    with noted():
        whole, blocks = both(path)
    require_same(whole, blocks)
    assert whole.ids[0] == "row 0" and np.array_equal(whole.values, numbers)
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, some in (("a", lines[:25]), ("b", lines[25:])):
        (folder / f"{name}.csv").write_text('"a" "b" "c"\n' + "".join(some))
    with noted():
        require_same(whole, both(folder)[1])


def test_a_short_text_is_read_without_arrow_in_whatever_memory(tmp_path: Path) -> None:
    """Its blocks would take more: those are read by Arrow, and a refusal of them names what Arrow takes."""
    (tmp_path / "points.csv").write_text("x,y,z\n" + "1,2,3\n" * 48)
    given = Input(path=str(tmp_path / "points.csv"))
    assert rows_of(read(given, Compute(memory_limit="60M"), streams=True).values) is None
    with pytest.raises(RefusedByPlan, match="a block of the table"):
        read(given.replace(stream="always"), Compute(memory_limit="60M"))
