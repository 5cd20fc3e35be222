"""Every column of text as categories: questions and their answers, ids apart, missing ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import csv, parquet

from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.data.text import delimited
from mlcli.data.text.records import InputText
from mlcli.errors import DataError, RefusedByPlan
from tests.data.helpers import refused, written
from tests.support import Notes
from tests.wording import Wording

ANSWERS = """name,score,age,tea
ann,1,18-25,black
ben,3,26-40,green
cas,1,18-25,NA
dot,2,40+,green
"""


def table_of(folder: Path, text: str = ANSWERS, **options: object) -> Table:
    path = folder / "t.csv"
    path.write_text(text)
    return read(Input.model_validate({"path": str(path), **options}), Compute(), categories="all")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_words_are_questions_and_the_first_distinct_one_holds_ids(tmp_path: Path, kind: str) -> None:
    with Notes() as notes:
        table = table_of(tmp_path)
        if kind == "parquet":
            parquet.write_table(csv.read_csv(tmp_path / "t.csv"), tmp_path / "t.parquet")
            table = read(Input(path=str(tmp_path / "t.parquet")), Compute(), categories="all")
    assert notes.codes == {"N-TEXT-COLUMNS"}
    assert (table.id_name, tuple(table.ids), table.labels) == ("name", ("ann", "ben", "cas", "dot"), {})
    assert table.columns == ("score", "age", "tea")
    assert dict(table.categories) == {"age": ("18-25", "26-40", "40+"), "tea": ("black", "green")}
    assert np.array_equal(table.values, [[1, 0, 0], [3, 1, 1], [1, 0, np.nan], [2, 2, 1]], equal_nan=True)


@pytest.mark.filterwarnings("ignore")
def test_options_name_ids_labels_and_questions(tmp_path: Path) -> None:
    chosen = table_of(tmp_path, columns=("name", "tea"))
    assert set(chosen.categories) == {"name", "tea"} and chosen.id_name == "row"
    labeled = table_of(tmp_path, id_column="name", label_columns=("tea",))
    assert set(labeled.categories) == {"age"} and labeled.labels["tea"] == ("black", "green", "NA", "green")
    repeated = table_of(tmp_path, ANSWERS.replace("ben", "ann"))  # a name that occurs twice is an answer
    assert set(repeated.categories) == {"name", "age", "tea"} and list(repeated.ids) == ["1", "2", "3", "4"]


def test_a_fault_that_is_no_column_of_text_stays_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        table_of(tmp_path, ANSWERS + "eve,much,18-25,black\nfay,4,18-25,black\n")
    assert caught.value.code == "E-NOT-A-NUMBER"


FOUND = "a,b,c\n" + "".join(f"{row},{row % 3}x,{row % 2}y\n" for row in range(60))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts whose conventions were detected, once for each time."""
    found, detect = list[str](), delimited.detect_dialect

    def counted(text: InputText) -> InputText:
        found.append(text.path)
        return detect(text)

    monkeypatch.setattr(delimited, "detect_dialect", counted)
    return found


@pytest.mark.parametrize("options", [{}, {"columns": ("a", "b", "c")}])
def test_columns_of_text_are_found_in_one_look_at_a_text(tmp_path: Path, looks: list[str],
                                                         options: dict[str, Any]) -> None:
    table = read(Input(path=written(tmp_path, FOUND), **options), categories="named" if options else "all")
    assert table.categories == {"b": ("0x", "1x", "2x"), "c": ("0y", "1y")} and table.columns == ("a", "b", "c")
    assert len(looks) == 1


@pytest.mark.parametrize("taken", ["named", "all"])
def test_columns_of_text_are_found_in_any_part_of_a_directory(tmp_path: Path, taken: Any) -> None:
    (tmp_path / "parts").mkdir()
    written(tmp_path / "parts", "a,b,c\n" + "".join(f"{row},{row},{row % 2}y\n" for row in range(40)), "1.csv")
    written(tmp_path / "parts", FOUND, "2.csv")
    table = read(Input(path=str(tmp_path / "parts"), columns=("a", "b", "c")), categories=taken)
    assert sorted(table.columns) == ["a", "b", "c"] and {*table.categories} == {"b", "c"} and table.rows == 100
    texts = read(Input(path=str(tmp_path / "parts"), columns=("c",)), categories=taken)
    assert texts.columns == ("c",) and texts.categories == {"c": ("0y", "1y")}


def test_a_proposal_is_made_in_one_look_at_a_text(tmp_path: Path, looks: list[str], wording: Wording) -> None:
    answers = "a,b\n" + "never,rarely\nsometimes,often\nrarely,never\n" * 3
    error = refused(written(tmp_path, answers), DataError, "EMPTY")
    assert wording(error) == ["E-EMPTY"] and len(looks) == 1


def test_ids_as_categories_are_refused_by_name_once_they_do_not_fit(tmp_path: Path, wording: Wording) -> None:
    """Of a table in blocks all different texts of a column are held; those of a column of ids are as many as rows."""
    rows = [f"{row},{'xyz'[row % 3]},user{row}" for row in range(3000)]
    path, limited = written(tmp_path, "\n".join(["a,word,user", *rows])), Compute(memory_limit="100K")
    given = Input(path=path, stream="always", columns=("a", "word", "user"))
    with wording.raises(RefusedByPlan, "MEMORY") as raised:
        read(given, limited, categories="all", streams=True)
    said = str(raised.value)
    assert "'user' with 3,000 different texts in its first 3,000 rows" in said and "input.label_columns" in said
    few = given.replace(columns=("a", "word"))
    with pytest.raises(RefusedByPlan) as raised:  # where the columns have few texts, by something else
        read(few, limited, categories="all", streams=True)
    assert "different texts" not in str(raised.value)
