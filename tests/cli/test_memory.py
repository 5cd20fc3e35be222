"""What `plan` predicts is what `embed` refuses by, and near what the operating system counts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.units import memory
from mlcli.methods import METHODS
from tests.cli.support import Caller

POINTS = np.random.default_rng(0)
AROUND = {"read", "prepare", "dimension", "reconstruct", "quality", "write", "certify"}  # what all methods share


def swiss_roll(rows: int) -> np.ndarray:
    angle = 1.5 * np.pi * (1 + 2 * POINTS.random(rows))
    return np.column_stack([angle * np.cos(angle), 21 * POINTS.random(rows), angle * np.sin(angle)])


@pytest.fixture
def table(own_directory: Path) -> None:
    points = POINTS.standard_normal((48, 3)).tolist()
    lines = [f"p{i},{','.join(map(repr, row))},{'ab'[i % 2]}" for i, row in enumerate(points)]
    Path("points.csv").write_text("\n".join([",x,y,z,group", *lines, ""]))
    Path("view.csv").write_text("\n".join([",u,v", *(f"p{i},{row[0] + i % 3},{row[1]}"
                                                       for i, row in enumerate(points)), ""]))


OWN = {"cca": ("--view", "view.csv"), "ibfa": ("--view", "view.csv"), "fa": ("-p", "1"),
       "gpdm": ("--set", "method.minimize.limit=9"), "lgssm": ("--set", "method.iterate.limit=9"),
       "isomap": ("--set", "method.paths.store=memory"), "sde": ("-k", "4", "--set", "method.constraints=at_most")}


@pytest.mark.parametrize("method", METHODS)
def test_plan_and_embed_refuse_alike(mlcli: Caller, table: None, method: str) -> None:
    given = ("points.csv", "-m", method, "--label-column", "group", *OWN.get(method, ()))
    predicted = json.loads(mlcli("plan", *given, "--json").out)["memory"]
    for share, code in ((0.995, 82), (1.005, 0)):
        limited = (*given, "--memory-limit", str(round(share * predicted)))
        assert mlcli("plan", *limited).code == code
        ended = mlcli("embed", *limited, "-o", f"run-{code}", "-q")
        assert ended.code == code, ended.err
        assert (f"needs about {memory(predicted)}" in ended.err) == (code == 82)


def test_landmarks_take_less_in_plan_too(mlcli: Caller) -> None:
    np.save("roll.npy", swiss_roll(3000))
    for method in ("mds", "isomap"):
        given = ("roll.npy", "-m", method, "--json", *(("--set", "method.paths.store=memory") * (method == "isomap")))
        planned = [json.loads(mlcli("plan", *given, *more).out)["steps"]
                   for more in ((), ("--set", "method.landmarks=100"))]
        whole, few = (max(step["memory"] for step in steps if step["stage"] not in AROUND) for steps in planned)
        assert few < whole / 4


def test_a_plan_does_not_depend_on_the_load(mlcli: Caller) -> None:
    np.save("points.npy", POINTS.standard_normal((400, 60)))
    for method in ("pca", "mds", "kpca", "lle", "ica"):
        assert len({mlcli("plan", "points.npy", "-m", method, "--json").out for _ in range(3)}) == 1


STORED, AT_MOST = ("--set", "method.paths.store=memory"), ("--set", "method.constraints=at_most")
SIZES = [("mds", 2000, ()), ("mds", 6000, ()), ("kpca", 2000, ()), ("kpca", 6000, ()), ("pca", 1000, ()),
         ("pca", 2000, ()), ("isomap", 4000, STORED), ("isomap", 7000, STORED),
         ("isomap", 60_000, ()), ("lle", 2000, ()), ("lle", 7000, ()), ("sde", 200, AT_MOST), ("sde", 400, AT_MOST)]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rows", "options"), SIZES)
def test_predicted_memory_is_near_the_measured(tmp_path: Path, method: str, rows: int,
                                               options: tuple[str, ...]) -> None:
    points = POINTS.standard_normal((rows, 3000 if method == "pca" else 10))
    np.save(tmp_path / "points.npy", points if method in ("mds", "kpca", "pca") else swiss_roll(rows))
    command = [sys.executable, "-m", "mlcli"]
    given = ["points.npy", "-m", method, "--threads", "2", *options]
    told = subprocess.run([*command, "plan", *given, "--json"], cwd=tmp_path, check=True, capture_output=True).stdout
    run = os.posix_spawn("/bin/sh", ["sh", "-c", 'cd "$0" && exec "$@"', str(tmp_path), *command, "embed", *given, "-q",
                                     "-o", "run"], os.environ)
    _, status, used = os.wait4(run, 0)
    assert status == 0
    # the child's figure begins with this process's own size, so that of the run itself is read
    measured = max(stage["peak_memory_mib"] for stage in json.loads((tmp_path / "run/run.json").read_text())["stages"])
    assert used.ru_maxrss / 2**10 >= measured - 0.1  # which is rounded
    assert measured <= json.loads(told)["memory"] / 2**20 <= 1.35 * measured
