"""Every reader of a run directory refuses damage by name: no internal error, no 2 GiB, no 20 seconds."""

import random
import shutil
from pathlib import Path

import pytest

from tests.faults.fuzz.directories import RUNS, damaged, damages, made, new_points
from tests.faults.fuzz.trials import MEMORY, changed, commands, faults_of, peak

QUICK = ("pca", "fa")
EACH = 834  # damages of every run in the long suite: 10,000 in all


def faults(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """What went wrong with damages drawn at random, in words to repeat them by."""
    directory, draw, found = made(folder, name), random.Random(f"{name} {seed}"), []
    every = damages(directory)
    files = sorted({file for file, _, _ in every})
    by_file = {file: [damage for damage in every if damage[0] == file] for file in files}
    for number in range(count):
        file, told, content = draw.choice(by_file[files[number % len(files)]])
        damage = changed(content)
        if damage is not None:
            copy = damaged(directory, folder / "damaged", file, damage)
            shutil.copy(new_points(name), copy / "new.csv")
            found += faults_of(f"{name}, {file}, {told}", commands(copy, file))
    return found


@pytest.mark.medium
@pytest.mark.parametrize("name", QUICK)
def test_damage_is_refused_by_name(tmp_path: Path, name: str) -> None:
    assert faults(tmp_path, name, 6, seed=0) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", RUNS)
def test_ten_thousand_damages(tmp_path: Path, name: str) -> None:
    assert faults(tmp_path, name, EACH, seed=1) == []
    assert peak() < MEMORY
