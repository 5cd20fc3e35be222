"""Every column of text as categories: questions and their answers, ids apart, missing ones."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import DataError
from tests.support import Notes

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
