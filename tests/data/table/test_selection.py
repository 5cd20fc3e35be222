"""Columns by name and by range, ids and labels set apart, mistakes named with the nearest name."""

from pathlib import Path

import pytest

from mlcli.errors import ConfigError
from tests.data.helpers import refused, table_of, written
from tests.wording import Wording

CONTENT = ",a,b,c,kind,d,e:f\nx,1,2,3,u,4,5\ny,6,7,8,v,9,10\n"


@pytest.mark.parametrize(("chosen", "columns"), [
    (["b"], ("b",)), (["d", "a"], ("d", "a")), (["a:c"], ("a", "b", "c")), (["b:b"], ("b",)), (["e:f"], ("e:f",)),
    (["d:e:f"], ("d", "e:f")), (["c:d"], ("c", "d")), (["d", "a:b"], ("d", "a", "b")),
    (["a:e:f"], ("a", "b", "c", "d", "e:f"))])
def test_chosen_columns(tmp_path: Path, chosen: list[str], columns: tuple[str, ...]) -> None:
    table = table_of(tmp_path, CONTENT, columns=chosen, label_columns=["kind"])
    assert table.columns == columns
    whole = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e:f": 5.0}
    assert table.values[0].tolist() == [whole[name] for name in columns]
    assert table.ids == ("x", "y")


def test_text_outside_the_chosen_columns_does_not_matter(tmp_path: Path) -> None:
    assert table_of(tmp_path, CONTENT, columns=["a:c"]).columns == ("a", "b", "c")


@pytest.mark.parametrize(("chosen", "code", "part"), [
    (["aa"], "UNKNOWN-COLUMN", "did you mean 'a'"), (["a:z"], "UNKNOWN-COLUMN", "no column 'z'"),
    (["c:a"], "COLUMNS", "backwards"), (["a", "a"], "COLUMNS", "twice"), (["a:c", "b"], "COLUMNS", "twice"),
    (["kind"], "COLUMNS", "already"),
    (["nothing like it"], "UNKNOWN-COLUMN", "the file has")])
def test_mistakes(tmp_path: Path, chosen: list[str], code: str, part: str) -> None:
    error = refused(written(tmp_path, CONTENT), ConfigError, code, columns=chosen, label_columns=["kind"])
    assert part in str(error)
    assert error.where == "input.columns"


@pytest.mark.parametrize("option", ["id_column", "label_columns"])
def test_unknown_ids_and_labels(tmp_path: Path, option: str, wording: Wording) -> None:
    value: str | list[str] = "kynd" if option == "id_column" else ["kynd"]
    error = refused(written(tmp_path, CONTENT), ConfigError, "UNKNOWN-COLUMN", **{option: value})
    assert error.where == f"input.{option}" and "'kind'" in error.hint and wording(error) == [error.code]


def test_a_label_of_a_second_file_is_chosen_there(tmp_path: Path) -> None:
    second = written(tmp_path, "kind,t\nx,1\n", "labels.csv")
    table = table_of(tmp_path, CONTENT, label_columns=["t"], labels={"path": second})
    assert dict(table.labels)["t"][0] == "1" and dict(table.labels)["kind"] == ("u", "v")
    error = refused(written(tmp_path, CONTENT), ConfigError, "UNKNOWN-COLUMN", label_columns=["s"],
                    labels={"path": second})
    assert "labels.csv" in error.what
