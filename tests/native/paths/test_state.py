"""An eliminated graph is handed out as arrays and taken in again, and gives the same bytes in every pass."""

import pickle
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.types import AnyArray
from tests.native.support import GRAPHS, eliminated, needs_native, orders

pytestmark = needs_native
both = pytest.mark.parametrize("precision", ["float32", "float64"])


def passes(weights: native.Weights, vectors: AnyArray) -> list[AnyArray]:
    """What every kind of pass gives."""
    size = weights.size
    matrix, rows = np.zeros((size, size)), np.zeros((3, size))
    product, sums = np.zeros((size, vectors.shape[1])), np.zeros(size)
    for block in range(weights.blocks):
        weights.distances(block, matrix)
    weights.rows(np.array([0, size - 1, size // 2]), rows)
    fourths = [weights.fold(block, vectors, product, sums) for block in range(weights.blocks)]
    return [matrix, rows, product, sums, np.array(fourths), weights.order]


@both
@pytest.mark.parametrize("name", ["lattice", "star", "complete", "just a block", "a block and one", "zero lengths"])
def test_every_pass_is_the_same_after_pickling(name: str, precision: Any) -> None:
    graph = GRAPHS[name]
    if native.Elimination(*vars(graph).values(), np.arange(graph.size)).pieces > 1:
        graph = graph.subgraph(np.flatnonzero(graph.pieces() == 0))
    for order in orders(graph).values():
        weights = eliminated(graph, order, precision)
        again = pickle.loads(pickle.dumps(weights))
        assert again.stages == []  # nothing is left to do
        vectors = np.random.default_rng(4).standard_normal((graph.size, 3))
        for found, wanted in zip(passes(again, vectors), passes(weights, vectors), strict=True):
            assert found.tobytes() == wanted.tobytes()


@both
def test_an_analysis_is_the_same_after_pickling(precision: Any) -> None:
    graph = GRAPHS["random"]
    analysis = native.Elimination(*vars(graph).values(), orders(graph)["shuffled"])
    again = pickle.loads(pickle.dumps(analysis))
    for name in ("size", "fill", "work", "pieces", "depth"):
        assert getattr(again, name) == getattr(analysis, name)
    assert again.bytes(precision) == analysis.bytes(precision)
    assert {name: part.tolist() for name, part in again.state().items()} == {
        name: part.tolist() for name, part in analysis.state().items()}


@both
def test_what_is_handed_out_cannot_be_written_to_and_outlives_its_owner(precision: Any) -> None:
    weights = eliminated(GRAPHS["lattice"], orders(GRAPHS["lattice"])["shuffled"], precision)
    numbers = weights.state()["numbers"]
    copied = numbers.copy()
    with pytest.raises(ValueError):
        numbers[0] = 1
    del weights
    assert numbers.dtype == precision and np.array_equal(numbers, copied)


@both
def test_what_is_taken_in_is_copied(precision: Any) -> None:
    graph = GRAPHS["lattice"]
    weights = eliminated(graph, orders(graph)["shuffled"], precision)
    state = weights.state()
    given = state["numbers"].copy()
    again, vectors = native.Weights(state["elimination"], precision, given), np.ones((graph.size, 1))
    given[:] = 0
    for found, wanted in zip(passes(again, vectors), passes(weights, vectors), strict=True):
        assert np.array_equal(found, wanted)


@both
@pytest.mark.parametrize("wrong", ["one less", "one more", "none", "negative", "no number", "other precision",
                                   "square"])
def test_numbers_that_cannot_be_those_of_the_graph_are_refused(precision: Any, wrong: str) -> None:
    graph = GRAPHS["lattice"]
    state = eliminated(graph, orders(graph)["shuffled"], precision).state()
    numbers = state["numbers"].copy()
    other = "float32" if precision == "float64" else "float64"
    marked = numbers.copy()
    marked[len(marked) // 2] = -1.0 if wrong == "negative" else np.nan
    changed = {"one less": numbers[:-1], "one more": np.append(numbers, numbers[:1]), "none": numbers[:0],
               "negative": marked, "no number": marked, "other precision": numbers.astype(other),
               "square": numbers[None, :]}[wrong]
    with pytest.raises((ValueError, TypeError)):
        native.Weights(state["elimination"], precision, changed)
