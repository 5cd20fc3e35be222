"""`verify --here` carries a run out again, and tells what does not agree as far as it is promised."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.machine.portable import variables
from mlcli.config.run_config import RunConfig
from mlcli.errors import InputMissing, UnsafeFile
from mlcli.runs.repetition import apart, columns_of, numbers_in, promised_files, repeated_config
from tests.faults.fuzz.directories import rehashed
from tests.journeys.support import BARE, Caller, write_points
from tests.laws.contract.repeating import files
from tests.processes import call, neutral

Edit = Callable[[str], str]


@pytest.fixture
def mlcli(capsys: pytest.CaptureFixture[str]) -> Caller:
    """The command line in this process."""
    return Caller(capsys)


@pytest.fixture
def run(mlcli: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of PCA, with the temporary files of the test's own folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    write_points(tmp_path / "data.csv")
    return mlcli.finished("embed", "data.csv", "-o", "run", "-q", *BARE)


def edited(folder: Path, name: str, edit: Edit) -> None:
    """Change a file of a run, and its hash with it."""
    path = folder / name
    before = path.read_text()
    path.write_text(edit(before))
    assert path.read_text() != before
    if name != "run.json":
        rehashed(folder, name)


def moved_by(size: float, row: int = 3, column: int = 2) -> Edit:
    """An edit that adds a share of the largest number of a CSV file's last columns to one of them."""

    def edit(text: str) -> str:
        rows = [line.split(",") for line in text.splitlines()]
        largest = max(abs(float(cell)) for line in rows[1:] for cell in line[1:])
        rows[row][column] = repr(float(rows[row][column]) + size * largest)
        return "\n".join(map(",".join, rows)) + "\n"

    return edit


def repeated(mlcli: Caller, run: Path, *arguments: object) -> tuple[int, dict[str, Any], str]:
    """The exit code of `verify --here`, its document, and what it says."""
    called = mlcli("verify", run, "--here", "--json", *arguments)
    return called.code, json.loads(called.out) if called.out else {}, called.err


def of(document: dict[str, Any], file: str) -> dict[str, Any]:
    """What a document says of a file."""
    return next(one for one in document["files"] if one["file"] == file)


def test_a_run_of_this_machine_has_the_same_bytes(mlcli: Caller, run: Path, tmp_path: Path) -> None:
    before = files(run, set())
    code, document, _ = repeated(mlcli, run)
    assert (code, document["verdict"], document["surroundings"]) == (0, "same", [])
    assert {one["file"]: one["verdict"] for one in document["files"]} == {
        **dict.fromkeys(("certificate.json", "embedding.csv", "loadings.csv", "model.json", "model.npz", "run.json",
                         "spectrum.csv"), "same"), "config.yaml": "left out"}
    assert files(run, set()) == before and not [*(tmp_path / "temporary").iterdir()]
    lines = mlcli("verify", run, "--here").out.splitlines()
    assert lines[0] == f"{run}: repeated here, with the same bytes" and len(lines) == 9
    assert mlcli("verify", run, "--here", "-q").out == ""
    assert "eigensolve" in mlcli("verify", run, "--here", "--progress", "json").err


@pytest.mark.parametrize("size", [1e-3, 1e-8])
def test_a_changed_digit_is_named(mlcli: Caller, run: Path, size: float) -> None:
    edited(run, "embedding.csv", moved_by(size))
    code, document, said = repeated(mlcli, run)
    assert (code, document["verdict"]) == (83, "differs")
    assert "E-REPEAT" in said and "embedding.csv (y2)" in said
    found = of(document, "embedding.csv")
    assert (found["verdict"], found["place"], found["allowed"]) == ("differs", "y2", 1e-9)
    assert found["largest"] == pytest.approx(size, rel=1e-6)
    assert [one["file"] for one in document["files"] if one["verdict"] == "differs"] == ["embedding.csv"]


@pytest.mark.parametrize(("file", "edit", "place"), [
    ("loadings.csv", moved_by(1e-6, 1, 1), "y1"), ("loadings.csv", lambda text: text.replace("x,", "u,", 1), "column"),
    ("certificate.json", lambda text: text.replace('"verdict": "pass"', '"verdict": "fail"', 1), "verdict"),
    ("run.json", lambda text: re.sub(r'"trace": [0-9.]+', '"trace": 1.0', text), "spectrum.trace")])
def test_so_is_what_differs_in_other_files(mlcli: Caller, run: Path, file: str, edit: Edit, place: str) -> None:
    edited(run, file, edit)
    code, document, _ = repeated(mlcli, run)
    assert (code, of(document, file)["verdict"], of(document, file)["place"]) == (83, "differs", place)


def elsewhere(text: str) -> str:
    """run.json as another version of SciPy would have written it."""
    return re.sub(r'"scipy": "[^"]+"', '"scipy": "1.0"', text)


@pytest.mark.parametrize(("size", "verdict"), [(1e-11, "agrees"), (1e-8, "differs")])
def test_digits_are_promised_in_other_surroundings(mlcli: Caller, run: Path, size: float, verdict: str) -> None:
    edited(run, "run.json", elsewhere)
    edited(run, "embedding.csv", moved_by(size))
    edited(run, "loadings.csv", moved_by(1e-3, 1, 1))
    code, document, said = repeated(mlcli, run)
    assert (code, document["verdict"]) == ((0, "agrees") if verdict == "agrees" else (83, "differs"))
    assert of(document, "embedding.csv")["verdict"] == verdict
    assert of(document, "loadings.csv")["verdict"] == "open"
    assert len(document["surroundings"]) == 1 and document["surroundings"][0].endswith("instead of 1.0")
    assert verdict == "agrees" or "instead of 1.0" in said


def test_an_axis_near_another_may_turn_there(mlcli: Caller, run: Path, tmp_path: Path) -> None:
    """Rows of a square: two equal eigenvalues."""
    angles = np.arange(12) * np.pi / 6
    np.savetxt(tmp_path / "circle.csv", np.column_stack([np.cos(angles), np.sin(angles), 0.1 * np.arange(12) % 0.3]),
               delimiter=",", header="x,y,z", comments="")
    circle = mlcli.finished("embed", "circle.csv", "-o", "circle", "-q", "-p", "3", *BARE)
    edited(circle, "embedding.csv", moved_by(0.5))
    assert repeated(mlcli, circle)[0] == 83
    edited(circle, "run.json", elsewhere)
    code, document, _ = repeated(mlcli, circle)
    assert code == 0 and "y2" in of(document, "embedding.csv")["why"]


def test_layouts_have_the_same_bytes_in_any_surroundings(mlcli: Caller, run: Path) -> None:
    layout = mlcli.finished("embed", "data.csv", "-m", "sammon", "-o", "layout", "-q", *BARE)
    edited(layout, "run.json", elsewhere)
    assert repeated(mlcli, layout)[0] == 0
    edited(layout, "embedding.csv", moved_by(1e-15))
    code, document, _ = repeated(mlcli, layout)
    assert (code, of(document, "embedding.csv")["allowed"]) == (83, 0.0)


@pytest.mark.parametrize(("iterations", "tolerance", "expected"), [
    (50, 1e-4, 1e-6), (51, 1e-4, 0.1), (51, 1e-5, 10 * 1e-5**0.5), (51, 1e-7, 10 * 1e-5**0.5)])
def test_of_long_minimizations_roots_of_the_tolerance_are_promised(
        tmp_path: Path, iterations: int, tolerance: float, expected: float) -> None:
    """A tolerance below the default makes a fit longer, and two of them no nearer to each other."""
    lines = ["iteration,objective", *(f"{count},{-1 / count!r}" for count in range(1, iterations + 1))]
    (tmp_path / "trace.csv").write_text("\n".join(lines) + "\n")
    config = RunConfig.model_validate({
        "input": {"path": "data.csv"}, "output": "run",
        "method": {"name": "gpdm", "minimize": {"tolerance": tolerance}}})
    manifest: dict[str, Any] = {"files": {"trace.csv": {}}}
    promised = promised_files(tmp_path, config, manifest, manifest)
    assert promised["embedding.csv"] == pytest.approx(expected)


def test_what_cannot_be_repeated_is_told(mlcli: Caller, run: Path, tmp_path: Path) -> None:
    assert mlcli("embed", "data.csv", "-o", run, "-q", "--force", *BARE).code == 0  # not a copy, whose input is there
    (tmp_path / "data.csv").rename(tmp_path / "moved.csv")
    code, _, said = repeated(mlcli, run)
    assert code == InputMissing.exit_code and "E-RUN-INPUT" in said and "cannot be carried out again" in said
    assert repeated(mlcli, run, "--input", "moved.csv")[0] == 0
    (tmp_path / "data.csv").write_text((tmp_path / "moved.csv").read_text() + "31,1,2,3\n")
    code, _, said = repeated(mlcli, run)
    assert code == UnsafeFile.exit_code and "E-RUN-INPUT" in said
    (run / "embedding.csv").write_text("id,y1\n")
    code, _, said = repeated(mlcli, run, "--input", "moved.csv")
    assert code == UnsafeFile.exit_code and "E-HASH" in said


def test_all_checks_and_a_repetition_are_two_commands(mlcli: Caller, run: Path) -> None:
    called = mlcli("verify", run, "--here", "--full")
    assert called.code == 2 and "E-HERE" in called.err


def test_a_run_is_repeated_on_this_machine_alone(run: Path) -> None:
    edited(run, "config.yaml", lambda text: text.replace("cluster: null", "cluster: local:2").replace(
        "time_limit: null", "time_limit: 1h").replace("threads: auto", "threads: 900"))
    compute = repeated_config(run).compute
    assert (compute.cluster, compute.time_limit, compute.cache) == (None, None, None)
    assert compute.threads == json.loads((run / "run.json").read_text())["threads"]


def test_differences_are_relative_and_columns_have_no_sign() -> None:
    line = np.array([1.0, -4.0, 2.0])
    assert apart(line, line + [0, 0, 1]) == 0.25
    assert apart(line, -line) == 2.0 and apart(line, -line, signed=False) == 0.0
    assert apart(line, line + [0, 0, 1], scale=10.0) == 0.1
    square = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert apart(square, square * [1, -1]) == 0.0 and apart(square, -square[:, ::-1]) > 0
    gap = np.array([np.nan, np.inf, 1.0])
    assert apart(gap, gap.copy()) == 0.0 and apart(gap, np.array([0.0, np.inf, 1.0])) == np.inf
    assert apart(line, line[:2]) == apart(line, None) == apart(["a"], ["b"]) == apart(["1"], line) == np.inf
    assert apart(["a"], ("a",)) == apart(np.zeros(2), np.zeros(2)) == apart(np.zeros(0), np.zeros(0)) == 0.0


def test_places_of_a_document() -> None:
    document = {"a": {"b": [1, 2.5]}, "c": [{"d": True}, {"d": None}], "e": "x", "f": {"sha256": "0", "bytes": 3}}
    found = {place: part.tolist() if isinstance(part, np.ndarray) else part for place, part in numbers_in(document)}
    assert found == {"a.b": [1.0, 2.5], "c.0.d": ["True"], "c.1.d": ["None"], "e": ["x"]}


def test_columns_of_texts_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,x\n"a,b",1\nc,\n')
    found = columns_of(tmp_path / "a.csv")
    assert found["id"] == ("a,b", "c") and np.array_equal(np.asarray(found["x"]), [1.0, np.nan], equal_nan=True)
    (tmp_path / "a.csv").write_text("id,x\n")
    assert [len(part) for part in columns_of(tmp_path / "a.csv").values()] == [0, 0]


@pytest.mark.medium
@pytest.mark.skipif(not variables(neutral()), reason="this processor computes no portable results")
def test_a_portable_run_is_repeated_as_one(tmp_path: Path) -> None:
    data, run = write_points(tmp_path / "data.csv"), tmp_path / "run"
    assert call("embed", data, "-m", "kpca", "-q", "-o", run, "--portable", *BARE).returncode == 0
    done = call("verify", run, "--here", "--json", OMP_NUM_THREADS="1")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "same"), done.stderr
    edited(run, "embedding.csv", moved_by(1e-15))
    done = call("verify", run, "--here", "--json")
    assert (done.returncode, of(json.loads(done.stdout), "embedding.csv")["allowed"]) == (83, 0.0), done.stderr
    done = call("verify", run, "--here", OPENBLAS_CORETYPE="Prescott")
    assert done.returncode == 78 and "E-PORTABLE" in done.stderr
