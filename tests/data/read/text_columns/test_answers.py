"""Questionnaires: answers in words become ordered numbers, reverse-keyed items turn by the declared scale."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import Table as ArrowTable
from pyarrow import csv, parquet

import mlcli
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.read.in_memory import table_of as frame_table
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.read.table import read
from mlcli.data.table.table import HERE, Table
from mlcli.errors import ConfigError, DataError, MlcliError
from tests.support import Notes
from tests.wording import Wording

SCALE = ("never", "rarely", "sometimes", "often")
TEXT = """id,sex,age,q1,q2,q3
ann,f,30,never,often,yes
ben,m,41,rarely,,no
cas,f,28,often,rarely,yes
dot,m,30,sometimes,sometimes,yes
"""


def table_of(folder: Path, text: str = TEXT, **options: Any) -> Table:
    path = folder / "t.csv"
    path.write_text(text)
    return read(Input.model_validate({"path": str(path), **options}), Compute())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_answers_are_numbered_in_their_order_and_other_columns_of_text_stay(tmp_path: Path, kind: str) -> None:
    with Notes() as notes:
        table = table_of(tmp_path, answers=SCALE, reverse=("q2",))
        if kind == "parquet":
            parquet.write_table(csv.read_csv(tmp_path / "t.csv"), tmp_path / "t.parquet")
            table = read(Input(path=str(tmp_path / "t.parquet"), answers=SCALE, reverse=("q2",)), Compute())
    assert notes.codes == {"N-TEXT-COLUMNS", "N-CODED"}
    assert table.columns == ("age", "q1", "q2") and tuple(table.ids) == ("ann", "ben", "cas", "dot")
    assert {*table.labels} == {"sex", "q3"}
    assert np.array_equal(table.values[:, 1:], [[1, 1], [2, np.nan], [4, 3], [3, 2]], equal_nan=True)
    assert table.coding is not None and table.coding.reverse == {"q2": (1.0, 4.0)}


@pytest.mark.filterwarnings("ignore")
def test_columns_have_scales_of_their_own_also_with_commas(tmp_path: Path) -> None:
    text = TEXT.replace("yes", '"yes, always"').replace("sometimes", "2")
    table = table_of(tmp_path, text, items=[
        {"columns": ["q1", "q2"], "answers": ["never", "rarely", "2", "often"]},
        {"columns": ["q3"], "answers": ["no", "yes, always"]}], id_column="id", label_columns=["sex"])
    assert table.columns == ("age", "q1", "q2", "q3")
    assert table.values[:, 3].tolist() == [2, 1, 2, 2] and table.values[3, 1] == 3


@pytest.mark.filterwarnings("ignore")
def test_numbers_turn_by_the_declared_scale_and_not_by_what_occurs(tmp_path: Path) -> None:
    text = "a,b\n2,3\n3,\n4,5\n"
    table = table_of(tmp_path, text, reverse=("a",), range=(1, 6))
    assert table.values[:, 0].tolist() == [5, 4, 3]
    table = table_of(tmp_path, text, reverse=("a", "b"), range=(1, 6), items=[{"columns": ["b"], "range": [0, 10]}])
    assert np.array_equal(table.values, [[5, 7], [4, np.nan], [3, 5]], equal_nan=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("options", "code", "named"), [
    ({"answers": SCALE[:3]}, "UNLISTED", "'often' in row 3 ('cas'), column 'q1'"),
    ({"answers": ("Never", *SCALE[1:])}, "UNLISTED", "'never' in row 1 ('ann'), column 'q1'"),
    ({"answers": SCALE, "columns": ("q1", "q3")}, "UNLISTED", "4 cells"),
    ({"answers": ("low", "high")}, "ANSWERS", ""),
    ({"answers": ("never",)}, "INPUT-OPTION", "input.answers"),
    ({"answers": ("a", "b", "a")}, "INPUT-OPTION", "input.answers"),
    ({"answers": SCALE, "reverse": ("q9",)}, "UNKNOWN-COLUMN", "'q9'"),
    ({"reverse": ("age",)}, "SCALE", "'age'"),
    ({"reverse": ("age",), "range": (18, 40)}, "SCALE", "41 in row 2 ('ben')"),
    ({"range": (18, 40)}, "INPUT-OPTION", "input.range"),
    ({"reverse": ("age",), "range": (40, 18)}, "INPUT-OPTION", "input.range"),
    ({"answers": SCALE, "reverse": ("q1",), "range": (1, 4)}, "UNUSED", "input.range"),
    ({"items": [{"columns": ["q8"], "answers": ["a", "b"]}]}, "UNKNOWN-COLUMN", "'q8'"),
    ({"items": [{"columns": ["q1"]}]}, "INPUT-OPTION", "items"),
    ({"items": [{"columns": ["q1", "q1"], "answers": ["a", "b"]}]}, "INPUT-OPTION", "items"),
    ({"answers": SCALE, "transpose": True}, "INPUT-OPTION", "transpose"),
    ({"answers": SCALE, "stream": "always"}, "INPUT-OPTION", "stream"),
])
def test_what_cannot_be_coded_is_refused_with_its_cell_or_option(tmp_path: Path, options: dict[str, Any], code: str,
                                                                 named: str, wording: Wording) -> None:
    with wording.raises(MlcliError, code) as caught:
        table_of(tmp_path, **options)
    assert named in str(caught.value)
    assert isinstance(caught.value, DataError if code == "UNLISTED" else MlcliError)


@pytest.mark.parametrize("options", [{"columns": ("q1", "q2")}, {}])
def test_errors_and_notes_propose_a_usual_scale_and_do_not_apply_it(tmp_path: Path, options: dict[str, Any]) -> None:
    text = TEXT if options else "\n".join(line.replace(",30", "").replace(",41", "").replace(",28", "").replace(
        ",age", "") for line in TEXT.splitlines())
    with pytest.raises(DataError) as caught:
        table_of(tmp_path, text, **options)
    assert "{input.answers=never,rarely,sometimes,often}" in caught.value.hint
    with Notes() as notes:
        table = table_of(tmp_path)
    assert table.columns == ("age",) and "never,rarely" in str(notes.notes)


@pytest.mark.parametrize(("items", "numbers", "told"), [(3, 2, True), (3, 3, False), (2, 1, False)])
def test_a_questionnaire_in_words_that_is_left_out_is_a_warning(tmp_path: Path, items: int, numbers: int,
                                                                told: bool, wording: Wording) -> None:
    names = [*(f"q{place}" for place in range(items)), *(f"n{place}" for place in range(numbers))]
    rows = [[SCALE[(row + place) % 4] for place in range(items)] + [str(row * row % 7 + place + 0.5)
                                                                  for place in range(numbers)] for row in range(8)]
    with Notes() as notes:
        table = table_of(tmp_path, "\n".join(map(",".join, [names, *rows, []])))
    assert len(table.columns) == numbers and "N-TEXT-COLUMNS" in notes.codes
    assert ("W-ANSWERS" in notes.codes) == told
    if told:
        said = str(notes.notes)
        assert "W-ANSWERS" in wording(said)
        assert "--answers never,rarely,sometimes,often" in said
    gap = table.values.copy()
    gap[2, 0] = np.nan
    with wording.raises(DataError, "MISSING") as caught:
        prepare(Prepare(), replace(table, values=gap))
    assert ("{input.answers=never," in caught.value.hint) == told


CODED: dict[str, Any] = {"answers": SCALE, "reverse": ("q2", "age"), "range": (20, 50)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_of_tables_is_coded_as_one_file_and_so_are_new_rows_of_one(tmp_path: Path, kind: str,
                                                                            wording: Wording) -> None:
    whole = table_of(tmp_path, **CODED)
    head, *lines = TEXT.splitlines()
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate((lines[1:2], lines[:1] + lines[2:])):  # a missing answer in the first row
        path = tmp_path / "parts" / f"{number}.csv"
        path.write_text("\n".join([head, *rows, ""]))
        if kind == "parquet":
            typed = csv.ConvertOptions(column_types={"q2": "string"}, strings_can_be_null=True)
            parquet.write_table(csv.read_csv(path, convert_options=typed), path.with_suffix(".parquet"))
            path.unlink()
    folder = Input(path=str(tmp_path / "parts"), label_columns=("sex", "q3"))
    parts = read(folder.replace(**CODED), Compute())
    order = [1, 0, 2, 3]
    assert parts.columns == whole.columns and tuple(parts.ids) == tuple(whole.ids[row] for row in order)
    assert np.array_equal(parts.values, whole.values[order], equal_nan=True) and parts.coding == whole.coding
    new = read_new(folder, RunInput(whole.columns, coding=whole.coding))
    assert np.array_equal(new.values, parts.values, equal_nan=True)
    with wording.raises(DataError, "UNLISTED"):
        read(folder.replace(answers=SCALE[:3]), Compute())


@pytest.mark.filterwarnings("ignore")
def test_new_rows_whose_columns_have_no_names_are_turned_by_their_places(tmp_path: Path, wording: Wording) -> None:
    coding = table_of(tmp_path, "a,b\n2,3\n3,1\n", reverse=("b",), range=(1, 6)).coding
    np.save(tmp_path / "new.npy", [[2.0, 3.0]])
    run = RunInput(("a", "b"), coding=coding)
    assert read_new(Input(path=str(tmp_path / "new.npy")), run).values.tolist() == [[2, 4]]
    np.save(tmp_path / "new.npy", [[2.0, 7.0]])
    with wording.raises(DataError, "SCALE"):
        read_new(Input(path=str(tmp_path / "new.npy")), run)


@pytest.mark.filterwarnings("ignore")
def test_an_array_of_numbers_has_items_to_turn_and_no_words(tmp_path: Path) -> None:
    values = np.arange(8.0).reshape(4, 2) ** 1.5 % 6
    path = tmp_path / "t.npy"
    np.save(path, values)
    expected = np.column_stack([values[:, 0], 6 - values[:, 1]])
    options: dict[str, Any] = {"reverse": ("x2",), "range": (0, 6)}
    for table in (read(Input(path=str(path), **options), Compute()),
                  frame_table(values, Input(path=HERE, **options), Compute())):
        assert table.values.tolist() == expected.tolist()
    for wrong, code in (({"answers": ("no", "yes")}, "ANSWERS"), ({"reverse": ("x3",), "range": (0, 6)},
                        "UNKNOWN-COLUMN"), ({"reverse": ("x1",), "range": (2, 6)}, "SCALE"),
                        ({"items": [{"columns": ["x1"], "answers": ["a", "b"]}]}, "UNKNOWN-COLUMN")):
        for given in (lambda input: frame_table(values, input.replace(path=HERE), Compute()),
                      lambda input: read(input, Compute())):
            with pytest.raises(MlcliError) as caught:
                given(Input.model_validate({"path": str(path), **wrong}))
            assert caught.value.code == f"E-{code}", caught.value


@pytest.mark.filterwarnings("ignore")
def test_a_frame_of_words_is_coded_and_new_people_are_placed_by_it(tmp_path: Path, wording: Wording) -> None:
    generator = np.random.default_rng(2)
    codes = np.clip(np.round(generator.standard_normal((40, 1)) + 0.7 * generator.standard_normal((40, 4)) + 2.5), 1, 4)
    words = [[SCALE[int(code) - 1] for code in column] for column in codes.T]
    frame = ArrowTable.from_pydict(dict(zip("abcd", words, strict=True)))
    options: dict[str, Any] = {"input.answers": list(SCALE), "input.reverse": ["b"]}
    run = mlcli.embed(frame, "fa", components=1, set=options)
    turned = codes.copy()
    turned[:, 1] = 5 - turned[:, 1]
    assert np.array_equal(run.embedding, mlcli.embed(turned, "fa", components=1).embedding)
    assert np.allclose(run.project(frame), run.embedding, rtol=0, atol=1e-12)
    assert np.allclose(run.project(codes), run.embedding, rtol=0, atol=1e-12)
    with wording.raises(DataError, "UNLISTED"):
        run.project(frame.set_column(0, "a", [["seldom"] * 40]))


def test_what_holds_no_questionnaire_is_not_coded(wording: Wording) -> None:
    from scipy import sparse

    for given in ({"array": sparse.eye_array(4)}, {"array": np.eye(4), "view": np.eye(4), "method": "cca"}):
        with wording.raises(ConfigError, "INPUT-OPTION"):
            mlcli.embed(**given, set={"input.reverse": ["x1"], "input.range": [0, 1]})
