"""The plan of a fit, which is made once."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from mlcli.core.chain.stages import Stages
from mlcli.core.paths import paths
from mlcli.findings.frame.plan import FitPlan
from mlcli.methods import METHODS
from mlcli.methods.method import Method
from tests.journeys.support import Caller

POINTS = np.random.default_rng(0).random((60, 3))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often plans, resolved methods, chains, copies of the data and plans of paths are made."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        whole = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return whole(*given, **named)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in ((FitPlan, "of"), (Method, "resolve"), (Method, "in_range"), (Method, "steps_before_fit"),
                        (Stages, "__init__"), (paths, "plan_paths")):
        count(owner, name)
    return counts


@pytest.mark.parametrize("method", ["pca", "isomap", "lle"])
def test_a_run_makes_each_part_of_its_plan_once(mlcli: Caller, made: Counter[str], method: str) -> None:
    np.save("points.npy", POINTS)
    assert mlcli("embed", "points.npy", "-m", method, "-o", "run", "-q").code == 0
    assert (made["of"], made["resolve"], made["in_range"], made["steps_before_fit"]) == (1, 1, 1, 1)
    assert made["__init__"] <= 3  # chains: as asked for, resolved, and in the unit of the data
    assert made["plan_paths"] == (method == "isomap")


def test_the_baseline_of_a_layout_is_resolved_once(mlcli: Caller, made: Counter[str]) -> None:
    np.save("points.npy", POINTS)
    short = ("--set", "method.descent.steps=5", "--set", "method.descent.early_steps=5")
    assert mlcli("embed", "points.npy", "-m", "tsne", "-o", "run", "-q", *short).code == 0
    assert (made["of"], made["resolve"]) == (1, 2)  # the layout, and the baseline that is planned and then fitted


def test_a_predicted_run_is_planned_once(mlcli: Caller, made: Counter[str]) -> None:
    np.save("points.npy", POINTS)
    assert json.loads(mlcli("plan", "points.npy", "-m", "isomap", "--json").out)["fits"]
    assert (made["of"], made["resolve"], made["in_range"], made["plan_paths"]) == (1, 1, 1, 1)


def test_the_chain_of_a_method_is_no_part_of_its_value() -> None:
    method, same = METHODS["isomap"](), METHODS["isomap"]()
    chain = method.chain_of("features")
    assert chain is not None
    assert method.chain_of("features") is chain
    assert (method == same, hash(method) == hash(same), method.model_dump() == same.model_dump()) == (True, True, True)
    fewer = method.replace(neighbors=method.neighbors.replace(count=5)).chain_of("features")
    assert fewer is not None
    assert fewer.neighbor_count == 5
