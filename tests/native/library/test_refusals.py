"""Wrong input raises ValueError or TypeError and never crashes; a missing library says so."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.types import AnyArray
from mlcli.errors import DependencyMissing
from mlcli.native.library import kernels
from tests.native.support import GRAPHS, eliminated, levels, needs_native
from tests.processes import call, python

GRAPH = GRAPHS["two vertices"]
STARTS, INDICES, LENGTHS, ORDER = np.array([0, 1, 2]), np.array([1, 0]), np.array([1.0, 1.0]), np.array([0, 1])
WRONG = {
    "starts do not begin at 0": ([1, 1, 2], INDICES, LENGTHS, ORDER),
    "starts beyond the indices": ([0, 1, 3], INDICES, LENGTHS, ORDER),
    "starts descend": ([0, 2, 1, 2], INDICES, LENGTHS, [0, 1, 2]),
    "no starts": ([], [], [], []),
    "index too large": (STARTS, [2, 0], LENGTHS, ORDER),
    "index negative": (STARTS, [-1, 0], LENGTHS, ORDER),
    "lengths missing": (STARTS, INDICES, [1.0], ORDER),
    "length negative": (STARTS, INDICES, [-1.0, 1.0], ORDER),
    "length not a number": (STARTS, INDICES, [np.nan, 1.0], ORDER),
    "order too short": (STARTS, INDICES, LENGTHS, [0]),
    "order repeats": (STARTS, INDICES, LENGTHS, [1, 1]),
    "order out of range": (STARTS, INDICES, LENGTHS, [0, 2]),
}


@needs_native
@pytest.mark.parametrize("name", WRONG)
def test_wrong_graphs(name: str) -> None:
    starts, indices, lengths, order = (np.asarray(part) for part in WRONG[name])
    with pytest.raises(ValueError):
        native.Elimination(starts, indices, lengths, order)
    if not name.startswith("order"):
        with pytest.raises(ValueError):
            native.dijkstra_rows(starts, indices, lengths, np.array([0]), np.empty((1, max(len(starts) - 1, 0))))
        with pytest.raises(ValueError):
            native.pieces(starts, indices, lengths)


def _calls() -> dict[str, Callable[[], Any]]:
    weights = eliminated(GRAPH, ORDER)
    square, five, two, graph = np.zeros((3, 3)), np.zeros((5, 2)), np.zeros((2, 2)), (STARTS, INDICES, LENGTHS)

    def fold(product: AnyArray, vectors: AnyArray = two, **more: Any) -> float:
        return weights.fold(0, vectors, product, np.zeros(len(product)), **more)

    return {
        "block too large": lambda: weights.distances(1, np.empty((2, 2))),
        "block negative": lambda: weights.distances(-1, np.empty((2, 2))),
        "stage": lambda: weights.factor(99, 0),
        "task": lambda: weights.factor(0, 99),
        "stage of all pairs": lambda: kernels().AllPairsDouble(weights._native).run(99, 0, two),
        "task of all pairs": lambda: kernels().AllPairsDouble(weights._native).run(0, 99, two),
        "all pairs too narrow": lambda: weights.all_pairs(np.empty((2, 1))),
        "all pairs of the first sources": lambda: weights.all_pairs(np.empty((1, 2))),
        "too few columns": lambda: weights.distances(0, np.empty((2, 1))),
        "too few rows": lambda: weights.distances(0, np.empty((1, 2))),
        "vectors too short": lambda: fold(np.zeros((2, 2)), vectors=np.empty((1, 2))),
        "product too short": lambda: fold(np.zeros((1, 2))),
        "product too long": lambda: fold(np.zeros((3, 2))),
        "product too narrow": lambda: fold(np.zeros((2, 1))),
        "sums too short": lambda: weights.fold(0, np.empty((2, 2)), np.zeros((2, 2)), np.zeros(1)),
        "kept too short": lambda: fold(np.zeros((2, 2)), kept=np.zeros((1, 32))),
        "nothing kept": lambda: fold(np.zeros((2, 2)), again=True),
        "pieces": lambda: eliminated(GRAPHS["no edges"], np.arange(5)).fold(0, five, five.copy(), np.zeros(5)),
        "column of no vertex": lambda: weights.fold_columns(np.array([2]), np.ones((1, 2)), two.copy()),
        "factors too few": lambda: weights.fold_columns(np.array([0, 1]), np.ones((1, 2)), two.copy()),
        "factors too narrow": lambda: weights.fold_columns(np.array([0]), np.ones((1, 1)), two.copy()),
        "columns too short": lambda: weights.fold_columns(np.array([0]), np.ones((1, 2)), np.zeros((1, 2))),
        "columns of pieces": lambda: eliminated(GRAPHS["no edges"], np.arange(5)).fold_columns(
            np.array([0]), np.ones((1, 2)), five.copy()),
        "swept source too large": lambda: weights.rows(np.array([2]), np.empty((1, 2))),
        "swept source negative": lambda: weights.rows(np.array([-1]), np.empty((1, 2))),
        "swept rows missing": lambda: weights.rows(np.array([0, 1]), np.empty((1, 2))),
        "swept columns missing": lambda: weights.rows(np.array([0]), np.empty((1, 1))),
        "source too large": lambda: native.dijkstra_rows(*graph, np.array([2]), np.empty((1, 2))),
        "source negative": lambda: native.dijkstra_rows(*graph, np.array([-1]), np.empty((1, 2))),
        "rows missing": lambda: native.dijkstra_rows(*graph, np.array([0, 1]), np.empty((1, 2))),
        "not square": lambda: native.floyd_pivot(np.zeros((3, 2)), 0),
        "pivot": lambda: native.floyd_pivot(square, 1),
        "strip": lambda: native.floyd_rows(square, 0, 1),
        "pivot as strip": lambda: native.floyd_rows(square, 0, 0),
        "too many neighbors": lambda: native.select_neighbors(square, 4),
        "own too short": lambda: native.select_neighbors(square, 1, np.array([0])),
        "candidate too large": lambda: native.refine(square, square, np.array([[3], [0], [0]]), 1),
        "candidate below -1": lambda: native.refine(square, square, np.array([[-2], [0], [0]]), 1),
        "too few candidates": lambda: native.refine(square, square, np.array([[1], [0], [0]]), 2),
        "tree of nothing": lambda: native.KdTree(np.empty((0, 2))),
        "tree of no columns": lambda: native.KdTree(np.empty((2, 0))),
        "tree of what is no number": lambda: native.KdTree(np.array([[np.nan]])),
        "tree with fewer points": lambda: native.KdTree(square).query(square, 4),
        "tree with other columns": lambda: native.KdTree(square).query(square[:, :2], 1),
        "row that is no number": lambda: native.KdTree(square).query(np.full((1, 3), np.inf), 1),
        "products of rows with longer ones": lambda: kernels().row_products(square, five, np.zeros((3, 5))),
        "products too few": lambda: kernels().row_products(square, square, np.zeros((3, 2))),
        "products apart": lambda: kernels().row_products(square, square, np.zeros((3, 6))[:, ::2]),
        "rotations of an odd number of rows": lambda: kernels().rotate(
            square, square.copy(), np.zeros((2, 3), np.int64)),
        "rotations of other rows": lambda: kernels().rotate(two, np.zeros((2, 3)), np.zeros((1, 2), np.int64)),
        "rotations of rows that are none": lambda: kernels().rotate(two, two.copy(), np.full((1, 2), 2)),
        "columns differ": lambda: native.refine(square, square[:, :2], np.array([[1], [0], [0]]), 1),
    }


@needs_native
def test_wrong_calls() -> None:
    for name, wrong in _calls().items():
        with pytest.raises(ValueError):
            wrong()
            pytest.fail(name)


@needs_native
def test_wrong_types() -> None:
    weights = eliminated(GRAPH, ORDER)
    for out in (np.empty((2, 2), dtype=np.int64), np.empty((2, 2), order="F"), np.empty((4, 4))[::2, ::2], [[0.0]]):
        with pytest.raises(TypeError):
            weights.distances(0, out)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            weights.rows(np.array([0, 1]), out)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            weights.all_pairs(out)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        weights.all_pairs(np.empty((2, 2), dtype=np.float32))  # which cannot hold what is added up in double precision
    locked = np.empty((2, 2))
    locked.flags.writeable = False
    with pytest.raises(TypeError):
        weights.distances(0, locked)
    with pytest.raises(TypeError):
        weights.all_pairs(locked)


@pytest.mark.skipif(os.environ.get("MLCLI_REQUIRE_NATIVE") != "1", reason="MLCLI_REQUIRE_NATIVE is not 1")
def test_native_is_there_where_required() -> None:
    assert native.available()


@needs_native
@pytest.mark.parametrize("level", ["base", "none"])
def test_the_environment_names_a_level(level: str) -> None:
    program = "from mlcli import native; print(native.describe())"
    assert python(program, MLCLI_SIMD=level).strip() == {"base": "base", "none": "absent"}[level]


@pytest.mark.medium
def test_an_unknown_level_is_refused_with_those_that_there_are() -> None:
    done = call("doctor", MLCLI_SIMD="v9")
    known = ", ".join([*(level for level in levels() if level != "absent"), "none"])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (78, "", 1)
    assert done.stderr.startswith("mlcli: error[E-SIMD]: 'v9' ") and f" {known}, " in done.stderr


def test_a_missing_library_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.native.library._library", None)
    assert not native.available() and native.describe() == "absent"
    with pytest.raises(DependencyMissing):
        native.floyd_pivot(np.zeros((1, 1)), 0)
