"""`project` and `reconstruct` read a finished run and write tables."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.machine.threads import allowed
from mlcli.cli import reuse
from tests.data.helpers import feed
from tests.journeys.support import Caller, write_points
from tests.support import fit
from tests.wording import Wording


@pytest.fixture
def finished(mlcli: Caller) -> str:
    """A finished run that keeps all three axes."""
    mlcli.finished("embed", "data.csv", "-p", "3", "-o", "run")
    return "run"


def numbers(path: str) -> np.ndarray:
    return np.array([[float(cell) for cell in line.split(",")[1:]] for line in Path(path).read_text().splitlines()[1:]])


def test_training_points_are_projected_onto_themselves(mlcli: Caller, finished: str, wording: Wording) -> None:
    called = mlcli("project", finished, "data.csv")
    assert called.code == 0 and wording(called.err) == ["N-KNOWN-IDS"]
    assert called.out.splitlines()[0] == (Path("run/embedding.csv").read_text().splitlines()[0]
                                          + ",off_manifold,off_manifold_p,hotelling_t2,q")
    Path("streamed.csv").write_text(called.out)
    assert mlcli("project", finished, "data.csv", "-o", "new/points.csv").code == 0
    assert Path("new/points.csv").read_bytes() == Path("streamed.csv").read_bytes()
    assert np.allclose(numbers("streamed.csv")[:, :3], numbers("run/embedding.csv"), rtol=0, atol=1e-12)


def test_training_points_are_drawn_upon_themselves(mlcli: Caller, finished: str, wording: Wording) -> None:
    called = mlcli("project", finished, "data.csv", "-o", "new.csv", "--picture", "new.svg")
    assert called.code == 0 and wording(called.err) == ["N-KNOWN-IDS"] and "30 x 7" in called.err
    drawn = Path("new.svg").read_text()
    (gray,) = re.findall(r'<path class="other"[^>]* d="(M[^"]*h0M[^"]*)"', drawn)
    places = re.findall(r"M([\d.]+ [\d.]+)h0", gray)
    new = re.findall(r'<path class="plain"[^>]* d="M([\d.]+ [\d.]+)h0"><title>', drawn)
    assert len(new) == len(numbers("data.csv")) and sorted(new) == sorted(places)
    assert "the run&#x27;s" in drawn and ">PC 1<" in drawn and ">PC 2<" in drawn
    for picture, code in (("new.svg", 73), ("new.txt", 2), ("more.csv", 2)):
        assert mlcli("project", finished, "data.csv", "-o", "more.csv", "--picture", picture).code == code
        assert not Path("more.csv").exists()


def test_all_axes_reconstruct_the_data(mlcli: Caller, finished: str) -> None:
    assert mlcli("reconstruct", finished, "run/embedding.csv", "-o", "back.csv").code == 0
    assert np.allclose(numbers("back.csv"), numbers("data.csv"), rtol=0, atol=1e-12)


def test_columns_are_matched_by_name(mlcli: Caller, finished: str) -> None:
    lines = [line.split(",") for line in Path("data.csv").read_text().splitlines()]
    Path("turned.csv").write_text("".join(",".join([line[0], *line[:0:-1]]) + "\n" for line in lines))
    called = mlcli("project", finished, "turned.csv")
    assert called.out == mlcli("project", finished, "data.csv").out
    assert called.err.startswith("note[N-REORDERED]: ")
    assert mlcli("project", finished, "turned.csv", "-q").err == ""


def test_formats_and_existing_files(mlcli: Caller, finished: str, wording: Wording) -> None:
    assert mlcli("project", finished, "data.csv", "-o", "new.npy").code == 0
    assert np.load("new.npy").shape == (30, 3)
    called = mlcli("project", finished, "data.csv", "-o", "new.npy")
    assert called.code == 73 and wording(called.err) == ["E-OUTPUT-EXISTS"] and "; new.npy; " in called.err
    assert mlcli("project", finished, "data.csv", "-o", "new.npy", "--force").code == 0
    assert mlcli("project", finished, "data.csv", "-o", "new.bin", "--format", "npy").code == 0


@pytest.mark.parametrize(("arguments", "code", "name"), [
    (["data.csv", "-o", "new.xlsx"], 2, "E-FORMAT"),
    (["data.csv", "--format", "npy"], 2, "E-FORMAT"),
    (["data.csv", "-o", "run"], 2, "E-FORMAT"),
    (["data.csv", "-o", "run", "--format", "csv"], 73, "E-OUTPUT-EXISTS"),
    (["data.csv", "-o", "data.csv/new.csv"], 73, "E-OUTPUT"),
    (["data.csv", "--set", "method.name=lle"], 2, "E-SET"),
    (["data.csv", "--set", "input.hedaer=true"], 78, "E-CONFIG"),
    (["absent.csv"], 66, "E-INPUT-MISSING"),
    (["other.csv"], 65, "E-"),
])
def test_refusals(mlcli: Caller, finished: str, arguments: list[str], code: int, name: str) -> None:
    Path("other.csv").write_text(",x,y\na,1,2\n")
    before = Path("data.csv").read_bytes()
    called = mlcli("project", finished, *arguments)
    assert called.code == code, called.err
    assert called.err.startswith(f"mlcli: error[{name}") and called.err.count("\n") == 1
    assert Path("data.csv").read_bytes() == before
    assert not [path for path in Path().rglob(".*") if path.is_file()]


def test_a_failed_write_leaves_the_old_file(mlcli: Caller, finished: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_points(Path("new.csv"))
    before = Path("new.csv").read_bytes()

    def full(*arguments: object) -> None:
        raise OSError("80000 requested and 32752 written")

    monkeypatch.setattr("mlcli.data.write.table.write_table", full)
    assert mlcli("project", finished, "data.csv", "-o", "new.csv", "--force").code == 74
    assert Path("new.csv").read_bytes() == before
    assert not [path for path in Path().rglob(".*") if path.is_file()]


def test_a_method_without_a_way_back(mlcli: Caller, wording: Wording) -> None:
    mlcli.finished("embed", "data.csv", "-m", "isomap", "-o", "curved")
    refused = mlcli("reconstruct", "curved", "curved/embedding.csv")
    assert refused.code == 78 and "E-NO-RECONSTRUCTION" in wording(refused.err)


def test_new_rows_are_dropped_as_the_training_rows_were(mlcli: Caller, wording: Wording) -> None:
    mlcli.finished("embed", "data.csv", "-p", "3", "--set", "prepare.missing=drop", "-o", "run")
    whole = mlcli("project", "run", "data.csv").out.splitlines()
    lines = Path("data.csv").read_text().splitlines()
    lines[2] = "p2,,1,2"
    Path("gaps.csv").write_text("\n".join([*lines, ""]))
    called = mlcli("project", "run", "gaps.csv")
    assert (called.code, called.out.splitlines()) == (0, [*whole[:2], *whole[3:]])
    first, second = called.err.splitlines()
    assert wording(first) == ["W-DROPPED"] and first.endswith(": 'p2'")
    assert second.startswith("note[N-KNOWN-IDS]: 29 of 30 ")


def test_new_rows_with_ids_of_the_run_are_told_and_others_are_not(mlcli: Caller, finished: str,
                                                                  wording: Wording) -> None:
    lines = Path("data.csv").read_text().splitlines()
    kept = lines[3].split(",")[0]
    others = [",".join([f"other{row}", *line.split(",")[1:]]) for row, line in enumerate(lines[4:8])]
    Path("new.csv").write_text("\n".join([lines[0], *others, ""]))
    assert mlcli("project", finished, "new.csv").err == ""
    Path("new.csv").write_text("\n".join([lines[0], lines[3], *others, ""]))
    called = mlcli("project", finished, "new.csv")
    assert called.code == 0 and wording(called.err) == ["N-KNOWN-IDS"] and f"'{kept}';" in called.err
    assert called.out.splitlines()[1].split(",")[0] == kept


@pytest.mark.parametrize("cut", [False, True])
def test_coordinates_come_from_standard_input(mlcli: Caller, finished: str, cut: bool,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mlcli("reconstruct", finished, "run/embedding.csv").out
    lines = Path("run/embedding.csv").read_text().splitlines()
    text = "\n".join([line.partition(",")[2] if cut else line for line in lines] + [""])
    feed(monkeypatch, text.encode())
    called = mlcli("reconstruct", finished, "-")
    assert called.code == 0, called.err
    rows = [line.partition(",")[2] for line in called.out.splitlines()]
    assert rows == [line.partition(",")[2] for line in expected.splitlines()]
    ids = [line.partition(",")[0] for line in called.out.splitlines()[1:]]
    assert ids == [str(row) for row in range(1, 31)]


@pytest.mark.parametrize(("name", "arguments"), [("new.NPY", []), ("new.bin", ["--set", "input.format=npy"]),
                                                 ("plain", [])])
def test_coordinates_come_from_arrays_whatever_their_name(mlcli: Caller, finished: str, name: str,
                                                          arguments: list[str]) -> None:
    with Path(name).open("wb") as stream:
        np.save(stream, numbers("run/embedding.csv"))
    called = mlcli("reconstruct", finished, name, *arguments, "-o", "back.csv")
    assert called.code == 0, called.err
    assert np.allclose(numbers("back.csv"), numbers("data.csv"), rtol=0, atol=1e-12)


def test_ids_written_under_another_name_are_found_again(mlcli: Caller) -> None:
    Path("named.csv").write_text("y1" + Path("data.csv").read_text())
    mlcli.finished("embed", "named.csv", "-p", "3", "--id-column", "y1", "-o", "run")
    assert Path("run/embedding.csv").read_text().startswith("y1_id,y1,y2,y3\n")
    called = mlcli("reconstruct", "run", "run/embedding.csv")
    assert called.code == 0, called.err
    assert called.out.splitlines()[1].startswith("1,")


@pytest.mark.parametrize("command", ["project", "reconstruct"])
def test_reading_computing_and_writing_keep_to_the_threads_asked_for(
        mlcli: Caller, finished: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(reuse, "write_out", lambda *_, **__: seen.append(allowed()) or (0, ()))
    given = "data.csv" if command == "project" else "run/embedding.csv"
    for threads in (1, 2):
        assert mlcli(command, finished, given, "--threads", threads).code == 0
    assert seen == [1, 2]


@pytest.fixture
def curved_process(mlcli: Caller) -> str:
    """A Gaussian process along an arc, to be given rows with missing cells."""
    angles = np.linspace(0, 3, 30)
    rows = np.column_stack([np.cos(angles), np.sin(angles), 0.3 * np.cos(2 * angles)]).tolist()
    lines = [f"p{i},{','.join(map(repr, row))}" for i, row in enumerate(rows)]
    Path("arc.csv").write_text("\n".join([",x,y,z", *lines, ""]))
    mlcli.finished("embed", "arc.csv", "-m", "gplvm", "-p", "1", "-o", "arc", "--set", "prepare.missing=model",
                 "--set", "method.minimize.limit=60")
    return "arc"


@pytest.mark.medium
def test_missing_cells_are_filled_in_by_a_gaussian_process(mlcli: Caller, curved_process: str) -> None:
    lines = Path("arc.csv").read_text().splitlines()
    gaps = [",".join([*line.split(",")[:-1], ""]) for line in lines[1:]]
    Path("gaps.csv").write_text("\n".join([lines[0], *gaps]) + "\n")
    assert mlcli("project", curved_process, "gaps.csv", "-o", "places.csv").code == 0
    assert mlcli("reconstruct", curved_process, "places.csv", "-o", "filled.csv").code == 0
    whole = numbers("arc.csv")[:, 2]
    errors = numbers("filled.csv")[:, 2] - whole
    assert np.sqrt(np.mean(errors**2)) < 0.1 * whole.std()


def test_a_forecast_is_in_the_units_of_the_input(mlcli: Caller) -> None:
    """Transformed and scaled rows lead back; a deviation is half of what lies between one above and one below."""
    angles = 0.6 * np.arange(30)
    rows = np.column_stack([np.exp(np.sin(angles)), 5 + np.cos(angles)])
    Path("turns.csv").write_text("\n".join(["a,b", *(",".join(map(repr, row)) for row in rows.tolist()), ""]))
    options = ["--set", "method.forecast=3", "--set", "method.minimize.limit=5"]
    assert mlcli("embed", "turns.csv", "-m", "gpdm", "--transform", "log1p", "--scale", "standard", "-o", "turns",
                 *options).code == 0
    assert Path("turns/forecast.csv").read_text().startswith("step,a,b,sd a,sd b\n1,")
    logs = np.log1p(rows)
    prepared = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    ahead = fit("gpdm", prepared, forecast=3, minimize={"limit": 5}).forecast
    above, means, below = (np.expm1((ahead.means + side * ahead.deviations) * logs.std(axis=0) + logs.mean(axis=0))
                           for side in (1, 0, -1))
    assert np.allclose(numbers("turns/forecast.csv"), np.hstack([means, (above - below) / 2]), rtol=1e-6)
    assert json.loads(Path("turns/certificate.json").read_text())["verdict"] == "pass"
    refused = mlcli("embed", "turns.csv", "-m", "gpdm", "-o", "-", *options)
    assert refused.code == 78 and "method.forecast" in refused.err and not refused.out


@pytest.mark.medium
def test_variances_are_written_where_a_run_knows_them(mlcli: Caller, curved_process: str, finished: str) -> None:
    Path("far.csv").write_text(",y1\n1,0.0\n2,1000.0\n")
    arguments = ["far.csv", "-o", "back.csv", "--variance", "variance.csv"]
    assert mlcli("reconstruct", curved_process, *arguments).code == 0
    near, far = numbers("variance.csv")[:, 0]
    known = json.loads(Path("arc/run.json").read_text())["fit"]
    assert far == pytest.approx(sum(known[name] for name in ("rbf_variance", "bias_variance", "noise_variance")),
                                rel=0.1)
    assert known["noise_variance"] < near < 0.1 * far
    refused = mlcli("reconstruct", finished, f"{finished}/embedding.csv", "-o", "none.csv", "--variance", "no.csv")
    assert refused.code == 78 and "E-NO-VARIANCE" in refused.err and not Path("none.csv").exists()
    assert mlcli("reconstruct", curved_process, "-", "--variance", "no.csv").code == 2


@pytest.mark.medium
def test_axes_on_which_new_points_have_no_coordinate_are_told(mlcli: Caller) -> None:
    """On a star of 6 leaves 5 axes have cost 1, where the mean over a point's neighbors is 0; the last one has 2."""
    np.savetxt("star.csv", np.vstack([np.zeros(6), np.eye(6)]), delimiter=",", header="a,b,c,d,e,f", comments="")
    for count in (6, 1):
        options = ("-m", "laplacian", "-k", "1", "-p", count, "-o", f"star{count}", "-q")
        assert mlcli("embed", "star.csv", *options).code == 0
        called = mlcli("project", f"star{count}", "star.csv")
        told = re.findall(r"W-NO-COORDINATE\]: new points have no coordinate on (.*), and 0", called.err)
        assert told == [", ".join(f"y{axis + 1}" for axis in range(min(count, 5)))]
        placed = np.array([line.split(",")[1 : count + 1] for line in called.out.splitlines()[1:]], dtype=np.float64)
        own = np.loadtxt(f"star{count}/embedding.csv", delimiter=",", skiprows=1)[:, 1:]
        assert not placed[:, :5].any() and np.abs(own[:, :5]).max() > 0.5
        assert np.allclose(placed[:, 5:], own[:, 5:], atol=1e-9)
    mlcli.finished("embed", "data.csv", "-m", "laplacian", "-o", "plain", "-q")
    assert "W-NO-COORDINATE" not in mlcli("project", "plain", "data.csv").err
