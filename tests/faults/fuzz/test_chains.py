"""Chains drawn at random are refused by name, or their runs are right: certificate, projection, the same bytes again.

A fault that is reported can be repeated from its number.
"""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.config.build import build
from mlcli.config.layers import from_file
from mlcli.core.metrics.distances import squares
from tests.faults.fuzz.chains import Drawn, drawn
from tests.faults.fuzz.trials import tried
from tests.support import EPS, dissimilarities, features

FEW, MANY, EACH = 20, 3000, 250  # chains of the everyday suite, of the long one, and of one test of it
REFUSED = {65, 78, 80, 81, 82}
OWN_FAULTS = ("E-CERTIFICATE", "E-RESIDUAL", "E-INTERNAL")  # errors of which no input is to blame
CLOSE, SINGLE = 1e-5, 1e-2  # of the largest coordinate, how far projected rows may lie from their own; of float32
SINGLE_COST = 1e-7  # how near a cost of one is
FAINT = 1e-6  # of the first eigenvalue: axes below it have too few digits


def outcome(number: int, folder: Path) -> str:
    """`runs`, the code of the refusal, or what is wrong, in words to repeat it by."""
    chain = drawn(number)
    file, out = chain.written(folder), folder / "out"
    trial = tried("run", str(file), "-o", str(out), "-q")
    code = trial.err.partition("error[")[2].partition("]")[0]
    if trial.fault or code in OWN_FAULTS or trial.code not in {0, *REFUSED}:
        return f"chain {number}: exit {trial.code} {trial.fault}: {trial.err[:300]}: {chain.method} of {chain.kind}"
    if trial.code:
        return code
    wrong = [*doubts(out, chain), *repeated(out)]
    return f"chain {number}: {', '.join(wrong)}: {chain.method} of {chain.kind}" if wrong else "runs"


def doubts(out: Path, chain: Drawn) -> list[str]:
    """What a finished run's certificate, or its projection of the training rows, says against it."""
    told = {note["code"] for note in json.loads((out / "run.json").read_text())["warnings"]}
    checks = json.loads((out / "certificate.json").read_text())["checks"]
    found = [f"{check['name']} {check['value']}" for check in checks if check["verdict"] in ("warn", "fail") and not (
        check["name"] == "eigenvalues" and "W-DIGITS" in told)]
    method: Any = build(from_file(out / "config.yaml")).method
    new, again = out.with_name("new.npy"), out.with_name("again.csv")
    roundings = 1 - 8 * EPS * np.random.default_rng(0).random(chain.values.shape)
    np.save(new, np.vstack([chain.values, chain.values * roundings]))
    trial = tried("project", str(out), str(new), "-o", str(again), "-q")
    if trial.code:
        return [*found, f"project: {trial.err[:300]}"]
    if method.reproduces() and not (out / "dropped.csv").exists():
        kept = coordinates(out / "spectrum.csv")[:, 0]
        own = coordinates(out / "embedding.csv")[:, : len(kept)]
        back = coordinates(again)[:, : own.shape[1]]  # beside are scores
        back, rounded = back[: len(own)], back[len(own):]
        cancelled = method.kernel.of_coordinates or method.kernel.of_input  # digits, by centering
        noise = np.abs(rounded - back).max(axis=0) + np.sqrt(EPS) if cancelled else np.zeros(own.shape[1])
        close = SINGLE if "float32" in (out / "config.yaml").read_text() else CLOSE
        gap, allowed = np.abs(own - back)[alone(method, chain)], close * np.abs(own).max() + 100 * noise
        judged = kept[: own.shape[1]] > FAINT * kept[0]
        if method.kernel.of_weights:  # an axis of cost one has no coordinates of new points
            judged &= np.abs(kept[: own.shape[1]] - 1) > SINGLE_COST
        wide = (gap > allowed) & judged
        found += [f"training rows are projected {gap.max():.1e} beside themselves"] if wide.any() else []
    return found


def coordinates(file: Path) -> Array:
    """The numbers of a table, without its first column and its head."""
    return np.genfromtxt(file, delimiter=",", skip_header=1, ndmin=2)[:, 1:]


def alone(method: Any, chain: Drawn) -> Array:
    """Which rows lie apart from all others; equal ones may be told apart by the fit, and new points cannot."""
    if chain.kind == "kernel":
        return np.ones(len(chain.values), dtype=bool)
    data = features(chain.values) if chain.kind == "features" else dissimilarities(chain.values)
    squared = squares(method.with_metric(data))
    return np.asarray((squared <= EPS * squared.max()).sum(axis=1) == 1)


def repeated(out: Path) -> list[str]:
    """The files that the run's own configuration does not make again, to the byte."""
    other = out.with_name("other")
    trial = tried("run", str(out / "config.yaml"), "-o", str(other), "-q")
    if trial.code:
        return [f"config.yaml: {trial.err[:300]}"]
    files = ("embedding.csv", "spectrum.csv", "certificate.json")
    return [name for name in files if (out / name).read_bytes() != (other / name).read_bytes()]


def outcomes(numbers: range, folder: Path) -> Counter[str]:
    """How often chains ended in each way."""
    found: Counter[str] = Counter()
    for number in numbers:
        place = folder / str(number)
        place.mkdir()
        found[outcome(number, place)] += 1
        shutil.rmtree(place)
    return found


def faults(found: Counter[str]) -> list[str]:
    """What is wrong."""
    return [told for told in found if told.startswith("chain ")]


@pytest.mark.medium
def test_random_chains_run_or_are_refused(tmp_path: Path) -> None:
    found = outcomes(range(FEW), tmp_path)
    assert faults(found) == []
    assert found["runs"] >= FEW / 3


@pytest.mark.parametrize("number", [
    1524,  # a sparse diffusion of points that lie on each other, by few neighbors
    2892])  # edges of an approximate search that both of their ends chose
def test_chains_that_failed_their_certificate_run(tmp_path: Path, number: int) -> None:
    assert outcome(number, tmp_path) == "runs"


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("first", range(0, MANY, EACH))
def test_thousands_of_random_chains(first: int, tmp_path: Path) -> None:
    found = outcomes(range(first, first + EACH), tmp_path)
    assert faults(found) == []
    assert found["runs"] >= EACH / 3
