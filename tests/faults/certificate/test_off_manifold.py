"""Scores of rows that are wrong are found, whatever they are of; those of an honest run are not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.core.similarities import off_manifold as scores
from mlcli.findings.frame import off_manifold as computed
from tests.faults.certificate.support import NEIGHBORS, POINTS, configured, judged

Patch = Callable[[pytest.MonkeyPatch], None]
HELD: dict[str, Any] = {"report": {"calibration": {"share": 0.3}}}
METHODS: dict[str, dict[str, Any]] = {
    "pca": {"name": "pca"}, "kpca": {"name": "kpca", "kernel": {"name": "gaussian"}},
    "isomap": {"name": "isomap", "neighbors": NEIGHBORS}, "manhattan": {"name": "mds", "metric": "manhattan"}}


def without_leverage(patch: pytest.MonkeyPatch) -> None:
    """Training rows count as rows that the fit has not seen."""
    patch.setattr(computed, "leverage_free", lambda scores, distances, count: scores)


def with_itself(patch: pytest.MonkeyPatch) -> None:
    """A row that is left out is still a neighbor of its neighbors."""
    def left_out(self: scores.ReferenceRows, far: np.ndarray) -> np.ndarray:
        apart = far + np.diag(np.full(len(far), np.inf))
        near = np.argsort(apart, axis=1)[:, : scores.NEAREST]
        return np.take_along_axis(apart, near, axis=1).mean(axis=1) / self.reaches[near].mean(axis=1)

    patch.setattr(scores.ReferenceRows, "left_out", left_out)


def smaller(patch: pytest.MonkeyPatch) -> None:
    """Scores of rows held out are a hundredth smaller than they are."""
    exact = computed.exact
    patch.setattr(computed, "exact", lambda score, found: exact(score, None if found is None else 0.99 * found))


def fewer(patch: pytest.MonkeyPatch) -> None:
    """One of the scores is forgotten."""
    calibrated = computed.calibrated
    patch.setattr(computed, "calibrated", lambda score, found: calibrated(score, found[1:]))


def without_mean(patch: pytest.MonkeyPatch) -> None:
    """The residual of a kernel is that of rows that are not centered."""
    own = scores.kernel_residuals
    patch.setattr(scores, "kernel_residuals", lambda projector, rows, found: own(
        replace(projector, centering=replace(projector.centering, means=0 * projector.centering.means)), rows, found))


FAULTS: dict[str, tuple[str, Patch, dict[str, Any]]] = {
    "residuals of training rows as they are": ("pca", without_leverage, {}),
    "kernel residuals of training rows as they are": ("kpca", without_leverage, {}),
    "neighbors of a row that knows itself": ("isomap", with_itself, {}),
    "neighbors by another metric than the Euclidean": ("manhattan", with_itself, {}),
    "smaller scores of rows held out": ("pca", smaller, HELD),
    "smaller kernel residuals of rows held out": ("kpca", smaller, HELD),
    "a kernel that is not centered": ("kpca", without_mean, {}),
    "a score too few": ("pca", fewer, {})}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_score_fails_the_certificate(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, inject, sections = FAULTS[fault]
    inject(monkeypatch)
    checks = judged(configured(tmp_path, METHODS[method], POINTS, **sections))
    assert {name for name, check in checks.items() if check["verdict"] == "fail"} == {"off manifold"}


@pytest.mark.parametrize("sections", [{}, HELD], ids=["left out", "held out"])
@pytest.mark.parametrize("method", ["isomap", "manhattan", "pca"])
def test_ties_of_a_grid_are_no_fault(method: str, sections: dict[str, Any], tmp_path: Path) -> None:
    grid = np.array([[a, b / 3] for a in range(9) for b in range(7)]) * 0.1
    report = {**sections.get("report", {}), "certify": "full"}
    checks = judged(configured(tmp_path, METHODS[method], np.vstack([grid, grid[:3]]), report=report))
    assert checks["off manifold"]["verdict"] == "pass"


@pytest.mark.parametrize("sections", [{}, HELD, {"prepare": {"reduce": 3}}], ids=["left out", "held out", "reduced"])
@pytest.mark.parametrize("method", METHODS)
def test_an_honest_run_passes_in_every_row(method: str, sections: dict[str, Any], tmp_path: Path) -> None:
    report = {**sections.get("report", {}), "certify": "full"}
    checks = judged(configured(tmp_path, METHODS[method], POINTS, **{**sections, "report": report}))
    assert checks["off manifold"]["verdict"] == "pass" and checks["off manifold"]["exact"]
