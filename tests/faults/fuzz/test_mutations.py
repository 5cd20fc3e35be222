"""Random damage to everything that is read, in processes with limits: a result, or an error by its name.

No case may end in an internal error, go on for long, or take memory without limit. A fault that is reported can be
repeated from the name and the number: `faults_of([(name, number)], folder)`.
"""

import json
import os
import random
import re
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from mlcli.engine import cache as cache_module
from tests.faults.fuzz.directories import RUNS, SAMPLES, damaged, made, new_points
from tests.faults.fuzz.inputs import KINDS
from tests.faults.fuzz.isolated import Key, faults
from tests.faults.fuzz.mutations import mutated
from tests.faults.fuzz.trials import commands, tried

CALLS = (("embed", "-o", "-", "-q"), ("embed", "-o", "-", "-q"), ("check",), ("plan",))
CRASHING = (".parquet", ".arrow", ".feather", ".mat")  # of formats whose reader may crash on damage: it can be killed
CONFIGS = {"pca-iris": "iris.csv", "sweep-isomap": "swiss_roll.csv", "chain-geodesic-gaussian": "helix.npy"}
SEVERAL = re.compile(r": exit \d+ and ([2-9]|\d\d+) errors: ")  # one for each run of a sweep
CACHED = ("embed", str(SAMPLES / "us_arrests.csv"), "-m", "isomap", "-k", "8", "-q")
STORED = {".csv", ".json", ".yaml", ".npz", ".npy", ".parquet"}


@cache
def contents() -> dict[str, bytes]:
    """A whole input of every format."""
    return {name: kind.content() for name, kind in KINDS.items()}


def of_input(name: str, number: int, folder: Path) -> str:
    """What is wrong with a command on a damaged input of a format."""
    draw = random.Random(f"{name} {number}")
    told, content = mutated(contents()[name], draw, [*contents().values()])
    (folder / name).write_bytes(content)
    command, *rest = draw.choice(CALLS)
    return ended(told, command, str(folder / name), *KINDS[name].options_of(command), *rest)


def of_configuration(name: str, number: int, folder: Path) -> str:
    """What is wrong with a command on a damaged configuration."""
    draw = random.Random(f"{name} {number}")
    text = (SAMPLES.parent / "configs" / f"{name}.yaml").read_bytes()
    told, content = mutated(text.replace(b"sample_data", str(SAMPLES).encode()), draw)
    (folder / "damaged.yaml").write_bytes(content)
    os.chdir(folder)
    if not name.startswith("sweep") and draw.random() < 0.5:  # a plan is one of a single run
        return ended(told, "plan", "damaged.yaml")
    wrong = ended(told, "run", "damaged.yaml", "-o", "out", "--force", "-q")
    return "" if SEVERAL.search(wrong) else wrong


def of_run(name: str, number: int, folder: Path) -> str:
    """What is wrong with a command on a run of which a file is damaged, under hashes that fit."""
    draw = random.Random(f"{name} {number}")
    files = {path.name: path.read_bytes() for path in sorted((folder / name).iterdir()) if path.suffix in STORED}
    file = draw.choice(list(files))
    told, content = mutated(files[file], draw, list(files.values()))
    copy = damaged(folder / name, folder / "damaged", file, content)
    shutil.copy(new_points(name), copy / "new.csv")
    return ended(f"{file}: {told}", *draw.choice(commands(copy, file)))


def of_cache(name: str, number: int, folder: Path) -> str:
    """What is wrong with a run beside a cache of which a result is damaged, half of the time under a hash that fits."""
    draw = random.Random(f"{name} {number}")
    shutil.rmtree(folder / "cache", ignore_errors=True)
    shutil.copytree(folder / "kept", folder / "cache")
    file = draw.choice(sorted((folder / "cache").iterdir()))
    told, content = mutated(file.read_bytes(), draw)
    content, fits = (rehashed(content), True) if draw.random() < 0.5 else (content, False)
    file.write_bytes(content)
    wrong = ended(f"{file.name}: {told}", *CACHED, "--set", f"compute.cache={folder / 'cache'}", "-o",
                  str(folder / "again"), "--force")
    same = fits or (folder / "again/embedding.csv").read_bytes() == (folder / "first/embedding.csv").read_bytes()
    return wrong or ("" if same else f"{file.name}: {told}: another embedding")


def rehashed(content: bytes) -> bytes:
    """A stored result with the hash of what it holds, where it still has a head."""
    line, end, rest = content.partition(b"\n")
    try:
        header = json.loads(line)
        header["sha256"] = cache_module._hash(header["tree"], rest)
    except (ValueError, KeyError, TypeError, RecursionError):
        return content
    return json.dumps(header).encode() + end + rest


def prepared(name: str, folder: Path) -> bool:
    """Makes the run that a subject damages a file of, or the cache."""
    if name in RUNS:
        return made(folder, name).exists()
    cache_module.WORTHWHILE = 0.0
    return tried(*CACHED, "--set", f"compute.cache={folder / 'kept'}", "-o", str(folder / "first")).code == 0


def ended(told: str, *arguments: str) -> str:
    """What is wrong with the end of a call."""
    trial = tried(*arguments)
    return trial.fault and f"{told}: {' '.join(arguments)}: {trial.fault}: {trial.err[:400]}"


SUBJECTS: dict[str, Callable[[str, int, Path], str]] = {
    **dict.fromkeys(KINDS, of_input), **dict.fromkeys(CONFIGS, of_configuration), **dict.fromkeys(RUNS, of_run),
    "cache": of_cache}
EACH = -(-10_000 // len(SUBJECTS))  # cases of every subject in the long suite: 10,000 in all
QUICK, FEW = (*KINDS, "pca-iris", "pca", "fa", "cache"), 1  # subjects of the everyday suite, and cases of each


def faults_of(keys: Iterable[Key], folder: Path) -> list[str]:
    """What is wrong with cases by their subjects and numbers."""
    keys = list(keys)
    runs = dict.fromkeys((name, 0) for name, _ in keys if name in (*RUNS, "cache"))
    unmade = faults(lambda name, _: "" if prepared(name, folder) else "not made", runs)  # no threads of JAX here
    return unmade or faults(lambda name, number: SUBJECTS[name](name, number, folder), keys, CRASHING)


@pytest.mark.medium
def test_random_damage_ends_by_name(tmp_path: Path) -> None:
    assert faults_of(product(QUICK, range(FEW)), tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", SUBJECTS)
def test_ten_thousand_random_damages(tmp_path: Path, name: str) -> None:
    assert faults_of(product([name], range(EACH)), tmp_path) == []
