"""Arrays in memory: the edges of a graph, as entries of a matrix, and the tables of several views."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.in_memory import table_of
from mlcli.data.table.table import HERE, Table
from mlcli.errors import DataError

LENGTHS = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 3.5], [0.0, 3.5, 0.0]])


def graph_of(array: object, **options: object) -> Table:
    """The table of a graph's matrix."""
    return table_of(array, Input(path=HERE, kind="graph", **options), Compute())  # type: ignore[arg-type]


@pytest.mark.parametrize("array", [LENGTHS, csr_array(LENGTHS), csr_array(np.triu(LENGTHS))])
def test_entries_of_a_matrix_are_edges_in_both_directions(array: object) -> None:
    table = graph_of(array)
    assert table.graph is not None and table.ids == ("1", "2", "3")
    assert table.graph.indices.tolist() == [1, 0, 2, 1]
    assert table.graph.weights.tolist() == [2, 2, 3.5, 3.5]


def test_a_stored_zero_is_an_edge_between_equal_points() -> None:
    stored = csr_array((np.array([0.0, 0.0]), ([0, 1], [1, 0])), shape=(2, 2))
    assert graph_of(stored).graph.indices.tolist() == [1, 0]  # type: ignore[union-attr]


def test_edges_that_contradict_each_other_are_refused() -> None:
    for wrong, code in ((np.where(LENGTHS == 3.5, -1, LENGTHS), "E-EDGE"), (LENGTHS[:2], "E-NOT-SQUARE"),
                        (LENGTHS + np.triu(LENGTHS, 2) + np.eye(3), "E-LOOP"),
                        (LENGTHS + np.triu(LENGTHS), "E-ASYMMETRIC")):
        with pytest.raises(DataError) as caught:
            graph_of(wrong)
        assert caught.value.code == code


def test_one_column_is_a_table_of_two_dimensions() -> None:
    """A list of arrays is a list of tables, also where one of them has one dimension only; a list of lists is one."""
    rows = np.arange(12.0).reshape(4, 3)
    for table, view, place in ((rows[:, 0], None, HERE), (rows, rows[:, 0], "view 2"), (rows, [rows[:, 0]], "view 2"),
                               (rows, [rows, rows[:, 0]], "view 3")):
        with pytest.raises(DataError) as caught:
            table_of(table, Input(path=HERE), Compute(), view=view)
        assert (caught.value.code, caught.value.where) == ("E-ARRAY", place)
        assert caught.value.hint and "x[:, [0]]" in caught.value.hint
    for view, widths in (([rows[:, [0]]], [1]), (rows.tolist(), [3]), ([rows, rows[:, :2].tolist()], [3, 2])):
        found = table_of(rows, Input(path=HERE), Compute(), view=view).view
        for width in widths:
            assert found is not None and found.values.shape == (4, width)
            found = found.view
        assert found is None
