"""Approximate neighbors: most of the nearest, the same on any threads and at every level, and a recall that holds."""

import numpy as np
import pytest
from scipy import sparse

from mlcli import native
from mlcli.base.context import set_context
from mlcli.base.stages.stage import Note, Watcher, listening
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.core.graph import approximate
from mlcli.core.graph.approximate import Recall, approximate_lists, approximate_nearest
from mlcli.core.graph.neighbors import ApproximateNearest, NeighborCount, Neighbors
from mlcli.core.graph.search import nearest
from mlcli.core.metrics.angles import Cosine
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.errors import ConfigError
from mlcli.methods.neighbor_embedding.tsne import TSNE
from tests.checkpoints import in_parts
from tests.native.support import choose, levels, needs_native
from tests.wording import Wording


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


def test_tsne_refuses_an_approximate_search_that_cannot_be(wording: Wording) -> None:
    points, ids = roll(30), [str(i) for i in range(30)]
    square = np.abs(points[:, :1] - points[:, :1].T)
    for data in (Features(points, ids, metric=Cityblock()), Dissimilarities(square, ids)):
        with wording.raises(ConfigError, "APPROXIMATE") as caught:
            TSNE(search="approximate").require(data)
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
