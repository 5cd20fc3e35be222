"""Ids of the file are found whatever columns are chosen, and numbers that nobody gave join nothing in silence."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from tests.journeys.support import Caller
from tests.wording import Wording

ORDER = [8, 12, 1, 9, 6, 3, 11, 2, 7, 10, 4, 5]  # ids of the rows


@pytest.fixture
def files(tmp_path: Path) -> tuple[np.ndarray, Path]:
    """The values by id, and a folder with `env.csv` of ids 1 to 12 in their order."""
    values = np.random.default_rng(3).standard_normal((12, 4))
    for name, header, prefix in (("env.csv", "id", ""), ("texts.csv", "site", "s")):
        write(tmp_path / name, [header, "pH"], [[f"{prefix}{number}", repr(float(values[number - 1, 3]))]
                                                for number in range(1, 13)])
    return values, tmp_path


def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")


def rows_of(values: np.ndarray, prefix: str = "") -> list[list[str]]:
    return [[f"{prefix}{number}", *map(repr, values[number - 1, :3].tolist())] for number in ORDER]


def r2(folder: Path) -> float:
    """The share of pH that the axes explain, of a folder of `relate`."""
    return float(json.loads((folder / "relate.json").read_text())["vectors"]["pH"]["r2"])


@pytest.mark.parametrize(("prefix", "name", "other"), [("", "id", "env.csv"), ("s", "site", "texts.csv")])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_chosen_columns_do_not_hide_the_ids(mlcli: Caller, files: tuple[np.ndarray, Path], prefix: str, name: str,
                                            other: str, ending: str) -> None:
    values, folder = files
    data = folder / f"data.{ending}"
    rows = rows_of(values, prefix)
    if ending == "csv":
        write(data, [name, "x", "y", "z"], rows)
    else:
        names, *columns = zip(*rows, strict=True)
        ids = [int(text) for text in names] if not prefix else list(names)
        parquet.write_table(pa.table({name: ids, **{column: list(map(float, texts)) for column, texts in zip(
            "xyz", columns, strict=True)}}), data)
    chosen = mlcli.bare(data, "--columns", "x,y,z", "-o", folder / "chosen")
    named = mlcli.bare(data, "--id-column", name, "-o", folder / "named")
    assert (chosen.code, named.code) == (0, 0), chosen.err + named.err
    assert (folder / "chosen/embedding.csv").read_bytes() == (folder / "named/embedding.csv").read_bytes()
    for run in ("chosen", "named"):
        called = mlcli("relate", folder / run, "--with", folder / other, "--columns", "pH", "-o", folder / f"of-{run}")
        assert called.code == 0 and "N-ROW" not in called.err
    assert r2(folder / "of-chosen") == r2(folder / "of-named")


def test_numbers_that_no_file_gave_are_marked_and_join_with_a_note(mlcli: Caller,
                                                                   files: tuple[np.ndarray, Path]) -> None:
    values, folder = files
    write(folder / "data.csv", ["id", "x", "y", "z"], rows_of(values))
    assert mlcli.bare(folder / "data.csv", "--columns", "x,y,z", "--no-id", "-o", folder / "run").code == 0
    assert (folder / "run/embedding.csv").read_text().startswith("row,y1")
    assert json.loads((folder / "run/run.json").read_text())["embedding"]["ids"] == "invented"
    assert json.loads((folder / "run/model.json").read_text())["model"]["invented"] is True
    for extra, code in (((), "N-ROWS-IN-ORDER"), (("--id-column", "id"), "N-ROW-NUMBERS")):
        called = mlcli("relate", folder / "run", "--with", folder / "env.csv", "--columns", "pH", *extra,
                       "-o", folder / "related", "--force")
        assert called.code == 0 and f"note[{code}]" in called.err and called.err.count("--id-column") >= 2


def test_a_column_that_repeats_names_no_rows(mlcli: Caller, tmp_path: Path) -> None:
    write(tmp_path / "data.csv", ["subject", "x", "y"], [["1", "0.5", "2"], ["1", "1.5", "1"], ["2", "0", "3"]])
    assert mlcli.bare(tmp_path / "data.csv", "--columns", "x,y", "-o", tmp_path / "run").code == 0
    assert (tmp_path / "run/embedding.csv").read_text().splitlines()[1].startswith("1,")
    assert json.loads((tmp_path / "run/run.json").read_text())["embedding"]["ids"] == "invented"


def test_a_questionnaire_of_chosen_items_keeps_its_ids(mlcli: Caller, tmp_path: Path) -> None:
    answers = np.random.default_rng(0).integers(1, 6, (30, 4)).tolist()
    write(tmp_path / "data.csv", ["person", "group", "A1", "A2", "A3", "A4"],
          [[f"p{row}", "ab"[row % 2], *map(str, cells)] for row, cells in enumerate(answers, 1)])
    called = mlcli.bare(tmp_path / "data.csv", "--columns", "A1:A4", "--reverse", "A2", "--range", "1,5",
                        "-o", tmp_path / "run")
    assert called.code == 0, called.err
    assert (tmp_path / "run/embedding.csv").read_text().splitlines()[1].startswith("p1,")


def test_new_rows_are_placed_by_the_columns_of_the_run(mlcli: Caller, files: tuple[np.ndarray, Path]) -> None:
    values, folder = files
    write(folder / "data.csv", ["id", "x", "y", "day", "z"],
          [[row[0], row[1], row[2], "monday?", row[3]] for row in rows_of(values)])
    for run, options in (("chosen", ("--columns", "x,y,z")), ("whole", ("--id-column", "id"))):
        data = folder / "data.csv"
        if run == "whole":
            write(folder / "whole.csv", ["id", "x", "y", "z"], rows_of(values))
            data = folder / "whole.csv"
        assert mlcli("embed", data, *options, "--outputs", "embedding", "--outputs", "model",
                     "-o", folder / run).code == 0
    called = mlcli("project", folder / "chosen", folder / "data.csv", "-o", folder / "placed.csv", "--json")
    said = json.loads(called.out)
    assert called.code == 0 and (said["rows"], said["columns"][:3]) == (12, ["y1", "y2", "off_manifold"])
    assert (folder / "placed.csv").read_text().splitlines()[1].startswith("8,")
    write(folder / "more.csv", ["z", "x", "w", "y"], [["1", "2", "3", "4"], ["5", "6", "7", "9"]])
    for run in ("chosen", "whole"):
        called = mlcli("project", folder / run, folder / "more.csv", "-o", folder / "more-placed.csv", "--force")
        assert called.code == 0 and called.err.count("N-OTHER-COLUMNS") == 1 and "'w'" in called.err
        assert f"wrote {folder / 'more-placed.csv'}: 2 x 6" in called.err
    back = mlcli("reconstruct", folder / "whole", folder / "more-placed.csv", "-o", folder / "back.csv", "--json")
    assert back.code == 0 and json.loads(back.out)["columns"] == ["x", "y", "z"]


def test_chosen_empty_options_win_over_those_of_the_run(mlcli: Caller, files: tuple[np.ndarray, Path]) -> None:
    values, folder = files
    write(folder / "data.csv", ["id", "x", "y", "z"], rows_of(values))
    assert mlcli.bare(folder / "data.csv", "--id-column", "id", "--columns", "x,y,z", "--outputs", "embedding,model",
                      "-o", folder / "run").code == 0
    write(folder / "new.csv", ["id", "x", "y", "z", "site"], [["a", "1", "2", "3", "north"]])
    heads = []
    for options in ((), ("--set", "input.columns=[]")):
        called = mlcli("project", folder / "run", folder / "new.csv", *options, "-o", folder / "out.csv", "--force")
        assert called.code == 0, called.err
        heads.append((folder / "out.csv").read_text().splitlines()[0])
    assert [head.partition(",off_manifold")[0] for head in heads] == ["id,y1,y2", "id,site,y1,y2"]


def test_labels_of_the_run_are_no_other_columns(mlcli: Caller, files: tuple[np.ndarray, Path]) -> None:
    values, folder = files
    rows = [[*row, "ab"[int(row[0]) > 6]] for row in rows_of(values)]
    write(folder / "data.csv", ["id", "x", "y", "z", "site"], rows)
    assert mlcli.bare(folder / "data.csv", "--columns", "x,y,z", "--label-column", "site", "--outputs",
                      "embedding,model", "-o", folder / "run").code == 0
    write(folder / "new.csv", ["id", "id2", "x", "y", "z", "site"], [["1", "7", "1", "2", "3", "a"]])
    called = mlcli("project", folder / "run", folder / "new.csv", "-o", folder / "out.csv")
    assert called.code == 0 and "not of the run and not used: 'id2'\n" in called.err, called.err


def test_new_rows_on_standard_input_are_read_as_those_of_a_file(mlcli: Caller, files: tuple[np.ndarray, Path],
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """The column of ids stands at the end and holds numbers, so that nothing but the run says what it is."""
    values, folder = files
    data = folder / "data.csv"
    write(data, ["x", "y", "other", "z", "key"], [[row[1], row[2], "7", row[3], row[0]] for row in rows_of(values)])
    assert mlcli.bare(data, "--id-column", "key", "--columns", "x,y,z", "--outputs", "embedding,model",
                      "-o", folder / "run").code == 0
    placed = []
    for given in (data, "-"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.read_bytes())))
        called = mlcli("project", folder / "run", given, "-o", folder / "new.csv", "--force")
        assert called.code == 0 and called.err.count("not of the run and not used: 'other'") == 1, called.err
        placed.append((folder / "new.csv").read_text())
    assert placed[0].startswith("key,y1") and placed[1] == placed[0]


def test_labels_of_a_second_file_are_named_as_in_a_report(mlcli: Caller, files: tuple[np.ndarray, Path]) -> None:
    values, folder = files
    write(folder / "data.csv", ["id", "x", "y", "z"], rows_of(values))
    called = mlcli.bare(folder / "data.csv", "--id-column", "id", "--labels", folder / "env.csv", "--label-column",
                        "pH", "-o", folder / "run")
    assert called.code == 0
    assert (folder / "run/embedding.csv").read_text().startswith("id,pH,y1")


def test_names_of_scikit_learn_are_answered_with_the_right_ones(mlcli: Caller, wording: Wording) -> None:
    import mlcli as program
    from mlcli.errors import UsageError
    from mlcli.sklearn import Isomap

    with wording.raises(UsageError, "OPTION"):
        program.embed(np.eye(4), n_components=2)
    with wording.raises(UsageError, "OPTION"):
        program.embed(np.eye(4), "tsne", perplexity=5)
    with pytest.raises(TypeError, match=r"'n_neighbors'; .* 'neighbors' "):
        Isomap(n_neighbors=3)
    assert " --neighbors " in mlcli("embed", "data.csv", "--n-neighbors", "3").err
