"""Permutations: drawn within strata, the same for the same seed, and given ones checked."""

import numpy as np
import pytest

from mlcli.core import permutations as drawn
from mlcli.core.permutations import Permutations, permutations_of
from mlcli.errors import DataError


def test_batches_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.vstack(list(Permutations(50, 3).batches(11)))
    monkeypatch.setattr(drawn, "TOGETHER", 33)
    assert np.vstack(list(Permutations(50, 3).batches(11))).tolist() == whole.tolist()
    assert np.vstack(list(Permutations(50, 3).batches(11, most=7))).tolist() == whole.tolist()
    assert np.sort(whole, axis=1).tolist() == [list(range(11))] * 50
    assert len(np.unique(whole, axis=0)) == 50


def test_rows_stay_in_their_strata_and_reach_every_place_there() -> None:
    strata = np.array([0, 1, 1, 0, 2, 1, 0, 2])
    orders = np.vstack(list(Permutations(400, 1).batches(8, strata)))
    assert (strata[orders] == strata).all()
    assert {tuple(row) for row in orders[:, [4, 7]].tolist()} == {(4, 7), (7, 4)}
    counts = np.array([np.sum(orders[:, 0] == place) for place in (0, 3, 6)])
    assert counts.min() > 100


def test_p_counts_the_observed_order_and_leaves_nan_out() -> None:
    every = permutations_of(np.array([[1.0, 2, 3], [2, 1, 3], [3, 2, 1]]))
    statistics = np.array([[1.0, np.nan], [0.5, 2.0], [1.0 - 1e-9, 3.0]])
    found = every.p_values(np.array([1.0, 2.0]), lambda orders: statistics[: len(orders)], 3)
    assert found.tolist() == [3 / 4, 3 / 3]
    assert np.isnan(Permutations(0).p_values(np.ones(1), lambda orders: np.ones((len(orders), 1)), 3)).all()


@pytest.mark.parametrize(("rows", "row"), [([[1, 2], [1, 1]], 1), ([[0, 1], [1, 2]], 0), ([[1.5, 2], [1, 2]], 0),
                                           ([[1, 2], [np.nan, 2]], 1)])
def test_a_row_that_is_no_permutation_is_named(rows: list[list[float]], row: int) -> None:
    with pytest.raises(DataError) as caught:
        permutations_of(np.array(rows))
    assert (caught.value.code, caught.value.row) == ("E-PERMUTATIONS", row)


def test_given_ones_must_fit_the_rows() -> None:
    given = permutations_of(np.array([[2.0, 1, 3]]))
    for size, strata in ((4, None), (3, np.array([0, 1, 1]))):
        with pytest.raises(DataError):
            list(given.batches(size, strata))
    assert len(list(given.batches(3, np.array([0, 0, 1])))) == 1
