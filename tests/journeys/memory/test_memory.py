"""What `plan` predicts is what `embed` refuses by, and near what the operating system counts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlcli.methods import METHODS
from tests.journeys.support import Caller
from tests.processes import call

POINTS = np.random.default_rng(0)
AROUND = {"read", "prepare", "dimension", "reconstruct", "quality", "write", "certify"}  # what all methods share


def swiss_roll(rows: int) -> np.ndarray:
    angle = 1.5 * np.pi * (1 + 2 * POINTS.random(rows))
    return np.column_stack([angle * np.cos(angle), 21 * POINTS.random(rows), angle * np.sin(angle)])


@pytest.fixture
def table(own_directory: Path) -> None:
    points = POINTS.standard_normal((48, 3)).tolist()
    lines = [f"{i},{','.join(map(repr, row))},{'ab'[i % 2]}" for i, row in enumerate(points)]
    Path("points.csv").write_text("\n".join([",x,y,z,group", *lines, ""]))
    Path("view.csv").write_text("\n".join([",u,v", *(f"{i},{row[0] + i % 3},{row[1] + i % 5}"
                                                       for i, row in enumerate(points)), ""]))
    Path("amounts.csv").write_text("\n".join([",x,y,z,group,content", *(
        f"{i},{','.join(repr(abs(value)) for value in row)},{'ab'[i % 2]},{'cdefghij'[i // 2 % 8]}"
        for i, row in enumerate(points)), ""]))
    Path("answers.csv").write_text("\n".join([",x,y,z,group", *(
        f"{i},{','.join('lmh'[int(value > -0.4) + int(value > 0.4)] for value in row)},{'ab'[i % 2]}"
        for i, row in enumerate(points)), ""]))


OFTEN = {"pca": (), "isomap": (), **dict.fromkeys(("mds", "lle", "fa", "autoencoder"), (pytest.mark.medium,))}
OWN = {"cca": ("--view", "view.csv"), "ibfa": ("--view", "view.csv"), "mvgplvm": (
           "--view", "view.csv", "--set", "method.minimize.limit=9"),
       "rda": ("--view", "view.csv"), "dbrda": ("--view", "view.csv"), "fa": ("-p", "1"),
       "gpdm": ("--set", "method.minimize.limit=9"), "gpssm": ("--set", "method.minimize.limit=9"),
       "lgssm": ("--set", "method.iterate.limit=9"),
       "gib": ("--view", "view.csv"), "vib": ("--view", "view.csv"), "bilinear": ("--label-column", "content"),
       "isomap": ("--set", "method.paths.store=memory"), "sde": ("-k", "9", "--set", "method.constraints=at_most")}
TABLES = {**dict.fromkeys(("bilinear", "ca", "nmf", "ib"), "amounts.csv"), "mca": "answers.csv"}


@pytest.mark.parametrize("method", [pytest.param(name, marks=OFTEN.get(name, (pytest.mark.slow,))) for name in METHODS])
def test_plan_and_embed_refuse_alike(table: None, method: str) -> None:
    """Each call is a process of its own: what others have loaded into this one would be counted as the program's."""
    given = (TABLES.get(method, "points.csv"), "-m", method, "--label-column", "group", *OWN.get(method, ()))
    predicted = json.loads(call("plan", *given, "--json").stdout)["memory"]
    for share, code in ((0.995, 82), (1.005, 0)):
        limited = (*given, "--memory-limit", str(round(share * predicted)))
        assert call("plan", *limited).returncode == code
        ended = call("embed", *limited, "-o", f"run-{code}", "-q")
        assert ended.returncode == code, ended.stderr
        told = re.search(r"needs about ([0-9.]+) MiB", ended.stderr)  # before the graph is known, of what is known
        assert (told is not None) == (code == 82)
        assert told is None or abs(float(told[1]) * 2**20 / predicted - 1) <= 0.01


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
        plans = [json.loads(mlcli("plan", "points.npy", "-m", method, "--json").out) for _ in range(3)]
        assert all({**plan, "disk_free": 0} == {**plans[0], "disk_free": 0} for plan in plans)


def test_a_plan_tells_pieces_of_a_graph_or_that_it_does_not_look_for_them(mlcli: Caller) -> None:
    np.save("apart.npy", np.concatenate([POINTS.random((40, 3)), 100 + POINTS.random((40, 3))]))
    for method, told in (("isomap", "in 2 pieces of 40, 40 points"), ("laplacian", "not looked for"),
                         ("lle", "not looked for"), ("ltsa", "not looked for")):
        graph, = (step["how"] for step in json.loads(mlcli("plan", "apart.npy", "-m", method, "--json").out)["steps"]
                  if step["stage"] == "graph")
        assert told in graph
        assert ("not looked for" in graph) == (method != "isomap")


PEAK = """
import resource, subprocess, sys
ended = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(ended.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10, ended.stderr)
"""  # a child's peak would begin with the memory of its parent


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of a peak is that of Linux")
@pytest.mark.parametrize(("method", "limit", "says"), [
    ("isomap", 75, False), ("laplacian", 100, True), ("laplacian", 110, True), ("diffusion", 120, True),
    ("pca", 100, True)])
def test_a_refusal_takes_no_more_than_the_limit(own_directory: Path, method: str, limit: int, says: bool) -> None:
    """Neither a table is read that does not fit beside the program, nor are samples planned that do not.

    How many rows fit is said also where there is no room for a copy of the table.
    """
    points = POINTS.standard_normal((40_000, 50))
    np.save("wide.npy", points)
    given = ("-m", method, "--threads", "1", "--memory-limit", f"{limit}M", "--set", "input.stream=never")
    command = (sys.executable, "-m", "mlcli", "embed", "wide.npy", *given, "-q", "-o", "run")
    ended = subprocess.run([sys.executable, "-c", PEAK, *command], capture_output=True, text=True, check=True)
    code, peak, said = ended.stdout.split(" ", 2)
    assert int(code) == 82
    assert float(peak) <= limit
    rows = re.search(r"about ([0-9,]+) rows fit", said)
    assert (rows is not None) == says
    if rows is not None:
        np.save("fewer.npy", points[: int(rows[1].replace(",", ""))])
        plan = (sys.executable, "-m", "mlcli", "plan", "fewer.npy", *given, "-q")
        assert subprocess.run(plan, check=False).returncode == 0
