"""`embed` writes a run, streams one, and tells how it ended."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.journeys.support import Caller, forked, process, write_points
from tests.wording import Wording


def test_the_default_output_and_the_summary(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv")
    assert (called.code, called.out) == (0, "")
    lines = called.err.splitlines()
    assert lines[0].startswith("pca of data.csv: 30 rows x 3 columns to 30 x 2 in ")
    assert lines[1:] == ["2 axes keep 95.8% of the variance",
                         "axes: none stands out (parallel analysis), 2 kept; most rules say 1 or 2",
                         "open runs/data-pca/report.html"]
    assert Path("runs/data-pca/config.yaml").exists()
    *said, last = mlcli("embed", "data.csv", "--force", "--verbose").err.splitlines()
    assert [line.split()[0] for line in said[2:5]] == ["1*", "2*", "3"] and said[4].endswith("100.0%")
    assert any(line.startswith("trustworthiness ") for line in said) and last == lines[-1]


def test_what_was_written_runs_again_to_the_same_numbers(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-m", "isomap", "-k", "8", "-o", "first").code == 0
    assert mlcli("run", "first/config.yaml", "-o", "second").code == 0
    assert Path("first/embedding.csv").read_bytes() == Path("second/embedding.csv").read_bytes()


def test_an_output_is_replaced_by_force_only(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-o", "out").code == 0
    assert mlcli("embed", "data.csv", "-o", "out").code == 73
    assert mlcli("embed", "data.csv", "-o", "out", "--force").code == 0


def test_json_is_one_document_on_standard_output(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "--json")
    assert (called.code, called.err) == (0, "")
    document = json.loads(called.out)
    assert document["run"] == "runs/data-pca"
    assert len(document["eigenvalues"]) == document["components"] == 2


def test_quiet_says_nothing(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-q") == mlcli("embed", "data.csv", "-q", "--force").__class__(0, "", "")


def test_warnings_are_told_one_per_line(mlcli: Caller) -> None:
    Path("flat.csv").write_text(",x,c\na,1,5\nb,2,5\nc,4,5\n")
    called = mlcli("embed", "flat.csv", "--scale", "standard", "-p", "1")
    assert called.code == 0
    assert [line for line in called.err.splitlines() if line.startswith("warning[W-CONST]: ")]


def test_a_clipped_default_is_noted(mlcli: Caller) -> None:
    Path("line.csv").write_text(",x\na,1\nb,2\nc,4\n")
    assert "N-COMPONENTS" not in mlcli("embed", "line.csv").err
    assert "\nnote[N-COMPONENTS]: " in mlcli("embed", "line.csv", "--verbose", "--force").err


def test_streams(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "-o", "-")
    assert called.code == 0
    rows = list(csv.reader(io.StringIO(called.out)))
    assert rows[0][1:] == ["y1", "y2"]
    assert [row[0] for row in rows[1:]] == [str(i) for i in range(1, 31)]
    assert not Path("runs").exists()
    assert "wrote" not in called.err


@pytest.mark.medium
def test_standard_input_to_standard_output_gives_the_same_bytes(mlcli: Caller) -> None:
    expected = mlcli("embed", "data.csv", "-o", "-", "-q").out
    with Path("data.csv").open("rb") as data:
        child = forked("embed", "-", "-o", "-", "-q", stdin=data)
        out, err = child.communicate()
    assert (child.returncode, out.decode(), err) == (0, expected, b"")


def test_the_embedding_and_a_document_do_not_share_standard_output(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "-o", "-", "--json")
    assert (called.code, called.out, json.loads(called.err)["error"]["code"]) == (2, "", "E-STDOUT")


def test_progress_as_json_leaves_standard_error_to_programs(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "--progress", "json")
    events = [event for line in called.err.splitlines() if (event := json.loads(line))["event"] != "note"]
    assert events[0] == {"event": "begin", "seconds": events[0]["seconds"], "stage": "read"}
    assert events[-1]["event"] == "done"


def test_the_environment_chooses_progress(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setenv("MLCLI_PROGRESS", "json")
    assert json.loads(mlcli("embed", "data.csv").err.splitlines()[0])["event"] in ("begin", "note")
    assert mlcli("embed", "data.csv", "--force", "--progress", "none").err.startswith("pca of data.csv")
    monkeypatch.setenv("MLCLI_PROGRESS", "loud")
    called = mlcli("embed", "data.csv", "--force")
    assert called.code == 2 and wording(called.err) == ["E-PROGRESS"] and "; MLCLI_PROGRESS; " in called.err


def test_names_with_odd_characters(mlcli: Caller) -> None:
    name = "año 1e3: [x] #'.csv"
    write_points(Path(name))
    assert mlcli("embed", name).code == 0
    assert mlcli("run", f"runs/{name.removesuffix('.csv')}-pca/config.yaml", "-o", "again").code == 0


@pytest.mark.parametrize(("arguments", "where"), [
    (["-m", "isomap", "-k", "99"], "-k: method.neighbors.count"),
    (["-m", "isomap", "--set", "method.neighbors.count=99"],
     "--set method.neighbors.count=99: method.neighbors.count"),
    (["--label-column", "none"], "--label-column: input.label_columns"),
])
def test_an_option_refused_by_the_data_names_its_flag(mlcli: Caller, arguments: list[str], where: str) -> None:
    called = mlcli("embed", "data.csv", "--json", *arguments)
    assert called.code == 78
    assert json.loads(called.err)["error"]["where"] == where


@pytest.mark.parametrize("arguments", [["--dissimilarities"], ["-m", "mds", "--set", "input.kind=kernel"]])
@pytest.mark.parametrize("command", ["embed", "plan"])
def test_a_kind_that_the_method_cannot_take_is_refused_before_reading(mlcli: Caller, command: str,
                                                                      arguments: list[str]) -> None:
    called = mlcli(command, "absent.csv", *arguments)
    assert called.code == 78 and called.err.startswith("mlcli: error[E-KIND]: ")
    assert f"{'--dissimilarities' if len(arguments) == 1 else '--set input.kind=kernel'}: input.kind" in called.err


def test_dropped_rows_are_told_beside_a_stream(mlcli: Caller, wording: Wording) -> None:
    Path("gaps.csv").write_text(Path("data.csv").read_text() + "late,1,,2\n")
    called = mlcli("embed", "gaps.csv", "--set", "prepare.missing=drop", "-o", "-")
    assert wording(called.err, "W-DROPPED") == ["W-DROPPED"] and "'late'" in called.err
    assert mlcli("embed", "gaps.csv", "--set", "prepare.missing=drop", "-o", "-", "-q").err == ""


def test_names_that_are_too_long_are_73(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "-o", "n" * 256)
    assert called.code == 73 and called.err.startswith("mlcli: error[E-OUTPUT]: ")


@pytest.mark.medium
def test_a_finished_run_stays_when_its_summary_cannot_be_told() -> None:
    """The summary is told after the run is complete: a full standard output then takes nothing away."""
    with Path("/dev/full").open("wb") as full:
        child = forked("embed", "data.csv", "-o", "out", "--json", stdout=full)
        child.communicate()
    assert child.returncode == 74
    assert Path("out/run.json").is_file()


@pytest.mark.slow
def test_no_run_dies_at_the_end_of_the_interpreter() -> None:
    codes = []
    for _ in range(60):
        child = process("embed", "data.csv", "-o", "-", "-q")
        child.communicate()
        codes.append(child.returncode)
    assert codes == [0] * 60


def test_strict_makes_warnings_errors(mlcli: Caller, tmp_path: Path) -> None:
    (tmp_path / "gaps.csv").write_text("a,b\n1,2\n3,\n4,9\n5,5\n")
    called = mlcli("embed", "gaps.csv", "--set", "prepare.missing=drop", "--strict", "-o", "out")
    assert called.code == 65 and "E-STRICT" in called.err and "W-DROPPED" in called.err
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith("out")} == set()
    assert mlcli("embed", "gaps.csv", "--set", "prepare.missing=drop", "-o", "out").code == 0


def test_missing_cells_are_left_to_models_only(mlcli: Caller, tmp_path: Path) -> None:
    (tmp_path / "gaps.csv").write_text("a,b\n1,2\n3,\n4,9\n5,5\n")
    called = mlcli("embed", "gaps.csv", "--set", "prepare.missing=model")
    assert called.code == 78 and "E-NO-MODEL" in called.err


def test_strict_turns_an_iteration_that_stopped_at_its_limit_into_80(mlcli: Caller) -> None:
    options = ("-m", "ppca", "--set", "method.solver=em", "--set", "method.iterate.limit=2", "-o", "out")
    called = mlcli("embed", "data.csv", *options, "--strict")
    assert called.code == 80 and "W-UNCONVERGED" in called.err and not Path("out").exists()
    assert json.loads(Path("out.failed/error.json").read_text())["error"]["code"] == "E-STRICT"
    assert mlcli("project", "out.failed", "data.csv").code == 80
    assert mlcli("embed", "data.csv", *options).code == 0
    told = json.loads(Path("out/run.json").read_text())
    assert told["fit"]["converged"] is False and told["fit"]["iterations"] == 2
    assert [warning["code"] for warning in told["warnings"]] == ["W-UNCONVERGED"]
    assert len(Path("out/trace.csv").read_text().splitlines()) == 3


def test_missing_cells_are_filled_in_by_reconstruct(mlcli: Caller, tmp_path: Path) -> None:
    rows = [f"r{i},{i},{2 * i + i % 2},{'NA' if i == 5 else 3 * i}" for i in range(12)]
    (tmp_path / "gaps.csv").write_text("\n".join(["id,a,b,c", *rows]) + "\n")
    assert mlcli("embed", "gaps.csv", "--id-column", "id", "-m", "ppca", "-p", 1, "--set", "prepare.missing=model",
                 "-o", "out").code == 0
    filled = list(csv.DictReader(io.StringIO(mlcli("reconstruct", "out", "out/embedding.csv").out)))
    # least squares of a = t and b = 2t + 0.5 at a = 5 and b = 11 is t = 5.2, and c = 3t
    assert float(filled[5]["c"]) == pytest.approx(15.6, abs=0.1)
    again = list(csv.DictReader(io.StringIO(mlcli("project", "out", "gaps.csv", "--id-column", "id").out)))
    first = list(csv.DictReader(io.StringIO(Path("out/embedding.csv").read_text())))
    assert float(again[5]["y1"]) == pytest.approx(float(first[5]["y1"]), rel=1e-12)


@pytest.mark.medium
def test_a_covariance_has_loadings_and_no_embedding(mlcli: Caller, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "cov.csv").write_text(",a,b,c\na,2,1,0\nb,1,2,0.5\nc,0,0.5,1\n")
    kind = ("--set", "input.kind=covariance")
    assert mlcli("embed", "cov.csv", *kind, "-o", "out").code == 0
    assert {file.name for file in Path("out").iterdir()} == {
        "config.yaml", "run.json", "spectrum.csv", "scree.svg", "model.json", "model.npz", "loadings.csv",
        "report.html", "certificate.json", "dimension.json", "dimension.csv"}
    residual = json.loads(Path("out/certificate.json").read_text())["checks"][-1]
    assert (residual["name"], residual["verdict"]) == ("residual", "pass")
    assert json.loads(Path("out/dimension.json").read_text())["rules"]["kaiser"]["components"] == 1
    for again in (("report", "out"), ("verify", "out")):
        assert mlcli(*again).code == 0, mlcli(*again).err
    loadings = list(csv.DictReader(io.StringIO(Path("out/loadings.csv").read_text())))
    assert [row["column"] for row in loadings] == ["a", "b", "c"]
    assert mlcli("project", "out", "data.csv").code == 78
    for arguments, code in (((*kind, "-o", "-"), "E-NO-ROWS"), (("--set", "input.observations=9"), "E-INPUT-OPTION"),
                            ((*kind, "-m", "mds"), "E-KIND"), ((*kind, "--scale", "standard"), "E-PREPARE-OPTION"),
                            ((*kind, "--set", "method.route=dual"), "E-UNUSED")):
        called = mlcli("embed", "cov.csv", *arguments)
        assert called.code == 78 and code in called.err, called.err
    assert mlcli("embed", "data.csv", "-o", "points").code == 0
    compared = mlcli("compare", "points", "out")
    assert compared.code == 78 and "E-NO-ROWS-COMPARED" in compared.err
    checked = mlcli("check", "cov.csv", *kind)
    assert checked.code == 0 and "covariance, 3 columns" in checked.out and "No findings" in checked.out
    (tmp_path / "cov.csv").write_text(",a,b\na,1,2\nb,2,1\n")
    called = mlcli("embed", "cov.csv", *kind)
    assert called.code == 65 and "E-NOT-COVARIANCE" in called.err
    checked = mlcli("check", "cov.csv", *kind, "--strict")
    assert checked.code == 65 and wording(checked.out, "C-INDEFINITE") == ["C-INDEFINITE"]


def test_more_axes_than_columns_name_those_that_were_taken_as_labels(mlcli: Caller, wording: Wording) -> None:
    Path("answers.csv").write_text("age,q1,q2\n20,yes,no\n31,no,no\n20,yes,yes\n", encoding="utf-8")
    called = mlcli("embed", "answers.csv", "-p", "2")
    assert called.code == 78 and "E-COMPONENTS" in wording(called.err)
    assert "--answers no,yes" in called.err
