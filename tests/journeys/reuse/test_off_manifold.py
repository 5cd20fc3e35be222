"""Columns beside the coordinates of new rows, and the alarm where many of them are off the manifold."""

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from mlcli.runs.off_manifold import HISTORY
from tests.journeys.support import Caller
from tests.wording import Wording

POINTS = np.random.default_rng(8).standard_normal((60, 3)) * [3, 2, 0.3]
FAR = POINTS[:10] + [0.0, 0.0, 40.0]
COLUMNS = "off_manifold,off_manifold_p"


@pytest.fixture
def run(mlcli: Caller) -> str:
    """A finished run, with files of rows like its own and of rows of which a third is not."""
    np.savetxt("data.csv", POINTS, delimiter=",", header="a,b,c", comments="")
    np.savetxt("mixed.csv", np.vstack([POINTS[:20], FAR]), delimiter=",", header="a,b,c", comments="")
    assert mlcli.bare("data.csv", "-o", "run").code == 0
    return "run"


def test_the_alarm_ends_with_65_after_the_table_is_written(mlcli: Caller, wording: Wording, run: str) -> None:
    called = mlcli("project", run, "mixed.csv", "-o", "new.csv", "--p-below", "0.05", "--share", "0.2")
    assert called.code == 65 and "E-OFF-MANIFOLD" in wording(called.err)
    assert "new21" in called.err and len(Path("new.csv").read_text().splitlines()) == 31
    quiet = mlcli("project", run, "mixed.csv", "-o", "same.csv", "--p-below", "0.05", "--share", "0.5")
    assert quiet.code == 0 and Path("same.csv").read_bytes() == Path("new.csv").read_bytes()


@pytest.mark.parametrize(("arguments", "below", "code"), [
    ((), 0.05, 0), (("--p-below", "0.5"), 0.5, 0), (("--share", "0"), 0.05, 65)])
def test_the_document_has_the_share_whether_the_alarm_rings_or_not(arguments: tuple[str, ...], below: float, code: int,
                                                                  mlcli: Caller, run: str) -> None:
    called = mlcli("project", run, "mixed.csv", "-o", "new.csv", "--json", *arguments)
    assert called.code == code
    rows = np.array([float(line.split(",")[4]) for line in Path("new.csv").read_text().splitlines()[1:]])
    assert json.loads(called.out)["off_manifold"] == {
        "p_below": below, "rows": int(np.sum(rows < below)), "share": pytest.approx(np.mean(rows < below))}


def test_a_count_that_is_no_alarm_is_told(mlcli: Caller, run: str) -> None:
    called = mlcli("project", run, "mixed.csv", "-o", "new.csv", "--p-below", "0.05")
    low = sum(float(line.split(",")[4]) < 0.05 for line in Path("new.csv").read_text().splitlines()[1:])
    assert called.code == 0 and f"{low} of 30 new rows ({low / 30:.1%}) have p below 0.05\n" in called.err
    assert "have p below" not in mlcli("project", run, "mixed.csv", "-o", "same.csv", "-q", "--p-below", "0.05").err


def test_rows_that_are_read_in_blocks_are_counted_part_by_part(mlcli: Caller, run: str) -> None:
    whole = mlcli("project", run, "mixed.csv", "--share", "0.2")
    parts = mlcli("project", run, "mixed.csv", "--share", "0.2", "--set", "input.stream=always")
    assert (whole.code, parts.code) == (65, 65) and COLUMNS in whole.out.splitlines()[0]
    one, other = (np.array([[float(cell) for cell in line.split(",")[1:]] for line in called.out.splitlines()[1:]])
                  for called in (whole, parts))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_files_without_names_of_columns_hold_coordinates_alone(mlcli: Caller, wording: Wording, run: str) -> None:
    called = mlcli("project", run, "mixed.csv", "-o", "new.npy", "--share", "0.2")
    assert called.code == 65 and "in new.npy say" not in called.err
    assert {*wording(called.err)} == {"N-NO-COLUMNS", "E-OFF-MANIFOLD"}
    assert np.load("new.npy").shape == (30, 2)
    assert mlcli("reconstruct", run, "new.npy", "-q").code == 0


def test_an_alarm_that_no_row_can_raise_is_refused(mlcli: Caller, wording: Wording) -> None:
    mlcli.bare("data.csv", "--calibrate", "0.2", "-o", "held")
    asked = mlcli("project", "held", "data.csv", "-o", "new.csv", "--share", "0.2", "-q")
    assert asked.code == 78 and wording(asked.err) == ["E-P-BELOW"] and not Path("new.csv").exists()
    assert mlcli("project", "held", "data.csv", "-o", "new.csv", "--p-below", "0.3", "-q").code == 0


def test_models_of_earlier_versions_place_rows_without_scores(mlcli: Caller, wording: Wording, run: str) -> None:
    import hashlib

    path = Path(run, "model.json")
    model = json.loads(path.read_text())
    del model["model"]["score"]
    path.write_text(json.dumps(model))
    manifest = json.loads(Path(run, "run.json").read_text())
    manifest["files"]["model.json"] = {"bytes": path.stat().st_size,
                                       "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    Path(run, "run.json").write_text(json.dumps(manifest))
    called = mlcli("project", run, "mixed.csv")
    assert called.code == 0 and called.out.startswith("row,y1,y2\n") and "N-NO-SCORES" in wording(called.err)
    asked = mlcli("project", run, "mixed.csv", "--share", "0.2", "-q", "-o", "new.csv")
    assert asked.code == 78 and wording(asked.err) == ["E-NO-SCORES"] and not Path("new.csv").exists()


@pytest.mark.parametrize("kind", ["kernel", "views"])
def test_rows_of_given_kernels_have_no_scores_and_rows_of_one_view_do(kind: str, mlcli: Caller, run: str) -> None:
    if kind == "kernel":
        np.save("kernel.npy", POINTS @ POINTS.T)
        mlcli.bare("kernel.npy", "--kind", "kernel", "-m", "kpca", "-o", "other")
        assert COLUMNS not in mlcli("project", "other", "kernel.npy").out
        return
    Path("pairs.csv").write_text("x,y\n" + "\n".join(f"{a!r},{b!r}" for a, b in (POINTS[:, :2] ** 2).tolist()))
    mlcli.bare("data.csv", "-m", "cca", "-p", "1", "--view", "pairs.csv", "-o", "other")
    for file, number in (("data.csv", "1"), ("pairs.csv", "2")):
        assert COLUMNS in mlcli("project", "other", file, "--as-view", number).out.splitlines()[0]


def test_a_history_has_a_line_for_each_projection(mlcli: Caller, run: str, wording: Wording) -> None:
    for number, below in enumerate(("0.05", "0.5")):
        called = mlcli("project", run, "mixed.csv", "-o", f"{number}.csv", "--history", "shares.csv", "--p-below",
                       below, "--share", "0.2")
        assert called.code == 65  # the alarm comes after the line
    head, *lines = Path("shares.csv").read_text().splitlines()
    assert head == "time,run,input,rows,p_below,rows_below,share" and len(lines) == 2
    for number, line in enumerate(lines):
        when, *cells = line.split(",")
        p = [float(row.split(",")[4]) for row in Path(f"{number}.csv").read_text().splitlines()[1:]]
        low = int(np.sum(np.array(p) < (0.05, 0.5)[number]))
        assert datetime.fromisoformat(when).tzinfo is not None
        assert cells[:2] == ["run", "mixed.csv"]
        assert [*map(float, cells[2:])] == [30, (0.05, 0.5)[number], low, low / 30]


def test_a_history_is_no_output_and_its_last_line_is_ended(mlcli: Caller, run: str, wording: Wording) -> None:
    called = mlcli("project", run, "mixed.csv", "-o", "new.csv", "--history", "./new.csv")
    assert called.code == 2 and wording(called.err) == ["E-ONE-FILE"] and not Path("new.csv").exists()
    Path("shares.csv").write_text(HISTORY, encoding="utf-8")
    assert mlcli("project", run, "mixed.csv", "-o", "new.csv", "--history", "shares.csv").code == 0
    head, line = Path("shares.csv").read_text(encoding="utf-8").splitlines()
    assert head == HISTORY and line.count(",") == HISTORY.count(",")


@pytest.mark.parametrize("before", ["id,y1\n", "", None])
def test_a_history_is_appended_to_nothing_else(before: str | None, mlcli: Caller, run: str, wording: Wording) -> None:
    Path("folder").mkdir()
    path = Path("folder/shares.csv" if before is not None else "nowhere/shares.csv")
    if before is not None:
        path.write_text(before)
    called = mlcli("project", run, "mixed.csv", "-o", "new.csv", "--history", path)
    if before == "":
        assert called.code == 0 and len(path.read_text().splitlines()) == 2
        return
    assert called.code == 73 and wording(called.err) and not Path("new.csv").exists()
    assert before is None or path.read_text() == before
