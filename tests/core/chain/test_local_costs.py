"""Groups of neighborhoods that overlap, and what is done with several of them."""

import numpy as np
import pytest

from mlcli.core.chain.local_costs import overlap_groups, overlapping_lists
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.graph.search import Lists, nearest
from mlcli.errors import GeometryError
from tests.support import Notes, features, fit

APART = np.vstack([np.random.default_rng(1).random((20, 2)), np.random.default_rng(2).random((12, 2)) + [5.0, 0.0]])


def test_members_of_one_neighborhood_are_in_one_group_and_its_point_need_not_be() -> None:
    lists = Lists(np.arange(0, 9, 2), np.array([2, 3, 2, 3, 0, 1, 0, 1]), np.ones(8))
    assert overlap_groups(lists).tolist() == [0, 0, 1, 1]


def test_a_point_of_no_neighborhood_is_in_the_group_of_its_own() -> None:
    lists = Lists(np.array([0, 2, 4, 6, 8]), np.array([1, 2, 0, 2, 0, 1, 1, 2]), np.ones(8))
    assert overlap_groups(lists).tolist() == [0, 0, 0, 0]


def test_groups_are_refused_with_the_fewest_neighbors_that_join_them() -> None:
    with pytest.raises(GeometryError) as caught:
        overlapping_lists(features(APART), Nearest(5), "error")
    assert caught.value.code == "E-OVERLAP" and caught.value.exit_code == 81
    fewest = int("".join(letter for letter in caught.value.hint.split(" neighbors")[0] if letter.isdigit()))
    assert overlap_groups(nearest(APART, fewest)).max() == 0 < overlap_groups(nearest(APART, fewest - 1)).max()


def test_the_largest_group_is_kept() -> None:
    with Notes() as notes:
        lists, kept = overlapping_lists(features(APART), Nearest(5), "largest")
    assert kept is not None and kept.tolist() == list(range(20))
    assert np.array_equal(lists.indices, nearest(APART[:20], 5).indices)
    assert "W-LARGEST-PIECE" in notes.codes


def test_connected_groups_have_one_tangent_space_in_both() -> None:
    with Notes() as notes:
        lists, kept = overlapping_lists(features(APART), Nearest(5), "connect")
    assert kept is None and overlap_groups(lists).max() == 0
    assert sorted(np.unique(lists.counts).tolist()) == [5, 11]  # the neighbors of both ends, and the other end
    assert "W-CONNECTED" in notes.codes
    model = fit("ltsa", APART, neighbors={"count": 5, "pieces": "connect"}, components=2)
    columns = np.column_stack([np.ones(32), APART])
    rest = model.embedding - columns @ np.linalg.lstsq(columns, model.embedding)[0]
    assert np.abs(rest).max() < 1e-6  # all points are in one plane, so it is recovered
