"""The certificate of a learned kernel: honest runs pass, here and read back, and every figure that is off is seen."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.quantity import Quantity
from mlcli.errors import MlcliError
from mlcli.methods import Model
from mlcli.pipeline import run as pipeline
from mlcli.runs.verify import verify
from tests.faults.certificate.injected.faults import CITY, Fault, replacing, solving, wrong_neighbors
from tests.faults.certificate.support import POINTS, certificate, configured, judged
from tests.laws.accuracy.families import FAMILIES

CONNECT = {"pieces": "connect"}
SDE: dict[str, Any] = {"name": "sde", "neighbors": {"count": 5, **CONNECT}}
AT_MOST = {**SDE, "constraints": "at_most"}
KINDS = {"equal": SDE, "at most": AT_MOST, "common": {**SDE, "common_neighbors": True}, "basis": {**SDE, "basis": 8},
         "basis at most": {**AT_MOST, "basis": 8}, "mutual": {**AT_MOST, "graph": "mutual"},
         "stopped": {**AT_MOST, "iterations": 5, "accept_uncertified": True}}
ALWAYS = {"unfolding", "kernel", "residual", "trace", "violation", "bound", "duality", "gap", "converged", "projection"}
Change = Callable[[Model], Model]


def unfolded(**parts: Callable[[Any], Any]) -> Change:
    """Changes of parts of what is kept of an unfolding."""
    return lambda model: replace(model, unfolded=replace(
        model.unfolded, **{name: change(getattr(model.unfolded, name)) for name, change in parts.items()}))


def fault(method: dict[str, Any], change: Change, check: str, *, full: bool = False) -> Fault:
    """A fault in the model, and the check that must fail."""
    return Fault(method, solving("sde", change), {check}, full=full)


def stated(name: str, factor: float) -> Change:
    """A figure of `fit` that is off."""

    def changed(value: float | Quantity) -> float | Quantity:
        return replace(value, value=value.value * factor) if isinstance(value, Quantity) else value * factor

    return lambda model: replace(model, fit={**model.fit, name: changed(model.fit[name])})


FAULTS = {
    "the trace is off": fault(SDE, stated("trace", 1 + 1e-9), "trace"),
    "the bound is too good": fault(SDE, stated("dual_bound", 1 - 1e-6), "bound", full=True),
    "the gap is too good": fault(AT_MOST, stated("duality_gap", 0.5), "gap", full=True),
    "the violation is too good": fault({**SDE, "iterations": 3, "accept_uncertified": True},
                                       stated("constraint_violation", 0.5), "violation"),
    "a gap counts as none": fault(KINDS["stopped"], lambda m: replace(m, fit={**m.fit, "converged": True}),
                                  "converged", full=True),
    "a weight is wrong": fault(SDE, unfolded(weights=lambda y: y * np.where(np.arange(len(y)) == 3, 1.01, 1.0)),
                               "bound", full=True),
    "a weight is below zero": fault(AT_MOST, unfolded(weights=lambda y: y - 2 * y.min()), "weights"),
    "weights have another sign": fault(AT_MOST, unfolded(weights=lambda y: -y), "weights"),
    "the kernel is not centered": fault(SDE, unfolded(factor=lambda f: f + 1e-9), "kernel"),
    "the kernel is another one": fault(
        SDE, unfolded(factor=lambda f: f * np.linspace(0.99, 1.01, len(f))[:, None]), "residual"),
    "points are swapped in the kernel": fault(
        SDE, unfolded(factor=lambda f: f[[1, 0, *range(2, len(f))]]), "violation"),
    "a pair is missing": fault(SDE, unfolded(left=lambda i: i[:-1], right=lambda i: i[:-1], counted=lambda c: c[:-1],
                                             weights=lambda y: y[:-1]), "neighbors"),
    "the penalty is another": fault(
        KINDS["basis"], unfolded(penalty=lambda kappa: kappa * 1.01), "bound", full=True),
    "the basis is not orthonormal": fault(KINDS["basis"], unfolded(basis=lambda v: v * 1.001), "basis"),
    "a number is lost": fault(
        SDE, unfolded(factor=lambda f: np.where(np.arange(len(f)) == 7, np.nan, f.T).T), "unfolding"),
    "neighbors are wrong": Fault({**AT_MOST, "neighbors": {"count": 5}}, replacing(
        "mlcli.core.graph.neighbors.nearest", wrong_neighbors), {"neighbors"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_unfolding_passes_and_is_read_back(kind: str, tmp_path: Path) -> None:
    config = configured(tmp_path, KINDS[kind], report={"certify": "full"})
    checks = judged(config)
    assert {name for name, check in checks.items() if check["verdict"] == "pass"} >= ALWAYS
    assert all(check["verdict"] in ("pass", "skipped") for check in checks.values()), checks
    again = verify(tmp_path / "out", full=True)
    assert again.certificate.verdict == "pass"
    assert {check.name for check in again.certificate.checks if check.verdict == "pass"} >= ALWAYS


def test_dissimilarities_and_faces_pass(tmp_path: Path) -> None:
    flat = np.column_stack([POINTS[:, :2], POINTS[:, :2] @ [1.0, 2.0]])
    for number, (method, values, sections) in enumerate((
            (AT_MOST, CITY, {"input": {"kind": "dissimilarities"}}), ({**SDE, "neighbors": {"count": 20}}, flat, {}))):
        place = tmp_path / str(number)
        place.mkdir()
        checks = judged(configured(place, method, values, report={"certify": "full"}, **sections))
        assert all(check["verdict"] in ("pass", "skipped") for check in checks.values()), checks
    assert checks["basis"]["verdict"] == "pass"


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_off_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = FAULTS[name].seen(tmp_path, monkeypatch)
    assert seen & FAULTS[name].seen_by, seen


@pytest.mark.medium
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_hostile_points_raise_no_false_alarm(family: str, tmp_path: Path) -> None:
    """Whatever the points, a run passes or ends with an error that says why: never with a doubtful certificate."""
    for number, kind in enumerate(("equal", "at most", "basis")):
        place = tmp_path / str(number)
        place.mkdir()
        points = FAMILIES[family](np.random.default_rng([6, number]), 24, 3)
        try:
            pipeline.run(configured(place, KINDS[kind], points))
        except MlcliError as error:
            assert error.code in ("E-GAP", "E-DEGENERATE", "E-ALL-EQUAL", "E-PIECES"), error
        else:
            assert certificate(place)["verdict"] == "pass"


@pytest.mark.medium
def test_an_unfolding_has_its_trace_and_its_own_distances(tmp_path: Path) -> None:
    pipeline.run(configured(tmp_path, AT_MOST, report={"quality": {}}))
    folder = tmp_path / "out"
    run = json.loads((folder / "run.json").read_text())
    rows = (folder / "trace.csv").read_text().splitlines()
    assert len(rows) == run["fit"]["iterations"] + 1
    assert float(rows[-1].split(",")[1]) == pytest.approx(run["fit"]["trace"], rel=1e-12)
    assert "Objective by iteration" in (folder / "report.html").read_text()
    assert json.loads((folder / "quality.json").read_text())["distances"] == "kernel"
    rules = json.loads((folder / "dimension.json").read_text())
    assert {"residual_variance", "broken_stick", "eigengap"} <= rules["rules"].keys()
    assert {"kaiser", "parallel_analysis", "velicer_map"} <= rules["left_out"].keys()
