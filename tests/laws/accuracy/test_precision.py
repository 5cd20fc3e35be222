"""Distances in single precision: stored, streamed or refused, and never taken for a fault of the eigensolver."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from mlcli.pipeline import run as pipeline
from mlcli.runs.verify import verify
from tests.faults.certificate.support import certificate, configured
from tests.support import features

needs_elimination = pytest.mark.skipif(not native.available(),
                                       reason="no algorithm computes in single precision here")
SINGLE = float(np.finfo(np.float32).eps)


def roll(rows: int) -> np.ndarray:
    generator = np.random.default_rng(5)
    turn, height = 4.5 + 9 * generator.random(rows), 20 * generator.random(rows)
    return np.column_stack([turn * np.cos(turn), height, turn * np.sin(turn)])


def isomap(rows: int, paths: dict[str, Any], **eigensolve: Any) -> Any:
    options = {"name": "isomap", "paths": paths, "eigensolve": eigensolve}
    return METHODS["isomap"].model_validate(options).fit(features(roll(rows)), Compute())


@needs_elimination
@pytest.mark.parametrize("store", ["memory", "disk", "streamed"])
@pytest.mark.parametrize("components", [2, 0.9999])
def test_single_precision_has_its_digits_and_a_certificate(store: str, components: Any, tmp_path: Path) -> None:
    options = {"name": "isomap", "paths": {"store": store, "precision": "float32"},
               "eigensolve": {"components": components}}
    run = pipeline.run(configured(tmp_path, options, roll(160)))
    assert run["certificate"] == "pass"
    assert certificate(tmp_path)["verdict"] == "pass"
    assert verify(tmp_path / "out").certificate.verdict == "pass"
    exact = isomap(160, {"store": "memory", "precision": "float64"}).spectrum.values[:2]
    gap = np.abs(np.array(run["eigenvalues"][:2]) / exact - 1).max()
    assert gap <= 20 * SINGLE
    if store != "streamed" or components == 2:
        assert gap > 0  # it was single precision


@needs_elimination
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_a_stored_kernel_in_single_precision_is_symmetric(solver: str) -> None:
    found = isomap(160, {"store": "memory", "precision": "float32"}, solver=solver)
    exact = isomap(160, {"store": "memory", "precision": "float64"}, solver=solver)
    assert np.allclose(found.spectrum.values[:2], exact.spectrum.values[:2], rtol=20 * SINGLE)
    assert found.spectrum.tolerance == 1e-6 > exact.spectrum.tolerance


@pytest.mark.parametrize("algorithm", ["dijkstra", "floyd"])
def test_single_precision_is_refused_where_there_is_none(algorithm: str) -> None:
    with pytest.raises(ConfigError) as caught:
        isomap(60, {"algorithm": algorithm, "precision": "float32"})
    assert caught.value.code == "E-PRECISION"
    assert caught.value.where == "method.paths.precision"


@pytest.mark.medium
def test_without_kernels_single_precision_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "roll.npy", roll(60))
    command = [str(Path(sys.executable).with_name("mlcli")), "embed", "roll.npy", "--method", "isomap", "-o", "run",
               "--set", "method.paths.precision=float32"]
    ended = subprocess.run(command, cwd=tmp_path, env={**os.environ, "MLCLI_SIMD": "none"}, capture_output=True,
                           text=True, check=False)
    assert ended.returncode == 78
    assert "E-PRECISION" in ended.stderr and "method.paths.precision" in ended.stderr
    assert not (tmp_path / "run").exists()
