"""The ids of rows without any behave as a tuple of their numbers, and cost nothing."""

import sys
import tracemalloc

import numpy as np
import pytest

from mlcli.data.table.row_numbers import RowNumbers, join_ids, take_ids
from mlcli.data.table.table import Table
from mlcli.rundir import archive

FIVE = ("1", "2", "3", "4", "5")


def test_equal_to_the_tuple_of_texts() -> None:
    ids = RowNumbers.up_to(5)
    assert ids == FIVE and FIVE.__eq__(ids) is NotImplemented and tuple(ids) == FIVE and hash(ids) == hash(FIVE)
    assert ids != FIVE[:4] and ids != ("1", "2", "3", "4", "x") and ids != list(FIVE)
    assert ids == RowNumbers(np.arange(1, 6)) and ids != RowNumbers.up_to(4)


@pytest.mark.parametrize("place", [slice(None), slice(1, 3), slice(None, None, -1), slice(4, 99), slice(-2, None, 2)])
def test_slices(place: slice) -> None:
    ids = RowNumbers.up_to(5)
    assert isinstance(ids[place], RowNumbers)
    assert ids[place] == FIVE[place]
    assert ids.take([4, 0, 3])[place] == ("5", "1", "4")[place]


def test_items_membership_and_length() -> None:
    ids = RowNumbers.up_to(5)
    assert (ids[0], ids[-1], len(ids), ids.index("3"), "6" in ids) == ("1", "5", 5, 2, False)
    with pytest.raises(IndexError):
        ids[5]


def test_taken_rows_keep_their_numbers() -> None:
    rows = np.array([3, 1])
    assert take_ids(RowNumbers.up_to(5), rows) == ("4", "2") == take_ids(FIVE, rows)
    table = Table(np.arange(10.0).reshape(5, 2), ("a", "b"), RowNumbers.up_to(5)).take(rows).take([1])
    assert table.ids == ("2",) and table.values.tolist() == [[2.0, 3.0]]


def test_numbers_with_a_prefix_are_other_ids_and_keep_it() -> None:
    ids = RowNumbers.up_to(5).prefixed("new")
    assert ids == ("new1", "new2", "new3", "new4", "new5") and ids != RowNumbers.up_to(5) and RowNumbers.up_to(5) != ids
    assert hash(ids) == hash(tuple(ids)) and ids[-1] == "new5" and ids[1:3] == ("new2", "new3")
    assert ids.take([4, 0]) == ids[::4].take([1, 0]) == ("new5", "new1")
    assert ids[:0] == RowNumbers.up_to(0)


def test_parts_join_to_the_ids_of_the_whole() -> None:
    for ids in (RowNumbers.up_to(5), RowNumbers.up_to(5).prefixed("new"), FIVE):
        joined = join_ids([ids[:2], ids[2:]])
        assert joined == ids and type(joined) is type(ids)


def test_archived_as_texts(tmp_path) -> None:
    archive.save(tmp_path, {"trained": RowNumbers.up_to(3)})
    assert archive.load(tmp_path) == {"trained": ("1", "2", "3")}


def test_millions_cost_nothing() -> None:
    tracemalloc.start()
    ids = RowNumbers.up_to(50_000_000)[10:]
    assert ids[-1] == "50000000"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * sys.getsizeof(ids) + 10_000
