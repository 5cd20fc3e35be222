"""Without JAX: what needs no training runs, finished networks are used, and training ends with 69 before it reads."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.program import run
from tests.faults.certificate.support import write_csv
from tests.processes import python

POINTS = np.random.default_rng(4).standard_normal((40, 4)) * [3, 2, 1, 0.5]
# a finder of modules that knows of none of the extra's
VIEW = POINTS @ np.random.default_rng(5).standard_normal((4, 3)) + np.random.default_rng(6).standard_normal((40, 3))
METHODS = {"autoencoder": (), "vae": (), "vib": ("--view", "view.csv")}
HIDDEN = """
import sys, importlib.util, importlib.abc
class Hiding(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jax", "jaxlib", "optax"):
            raise ModuleNotFoundError(name)
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("jax", "optax") else known(name, *rest)
sys.meta_path.insert(0, Hiding())
import contextlib, json, os
os.chdir(sys.argv[1])
from mlcli.cli.program import run
codes = []
for command in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(sys.stderr):
        codes.append(run(command))
print(json.dumps(codes))
"""


@pytest.mark.slow
def test_all_but_training_works_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "data.csv", POINTS)
    write_csv(tmp_path / "view.csv", VIEW)
    monkeypatch.setenv("MLCLI__INPUT__ID_COLUMN", "id")
    deep = ["--set", "method.layers=[5]", "--set", "method.learning.epochs=3"]
    for method, view in METHODS.items():
        assert run(["embed", "data.csv", "-m", method, *view, "-q", "-o", f"deep-{method}", *deep]) == 0
    commands = [command for method, view in METHODS.items() for command in (
        ["project", f"deep-{method}", "data.csv", "-q", "-o", f"{method}.csv"],
        ["reconstruct", f"deep-{method}", f"deep-{method}/embedding.csv", "-q", "-o", f"{method}-back.csv"],
        ["verify", f"deep-{method}", "--full"], ["report", f"deep-{method}"],
        ["embed", "data.csv", "-m", method, *view, "-q", "-o", f"linear-{method}"],
        ["embed", "absent.csv", "-m", method, *view, "-q", "-o", f"none-{method}", *deep])]
    codes = python(HIDDEN, tmp_path, json.dumps(commands), MLCLI__INPUT__ID_COLUMN="id")
    assert json.loads(codes) == [*[0, 0, 0, 0, 0, 69] * 2, 0, 78, 0, 0, 0, 69]  # none leads back to the first view
    header = "iteration,objective,validation"
    assert (tmp_path / "deep-autoencoder" / "trace.csv").read_text().startswith(f"{header}\n1,")
    assert (tmp_path / "deep-vae" / "trace.csv").read_text().startswith(f"{header},reconstruction,divergence\n1,")
    assert (tmp_path / "deep-vib" / "trace.csv").read_text().startswith(f"{header},kept,relevant\n1,")
    assert (tmp_path / "deep-vae" / "posterior.csv").read_text().startswith("id,y1,y2\n0,")
    page = (tmp_path / "deep-vae" / "report.html").read_text()
    for title in ("Objective and validation", "Reconstruction", "Divergence"):
        assert f"{title} by iteration" in page
    for method in METHODS:
        placed, fitted = (file.read_text().splitlines() for file in (
            tmp_path / f"{method}.csv", tmp_path / f"deep-{method}" / "embedding.csv"))
        assert [line.split(",")[:3] for line in placed] == [line.split(",") for line in fitted]
        assert not (tmp_path / f"none-{method}").exists()
