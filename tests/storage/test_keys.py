"""Keys tell values apart by their content, and stages by their names, versions and inputs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.stages.stage import Stage
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.kernels.forms import Dense
from mlcli.core.kernels.inverse import Inverse
from mlcli.core.sparse_factors import CompressedRows
from mlcli.storage.keys import Keys

ARRAY = np.arange(6.0)
GRAPH = Graph(np.array([0, 1, 2]), np.array([1, 0]), np.array([1.0, 1.0]))
ROWS = CompressedRows(np.array([0, 2, 2]), np.array([0, 1]), np.array([1.0, -1.0]), 2)
INVERSE = Inverse(ROWS)
VALUES: list[Any] = [
    None, True, 1, 1.0, "1", (1,), (1, 1), ((1,), 1), {"a": 1}, {"b": 1}, ARRAY, ARRAY.reshape(2, 3), ARRAY.astype(int),
    ARRAY.astype(np.float32), -ARRAY, 0.0, -0.0, float("nan"), np.zeros(0), np.zeros((0, 2)), np.array(0.0),
    GRAPH, replace(GRAPH, lengths=np.array([1.0, 2.0])), INVERSE, Inverse(replace(ROWS, values=2 * ROWS.values)),
    Neighbors(count=5), Neighbors(count=6), Neighbors(radius=5.0), Neighbors(), Neighbors(count=10), Eigensolve(),
    Eigensolve(tolerance=1e-3)]


def test_different_values_have_different_keys() -> None:
    """Also options that are equal where one was chosen: a chosen value is an error where a default gives way."""
    assert len({Keys().of(value) for value in VALUES}) == len(VALUES)


def test_equal_values_have_one_key() -> None:
    assert Keys().of(replace(GRAPH, lengths=GRAPH.lengths.copy())) == Keys().of(GRAPH)
    assert Keys().of(np.asfortranarray(ARRAY.reshape(2, 3))) == Keys().of(ARRAY.reshape(2, 3))
    assert Keys().of(Neighbors(count=5)) == Keys().of(Neighbors(count=5))


def test_a_stage_is_its_name_its_version_and_its_inputs() -> None:
    keys, inputs = Keys(), {"values": ARRAY, "count": 3}
    others = [(Stage("a", 2), inputs), (Stage("b", 1), inputs), (Stage("a", 1), {**inputs, "count": 4}),
              (Stage("a", 1), {"values": ARRAY, "number": 3}), (Stage("a", 1), {**inputs, "values": ARRAY[::-1]})]
    found = {keys.of((stage.name, stage.version, given)) for stage, given in [(Stage("a", 1), inputs), *others]}
    assert len(found) == 6
    assert keys.of(("a", 1, {"values": ARRAY.copy(), "count": 3})) in found


def test_what_a_stage_made_has_the_key_of_the_stage_as_long_as_it_lives() -> None:
    """Even a kernel that nothing else tells apart; a number is told apart by itself."""

    class Opaque:
        """Holds what no key can be computed of."""

    keys, made = Keys(), Opaque()
    with pytest.raises(TypeError):
        keys.of(made)
    keys.assign(made, "key of its stage")
    assert keys.of(made) == "key of its stage"
    assert keys.of((made, 1)) != keys.of((made, 2))
    del made
    assert not keys._made
    keys.assign(3, "key of its stage")
    assert keys.of(3) == Keys().of(3)


def test_a_key_may_replace_the_content_of_what_holds_an_array() -> None:
    keys, kernel = Keys(), Dense.of(np.eye(3))
    before = keys.of(kernel)
    keys.assign(kernel, "made")
    assert keys.of(kernel) == "made" != before


@pytest.mark.parametrize("value", [print, lambda: 0, object(), np.array([None]), (1, {"a": [print]})])
def test_what_is_no_plain_data_has_no_key(value: Any) -> None:
    with pytest.raises(TypeError):
        Keys().of(value)
