"""Numbers that are ids: refused by name, in every format and in blocks, and kept as data where that is said."""

from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from mlcli.data.options.column_names import NAMES, columns_named_as_ids, words_of
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError
from tests.data.helpers import noted, refused, table_of, written

IDS = [10412, 10077, 10931, 10500, 10258]
BODY = "1.5,2\n2.5,2\n3,4\n4,4\n5,1"


def of_name(name: str, ids: list[float] | None = None) -> str:
    """A table whose first column has this name and holds ids."""
    rows = [f"{number!r},{rest}" for number, rest in zip(ids or IDS, BODY.splitlines(), strict=True)]
    return "\n".join([f"{name},a,b", *rows]) + "\n"


@pytest.mark.parametrize(("name", "words"), [
    ("PatientID", ("patient", "id")), ("patient_id", ("patient", "id")), ("Subject ID", ("subject", "id")),
    ("ID", ("id",)), ("sample.2", ("sample", "2")), ("acid", ("acid",)), ("caseId7", ("case", "id", "7"))])
def test_names_are_split_at_marks_and_capitals(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


def test_a_series_of_numbered_columns_holds_no_ids() -> None:
    assert columns_named_as_ids(["sample_1", "sample_2", "x"]) == ()
    assert columns_named_as_ids(["sample_1", "x"]) == (0,)
    assert columns_named_as_ids(["subject_id", "subject", "height", "idle", "cases"]) == (0, 1)


@pytest.mark.parametrize("name", [*sorted(NAMES), "participant_id", "Subject ID", "PatientID", "row.no"])
def test_ids_under_their_name_are_refused_with_both_ways_on(tmp_path: Path, name: str) -> None:
    error = refused(written(tmp_path, of_name(name)), DataError, "ID-COLUMN")
    quoted = f"'{name}'" if " " in name else name
    assert f"--id-column {quoted} if" in error.hint and "--no-id" in error.hint and repr(name) in error.what
    named = table_of(tmp_path, of_name(name), id_column=name)
    assert named.columns == ("a", "b") and named.ids[0] == "10412"
    kept = table_of(tmp_path, of_name(name), id_column="none")
    assert kept.columns == (name, "a", "b") and kept.ids == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("ids", [[float(number) for number in IDS], [5, 4, 3, 2, 1], [1, 2, 3, 4, 5],
                                 [2**60 + place for place in (0, 1, 1000, 3000, 9000)]])
def test_whole_numbers_are_ids_however_they_are_written(tmp_path: Path, ids: list[float]) -> None:
    refused(written(tmp_path, of_name("subject", ids)), DataError, "ID-COLUMN")


@pytest.mark.parametrize(("name", "ids"), [
    ("subject", [1.5, 2, 3, 4, 5]), ("subject", [7, 7, 3, 4, 5]), ("height", IDS), ("cases", IDS)])
def test_other_numbers_are_features(tmp_path: Path, name: str, ids: list[float]) -> None:
    with noted() as notes:
        assert table_of(tmp_path, of_name(name, ids)).columns == (name, "a", "b")
    assert not notes.codes


@pytest.mark.parametrize(("name", "options"), [
    ("number", {}), ("zip code", {}), ("subject", {"id_column": None}), ("subject", {"id_column": "a"})])
def test_doubtful_names_and_decided_ids_only_warn(tmp_path: Path, name: str, options: dict[str, str | None]) -> None:
    with noted() as notes:
        table_of(tmp_path, of_name(name), **options)
    assert notes.codes == ["W-ID-LIKE"] and repr(name) in notes.message("W-ID-LIKE")


def test_a_column_that_the_user_chose_is_data(tmp_path: Path) -> None:
    with noted() as notes:
        assert table_of(tmp_path, of_name("id"), columns=["id", "a"]).columns == ("id", "a")
    assert not notes.codes


def arrow_table() -> pa.Table:
    """Ids as integers, and two features."""
    return pa.table({"id": IDS, "a": [1.5, 2.5, 3.0, 4.0, 5.0], "b": [2.0, 2.0, 4.0, 4.0, 1.0]})


@pytest.mark.parametrize("stream", ["never", "always"])
@pytest.mark.parametrize("format", ["csv", "parquet", "arrow"])
def test_every_format_refuses_them_in_memory_and_in_blocks(tmp_path: Path, format: str, stream: str) -> None:
    path = tmp_path / f"data.{format}"
    if format == "csv":
        path.write_text(of_name("id"), encoding="utf-8")
    elif format == "parquet":
        parquet.write_table(arrow_table(), path)
    else:
        feather.write_feather(arrow_table(), str(path), compression="uncompressed")
    refused(str(path), DataError, "ID-COLUMN", stream=stream)
    kept = read(Input(path=str(path), stream=stream, id_column="none"), streams=stream == "always")
    assert kept.columns == ("id", "a", "b")


def test_chosen_rows_are_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    parquet.write_table(arrow_table(), path)
    for options in ({"rows": 4}, {"where": ["a > 2"]}):
        refused(str(path), DataError, "ID-COLUMN", **options)


def test_of_a_transposed_table_they_are_names_of_columns(tmp_path: Path) -> None:
    refused(written(tmp_path, of_name("id")), DataError, "ID-COLUMN", transpose=True)
    turned = table_of(tmp_path, of_name("id"), transpose=True, id_column="id")
    assert turned.ids == ("a", "b") and turned.columns[0] == "10412"


def test_words_name_no_rows_where_none_do(tmp_path: Path) -> None:
    content = "name,x\np,1.5\nq,2\nr,3\n"
    assert table_of(tmp_path, content).ids == ("p", "q", "r")
    table = table_of(tmp_path, content, id_column="none")
    assert table.ids == ("1", "2", "3") and table.labels == {"name": ("p", "q", "r")}
