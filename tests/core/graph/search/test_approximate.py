"""Approximate neighbors: most of the nearest, the same on any threads and at every level, and a recall that holds."""

from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse

from mlcli import native
from mlcli.base.context import set_context
from mlcli.base.stages.stage import Note, Watcher, listening
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.certify.graph import Rule, adjacency, neighbor_check
from mlcli.certify.subject import Plan
from mlcli.core.graph import approximate
from mlcli.core.graph.approximate import Recall, approximate_lists, approximate_nearest
from mlcli.core.graph.neighbors import ApproximateNearest, NeighborCount, Neighbors
from mlcli.core.graph.search import Lists, nearest
from mlcli.core.metrics.angles import Cosine
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from mlcli.methods.neighbor_embedding import walk
from mlcli.methods.neighbor_embedding.tsne import TSNE
from mlcli.methods.neighbor_embedding.walk import Decay, decay_kernel
from mlcli.pipeline.certify import subject_of
from tests.checkpoints import in_parts
from tests.faults.certificate.layout_lies import checked, fit_of
from tests.native.support import choose, levels, needs_native
from tests.support import features
from tests.wording import Wording

DECAY = Decay(5, 40.0, 1e-4)


class Notes(Watcher):
    """A listener that keeps notes."""

    def __init__(self) -> None:
        self.found: list[Note] = []

    def note(self, note: Note) -> None:
        self.found.append(note)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand points are many, and their blocks have one near block."""
    monkeypatch.setattr(approximate, "LEAST_POINTS", 1000)
    monkeypatch.setattr(approximate, "NEAR_BLOCKS", 1)
    monkeypatch.setattr(approximate, "ENOUGH", 1.0)


def roll(rows: int = 3000, columns: int = 20) -> Array:
    """A surface in many columns."""
    random = np.random.default_rng(2)
    angles, heights = 9 * random.random(rows) + 4, 20 * random.random(rows)
    surface = np.column_stack([angles * np.cos(angles), heights, angles * np.sin(angles)])
    return surface @ random.standard_normal((3, columns)) + 0.01 * random.standard_normal((rows, columns))


def shares(lengths: Array, points: Array, count: int) -> Array:
    exact = nearest(points, count).lengths.reshape(-1, count)
    return np.asarray((lengths.reshape(-1, count) <= exact[:, -1:]).mean(axis=1))


@needs_native
@pytest.mark.medium
def test_most_neighbors_are_found_and_the_interval_holds_their_share() -> None:
    points, heard = roll(), Notes()
    with listening(heard):
        lists = approximate_lists(points, 10)
    whole = float(shares(lists.lengths, points, 10).mean())
    noted = next(note for note in heard.found if note.code == "N-RECALL").facts
    assert whole > 0.95
    assert noted["low"] <= noted["recall"] <= noted["high"] and noted["rows"] == 1000
    assert noted["low"] - 0.005 <= whole <= noted["high"] + 0.005
    gaps = np.sqrt(np.square(points[lists.rows] - points[lists.indices]).sum(axis=1))
    assert np.allclose(gaps, lists.lengths, rtol=1e-12)
    ordered = lists.lengths.reshape(-1, 10)
    assert (np.diff(ordered, axis=1) >= 0).all() and (lists.rows != lists.indices).all()
    assert all(len({*row}) == 10 for row in lists.indices.reshape(-1, 10))


@needs_native
@pytest.mark.medium
def test_bits_are_the_same_on_any_threads_and_at_every_level() -> None:
    points, usual, found = roll(1500, 33), native.describe(), []
    for level in levels():
        for threads in (1, 3):
            try:
                choose(level)
                with set_context(threads=threads):
                    found.append(approximate_nearest(points, 8))
            finally:
                choose(usual)
    assert all(np.array_equal(one, other) for some in found[1:] for one, other in zip(some, found[0], strict=True))


@needs_native
@pytest.mark.medium
def test_rounds_find_more_than_blocks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    points = roll(2000)
    after = shares(np.sqrt(approximate_nearest(points, 10)[1]), points, 10).mean()
    monkeypatch.setattr(approximate, "ROUNDS", 0)
    assert shares(np.sqrt(approximate_nearest(points, 10)[1]), points, 10).mean() < after


@needs_native
@pytest.mark.medium
def test_a_search_goes_on_after_every_round() -> None:
    points = roll(1500)
    whole = approximate_nearest(points, 10)
    ended, stops = in_parts(lambda: approximate_nearest(points, 10))
    assert stops > 3 and all(np.array_equal(one, other) for one, other in zip(whole, ended, strict=True))


def test_few_points_are_all_searched_and_a_note_says_so() -> None:
    points, heard = roll(200), Notes()
    with listening(heard):
        found = approximate_lists(points, 6)
    assert np.array_equal(found.indices, nearest(points, 6).indices)
    assert [note.code for note in heard.found] == ["N-SEARCHED-ALL"]


@needs_native
@pytest.mark.medium
def test_a_metric_that_embeds_is_ordered_by_its_own_lengths() -> None:
    points, metric = roll(1200), Cosine()
    lists, exact = approximate_lists(points, 5, metric), nearest(points, 5, metric)
    same = lists.indices == exact.indices
    assert same.mean() > 0.9
    assert np.array_equal(lists.lengths[same], exact.lengths[same])


@needs_native
@pytest.mark.medium
def test_tsne_has_the_affinities_of_an_approximate_search_and_states_its_recall() -> None:
    points = roll(1200)
    data, heard = Features(points, [str(i) for i in range(len(points))]), Notes()
    with listening(heard):
        found = TSNE(perplexity=5.0, search="approximate").affinities(data)[0]
    noted = next(note for note in heard.found if note.code == "N-RECALL").facts
    joined = sparse.csr_array((np.ones(len(found.indices)), found.indices, found.starts))
    nearest_ones = nearest(points, 15).matrix(len(points))
    assert joined.multiply(nearest_ones).sum() / nearest_ones.sum() >= noted["low"] > 0.9


@needs_native
@pytest.mark.medium
def test_phate_has_the_affinities_of_an_approximate_search_and_checks_its_recall(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ALL_PAIRS", 1000)
    monkeypatch.setattr(approximate, "ROUNDS", 1)
    data, heard = features(roll(2000)), Notes()
    exact = decay_kernel(data, DECAY)
    with listening(heard):
        found = decay_kernel(data, DECAY, "approximate")
    noted = next(note for note in heard.found if note.code == "N-RECALL").facts
    assert 0.9 < noted["recall"] < 1
    shared = found.multiply(exact > 0).count_nonzero() / exact.count_nonzero()
    assert 0.9 < shared <= 1 and abs(found - found.T).max() == 0
    method, _, model = fit_of("phate", data, search="approximate", time=8, landmarks=20)
    checks = checked(method, data, model)
    assert {check.verdict for check in checks} <= {"pass", "skipped"}
    assert "interval" in next(check for check in checks if check.name == "neighbors").how


@needs_native
@pytest.mark.medium
def test_an_approximate_search_of_phate_that_missed_a_third_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ALL_PAIRS", 1000)
    whole = walk.decay_lists

    def third(*given: Any) -> Lists:
        lists = whole(*given)
        kept = np.arange(len(lists.indices)) % 3 > 0
        starts = np.append(0, np.cumsum(kept))[lists.starts]
        return Lists(starts, lists.indices[kept], lists.lengths[kept])

    monkeypatch.setattr("mlcli.methods.neighbor_embedding.check.decay_lists", third)
    method, data, model = fit_of("phate", features(roll(2000)), search="approximate", time=8, landmarks=20)
    assert "neighbors" in {check.name for check in checked(method, data, model) if check.verdict == "fail"}


def test_phate_notes_that_all_pairs_of_few_points_are_compared() -> None:
    data, heard = features(roll(60)), Notes()
    with listening(heard):
        found = decay_kernel(data, DECAY, "approximate")
    assert abs(found - decay_kernel(data, DECAY)).max() == 0
    assert [note.code for note in heard.found] == ["N-SEARCHED-ALL"]


@needs_native
@pytest.mark.medium
@pytest.mark.parametrize("bandwidth", ["fixed", "adaptive"])
def test_diffusion_by_an_approximate_search_is_a_walk_along_its_edges(
        bandwidth: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "ROUNDS", 1)
    data = features(roll(1200))
    method, _, model = fit_of("diffusion", data, search="approximate", nearest=12, bandwidth={"name": bandwidth})
    checks = checked(method, data, model)
    assert {check.verdict for check in checks} <= {"pass", "skipped"}
    assert 0 < next(check for check in checks if check.name == "neighbors").value < 0.1
    assert np.allclose(model.project(data.values[:5]), model.embedding[:5], rtol=1e-8, atol=1e-10)


@needs_native
def test_an_approximate_search_of_diffusion_that_found_others_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    data, count = features(roll(1000)), 6

    def others(points: Array, asked: int) -> tuple[Array, Array]:
        found = (np.arange(len(points))[:, None] + np.arange(1, asked + 1)) % len(points)
        return found, np.square(points[found] - points[:, None]).sum(axis=2)

    monkeypatch.setattr(approximate, "approximate_nearest", others)
    method, _, model = fit_of("diffusion", data, search="approximate", nearest=count)
    assert "neighbors" in {check.name for check in checked(method, data, model) if check.verdict == "fail"}


METHODS_OF_LISTS: dict[str, dict[str, Any]] = {"tsne": {}, "phate": {}, "diffusion": {"nearest": 5}}


@pytest.mark.parametrize("name", METHODS_OF_LISTS)
def test_an_approximate_search_that_cannot_be_is_refused(name: str, wording: Wording) -> None:
    points, ids = roll(30), [str(i) for i in range(30)]
    square = np.abs(points[:, :1] - points[:, :1].T)
    for data in (Features(points, ids, metric=Cityblock()), Dissimilarities(square, ids)):
        with wording.raises(ConfigError, "APPROXIMATE") as caught:
            METHODS[name](search="approximate", **METHODS_OF_LISTS[name]).require(data)
        assert caught.value.where == "method.search"


def test_diffusion_of_all_pairs_has_no_search(wording: Wording) -> None:
    method: Any = METHODS["diffusion"](search="approximate")
    with wording.raises(ConfigError, "NEEDS") as caught:
        method.require(features(roll(30)))
    assert caught.value.where == "method.search"


def test_other_metrics_and_dissimilarities_are_refused(wording: Wording) -> None:
    points, ids = roll(30), [str(i) for i in range(30)]
    square = np.abs(points[:, :1] - points[:, :1].T)
    for data in (Features(points, ids, metric=Cityblock()), Dissimilarities(square, ids)):
        with wording.raises(ConfigError, "APPROXIMATE") as caught:
            ApproximateNearest(3).lists(data)
        assert caught.value.where == "method.neighbors.search"


def test_the_option_gives_the_rule_and_refuses_a_radius() -> None:
    data = Features(roll(30), [str(i) for i in range(30)])
    assert Neighbors(count=4).neighborhood(data).__class__.__name__ == "Nearest"
    assert Neighbors(count=4, search="approximate").neighborhood(data) == ApproximateNearest(4)
    assert NeighborCount(count=4, search="approximate").neighborhood(data) == ApproximateNearest(4)
    with pytest.raises(ValueError):
        Neighbors(radius=1.0, search="approximate")


def test_intervals_are_those_of_wilson_for_rows_that_are_independent() -> None:
    found = Recall.of_rows(np.array([1.0] * 90 + [0.0] * 10))
    draws, z = 99.0, 1.959963984540054  # of the mean's variance, by the sample
    middle, half = (0.9 + z**2 / (2 * draws)), z * np.sqrt(0.09 / draws + z**2 / (4 * draws**2))
    assert np.isclose(found.low, (middle - half) / (1 + z**2 / draws), rtol=1e-12)
    assert np.isclose(found.high, (middle + half) / (1 + z**2 / draws), rtol=1e-12)
    assert Recall.of_rows(np.ones(100)).high == 1.0
    assert 0.95 < Recall.of_rows(np.ones(100)).low < 0.97
    assert Recall.of_rows(np.full(50, 0.5)).low < 0.5


@needs_native
@pytest.mark.medium
def test_intervals_cover_the_recall_of_all_rows_over_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 samples about 95 % of the intervals hold the recall of all rows; over 90 % do by far."""
    points = roll(2000)
    monkeypatch.setattr(approximate, "ROUNDS", 0)
    of_rows = shares(np.sqrt(approximate_nearest(points, 10)[1]), points, 10)
    whole, held = float(of_rows.mean()), 0
    assert whole < 0.99
    for seed in range(200):
        found = Recall.of_rows(np.random.default_rng(seed).choice(of_rows, 100, replace=False))
        held += found.low <= whole <= found.high
    assert held >= 180


@pytest.mark.parametrize("rule", ["union", "mutual"])
def test_the_certificate_misses_only_edges_that_are_not_there(rule: Rule) -> None:
    """By the rule `mutual` a neighbor of one end alone is not joined, and no search has missed it."""
    data = features(roll(200))
    method, data, model = fit_of("chain", data, graph={"neighbors": {"count": 12, "search": "approximate"},
                                                       "rule": rule}, paths={}, correction="none")
    assert next(check for check in checked(method, data, model) if check.name == "neighbors").value == 0
    subject, graph = subject_of(method, data, model, Plan(full=True)), cast("Any", model.products["graph"])
    rows = np.repeat(np.arange(200), np.diff(graph.starts))
    kept = (rows + graph.indices) % 2 == 0
    less = adjacency(subject, np.searchsorted(rows[kept], np.arange(201)), graph.indices[kept])
    assert neighbor_check(subject, less, rule).verdict == "fail"
