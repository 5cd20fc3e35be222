"""Every reader of inputs refuses damage by name: no internal error, no 2 GiB, no 20 seconds."""

import random
from pathlib import Path

import pytest

from tests.faults.fuzz.directories import SAMPLES
from tests.faults.fuzz.documents import of_yaml
from tests.faults.fuzz.inputs import KINDS
from tests.faults.fuzz.trials import MEMORY, changed, faults_of, peak, tried

EACH = 1250  # damages of every format in the long suite, where there are so many
CALLS = (("check",), ("plan",), ("embed", "-o", "-", "-q"))


def faults(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """What went wrong with damages drawn at random, in words to repeat them by."""
    kind = KINDS[name]
    every, draw, found = kind.damages(kind.content()), random.Random(f"{name} {seed}"), []
    calls = [(command, str(folder / name), *kind.options_of(command), *rest) for command, *rest in CALLS]
    for told, content in draw.sample(every, min(count, len(every))):
        damaged = changed(content)
        if damaged is not None:
            (folder / name).write_bytes(damaged)
            found += faults_of(f"{name}, {told}", calls)
    return found


@pytest.mark.parametrize("name", KINDS)
def test_damaged_inputs_are_refused_by_name(tmp_path: Path, name: str) -> None:
    assert faults(tmp_path, name, 2, seed=0) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", KINDS)
def test_all_damages_of_inputs(tmp_path: Path, name: str) -> None:
    assert faults(tmp_path, name, EACH, seed=1) == []
    assert peak() < MEMORY


CONFIGS = {"pca-iris": "iris.csv", "chain-geodesic-gaussian": "helix.npy"}


def config_faults(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """Faults of configurations that `plan` and `run` are given."""
    path, found = folder / "run.yaml", []
    tried("run", str(SAMPLES.parent / "configs" / f"{name}.yaml"), "--set",
          f"input.path={SAMPLES / CONFIGS[name]}", "-o", str(folder / "whole"), "-q")
    every = of_yaml((folder / "whole" / "config.yaml").read_bytes())
    for told, content in random.Random(seed).sample(every, min(count, len(every))):
        path.write_bytes(content())
        found += faults_of(f"{name}, {told}", (
            ("plan", str(path)), ("run", str(path), "-o", str(folder / "again"), "--force", "-q")))
    return found


@pytest.mark.medium
@pytest.mark.parametrize("name", CONFIGS)
def test_damaged_configurations_are_refused_by_name(tmp_path: Path, name: str) -> None:
    assert config_faults(tmp_path, name, 6, seed=0) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", CONFIGS)
def test_all_damages_of_configurations(tmp_path: Path, name: str) -> None:
    assert config_faults(tmp_path, name, EACH, seed=1) == []
