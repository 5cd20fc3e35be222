"""Scales of points: a length of each row, and what stands for zero."""

import numpy as np

from mlcli.core.graph.affinities import local_scales

STARTS = np.array([0, 3, 5, 7, 8])
LENGTHS = np.array([3.0, 1.0, 2.0, 0.0, 4.0, 0.0, 0.0, 5.0])


def test_a_scale_is_the_length_of_a_rank_or_the_last() -> None:
    assert local_scales(STARTS, LENGTHS, 2).tolist() == [2.0, 4.0, 1.0, 5.0]
    assert local_scales(STARTS, LENGTHS, 9).tolist() == [3.0, 4.0, 1.0, 5.0]


def test_zero_is_replaced_by_the_least_above_it_or_by_one() -> None:
    assert local_scales(STARTS, LENGTHS, 1).tolist() == [1.0, 4.0, 1.0, 5.0]
