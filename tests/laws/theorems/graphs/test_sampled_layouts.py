"""Facts about layouts by negative sampling: sums of memberships, their joins, the curve's limits, and equal bytes."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.core.graph.search import Lists, nearest
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods import METHODS
from mlcli.methods.neighbor_embedding.fuzzy_graph import fuzzy_graph, memberships_of, smooth_lengths
from mlcli.methods.neighbor_embedding.negative_sampling import Sampling, fit_curve, follow_edges, phases_of, target
from tests.support import Notes, dissimilarities, distances, features, fit
from tests.wording import Wording

RANDOM = np.random.default_rng(4)
POINTS = RANDOM.standard_normal((80, 4)) * [3, 2, 1, 0.5]
LISTS = nearest(POINTS, 9)


@pytest.mark.parametrize("connectivity", [0.0, 0.5, 1.0, 1.5, 2.0])
def test_memberships_of_a_list_sum_to_the_logarithm_of_its_length(connectivity: float) -> None:
    scales = smooth_lengths(LISTS, connectivity)
    values = memberships_of(LISTS, scales).reshape(80, 9)
    assert values.sum(axis=1) == pytest.approx(np.log2(10), rel=1e-12)
    first = LISTS.lengths.reshape(80, 9)
    low, high = first[:, max(int(connectivity) - 1, 0)] * (connectivity >= 1), first[:, int(connectivity)]
    assert scales.nearest == pytest.approx(low + (connectivity % 1) * (high - low), abs=1e-14)


def test_memberships_do_not_depend_on_the_unit() -> None:
    larger = Lists(LISTS.starts, LISTS.indices, LISTS.lengths * 2.0**37)
    same = [fuzzy_graph(lists, 1.0, 1.0).lengths for lists in (LISTS, larger)]
    assert np.array_equal(*same)


def test_union_and_intersection_meet_in_the_mean() -> None:
    """v + w - v w and v w sum to v + w, and the share of each is the mix."""
    union, both, half = (fuzzy_graph(LISTS, 1.0, mix).matrix().toarray() for mix in (1.0, 0.0, 0.5))
    single = np.zeros((80, 80))
    single[LISTS.rows, LISTS.indices] = memberships_of(LISTS, smooth_lengths(LISTS, 1.0))
    assert union + both == pytest.approx(single + single.T, abs=1e-15)
    assert union == pytest.approx(1 - (1 - single) * (1 - single.T), abs=1e-15)
    assert half == pytest.approx((union + both) / 2, abs=1e-15)
    assert ((both > 0) == ((single > 0) & (single.T > 0))).all()


def test_rows_in_another_order_have_the_same_graph_in_that_order() -> None:
    order = RANDOM.permutation(80)
    plain, other = (fuzzy_graph(nearest(points, 9), 1.0, 1.0).matrix().toarray() for points in (POINTS, POINTS[order]))
    assert other == pytest.approx(plain[np.ix_(order, order)], abs=1e-14)


@pytest.mark.parametrize(("min_dist", "spread"), [(0.0, 1.0), (0.1, 1.0), (0.5, 2.0)])
def test_the_curve_is_at_its_best_and_scales_with_both(min_dist: float, spread: float) -> None:
    """In units of c the same curve is (a c^(-2b), b); no curve nearby is nearer to the target."""
    found, larger = fit_curve(min_dist, spread), fit_curve(4 * min_dist, 4 * spread)
    assert larger.b == pytest.approx(found.b, rel=1e-5)
    assert larger.a == pytest.approx(found.a * 4 ** (-2 * found.b), rel=1e-5)
    distances, memberships = target(min_dist, spread)

    def error(a: float, b: float) -> float:
        return float(np.sum((1 / (1 + a * distances ** (2 * b)) - memberships) ** 2))

    assert all(error(found.a, found.b) < error(found.a * up, found.b * side)
               for up, side in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)))


@pytest.mark.parametrize("spread", [1e101, 1.79e308])
def test_a_spread_whose_powers_overflow_is_refused(spread: float) -> None:
    with pytest.raises(ConfigError) as told:
        fit_curve(0.1, spread)
    assert (told.value.code, told.value.where) == ("E-CURVE", "method.spread")


def test_an_edge_is_due_as_often_as_its_weight_says() -> None:
    from mlcli.methods.neighbor_embedding.negative_sampling import due_of

    graph = fuzzy_graph(LISTS, 1.0, 1.0)
    phases = phases_of(graph, 50)
    heads = np.concatenate([edges.numbers for edges in phases])
    counts = sum(np.concatenate([due_of(edges.rates, epoch) for edges in phases]).astype(int)
                 for epoch in range(1, 51))[heads >= 0]
    shares = graph.lengths[heads[heads >= 0]] / graph.lengths.max()
    assert (np.abs(counts - 50 * shares) <= 1 + 1e-6).all()
    assert sorted(heads[heads >= 0]) == np.flatnonzero(graph.lengths * 50 >= graph.lengths.max()).tolist()


def test_without_samples_points_of_a_piece_meet() -> None:
    """Attraction alone contracts every piece, and moves no mean: both ends of an edge move alike."""
    graph, start = fuzzy_graph(LISTS, 1.0, 1.0), 0.5 * POINTS[:, :2]
    ended = follow_edges(graph, start, Sampling(200, 0, 1.0, 0.05, 0), fit_curve(0.1, 1.0)).state.points
    assert ended.mean(axis=0) == pytest.approx(start.mean(axis=0), abs=1e-12)
    assert np.ptp(ended, axis=0).max() < 0.2 * np.ptp(start, axis=0).max()


@pytest.mark.parametrize("given", ["features", "dissimilarities"])
def test_distances_of_features_have_the_layout_of_the_features(given: str) -> None:
    groups = np.vstack([POINTS[:40], POINTS[40:] + 1000.0])  # two pieces of the graph
    data = features(groups) if given == "features" else dissimilarities(distances(groups))
    model = fit("umap", data, neighbors={"count": 6}, epochs=60)
    apart = distances(model.embedding)
    near = np.argsort(apart + 1e9 * np.eye(80), axis=1)[:, :5]
    assert ((near < 40) == (np.arange(80) < 40)[:, None]).all()
    new = model.project(groups[[3, 70]] + 1e-3 if given == "features" else distances(groups)[[3, 70]] + 1e-3)
    assert np.abs(new - model.embedding[[3, 70]]).max() < 0.2 * np.abs(model.embedding).max()


def test_threads_and_other_new_points_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.methods.neighbor_embedding.negative_sampling.BLOCK", 16)
    data = features(POINTS)
    one, two = (METHODS["umap"](epochs=20).resolve(data).fit(data, Compute(threads=count)) for count in (1, 2))
    assert np.array_equal(one.embedding, two.embedding)
    new = POINTS[:20] + 0.1
    assert np.array_equal(one.project(new)[7:9], one.project(new[7:9]))


def test_bad_input_is_refused_by_name(wording: Wording) -> None:
    with wording.raises(GeometryError, "ALL-EQUAL"):
        fit("umap", np.ones((9, 3)))
    with wording.raises(ConfigError, "NEIGHBORS"):
        fit("umap", POINTS, neighbors={"count": 80})
    with wording.raises(ConfigError, "CURVE"):
        fit("umap", POINTS, min_dist=2.0)
    with wording.raises(ConfigError, "START"):
        fit("umap", dissimilarities(distances(POINTS)), start="pca")
    with Notes() as notes:
        assert fit("umap", POINTS[:3], epochs=5).embedding.shape == (3, 2)
    assert "N-NEIGHBORS" in notes.codes
