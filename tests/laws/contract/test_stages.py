"""A run's stages are the same, in the same words and order, in its plan, its progress, its record and its report."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mlcli.base.types import Array
from mlcli.base.values.inputs import CrossLabeled, Labeled, TwoViews
from mlcli.cli.screen.progress import watching
from mlcli.config.run_config import RunConfig
from mlcli.core.kernels import streamed
from mlcli.findings import STAGES
from mlcli.methods import METHODS
from mlcli.methods.networks.two_networks import QUICK
from mlcli.pipeline import run as pipeline
from mlcli.planning import plan
from tests.faults.certificate.support import write_csv
from tests.laws.contract.test_contract import CONFIGURATIONS, POINTS, every_configuration
from tests.package import FILES, nodes
from tests.support import distances, features, furnished, in_domain

NINE = {"neighbors": {"count": 9}}
FEATURES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {  # what the ways leave out; stages that they have
    "isomap stored": ("isomap", {**NINE, "paths": {"store": "memory"}}, ("paths", "kernel", "centering")),
    "isomap by floyd": ("isomap", {**NINE, "paths": {"algorithm": "floyd"}}, ("paths", "kernel")),
    "isomap streamed by dijkstra": (
        "isomap", {**NINE, "paths": {"algorithm": "dijkstra", "store": "streamed"}}, ("paths", "eigensolve")),
    "mds by cailliez": ("mds", {"correction": "cailliez"}, ("distances", "correction", "kernel")),
    "kpca streamed": ("kpca", {}, ("rate", "eigensolve")),
    "kpca at a given rate": ("kpca", {"kernel": {"name": "gaussian", "rate": 0.1}}, ("kernel", "centering")),
    "chain of landmarks": ("chain", {"kernel": {"name": "gaussian"}, "landmarks": 20, "centering": "none"},
                           ("distances", "kernel", "coordinates")),
    "chain of landmarks on paths": (
        "chain", {"graph": NINE, "paths": {}, "kernel": {"name": "laplacian"}, "landmarks": 20},
        ("paths", "kernel", "centering", "coordinates")),
    "fa of more columns than rows": ("fa", {}, ("centering", "iterate", "coordinates")),
    "pca of more columns than rows": ("pca", {}, ("centering", "kernel", "eigensolve")),
    "ppca of more columns than rows": ("ppca", {"solver": "em"}, ("centering", "kernel", "iterate", "coordinates"))}
SQUARE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mds": ("mds", "dissimilarities", {}), "isomap": ("isomap", "dissimilarities", NINE),
    "kpca": ("kpca", "kernel", {}), "pca": ("pca", "covariance", {}), "fa": ("fa", "covariance", {}),
    "fa equal": ("fa", "covariance", {"noise": "equal"})}


def configured(folder: Path, method: str, options: dict[str, Any], points: Array = POINTS) -> RunConfig:
    """A run of points in a file, with the labels or the second view that the method needs."""
    points = in_domain(method, points)
    data = furnished(features(points), METHODS[method].accepts)
    given: dict[str, Any] = {"path": str(folder / "data.csv"), "id_column": "id"}
    write_csv(folder / "data.csv", points)
    if isinstance(data, Labeled):
        lines = (folder / "data.csv").read_text().splitlines()
        columns = {"class": data.labels, **({"content": data.contents} if isinstance(data, CrossLabeled) else {})}
        for name, labels in columns.items():
            lines = [f"{line},{label}" for line, label in zip(lines, [name, *labels], strict=True)]
        (folder / "data.csv").write_text("\n".join([*lines, ""]))
        given["label_columns"] = [*columns]
    if isinstance(data, TwoViews):
        write_csv(folder / "view.csv", data.view.values)
        given["view"] = {"path": str(folder / "view.csv")}
    return run_of(folder, given, method, options)


def run_of(folder: Path, given: dict[str, Any], method: str, options: dict[str, Any]) -> RunConfig:
    return RunConfig.model_validate({"input": given, "method": {"name": method, **options},
                                     "output": str(folder / "out")})


def same_everywhere(config: RunConfig, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The stages of a run, which all that tell them agree on."""
    planned = [step["stage"] for step in plan.plan(config, None)["steps"]]
    with watching("json", quiet=False):
        pipeline.run(config)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    begun = [event["stage"] for event in events if event["event"] == "begin"]
    folder = Path(str(config.output))
    record = json.loads((folder / "run.json").read_text())
    listed = [stage["stage"] for stage in record["stages"]]
    section = re.search(r"<h2>Timings</h2>.*?</table>", (folder / "report.html").read_text(), re.DOTALL)
    assert section is not None
    assert listed == planned
    assert list(dict.fromkeys(begun)) == planned
    assert re.findall(r"<tr><td[^>]*>([^<]+)</td>", section[0]) == planned
    assert {*begun, *(event["stage"] for event in events if event["event"] == "advance")} <= set(STAGES)
    return listed


@every_configuration
def test_every_way_of_every_method_runs_as_planned(name: str, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    same_everywhere(configured(tmp_path, *CONFIGURATIONS[name]), capsys)


@pytest.mark.parametrize("name", FEATURES)
def test_other_choices_run_as_planned(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    method, options, others = FEATURES[name]
    if name == "kpca streamed":
        monkeypatch.setattr(streamed, "STORED", 1)
    points = POINTS[:30].reshape(6, 25) if "columns" in name else POINTS
    stages = same_everywhere(configured(tmp_path, method, options, points), capsys)
    assert [stage for stage in stages if stage in others] == list(others)


@pytest.mark.parametrize("options", [{}, pytest.param(QUICK, marks=pytest.mark.medium)], ids=["closed", "trained"])
def test_a_second_view_that_a_method_may_have_runs_as_planned(options: dict[str, Any], tmp_path: Path,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    for name, values in (("data", POINTS), ("view", POINTS[:, :2] ** 2)):
        write_csv(tmp_path / f"{name}.csv", values)
    given = {"path": str(tmp_path / "data.csv"), "id_column": "id", "view": {"path": str(tmp_path / "view.csv")}}
    same_everywhere(run_of(tmp_path, given, "autoencoder", options), capsys)


@pytest.mark.parametrize("name", SQUARE)
def test_a_square_input_runs_as_planned(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method, kind, options = SQUARE[name]
    squares = {"dissimilarities": distances(POINTS), "kernel": POINTS @ POINTS.T, "covariance": np.cov(POINTS.T)}
    np.save(tmp_path / "data.npy", squares[kind])
    same_everywhere(run_of(tmp_path, {"path": str(tmp_path / "data.npy"), "kind": kind}, method, options), capsys)


@pytest.mark.parametrize("method", ["isomap", "laplacian", "sde"])
def test_a_graph_runs_as_planned(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse.save_npz(tmp_path / "graph.npz", kneighbors(POINTS))
    stages = same_everywhere(run_of(tmp_path, {"path": str(tmp_path / "graph.npz"), "kind": "graph"}, method, {}),
                             capsys)
    assert "graph" in stages and "neighbors" not in stages


def test_rows_that_the_file_says_are_images_run_as_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They have more columns than are drawn as profiles."""
    np.save(tmp_path / "data.npy", np.random.default_rng(0).random((12, 40, 40)))
    stages = same_everywhere(run_of(tmp_path, {"path": str(tmp_path / "data.npy")}, "pca", {}), capsys)
    assert "reconstruct" in stages


def test_what_is_kept_is_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = configured(tmp_path, "isomap", NINE)
    stages = same_everywhere(config.replace(report=config.report.replace(keep=("graph", "distances"))), capsys)
    assert stages[-3:] == ["write", "keep", "certify"]


def test_pca_ahead_is_one_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = configured(tmp_path, "pca", {})
    stages = same_everywhere(config.replace(prepare=config.prepare.replace(reduce=3)), capsys)
    assert stages[:5] == ["read", "prepare", "reduce", "covariance", "eigensolve"]


def kneighbors(points: Array) -> sparse.csr_array:
    """Distances to the nine nearest, and back."""
    near = distances(points)
    near[near > np.sort(near)[:, [9]]] = 0.0
    return sparse.csr_array(np.maximum(near, near.T))


def test_what_is_not_measured_is_not_planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = configured(tmp_path, "pca", {})
    stages = same_everywhere(config.replace(report=config.report.replace(quality=None, dimension=False)), capsys)
    assert stages == ["read", "prepare", "covariance", "eigensolve", "reconstruct", "write", "certify"]


def named() -> Iterator[tuple[str, str]]:
    """The names that the package gives to stages, each with its file."""
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and (
                    node.func.id in ("stage", "running", "Step", "repeated", "singular_step")):
                yield from ((text.value, path.name) for text in ast.walk(node.args[0])
                            if isinstance(text, ast.Constant) and isinstance(text.value, str))
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "stage" and isinstance(
                    node.value, ast.Constant) and node.value.value:  # of kernels that differ in their stage
                yield str(node.value.value), path.name


@pytest.mark.medium
def test_stages_have_names_of_the_vocabulary_and_it_has_no_others() -> None:
    used = dict(named())
    assert {name: place for name, place in used.items() if name not in STAGES} == {}
    assert set(STAGES) - set(used) == set()
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in STAGES.values())
