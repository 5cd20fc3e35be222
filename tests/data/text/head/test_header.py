"""A first record holds names where its cells say so, also names that recur as words of their own columns."""

from pathlib import Path
from typing import Any

import pytest

from mlcli.data.options.input import Input, LabelFile
from mlcli.data.read.labels import read_labels
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.errors import DataError
from tests.data.helpers import noted, refused, table_of, written
from tests.wording import Wording

# the coding of a questionnaire of many answers: a column has the name of one of them, as FactoMineR's `tea` has
TEA = ["q1,q2,sugar", "a,x,sugar", "b,y,none", "a,y,sugar", "b,x,none"]
NAMED = "name,sugar\nAnn,sugar\nBob,none\nCid,sugar\n"
SPECIES = "5.1,3.5,setosa\n4.9,3,setosa\n7,3.2,versicolor\n"


def answers(folder: Path, content: str, name: str = "data.csv", **options: Any) -> tuple[int, list[str]]:
    """Rows, and names of columns, of a table whose columns of text are read as categories."""
    from mlcli.data.read.table import read

    table = read(Input(path=written(folder, content, name), **options), categories="all")
    return len(table.ids), list(table.columns)


@pytest.mark.parametrize(("name", "mark"), [("data.csv", ","), ("data.tsv", "\t"), ("semicolons.csv", ";")])
def test_a_name_that_recurs_in_its_column_stays_a_name_where_the_others_do_not(tmp_path: Path, name: str,
                                                                             mark: str, wording: Wording) -> None:
    with noted() as notes:
        found = answers(tmp_path, "\n".join(TEA).replace(",", mark) + "\n", name)
    assert found == (4, ["q1", "q2", "sugar"])
    assert "N-NO-HEADER" not in notes.codes
    assert "'sugar'" in notes.message("N-NAMES-RECUR") and wording(notes.message("N-NAMES-RECUR")) == []


def test_many_names_may_recur_beside_others_that_never_do(tmp_path: Path) -> None:
    rows = [f"{'sugar' if row % 2 else 'No.sugar'},{'home' if row % 3 else 'Not.home'},"
            f"{'pub' if row % 5 else 'Not.pub'},{'green' if row % 7 else 'black'},{'lemon' if row % 4 else 'milk'}"
            for row in range(40)]
    names = ["sugar", "home", "pub", "Tea", "How"]
    assert answers(tmp_path, "\n".join([",".join(names), *rows]) + "\n") == (40, names)


@pytest.mark.parametrize(("content", "columns"), [
    ("age,sugar\n30,sugar\n25,none\n41,sugar\n", ["age", "sugar"]),  # a word above numbers
    ("age,q1,sugar\n30,a,sugar\n25,b,none\n", ["age", "q1", "sugar"]),
    ("id,2019,2020,2021,region\n1,3,4,5,region\n2,4,3,9,none\n", ["id", "2019", "2020", "2021", "region"]),
    ("when,q1,1/day\n2020-01-02,a,1/day\n2020-01-02,b,often\n2020-01-03,a,1/day\n2020-01-03,b,often\n",
     ["when", "q1", "1/day"])])
def test_a_word_above_numbers_or_above_other_words_is_a_name(tmp_path: Path, content: str,
                                                             columns: list[str]) -> None:
    table = read_labels(LabelFile(path=written(tmp_path, content)))
    assert list(table.columns) == columns and table.rows == content.count("\n") - 1


@pytest.mark.parametrize("content", [
    SPECIES, "5.1,3.5,setosa,rare\n4.9,3,setosa,usual\n7,3.2,versicolor,usual\n",  # numbers above numbers
    "yes,yes,no\nno,yes,no\nyes,no,no\n",  # which no two columns are called
    "setosa\nsetosa\nversicolor\n",  # a column of labels
    "male,smoker\nfemale,none\nmale,smoker\n",  # where every cell recurs
    "p1,a\np2,a\np3,b\n", "p1,a,rare\np2,a,x\np3,b,x\n"])  # ids with numbers
def test_a_first_record_of_data_stays_data(tmp_path: Path, content: str) -> None:
    with noted() as notes:
        labels = read_labels(LabelFile(path=written(tmp_path, content)))
    assert labels.rows == content.count("\n") and "N-NO-HEADER" in notes.codes


@pytest.mark.parametrize("content", [
    NAMED,  # ids, or their name
    "q1,q2,sugar\na,x,sugar\nb,y,none\nc,z,none\nc,x,none\nd,y,none\n",  # answers that occur once are many
    "q1,sugar,home\na,sugar,home\nb,none,home\na,sugar,out\nb,none,home\n",  # more names recur than do not
    "2019,2020,region\n3,4,region\n4,3,none\n"])  # years, or numbers
def test_where_names_and_data_are_both_possible_the_file_is_refused(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content)
    error = refused(path, DataError, "HEADER", kind="features")
    assert "input.header=true" in error.hint and "input.header=false" in error.hint and error.where.endswith(":1")
    with pytest.raises(DataError) as caught:  # a file of labels has no such option
        read_labels(LabelFile(path=path))
    assert "input.header" not in caught.value.hint
    rows = content.count("\n")
    assert answers(tmp_path, content, header=True)[0] == rows - 1
    assert answers(tmp_path, content, header=False)[0] == rows


@pytest.mark.parametrize("options", [{"id_column": "name"}, {"columns": ["sugar"]}, {"columns": ["name:sugar"]},
                                     {"columns": ["name"], "label_columns": ["sugar"]}])
def test_an_option_that_names_a_column_decides(tmp_path: Path, options: dict[str, Any]) -> None:
    assert answers(tmp_path, NAMED, **options)[0] == 3


@pytest.mark.parametrize("options", [{"id_column": "name"}, {"columns": ("sugar",)}])
def test_an_option_that_names_a_column_of_labels_decides(tmp_path: Path, options: dict[str, Any]) -> None:
    assert read_labels(LabelFile(path=written(tmp_path, NAMED), **options)).rows == 3


def test_new_rows_of_a_run_have_its_names(tmp_path: Path) -> None:
    run = RunInput(("sugar",), categories={"sugar": ("none", "sugar")})
    table = read_new(Input(path=written(tmp_path, NAMED)), run)
    assert table.values.tolist() == [[1], [0], [1]]


def test_a_file_in_blocks_has_the_same_names(tmp_path: Path) -> None:
    content = "age,dose,sugar\n" + "".join(f"{row},{row % 7},{'sugar' if row % 2 else 'none'}\n" for row in range(60))
    for stream in ("never", "always"):
        table = table_of(tmp_path, content, stream=stream, id_column="none")
        assert (table.columns, len(table.ids), list(table.labels)) == (("age", "dose"), 60, ["sugar"])
