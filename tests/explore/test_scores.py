"""How an exploration judges and ranks: identities of the co-ranking matrix, and choices with known answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ortho_group, spearmanr

from mlcli.base.types import Array
from mlcli.base.values.inputs import Features
from mlcli.core.similarities.spaces import EuclideanSpace
from mlcli.explore.recommend import Option, choose, choose_fewer_axes
from mlcli.explore.scores import (
    Assessment,
    MeanRank,
    Reference,
    agreement_curves,
    area,
    assess,
    gain,
    mean_ranks,
    rank_methods,
    ranks_of,
)
from mlcli.findings.quality.measure import quality
from tests.support import distances, features

SIZE, NEAR = 120, 7


def seen(points: Array, anchors: Array | None = None, codes: Array | None = None) -> Reference:
    rows = np.arange(len(points)) if anchors is None else anchors
    return Reference(rows, len(points), NEAR, EuclideanSpace(points), None, codes)


def cloud(columns: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((SIZE, columns))


def mean(one: Assessment, name: str) -> float:
    return float(one.scores[name].mean())


def test_a_perfect_embedding_scores_one_everywhere() -> None:
    points = cloud(3)
    [one] = assess(seen(points), [points])
    assert all(np.all(one.scores[name] == 1) for name in ("trustworthiness", "continuity", "distances"))
    assert np.allclose(one.scores["r_nx"], 1, rtol=0, atol=1e-14)
    assert np.all(one.curve == 1)


def test_random_embeddings_score_about_zero() -> None:
    points = cloud(3)
    found = assess(seen(points), [cloud(2, seed) for seed in range(1, 21)])
    values = [mean(one, "r_nx") for one in found]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values)) < 0.02


def test_rotation_reflection_scale_and_shift_change_nothing() -> None:
    points, embedding = cloud(4), cloud(4)[:, :2] + 0.3 * cloud(2, 5)
    turned = 7.5 * embedding @ ortho_group.rvs(2, random_state=1) * [1, -1] + [100, -3]
    one, other = assess(seen(points), [embedding, turned])
    assert all(np.allclose(one.scores[name], other.scores[name], atol=1e-12) for name in one.scores)


def test_they_are_the_measures_of_a_run_where_these_say_the_same() -> None:
    """Trustworthiness, continuity and Q_NX of `quality.json` are computed by other code."""
    points, embedding = cloud(5), cloud(5)[:, :2]
    [one] = assess(seen(points), [embedding])
    given: Features = features(points)
    figures = quality(given, embedding, neighbors=NEAR, generator=np.random.default_rng(0)).figures
    assert mean(one, "trustworthiness") == pytest.approx(figures["trustworthiness"], abs=1e-12)
    assert mean(one, "continuity") == pytest.approx(figures["continuity"], abs=1e-12)
    sizes = np.array(figures["q_nx"]["neighbors"])
    expected = ((SIZE - 1) * np.array(figures["q_nx"]["values"]) - sizes) / (SIZE - 1 - sizes)
    assert one.curve[: len(sizes)] == pytest.approx(expected, abs=1e-12)


def test_the_area_weighs_each_size_by_its_inverse() -> None:
    """Lee, Peluffo-Ordóñez and Verleysen, 2015: the sum of R_NX(K) / K over the sum of 1 / K."""
    near, far = (ranks_of(distances(cloud(2, seed)) ** 2, np.arange(SIZE)) for seed in (0, 1))
    curves = agreement_curves(near, far)
    sizes = np.arange(1, SIZE - 1)
    assert area(curves).mean() == pytest.approx((curves.mean(axis=0) / sizes).sum() / (1 / sizes).sum(), abs=1e-12)


def test_distances_are_compared_by_spearmans_correlation() -> None:
    points, embedding = cloud(3), cloud(3)[:, :1]
    [one] = assess(seen(points, np.array([4])), [embedding])
    rows = np.delete(np.arange(SIZE), 4)
    expected = spearmanr(distances(points)[4, rows], distances(embedding)[4, rows]).statistic
    assert one.scores["distances"] == pytest.approx([expected], abs=1e-12)


def test_a_sample_of_points_gives_what_all_give_for_these() -> None:
    points, embedding = cloud(5), cloud(5)[:, :2]
    some = np.array([3, 50, 51, 119])
    [whole], [part] = assess(seen(points), [embedding]), assess(seen(points, some), [embedding])
    assert all(np.array_equal(whole.scores[name][some], part.scores[name]) for name in part.scores)


def test_label_errors_leave_out_points_without_a_label() -> None:
    embedding = np.array([[0.0], [1.0], [10.0], [11.0], [11.2]])
    points = cloud(2)[:5]
    [one] = assess(Reference(np.arange(5), 5, 1, EuclideanSpace(points), None, np.array([0, 0, 1, -1, 0])), [embedding])
    assert one.scores["label_error"].tolist()[:3] == [0.0, 0.0, 1.0]
    assert np.isnan(one.scores["label_error"][3])
    assert one.scores["label_error"][4] == 1.0


def test_mean_ranks_share_ties() -> None:
    values = np.array([[3.0, 1.0, 3.0], [0.5, 0.2, 0.1]])
    assert mean_ranks(values).tolist() == [1.25, 2.5, 2.25]


def scored(r_nx: float, spread: float = 0.05, seed: int = 0) -> Assessment:
    """An embedding with this mean, alike in all measures."""
    values = r_nx + spread * np.random.default_rng(seed).standard_normal(400)
    return Assessment(dict.fromkeys(("r_nx", "trustworthiness", "continuity"), values), np.zeros(1))


def test_what_the_points_leave_open_is_tied() -> None:
    far, same = rank_methods([scored(0.7, seed=1), scored(0.5, seed=2)], np.random.default_rng(0)), rank_methods(
        [scored(0.6, seed=1), scored(0.6, seed=2)], np.random.default_rng(0))
    assert [place.tied for place in far] == [True, False]
    assert [place.tied for place in same] == [True, True]
    assert far[0].interval == (1.0, 1.0)


def options(*values: tuple[str, bool, float]) -> list[Option]:
    return [Option(name, "", linear, scored(value, seed=place), MeanRank(place + 1.0, (1.0, 2.0), False))
            for place, (name, linear, value) in enumerate(values)]


def test_the_linear_method_is_enough_unless_another_gains_what_counts() -> None:
    close = choose(options(("isomap", False, 0.61), ("pca", True, 0.6)))
    assert close[:2] == (1, True)
    assert close[2][0].startswith("PCA is enough")
    far = choose(options(("laplacian", False, 0.605), ("isomap", False, 0.7), ("pca", True, 0.6)))
    assert far[:2] == (1, False)
    assert far[2][0].startswith("isomap")
    alone = choose(options(("isomap", False, 0.7), ("lle", False, 0.5)))
    assert alone[:2] == (0, False)


def test_of_methods_that_could_be_first_the_one_that_keeps_most_neighbors_is_taken() -> None:
    """A tie of mean ranks, and rounding that turns it, decides on nothing."""
    ranked = options(("sammon", False, 0.58), ("tsne", False, 0.73), ("umap", False, 0.8), ("pca", True, 0.46))
    open_to = [replace(one, place=replace(one.place, tied=one.method in ("sammon", "tsne"))) for one in ranked]
    assert choose(open_to)[0] == 1 and choose(open_to[:3])[0] == 1
    assert choose(ranked)[0] == 0 and choose(ranked[:3])[0] == 0  # no other could be first


def test_a_method_that_keeps_more_is_not_about_as_good() -> None:
    ranked = options(("sammon", False, 0.58), ("nmds", False, 0.585), ("tsne", False, 0.73), ("pca", True, 0.46))
    _, _, sentences = choose(ranked)
    assert "About as good: nmds." in sentences
    assert "More neighbors, but a lower rank by all measures together: tsne (R_NX 0.729)." in sentences


def test_a_gain_is_that_of_the_same_points() -> None:
    """Its error does not hold what both have in common."""
    base = scored(0.5, spread=0.3)
    better = Assessment({"r_nx": base.scores["r_nx"] + 0.05}, np.zeros(1))
    assert gain(better, base).value == pytest.approx(0.05)
    assert gain(better, base).error < 1e-12
    assert gain(better, base).counts


def test_fewer_axes_are_enough_where_they_keep_as_much() -> None:
    curve = [(axes, scored(value, spread=0.0)) for axes, value in ((1, 0.4), (2, 0.69), (3, 0.7), (4, 0.9))]
    alone = options(("pca", True, 0.7))
    assert choose_fewer_axes(alone, [curve], 0, 3) == (0, 2)
    assert choose_fewer_axes(alone, [curve], 0, 4) == (0, 4)
    assert choose_fewer_axes(alone, [[]], 0, 5) == (0, 5)


def test_another_method_that_keeps_as_much_with_fewer_axes_is_taken() -> None:
    both = options(("pca", True, 0.7), ("isomap", False, 0.7))
    curves = [[(axes, scored(value, spread=0.0)) for axes, value in enumerate(values, 1)]
              for values in ((0.3, 0.5, 0.7), (0.4, 0.7, 0.71))]
    assert choose_fewer_axes(both, curves, 0, 3) == (1, 2)
