"""Rows held out of the fit: they are no part of it, each row is accounted for, and p is from their scores."""

import json
from pathlib import Path

import numpy as np
import pytest

import mlcli as package
from tests.journeys.support import Caller
from tests.wording import Wording

POINTS = np.random.default_rng(3).standard_normal((80, 3)) * [3, 2, 0.3]


def write(path: str, rows: np.ndarray, first: int = 0) -> None:
    """A table with ids."""
    lines = [f"r{first + row}," + ",".join(map(repr, values)) for row, values in enumerate(rows.tolist())]
    Path(path).write_text("\n".join(["id,a,b,c", *lines]) + "\n")


def table(path: str) -> tuple[list[str], np.ndarray]:
    """Ids and numbers of a CSV file."""
    lines = [line.split(",") for line in Path(path).read_text().splitlines()[1:]]
    return [line[0] for line in lines], np.array([[float(cell) for cell in line[1:]] for line in lines])


def test_rows_held_out_are_no_part_of_the_fit(mlcli: Caller) -> None:
    write("data.csv", POINTS)
    assert mlcli.bare("data.csv", "--calibrate", "0.25", "-o", "run").code == 0
    (kept, fitted), (held, placed) = table("run/embedding.csv"), table("run/calibration.csv")
    assert len(held) == 20 and sorted([*kept, *held]) == sorted(f"r{row}" for row in range(80))
    manifest = json.loads(Path("run/run.json").read_text())
    assert manifest["held_out"] == 20 and "N-HELD-OUT" in [note["code"] for note in manifest["notes"]]
    write("rest.csv", POINTS[[int(name[1:]) for name in kept]])
    assert mlcli.bare("rest.csv", "-o", "rest").code == 0
    np.testing.assert_array_equal(table("rest/embedding.csv")[1], fitted)
    write("held.csv", POINTS[[int(name[1:]) for name in held]])
    mlcli("project", "run", "held.csv", "-o", "new.csv", "-q")
    columns = table("new.csv")[1]
    np.testing.assert_array_equal(columns[:, :2], placed[:, :2])
    np.testing.assert_allclose(columns[:, 2], placed[:, 2], rtol=1e-12)
    above = np.sum(np.sort(placed[:, 2])[:, None] >= columns[:, 2], axis=0)
    np.testing.assert_allclose(columns[:, 3], (1 + above) / 21)
    assert mlcli("verify", "run").code == 0


def test_dissimilarities_are_held_out_as_rows_and_columns(mlcli: Caller) -> None:
    far = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    np.save("far.npy", far)
    assert mlcli.bare("far.npy", "--dissimilarities", "-m", "mds", "--calibrate", "0.25", "-o", "run").code == 0
    kept = np.array([int(name) - 1 for name in table("run/embedding.csv")[0]])
    held, placed = table("run/calibration.csv")
    run = package.open_run("run")
    found = run.off_manifold(far[np.ix_([int(name) - 1 for name in held], kept)])
    assert found.exact
    np.testing.assert_allclose(found.scores, placed[:, 2], rtol=1e-9)


@pytest.mark.medium
def test_rows_of_views_are_held_out_by_their_ids(mlcli: Caller) -> None:
    """Whatever their order in the second file; rows that it lacks are neither fitted nor held out."""
    views, order = POINTS[:, :2] ** 2 + POINTS[:, 2:], np.random.default_rng(1).permutation(80)
    write("data.csv", POINTS)
    for name, rows in (("same", np.arange(80)), ("other", order), ("fewer", order[order > 4])):
        lines = [f"r{row},{','.join(map(repr, views[row].tolist()))}" for row in rows.tolist()]
        Path(f"{name}.csv").write_text("\n".join(["id,u,v", *lines]) + "\n")
        called = mlcli.bare("data.csv", "-m", "cca", "--view", f"{name}.csv", "--calibrate", "0.25", "--set",
                            "prepare.unmatched=drop", "-o", f"run-{name}")
        assert called.code == 0, called.err
        assert mlcli("verify", "--full", f"run-{name}").code == 0
    for file in ("embedding.csv", "calibration.csv"):
        (ids, numbers), (others, found) = table(f"run-same/{file}"), table(f"run-other/{file}")
        assert ids == others
        np.testing.assert_allclose(found, numbers, atol=1e-10)
    fitted, held = table("run-fewer/embedding.csv")[0], table("run-fewer/calibration.csv")[0]
    assert len(held) == 19 and sorted([*fitted, *held]) == sorted(f"r{row}" for row in range(5, 80))
    left = [line.partition(",")[0] for line in Path("run-fewer/dropped.csv").read_text().splitlines()[1:]]
    assert left == [f"r{row}" for row in range(5)]


def test_rows_with_gaps_are_dropped_and_not_held_out(mlcli: Caller) -> None:
    rows = POINTS.copy()
    rows[::4, 1] = np.nan
    write("data.csv", rows)
    called = mlcli.bare("data.csv", "--calibrate", "0.5", "--set", "prepare.missing=drop", "-o", "run")
    assert called.code == 0
    counts = [len(table(f"run/{name}.csv")[0]) for name in ("embedding", "calibration")]
    assert counts == [30, 30] and len(Path("run/dropped.csv").read_text().splitlines()) == 21


@pytest.mark.parametrize("arguments", [
    ("graph.npz", "--graph", "-m", "laplacian"),
    ("run", "-m", "pca"),
    ("data.csv", "-m", "gpdm"), ("data.csv", "-m", "gpssm"), ("data.csv", "-m", "lgssm"), ("data.csv", "-m", "sfa"),
    ("data.csv", "--onto", "run"), ("data.csv", "--onto", "run", "--onto-way", "refit"),
    ("data.csv", "--set", "input.stream=always")])
def test_it_is_refused_by_name_where_no_row_can_be_held_out(arguments: tuple[str, ...], mlcli: Caller,
                                                           wording: Wording) -> None:
    from scipy.sparse import csr_array, save_npz

    write("data.csv", POINTS)
    save_npz("graph.npz", csr_array(np.eye(30, k=1) + np.eye(30, k=-1)))
    if "run" in arguments:
        mlcli.bare("data.csv", "-o", "run")
    called = mlcli("embed", *arguments, "--calibrate", "0.2", "-o", "out", "-q")
    assert called.code == 78 and wording(called.err) == ["E-CALIBRATION"]
    assert not Path("out").exists()


@pytest.mark.parametrize(("share", "rows"), [("0.6", 5), ("0.05", 5), ("0.5", 4)])
def test_a_share_that_holds_out_no_row_or_leaves_too_few_is_refused(share: str, rows: int, mlcli: Caller,
                                                                   wording: Wording) -> None:
    write("data.csv", POINTS[:rows])
    called = mlcli.bare("data.csv", "--calibrate", share, "-o", "out", "-q")
    assert called.code == 78 and wording(called.err) == ["E-CALIBRATION"] and not Path("out").exists()


def test_rows_of_a_plane_and_of_one_column_leave_nothing_of_each(mlcli: Caller) -> None:
    Path("line.csv").write_text("\n".join(["a", *map(str, range(25)), ""]))
    Path("plane.csv").write_text("\n".join(["a,b,c", *(f"{i % 5},{i // 5},{i % 5 + i // 5}" for i in range(25)), ""]))
    Path("point.csv").write_text("\n".join(["a,b", *["1,2"] * 25, ""]))
    for name, share in (("line", "0.2"), ("plane", "0.04"), ("point", "0.2")):
        called = mlcli("embed", f"{name}.csv", "-m", "pca", "--calibrate", share, "-o", name)
        assert called.code == 0, called.err
        assert not table(f"{name}/calibration.csv")[1][:, -1].any()
        assert "All scores are equal." in Path(name, "report.html").read_text(encoding="utf-8")
    assert "calibration: 1 row held out, whose" in mlcli("embed", "plane.csv", "--calibrate", "0.04", "-o", "one").err


def test_it_has_no_effect_on_standard_output(mlcli: Caller, wording: Wording) -> None:
    write("data.csv", POINTS)
    called = mlcli("embed", "data.csv", "--calibrate", "0.2", "-o", "-")
    assert called.code == 78 and called.out == "" and wording(called.err) == ["E-UNUSED"]


def test_rows_are_scored_once(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcli.findings.frame import off_manifold

    scored, own = list[object](), off_manifold.score_model
    monkeypatch.setattr(off_manifold, "score_model", lambda result: scored.append(result) or own(result))
    write("data.csv", POINTS)
    held, alone = ("--calibrate", "0.2"), ("--outputs", "embedding")
    for arguments, times in (((), 1), (held, 1), ((*held, *alone), 1), (alone, 0)):
        scored.clear()
        assert mlcli("embed", "data.csv", *arguments, "-o", "run", "--force").code == 0
        assert len(scored) == times, arguments


def test_help_says_that_no_rows_are_held_out_by_default(mlcli: Caller) -> None:
    said = " ".join(mlcli("embed", "--help").out.partition("--calibrate")[2].partition("--discontinuity")[0].split())
    assert "(default: none; " in said and "[default" not in said
