"""A cache answers for neighbors, elimination and eigensolve: the same bytes, the same notes, nothing computed."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.context import set_context
from mlcli.base.stages.stage import listening
from mlcli.core.graph.neighbors import first_neighbors, nearest_lists
from mlcli.core.kernels import streamed
from mlcli.data.samples import sample
from mlcli.engine import cache as engine
from mlcli.pipeline import run as pipeline
from mlcli.pipeline.process import ALONE, Process
from tests.faults.certificate.support import configured
from tests.support import dissimilarities, distances, features

ROLL = sample("swiss-roll", 250, 0).values
eliminates = native.available()
STREAMED = {"name": "isomap", "neighbors": {"count": 9}, "paths": {"store": "streamed"},
            "eigensolve": {"solver": "krylov"}}
ELIMINATED = {**STREAMED, "paths": {"store": "streamed", "algorithm": "elimination"}}
RUNS: dict[str, dict[str, Any]] = {
    "isomap streamed": ELIMINATED,
    "isomap streamed in double precision": {**ELIMINATED, "paths": {**ELIMINATED["paths"], "precision": "float64"}},
    "isomap streamed by dijkstra": {**STREAMED, "paths": {"store": "streamed", "algorithm": "dijkstra"}},
    "isomap dense": {"name": "isomap", "neighbors": {"count": 9}, "paths": {"store": "memory"}},
    "isomap in memory by elimination": {"name": "isomap", "neighbors": {"count": 9},
                                        "paths": {"store": "memory", "algorithm": "elimination"}},
    "isomap within a radius": {"name": "isomap", "neighbors": {"radius": 4.5, "pieces": "largest"}},
    "isomap of landmarks": {"name": "isomap", "neighbors": {"count": 9}, "landmarks": 50},
    "lle": {"name": "lle", "neighbors": {"count": 9}},
    "lle krylov": {"name": "lle", "neighbors": {"count": 9}, "eigensolve": {"solver": "krylov"}},
    "kpca": {"name": "kpca", "kernel": {"name": "gaussian", "rate": 0.02}},
    "kpca streamed": {"name": "kpca", "kernel": {"name": "gaussian", "rate": 0.02}},
    "mds": {"name": "mds"},
    "pca": {"name": "pca", "eigensolve": {"components": 3}},
}
ANSWERED = ("neighbors", "elimination", "eigensolve")


class OfStages(engine.Folder):
    """A folder that keeps the results of some stages only."""

    def __init__(self, path: Path, *stages: str) -> None:
        super().__init__(path)
        self.stages = stages

    def take(self, name: str, *rest: Any) -> Any:
        return super().take(name, *rest) if self.holds(name) else None

    def keep(self, name: str, *rest: Any) -> bool:
        return self.holds(name) and super().keep(name, *rest)

    def holds(self, name: str) -> bool:
        return engine.CacheEntry(self.path / name, 0, 0.0).stage in self.stages


class Cache(engine.StageCache):
    """The cache of stages, which says of each run by name what was computed for it and what was found."""

    def __init__(self, folder: Path, *answered: str) -> None:
        super().__init__(OfStages(folder / "cache", *answered), {})

    def forget(self) -> None:
        """Forgets what it has answered."""
        self.answers.clear()

    @property
    def missed(self) -> list[str]:
        return [answer.stage for answer in self.answers if not answer.taken]

    @property
    def found(self) -> list[str]:
        return [answer.stage for answer in self.answers if answer.taken]


@pytest.fixture(autouse=True)
def everything_is_worthwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WORTHWHILE", 0.0)


def run(folder: Path, method: dict[str, Any], cache: Cache | None = None, process: Process = ALONE,
        **sections: Any) -> dict[str, Any]:
    """What a run wrote, and what it says of itself."""
    config = configured(folder, method, ROLL, **sections)
    with nullcontext() if cache is None else listening(cache):
        pipeline.run(config, process, force=True)
    said = json.loads((folder / "out/run.json").read_text())
    files = {name: (folder / "out" / name).read_bytes() for name in ("embedding.csv", "spectrum.csv", "model.npz")}
    return {**files, **{name: said[name] for name in ("warnings", "notes", "facts")},
            "stages": [stage["stage"] for stage in said["stages"]]}


def differing(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What two runs differ in, but for the stages that were computed."""
    return [name for name in first if name != "stages" and first[name] != second[name]]


@pytest.mark.parametrize("name", RUNS)
def test_a_second_run_is_answered_to_the_same_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "elimination" in str(RUNS[name]) and not eliminates:
        pytest.skip("needs the native kernels")
    if name == "kpca streamed":
        monkeypatch.setattr(streamed, "STORED", 1)
    cache = Cache(tmp_path, *ANSWERED)
    alone, first = run(tmp_path, RUNS[name]), run(tmp_path, RUNS[name], cache)
    computed = cache.missed
    cache.forget()
    second = run(tmp_path, RUNS[name], cache)
    assert differing(alone, first) == [] and differing(alone, second) == []
    assert alone["stages"] == first["stages"] and set(computed) <= set(first["stages"])
    assert "eigensolve" in computed and ("neighbors" in computed) == ("neighbors" in RUNS[name])
    assert cache.missed == [] and sorted(cache.found) == sorted(computed)
    assert not {*ANSWERED} & {*second["stages"]}  # those who watch saw none of them being computed


@pytest.mark.medium
def test_the_notes_of_what_is_not_computed_are_told_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path, *ANSWERED)
    for name, kind, code in (("isomap dense", "warnings", "W-NEGATIVE"), ("lle krylov", "facts", "F-KRYLOV")):
        first, second = (run(tmp_path, RUNS[name], cache)[kind] for _ in range(2))
        assert code in {note["code"] for note in first} and first == second


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]] = {  # of method and compute, and what is computed
    "nothing": ({}, {}, set()),
    "another count": ({"neighbors": {"count": 11}}, {}, {*ANSWERED}),
    "a radius": ({"neighbors": {"radius": 5.5, "pieces": "largest"}}, {}, {*ANSWERED}),
    "a mutual graph": ({"graph": "mutual", "neighbors": {"count": 9, "pieces": "largest"}}, {}, {*ANSWERED[1:]}),
    "another precision": ({"paths": {**ELIMINATED["paths"], "precision": "float64"}}, {}, {*ANSWERED[1:]}),
    "another tolerance": ({"eigensolve": {"solver": "krylov", "tolerance": 1e-3}}, {}, {"eigensolve"}),
    "another seed": ({}, {"seed": 5}, {"eigensolve"}),
    "more axes": ({"eigensolve": {"solver": "krylov", "components": 3}}, {}, {"eigensolve"}),
}


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_option_is_not_answered_for_another(name: str, tmp_path: Path) -> None:
    method, compute, expected = CHANGES[name]
    cache = Cache(tmp_path, *ANSWERED)
    run(tmp_path, ELIMINATED, cache)
    cache.forget()
    changed = run(tmp_path, {**ELIMINATED, **method}, cache, compute=compute)
    assert set(cache.missed) == expected
    assert differing(run(tmp_path, {**ELIMINATED, **method}, compute=compute), changed) == []


def test_other_data_is_not_answered_for(tmp_path: Path) -> None:
    cache = Cache(tmp_path, *ANSWERED)
    run(tmp_path, RUNS["mds"], cache)
    cache.forget()
    with listening(cache):
        pipeline.run(configured(tmp_path, RUNS["mds"], ROLL[:-1]), force=True)
    assert cache.missed == ["eigensolve"]


@pytest.mark.medium
def test_a_smaller_count_is_the_first_part_of_a_larger_search(tmp_path: Path) -> None:
    method = RUNS["isomap dense"]
    cache = Cache(tmp_path, "neighbors")
    process = Process(neighbors=12)
    larger = run(tmp_path, {**method, "neighbors": {"count": 12}}, cache, process)
    smaller = run(tmp_path, {**method, "neighbors": {"count": 8}}, cache, process)
    assert cache.missed == ["neighbors"] and cache.found == ["neighbors"]
    assert differing(run(tmp_path, {**method, "neighbors": {"count": 12}}), larger) == []
    assert differing(run(tmp_path, {**method, "neighbors": {"count": 8}}), smaller) == []
    assert "fewer neighbors" in smaller["stages"] and "fewer neighbors" not in larger["stages"]


@pytest.mark.parametrize("points", [ROLL, np.random.default_rng(0).integers(0, 4, (300, 3)).astype(float),
                                    np.random.default_rng(1).integers(0, 3, (300, 20)).astype(float)],
                         ids=["apart", "ties", "ties in many columns"])
def test_the_first_part_of_a_search_is_the_smaller_search(points: np.ndarray) -> None:
    """To the last bit, ties included: neighbors go by distance and index, whoever else is asked for."""
    for data in (features(points), dissimilarities(distances(points))):
        with set_context(neighbors=len(points) + 5):  # more than there are
            largest = {count: nearest_lists(data, count) for count in (1, 7, len(points) - 1)}
        for count, found in largest.items():
            wanted = nearest_lists(data, count)
            for part in ("starts", "indices", "lengths"):
                assert getattr(found, part).tobytes() == getattr(wanted, part).tobytes(), (count, part)
    lists = first_neighbors(nearest_lists(features(points), 9), 4)
    assert set(lists.counts) == {4}
