"""No false alarm: honest runs pass, on every kind of data that the accuracy contract knows."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.certificate.honest import (
    FIRST_CHAIN,
    FIRST_LATENT,
    FIRST_LAYOUT,
    FIRST_LINEAR,
    FIRST_TANGENT,
    verdict,
)
from tests.faults.certificate.support import POINTS, configured, judged


def verdicts(numbers: range, folder: Path, most: int) -> Counter[str]:
    """How often each verdict was given."""
    found: Counter[str] = Counter()
    for number in numbers:
        place = folder / str(number)
        place.mkdir()
        found[verdict(number, place, most)] += 1
    return found


def alarms(found: Counter[str]) -> list[str]:
    """Verdicts that speak of a fault or a doubt."""
    return [text for text in found if not (text == "pass" or text.startswith("E-"))]


@pytest.mark.medium
@pytest.mark.parametrize("first", [0, FIRST_LATENT, FIRST_TANGENT, *(
    pytest.param(first, marks=pytest.mark.slow) for first in (
        *range(15, 60, 15), FIRST_LATENT + 15, FIRST_LATENT + 30, *range(FIRST_LAYOUT, FIRST_LAYOUT + 60, 15)))])
@pytest.mark.filterwarnings("ignore")
def test_honest_runs_pass(first: int, tmp_path: Path) -> None:
    found = verdicts(range(first, first + 15), tmp_path, 200)
    assert not alarms(found)
    assert found["pass"] >= 10


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
def test_honest_runs_of_chains_and_metrics_pass(tmp_path: Path) -> None:
    found = verdicts(range(FIRST_CHAIN, FIRST_CHAIN + 20), tmp_path, 200)
    assert not alarms(found)
    assert found["pass"] >= 10


@pytest.mark.parametrize("number", [420, 617, 624, 729, 826, 934, 1130, 1746, 1748, 20079, 20133, 20134, 20154, 20157,
                                    20626, 10082])
@pytest.mark.filterwarnings("ignore")
def test_runs_that_once_raised_an_alarm_pass(number: int, tmp_path: Path) -> None:
    """Ties of tiny values, costs of zero and of one, far landmarks, outliers, rows roundings apart, tiny squares."""
    assert verdict(number, tmp_path, 2000) == "pass"


@pytest.mark.parametrize("method", [
    {"name": "fa"}, {"name": "fa", "scores": "bartlett"}, {"name": "ppca"}, {"name": "ppca", "solver": "em"}], ids=str)
def test_points_a_hundred_roundings_apart_pass(method: dict[str, Any], tmp_path: Path) -> None:
    """Means of 1e8 are rounded by a hundredth of what the columns vary by: the likelihood knows fewer digits."""
    checks = judged(configured(tmp_path, method, 1e-6 * POINTS + 1e8))
    assert {"pass"} == {check["verdict"] for check in checks.values()} - {"skipped"}, checks


DOUBLED = np.repeat(POINTS[:12], 4, axis=0)
PRESENCE = (np.random.default_rng(2).random((40, 6)) < 0.5).astype(float)
PRESENCE[:, 0] = 1
SHARES = np.random.default_rng(3).dirichlet(np.ones(4), 30) + 0.01


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "values"), [
    *(({"name": "laplacian", "neighbors": {"count": 4, "pieces": "connect"}, **more}, DOUBLED)
      for more in ({}, {"weights": {"name": "heat"}}, {"normalized": False})),
    ({"name": "laplacian", "neighbors": {"count": 8}, "metric": "jaccard"}, PRESENCE),
    ({"name": "sde", "neighbors": {"count": 8}, "metric": "aitchison"}, SHARES),
    ({"name": "lle", "neighbors": {"count": 8}, "metric": "gower"}, POINTS[:30] + 1.7e9),
    ({"name": "mds", "metric": "gower"}, POINTS[:30] + 1.7e9)],
    ids=["twins", "twins by heat", "twins of plain costs", "equal under jaccard", "aitchison", "lle far from zero",
         "mds far from zero"])
def test_equal_rows_and_rows_under_a_metric_pass(method: dict[str, Any], values: Any, tmp_path: Path) -> None:
    checks = judged(configured(tmp_path, method, values))
    assert {"pass"} == {check["verdict"] for check in checks.values()} - {"skipped"}, checks
    assert checks["projection"]["verdict"] == "pass"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", [*range(0, 1200, 100), *range(FIRST_LATENT, FIRST_LATENT + 600, 100),
                                   *range(FIRST_TANGENT, FIRST_TANGENT + 300, 100),
                                   *range(FIRST_LINEAR, FIRST_LINEAR + 300, 100)])
def test_a_thousand_honest_runs_pass(first: int, tmp_path: Path) -> None:
    """More than a thousand are drawn, for some of them have no result: too few axes, all points equal."""
    found = verdicts(range(first, first + 100), tmp_path, 2000)
    assert not alarms(found)
    assert found["pass"] >= 84


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(FIRST_CHAIN, FIRST_CHAIN + 1000, 100))
def test_a_thousand_honest_runs_of_chains_and_metrics_pass(first: int, tmp_path: Path) -> None:
    """Those without a result lie outside of a metric's domain, or all points are equal."""
    found = verdicts(range(first, first + 100), tmp_path, 2000)
    assert not alarms(found)
    assert found["pass"] >= 60
