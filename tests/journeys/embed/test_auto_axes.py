"""`-p auto`: as many axes as the rules recommend of a fit with the default count."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from mlcli.engine import cache
from tests.findings.dimension.support import planted
from tests.journeys.support import Caller
from tests.wording import Wording


@pytest.fixture
def near_a_space(mlcli: Caller) -> Path:
    """Points near four dimensions of eight."""
    np.save("near.npy", planted(300, 8, 4, 0.3))
    return Path("near.npy")


@pytest.mark.medium
def test_the_rules_decide_and_the_run_is_the_one_with_that_count(mlcli: Caller, near_a_space: Path) -> None:
    called = mlcli("embed", near_a_space, "-p", "auto", "-v", "-o", "auto")
    assert called.code == 0 and "N-AUTO" in called.err
    assert mlcli("embed", near_a_space, "-p", "4", "-o", "four").code == 0
    assert Path("auto/embedding.csv").read_bytes() == Path("four/embedding.csv").read_bytes()
    assert yaml.safe_load(Path("auto/config.yaml").read_text())["method"]["eigensolve"]["components"] == 4
    found = json.loads(Path("auto/dimension.json").read_text())
    assert found["kept"] == 4 == found["recommendation"]["components"]
    assert mlcli("verify", "auto").code == 0
    assert (silent := mlcli("verify", "auto", "-q")).code == 0 and not silent.out
    stages = [stage["stage"] for stage in json.loads(Path("auto/run.json").read_text())["stages"]]
    assert len(stages) == len(set(stages)) and "dimension" in stages


def test_the_first_fit_shows_how_far_it_is(mlcli: Caller, near_a_space: Path) -> None:
    called = mlcli("embed", near_a_space, "-m", "isomap", "-p", "auto", "--progress", "json", "-o", "auto")
    events = [json.loads(line) for line in called.err.splitlines()]
    begun = next(place for place, event in enumerate(events) if event.get("stage") == "dimension")
    ended = next(place for place, event in enumerate(events) if (event["event"], event.get("stage")) == (
        "end", "dimension"))
    parts = {event["part"] for event in events[begun:ended] if event["event"] == "advance"}
    assert "neighbors" in parts
    assert [event["code"] for event in events[begun:ended] if event["event"] == "note"] == []


@pytest.mark.medium
def test_the_second_fit_takes_from_a_cache_what_the_first_one_left(mlcli: Caller, near_a_space: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("embed", near_a_space, "-m", "isomap", "-k", "20", "-p", "auto", "-q", "-o")
    assert mlcli(*given, "alone").code == 0
    monkeypatch.setattr(cache, "WORTHWHILE", 0.0)
    monkeypatch.setenv("MLCLI_CACHE", "kept")
    assert mlcli(*given, "auto").code == 0
    answers = [(answer["stage"], answer["taken"]) for answer in json.loads(Path("auto/run.json").read_text())["cache"]]
    assert answers.index(("neighbors", False)) < answers.index(("neighbors", True))
    assert Path("auto/embedding.csv").read_bytes() == Path("alone/embedding.csv").read_bytes()


def test_factors_too_and_without_their_rules_in_the_run(mlcli: Caller, near_a_space: Path) -> None:
    assert mlcli("embed", near_a_space, "-m", "fa", "-p", "auto", "--set", "report.dimension=false",
                 "-o", "fa").code == 0
    assert len(Path("fa/embedding.csv").read_text().splitlines()[0].split(",")) == 1 + 4
    assert not Path("fa/dimension.json").exists()
    planned = mlcli("plan", near_a_space, "-m", "fa", "-p", "auto")
    assert planned.code == 0 and "a fit for them" in planned.out


def test_a_method_without_rules_and_rules_without_a_vote_are_refused(mlcli: Caller, near_a_space: Path,
                                                                     wording: Wording) -> None:
    called = mlcli("embed", near_a_space, "-m", "ica", "-p", "auto", "-o", "no")
    assert called.code == 78 and "E-CONFIG" in called.err and not Path("no").exists()
    np.save("wide.npy", np.random.default_rng(0).standard_normal((300, 30)))
    called = mlcli("embed", "wide.npy", "-m", "lle", "-p", "auto", "--set", "method.neighbors.count=12", "-o", "no")
    assert called.code == 78 and "E-NO-RULES" in wording(called.err)
