"""`mlcli verify` checks a finished run from its files, and failed runs are refused by everything."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.errors import InputMissing, NumericalError, UnsafeFile
from mlcli.pipeline import run as pipeline
from mlcli.rundir.names import ERROR
from mlcli.runs import verify
from tests.faults.certificate.injected.faults import (
    CITY,
    COVARIANCE,
    DISTANCES,
    EM,
    FA,
    FAULTS,
    GAPS,
    GAUSSIAN,
    ISOMAP,
    LLE,
    MODELED,
    PCA,
    POLYNOMIAL,
    PPCA,
    STREAMED,
)
from tests.faults.certificate.support import POINTS, certificate, configured
from tests.faults.fuzz.directories import rehashed
from tests.journeys.support import Caller
from tests.processes import call

RUNS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "pca": (PCA, POINTS, {"prepare": {"scale": "standard"}}),
    "pca n-1, npy": ({"name": "pca", "divisor": "n-1"}, POINTS * 1e50, {"report": {"formats": ["npy"]}}),
    "mds parquet": ({"name": "mds"}, POINTS, {"report": {"formats": ["parquet", "npy"]}}),
    "mds landmarks": ({"name": "mds", "landmarks": 20}, POINTS, {}),
    "cailliez": ({"name": "mds", "correction": "cailliez"}, CITY, {"input": {"kind": "dissimilarities"}}),
    "given kernel": ({"name": "kpca"}, POINTS @ POINTS.T, {"input": {"kind": "kernel"}}),
    "gaussian": (GAUSSIAN, POINTS, {}), "polynomial": (POLYNOMIAL, POINTS, {}),
    "isomap": (ISOMAP, POINTS, {}), "streamed": (STREAMED, POINTS, {}),
    "isomap of distances": (ISOMAP, DISTANCES, {"input": {"kind": "dissimilarities"}}),
    "largest piece": ({"name": "isomap", "neighbors": {"count": 3, "pieces": "largest"}},
                      np.vstack([POINTS, POINTS[:9] + 1e3]), {}),
    "lle": (LLE, POINTS, {}), "few eigenvalues reported": ({"name": "mds", "eigensolve": {"report": 1}}, POINTS, {}),
    "ppca": (PPCA, POINTS, {"prepare": {"scale": "standard"}}), "ppca large": (PPCA, POINTS * 1e150, {}),
    "ppca small": (PPCA, POINTS * 1e-140, {}), "ppca by em": (EM, POINTS * 1e100, {}),
    "ppca of gaps": (PPCA, GAPS * 1e-100, MODELED), "fa": (FA, POINTS, {}), "fa large": (FA, POINTS * 1e150, {}),
    "fa small": ({**FA, "noise": "equal"}, POINTS * 1e-140, {}),
    "promax": ({"name": "fa", "rotation": {"name": "promax"}}, POINTS, {}),
    "oblimin": ({"name": "fa", "rotation": {"name": "oblimin"}}, POINTS, {}),
    "fa of gaps": (FA, GAPS * 1e-100, MODELED), "fa of gaps in full": ({**FA, "noise": "equal"}, GAPS * 1e120, MODELED),
    "fa of pairs": ({**FA, "gaps": "pairwise", "scores": "bartlett"}, GAPS + 1e4, MODELED),
    "certified in full": (ISOMAP, POINTS, {"report": {"certify": "full"}}),
    "lle certified in full": (LLE, POINTS, {"report": {"certify": "full"}}),
}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    pipeline.run(configured(tmp_path, PCA))
    return tmp_path / "out"


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_verified_with_and_without_its_input(name: str, tmp_path: Path) -> None:
    method, values, sections = RUNS[name]
    config = configured(tmp_path, method, values, **sections)
    pipeline.run(config)
    assert certificate(tmp_path)["verdict"] == "pass"
    found = verify.verify(tmp_path / "out", full="full" in name)
    assert (found.changed, found.input, found.certificate.verdict) == ((), "unchanged", "pass"), found.certificate
    made = {check.name for check in found.certificate.checks if check.verdict != "skipped"}
    assert "projection" in made and "rows" in made
    Path(config.input.path).rename(tmp_path / "elsewhere.npy")
    alone = verify.verify(tmp_path / "out")
    latent = method["name"] in ("ppca", "fa")  # without data nothing follows from their coordinates
    assert (alone.input, alone.certificate.verdict) == ("missing", "unchecked" if latent else "pass")
    assert "projection" not in {check.name for check in alone.certificate.checks}


@pytest.mark.parametrize("scale", [1e-250, 1.0, 1e250])
@pytest.mark.parametrize("method", [PCA, FA, {**FA, "noise": "equal"}], ids=["pca", "fa", "fa equal"])
def test_a_run_of_a_covariance_is_verified(method: dict[str, Any], scale: float, tmp_path: Path) -> None:
    pipeline.run(configured(tmp_path, method, np.cov(POINTS.T) * scale, **COVARIANCE))
    found = verify.verify(tmp_path / "out", full=True)
    assert (found.changed, found.input, found.certificate.verdict) == ((), "unchanged", "pass"), found.certificate
    made = {check.name for check in found.certificate.checks if check.verdict == "pass"}
    assert ("residual" if method is PCA else "stationarity") in made


def test_dropped_rows_are_dropped_again(tmp_path: Path) -> None:
    holes = POINTS.copy()
    holes[[3, 20], 1] = np.nan
    pipeline.run(configured(tmp_path, PCA, holes, prepare={"missing": "drop"}))
    assert verify.verify(tmp_path / "out").certificate.verdict == "pass"


def test_certificate_says_what_was_read_written_and_used(out: Path) -> None:
    document = json.loads((out / "certificate.json").read_text())
    facts, written = document["facts"], (out / "embedding.csv").read_bytes()
    assert facts["input"]["sha256"] == hashlib.sha256((out.parent / "data.csv").read_bytes()).hexdigest()
    assert facts["files"]["embedding.csv"] == {"bytes": len(written), "sha256": hashlib.sha256(written).hexdigest()}
    assert "config.yaml" not in facts["files"] and str(out.parent) not in json.dumps(document)  # which hold paths
    run = json.loads((out / "run.json").read_text())
    assert run["certificate"] == document["verdict"] == "pass"
    assert run["files"]["certificate.json"]["sha256"] == hashlib.sha256(
        (out / "certificate.json").read_bytes()).hexdigest()
    assert "project" not in {stage["stage"] for stage in run["stages"]}  # what the certificate does is its own


def test_a_changed_file_is_83(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mlcli = Caller(capsys)
    assert mlcli("verify", str(out)).code == 0
    text = (out / "embedding.csv").read_text()
    (out / "embedding.csv").write_text(text.replace("1", "2", 1))
    called = mlcli("verify", str(out), "--json")
    assert called.code == 83
    assert json.loads(called.out)["changed"] == ["embedding.csv"]
    (out / "embedding.csv").unlink()
    assert mlcli("verify", str(out)).code == 83


def test_wrong_numbers_under_right_hashes_are_80(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (out / "embedding.csv").read_text().splitlines()
    cells = lines[4].split(",")
    cells[-1] = repr(float(cells[-1]) + 1e-6)
    (out / "embedding.csv").write_text("\n".join([*lines[:4], ",".join(cells), *lines[5:], ""]))
    rehashed(out, "embedding.csv")
    called = Caller(capsys)("verify", str(out), "--json")
    assert called.code == 80
    document = json.loads(called.out)
    assert "scores" in {check["name"] for check in document["certificate"]["checks"] if check["verdict"] == "fail"}


CLOUDS = {"name": "gplvm", "inference": {"name": "bayesian", "inducing": 5}, "minimize": {"limit": 20}}


@pytest.mark.parametrize(("method", "values", "sections", "seen"), [
    (CLOUDS, POINTS[:30], {}, "log_likelihood"), (PPCA, GAPS, MODELED, "posterior"),
    ({"name": "vae"}, POINTS, {}, "deviations")], ids=["clouds", "ppca of gaps", "vae"])
def test_the_spreads_of_posteriors_are_verified(method: dict[str, Any], values: Any, sections: dict[str, Any],
                                                seen: str, tmp_path: Path) -> None:
    pipeline.run(configured(tmp_path, method, values, **sections))
    folder = tmp_path / "out"
    checks = {check.name: check for check in verify.verify(folder).certificate.checks}
    assert {name: check.verdict for name, check in checks.items()} == {
        check["name"]: check["verdict"] for check in certificate(tmp_path)["checks"]}
    assert checks[seen].verdict == "pass"
    head, first, *lines = (folder / "posterior.csv").read_text().splitlines()
    name, *cells = first.split(",")
    (folder / "posterior.csv").write_text("\n".join([head, ",".join([name, repr(1.1 * float(cells[0])), *cells[1:]]),
                                                    *lines, ""]))
    rehashed(folder, "posterior.csv")
    assert seen in {check.name for check in verify.verify(folder).certificate.failed}


@pytest.mark.medium
@pytest.mark.parametrize("method", ["smacof", "nmds", "sammon", "phate"])
def test_the_stress_of_points_is_verified(method: str, tmp_path: Path) -> None:
    """A wrong number in stress.csv fails, and a file of other rows is damaged."""
    pipeline.run(configured(tmp_path, {"name": method}, POINTS[:30]))
    folder, path = tmp_path / "out", tmp_path / "out" / "stress.csv"
    assert {check.name: check.verdict for check in verify.verify(folder).certificate.checks}["goodness"] == "pass"
    head, first, *lines = path.read_text().splitlines()
    name, goodness, share = first.split(",")
    path.write_text("\n".join([head, ",".join([name, repr(1.01 * float(goodness)), share]), *lines, ""]))
    rehashed(folder, path.name)
    assert {check.name for check in verify.verify(folder).certificate.failed} == {"goodness"}
    path.write_text("\n".join([head, *lines, ""]))
    rehashed(folder, path.name)
    with pytest.raises(UnsafeFile, match=r"stress\.csv"):
        verify.verify(folder)


def test_a_posterior_of_other_rows_is_damaged(tmp_path: Path) -> None:
    pipeline.run(configured(tmp_path, {"name": "vae"}))
    path = tmp_path / "out" / "posterior.csv"
    whole = path.read_text()
    for text in (whole.replace("y1,", "z1,", 1), whole.rsplit("\n", 2)[0] + "\n"):
        path.write_text(text)
        rehashed(tmp_path / "out", "posterior.csv")
        with pytest.raises(UnsafeFile, match=r"posterior\.csv"):
            verify.verify(tmp_path / "out")


def test_an_input_that_moved_is_named_and_one_that_changed_is_not_used(out: Path,
                                                                       capsys: pytest.CaptureFixture[str]) -> None:
    mlcli, data = Caller(capsys), out.parent / "data.csv"
    data.rename(out.parent / "moved.csv")
    assert json.loads(mlcli("verify", str(out), "--json").out)["input"] == "missing"
    called = mlcli("verify", str(out), "--input", str(out.parent / "moved.csv"), "--json")
    assert called.code == 0 and json.loads(called.out)["input"] == "unchanged"
    data.write_text((out.parent / "moved.csv").read_text() + "\n")
    found = json.loads(mlcli("verify", str(out), "--json").out)
    assert found["input"] == "changed" and found["input_files"] == [{"path": str(data), "state": "changed"}]
    (skipped,) = (check for check in found["certificate"]["checks"] if check["name"] == "input")
    assert "changed" in skipped["how"] and "data.csv" in skipped["how"]
    first = mlcli("verify", str(out)).out.splitlines()[0]
    assert first.endswith(f": pass, by the files of the run alone; the input is changed ({data})")


@pytest.mark.medium
def test_paths_that_were_given_relative_stay_so_and_are_found_from_anywhere(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs of before had the absolute paths in config.yaml, and those that were given in run.json."""
    mlcli, run, other = Caller(capsys), tmp_path / "run", tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    for file in ("one.csv", "two.csv"):
        np.savetxt(file, np.random.default_rng(len(file)).standard_normal((30, 3)), delimiter=",")
    assert mlcli("embed", "one.csv", "--view", "two.csv", "-m", "cca", "-q", "-o", "run").code == 0
    config, manifest = run / "config.yaml", run / "run.json"
    known = json.loads(manifest.read_text())["input"]
    assert "path: one.csv" in config.read_text() and "path: two.csv" in config.read_text()
    assert (known["absolute"], known["view"]["absolute"]) == (str(tmp_path / "one.csv"), str(tmp_path / "two.csv"))
    assert mlcli("run", config, "-q", "-o", "again").code == 0
    assert (tmp_path / "again" / "embedding.csv").read_bytes() == (run / "embedding.csv").read_bytes()
    monkeypatch.chdir(other)
    assert json.loads(mlcli("verify", run, "--json").out)["input"] == "unchanged"
    assert mlcli("report", run, "-q").code == 0
    for name in ("one", "two"):
        config.write_text(config.read_text().replace(f"path: {name}.csv", f"path: {tmp_path}/{name}.csv"))
    manifest.write_text(manifest.read_text().replace(f"{tmp_path}/", ""))
    rehashed(run, "config.yaml")
    assert json.loads(mlcli("verify", run, "--json").out)["input"] == "unchanged"


def test_a_failed_run_is_set_aside_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    config, failed = configured(tmp_path, PCA), tmp_path / "out.failed"
    with monkeypatch.context() as patch:
        FAULTS["an axis has another sign than the model's"].inject(patch)
        for _ in range(2):  # the second failure takes the place of the first
            with pytest.raises(NumericalError) as caught:
                pipeline.run(config)
            assert caught.value.exit_code == 80 and str(failed) in caught.value.where
            assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "out.failed"}
    assert json.loads((failed / ERROR).read_text())["error"]["code"] == "E-CERTIFICATE"
    assert (failed / "embedding.csv").is_file() and not (failed / "run.json").exists()
    for command in (["verify", str(failed)], ["project", str(failed), str(tmp_path / "data.csv")],
                    ["reconstruct", str(failed), str(failed / "embedding.csv")]):
        called = Caller(capsys)(*command)
        assert called.code == 80 and "E-FAILED-RUN" in called.err
    pipeline.run(config)
    assert (tmp_path / "out" / "run.json").is_file()


def test_what_is_not_an_earlier_failure_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.failed").mkdir()
    (tmp_path / "out.failed" / "precious").write_text("mine")
    FAULTS["an axis has another sign than the model's"].inject(monkeypatch)
    with pytest.raises(NumericalError):
        pipeline.run(configured(tmp_path, PCA))
    assert [path.name for path in (tmp_path / "out.failed").iterdir()] == ["precious"]
    assert not (tmp_path / "out").exists()


def test_a_stream_is_certified_before_a_byte_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from io import BytesIO

    FAULTS["an axis has another sign than the model's"].inject(monkeypatch)
    written = BytesIO()
    with pytest.raises(NumericalError):
        pipeline.stream(configured(tmp_path, PCA), written)
    assert not written.getvalue()


def test_no_run_is_66(tmp_path: Path) -> None:
    with pytest.raises(InputMissing):
        verify.verify(tmp_path)


@pytest.mark.medium
def test_a_sample_of_many_rows_sees_what_all_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large results are looked at in part, and faults show all the same."""
    many = np.random.default_rng(0).standard_normal((1200, 4)) * [4, 3, 1, 0.5]
    for name in ("the first eigenvalue is skipped", "one row of D is wrong", "axes are turned in their plane"):
        with monkeypatch.context() as patch:
            FAULTS[name].inject(patch)
            with pytest.raises(NumericalError) as caught:
                pipeline.run(configured(tmp_path, {"name": "mds"}, many, compute={"threads": 1}))
            assert caught.value.code == "E-CERTIFICATE"
            checks = {check["name"]: check for check in certificate(tmp_path)["checks"]}
            assert not checks["residual"]["exact"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["isomap", "pca", "lle", "kpca"])
def test_a_certificate_is_the_same_on_a_loaded_machine(method: str, tmp_path: Path) -> None:
    """Two runs of the installed program, one of them beside processes that keep all cores busy."""
    generator = np.random.default_rng(3)
    np.save(tmp_path / "data.npy", np.cumsum(generator.standard_normal((900, 3)), axis=0))
    made = []
    for name, threads, load in (("idle", 1, 0), ("loaded", 2, 4)):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
        try:
            call("embed", "--method", method, tmp_path / "data.npy", "-o", tmp_path / name, "--threads", threads)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        made.append((tmp_path / name / "certificate.json").read_bytes())
    assert made[0] == made[1]
    assert not all(check["exact"] for check in json.loads(made[0])["checks"] if check["verdict"] == "pass")


def cut(run: Path, name: str, kind: str) -> None:
    """A file of a run with a row less, a row more, none, or the first one again and again; its hash belongs to it."""
    head, *rows = (run / name).read_text().splitlines(keepends=True)
    kept = {"short": rows[:-1], "long": [*rows, rows[-1]], "empty": [], "other": [rows[0]] * len(rows)}[kind]
    (run / name).write_text("".join([head, *kept]))
    rehashed(run, name)


VIEWED = {"input": {"view": {"path": "view.csv"}}}
WITH_LOADINGS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "pca": (PCA, POINTS, {"prepare": {"scale": "standard"}}), "fa": (FA, POINTS, {}), "ppca": (PPCA, POINTS, {}),
    "pca of a covariance": (PCA, np.cov(POINTS.T), COVARIANCE), "ca": ({"name": "ca"}, np.abs(POINTS), {}),
    "nmf": ({"name": "nmf"}, np.abs(POINTS), {}), "lpp": ({"name": "lpp"}, POINTS, {}),
    "cca": ({"name": "cca"}, POINTS, VIEWED), "ibfa": ({"name": "ibfa", "axes": {"components": 1}}, POINTS, VIEWED),
    "gib": ({"name": "gib"}, POINTS, VIEWED), "ib": ({"name": "ib"}, np.abs(POINTS), {})}


@pytest.mark.parametrize("kind", ["short", "long", "empty"])
@pytest.mark.parametrize("name", WITH_LOADINGS)
def test_loadings_of_another_number_of_columns_are_83(name: str, kind: str, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    method, values, sections = WITH_LOADINGS[name]
    generator = np.random.default_rng(3)
    view = POINTS @ generator.standard_normal((POINTS.shape[1], 3)) + generator.standard_normal((len(POINTS), 3))
    lines = [f"{row},{','.join(map(str, cells))}" for row, cells in enumerate(view.tolist())]
    Path("view.csv").write_text("\n".join(["id,u,v,w", *lines]) + "\n")
    pipeline.run(configured(tmp_path, method, values, **sections))
    mlcli = Caller(capsys)
    assert mlcli("verify", "out").code == 0
    cut(tmp_path / "out", "loadings.csv", kind)
    called = mlcli("verify", "out")
    assert called.code == 83 and "E-RUN-FILES]: loadings.csv " in called.err


@pytest.mark.parametrize("name", ["loadings.csv", "spectrum.csv"])
def test_rows_that_are_not_the_runs_do_not_pass(out: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    cut(out, name, "other")
    assert Caller(capsys)("verify", str(out)).code in (80, 83)


@pytest.mark.parametrize("kind", ["short", "long", "empty"])
def test_another_number_of_eigenvalues_is_83(out: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    cut(out, "spectrum.csv", kind)
    called = Caller(capsys)("verify", str(out))
    assert called.code == 83 and "E-RUN-FILES]: spectrum.csv " in called.err
