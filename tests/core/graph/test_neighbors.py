"""The two rules of who is a neighbor: what each states of its lists, for training points and for new ones."""

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.core.graph.neighbors import Nearest, Neighborhood, Neighbors, Within
from mlcli.errors import GeometryError
from tests.support import dissimilarities, distances, features
from tests.wording import Wording

GENERATOR = np.random.default_rng(8)
POINTS, NEW = GENERATOR.standard_normal((60, 3)), GENERATOR.standard_normal((9, 3))
APART = np.linalg.norm(NEW[:, None] - POINTS[None], axis=2)
RULES = [Nearest(5), Within(1.1)]


@pytest.mark.parametrize("rule", RULES, ids=["nearest", "within"])
def test_lists_keep_what_the_rule_states(rule: Neighborhood) -> None:
    """How many neighbors there are at least, how far the farthest is, and whether neighbors are mutual."""
    lists = rule.lists(features(POINTS))
    assert lists.counts.min() >= rule.least and lists.lengths.max() <= rule.farthest
    pairs = set(zip(lists.rows.tolist(), lists.indices.tolist(), strict=True))
    assert rule.mutual == (pairs == {(j, i) for i, j in pairs})
    assert not any(i == j for i, j in pairs)


@pytest.mark.parametrize("rule", RULES, ids=["nearest", "within"])
def test_dissimilarities_give_the_same_lists_as_points(rule: Neighborhood) -> None:
    for left, right in ((rule.lists(features(POINTS)), rule.lists(dissimilarities(distances(POINTS)))),
                        (rule.of_new(NEW, POINTS), rule.of_new(APART, None))):
        assert np.array_equal(left.starts, right.starts) and np.array_equal(left.indices, right.indices)
        assert np.allclose(left.lengths, right.lengths, rtol=1e-12)


def test_new_points_find_the_nearest_or_all_within_the_radius() -> None:
    lists = Nearest(5).of_new(NEW, POINTS)
    assert np.array_equal(lists.indices.reshape(9, 5), np.argsort(APART, axis=1)[:, :5])
    radius = float(np.sort(APART.min(axis=1))[4] * (1 + 1e-9))  # of some points nobody, of others somebody
    lists = Within(radius).of_new(NEW, POINTS)
    near = np.maximum((radius >= APART).sum(axis=1), 1)
    assert np.array_equal(lists.counts, near) and (APART.min(axis=1) > radius).any()
    assert np.array_equal(lists.indices[lists.starts[:-1]], APART.argmin(axis=1))


def test_the_nearest_known_before_are_not_searched_again() -> None:
    data = features(POINTS)
    known = Nearest(7).lists(data)
    assert Nearest(7).from_nearest(data, known) is known
    assert np.array_equal(Within(1.1).from_nearest(data, known).indices, Within(1.1).lists(data).indices)


@pytest.mark.parametrize("rule", RULES, ids=["nearest", "within"])
def test_equal_points_have_no_neighbors(rule: Neighborhood, wording: Wording) -> None:
    with wording.raises(GeometryError, "ALL-EQUAL"):
        rule.lists(features(np.ones((4, 2))))


@pytest.mark.parametrize("rule", RULES, ids=["nearest", "within"])
def test_a_search_of_more_points_costs_more(rule: Neighborhood) -> None:
    few, many = (features(GENERATOR.standard_normal((size, 3))) for size in (100, 1000))
    assert 0 < rule.step(few, Compute()).seconds < rule.step(many, Compute()).seconds


def test_options_give_a_rule_in_the_units_of_the_data() -> None:
    data = features(POINTS * 2.0**40).normalized()
    assert Neighbors(count=7).neighborhood(data) == Nearest(7)
    assert Neighbors(radius=2.0**40).neighborhood(data) == Within(2.0 ** (40 - data.unit.exponent))


@pytest.mark.parametrize(("kind", "value"), [(Nearest, 0), (Nearest, -3), (Within, -1.0), (Within, float("nan"))])
def test_a_rule_without_neighbors_is_refused(kind: type[Nearest] | type[Within], value: float) -> None:
    """As a damaged model might hold it."""
    with pytest.raises(ValueError, match=r"one nearest neighbor|not negative"):
        kind(value)  # type: ignore[arg-type]
