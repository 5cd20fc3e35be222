"""Chosen rows of a file that is read in blocks are those that are chosen in memory."""

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from tests.journeys.memory.test_beyond_memory import BLOCKS, FILES, ROWS, embedded, files, made, numbers, same, table
from tests.journeys.support import Caller

__all__ = ["files"]  # a fixture of every test here
CHOSEN = ("--where", "x2 > 1000", "--rows", "300", "--seed", "3")


def chosen_alike(mlcli: Caller, path: str, *more: str) -> None:
    """A run in blocks has the rows, ids, labels and coordinates of the run in memory, and is verified in full."""
    blocks, whole = (made(mlcli, path, output, *more, *stream) for output, stream in (
        ("blocks", BLOCKS), ("whole", ("--set", "input.stream=never"))))
    same("blocks", "whole")
    assert "N-STREAMED" in {note["code"] for note in blocks["notes"]}  # type: ignore[attr-defined]
    assert {name: blocks["input"][name] for name in ("rows", "chosen_of")} == {  # type: ignore[index]
        name: whole["input"][name] for name in ("rows", "chosen_of")}  # type: ignore[index]
    assert blocks["certificate"] == "pass"
    called = mlcli("verify", "--full", "blocks")
    assert called.code == 0, called.out


@pytest.mark.parametrize("path", [FILES[0], *(pytest.param(path, marks=pytest.mark.slow) for path in FILES[1:])])
def test_chosen_rows_of_any_format_are_those_in_memory(mlcli: Caller, path: str) -> None:
    chosen_alike(mlcli, path, *CHOSEN)
    new = mlcli("project", "blocks", path, "-o", "new.csv", *(() if path == "t.npy" else ("--id-column", "name")))
    assert new.code == 0, new.err
    assert len(Path("new.csv").read_text().splitlines()) == ROWS + 1


@pytest.mark.parametrize("condition", ["kind in [k0, k2]", "name != r7", "x3 < 2000"])
def test_conditions_on_ids_labels_and_other_columns(mlcli: Caller, condition: str) -> None:
    chosen_alike(mlcli, "t.parquet", "--where", condition, "--columns", "x4:x9")


def test_columns_of_an_array_are_ids_labels_and_conditions_in_blocks(mlcli: Caller) -> None:
    values = np.column_stack([numbers(), np.arange(ROWS) + 0.25, np.arange(ROWS) % 3])
    np.save("t.npy", values)
    chosen_alike(mlcli, "t.npy", "--where", "x14 >= 1", "--columns", "x1:x9", "--id-column", "x13", "--label-column",
                 "x12")


def test_labels_of_another_file_choose_rows_in_blocks(mlcli: Caller) -> None:
    Path("labels.csv").write_text("\n".join(["site", *(f"s{row % 4}" for row in range(ROWS))]) + "\n")
    chosen_alike(mlcli, "t.npy", "--labels", "labels.csv", "--where", "site != s2", "--rows", "200")


@pytest.mark.medium
def test_rows_that_are_dropped_are_named_by_their_places_in_the_file(mlcli: Caller) -> None:
    values = numbers()
    values[::9, 4] = np.nan
    parquet.write_table(table(values), "t.parquet", row_group_size=100)
    chosen_alike(mlcli, "t.parquet", *CHOSEN, "--set", "prepare.missing=drop", "--scale", "standard", "--set",
                 "prepare.transform=[unit]")
    assert Path("blocks/dropped.csv").read_bytes() == Path("whole/dropped.csv").read_bytes()


def test_errors_name_chosen_rows_by_their_places_in_the_file(mlcli: Caller) -> None:
    values = np.abs(numbers()) + 1
    values[745, 4] = -5
    np.save("t.npy", values)
    told = [mlcli.bare("t.npy", "-o", "none", "--where", "x1 > 5", "--set", "prepare.transform=[log1p]", *more)
            for more in ((), BLOCKS)]
    assert told[0].code == told[1].code == 65
    assert told[0].err == told[1].err and "746" in told[1].err


def test_a_sparse_table_is_chosen_by_its_entries(mlcli: Caller) -> None:
    matrix = sparse.random(ROWS, 40, 0.2, random_state=1, format="csr")
    sparse.save_npz("t.npz", matrix)
    for output, more in (("blocks", BLOCKS), ("whole", ("--set", "input.stream=never"))):
        called = mlcli.bare("t.npz", "-o", output, "-q", "--where", "x2 >= 0", "--rows", "300", *more)
        assert called.code == 0, called.err
    same("blocks", "whole")
    assert mlcli("verify", "--full", "blocks").code == 0


@pytest.mark.medium
@pytest.mark.parametrize("condensed", [True, False])
def test_points_of_a_matrix_are_chosen_in_blocks(mlcli: Caller, condensed: bool) -> None:
    lengths = pdist(numbers()[:, :3])
    np.save("d.npy", lengths if condensed else squareform(lengths))
    Path("labels.csv").write_text("\n".join(["site", *(f"s{row % 4}" for row in range(ROWS))]) + "\n")
    for output, more in (("blocks", BLOCKS), ("whole", ())):
        called = mlcli.bare("d.npy", "--dissimilarities", "-m", "mds", "-o", output, "-q", "--rows", "250",
                            "--labels", "labels.csv", "--where", "site != s1", *more)
        assert called.code == 0, called.err
    (texts, found), (expected_texts, expected) = embedded("blocks"), embedded("whole")
    assert texts == expected_texts
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()  # residuals of passes are 1e-9
    told = json.loads(Path("blocks/run.json").read_text())
    assert told["certificate"] == "pass" and (told["input"]["rows"], told["input"]["chosen_of"]) == (250, ROWS)
    assert mlcli("verify", "--full", "blocks").code == 0


def test_chosen_rows_that_memory_does_not_hold_are_read_in_blocks(mlcli: Caller,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("mlcli.data.formats.block_file.fits", lambda *_, **__: False)
        told = made(mlcli, "t.parquet", "blocks", *CHOSEN)
    assert "N-STREAMED" in {note["code"] for note in told["notes"]}  # type: ignore[attr-defined]
    made(mlcli, "t.parquet", "whole", *CHOSEN)
    same("blocks", "whole")
    assert told["input"]["chosen_of"] == ROWS  # type: ignore[index]
