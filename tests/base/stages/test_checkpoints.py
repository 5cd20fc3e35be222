"""Passes and iterations that are stopped each time, stored, read again and gone on with end with the same bytes."""

from collections.abc import Callable
from dataclasses import fields
from itertools import count
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows import blocks
from mlcli.base.stages.checkpoints import keeping, loop
from mlcli.base.values.compute import Compute
from mlcli.core import krylov
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.latent.probabilistic import Grouped, expectation_maximization, random_start
from mlcli.core.metrics import EUCLIDEAN
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.core.paths.floyd import floyd_warshall
from mlcli.core.paths.paths import Paths
from mlcli.errors import NumericalError
from mlcli.methods.factors.factor_analysis import Bounds, ColumnCovariance, maximum_likelihood
from mlcli.methods.unfolding.semidefinite import Unfolding
from tests.checkpoints import Died, Dying, in_parts, restored, stored
from tests.native.support import random_graph
from tests.support import Notes, features

COMPUTE = Compute()


def same(first: Any, second: Any) -> bool:
    """Whether two values hold the same bytes in every part."""
    if isinstance(first, np.ndarray):
        return first.tobytes() == second.tobytes() and first.shape == second.shape
    if hasattr(first, "__dataclass_fields__"):
        return all(same(getattr(first, part.name), getattr(second, part.name)) for part in fields(first))
    return bool(first == second)


def with_spectrum(values: np.ndarray) -> np.ndarray:
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((len(values), len(values))))[0]
    return (vectors * values) @ vectors.T


SEARCHES: dict[str, tuple[np.ndarray, int, dict[str, Any]]] = {  # eigenvalues, how many are wanted, and how
    "a few passes": (np.geomspace(1, 1e-6, 300), 3, {"tolerance": 1e-10}),
    "many passes, with restarts": (np.r_[2.0, 1.9, 1 - 1e-3 * np.arange(500)], 4, {"tolerance": 1e-9}),
    "a basis as wide as the space": (np.r_[3.0, 2.0, np.linspace(1, 0, 20)], 4, {"tolerance": 1e-12}),
    "stopped by noise": (np.geomspace(1, 1e-6, 200), 3, {"tolerance": 1e-15, "noise": 1e-6}),
    "the clear ones only": (np.r_[1e8, 1e7, np.linspace(1, 0, 100)], 4, {"tolerance": 1e-11, "clear": 1e-5}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_goes_on_after_every_pass(name: str) -> None:
    values, count, options = SEARCHES[name]
    matrix, generator = with_spectrum(values), np.random.default_rng(1)
    if "noise" in options:
        matrix = matrix + 1e-9 * generator.standard_normal(matrix.shape)
    start = generator.standard_normal((len(values), count + krylov.SPARE))
    whole = krylov.krylov(matrix.__matmul__, start, count, **options)
    ended, stops = in_parts(lambda: krylov.krylov(matrix.__matmul__, start, count, **options))
    assert stops == whole.passes - 1 >= 1 and same(whole, ended)
    assert name != "many passes, with restarts" or whole.passes > krylov.WIDEST


def test_a_search_that_does_not_converge_says_so_after_all_its_passes() -> None:
    matrix = with_spectrum(np.r_[2.0, 1 - 1e-6 * np.arange(400)])
    start = np.random.default_rng(0).standard_normal((401, 6))
    with pytest.raises(NumericalError) as whole:
        krylov.krylov(matrix.__matmul__, start, 2, 1e-13, passes=60)
    with pytest.raises(NumericalError) as ended:
        in_parts(lambda: krylov.krylov(matrix.__matmul__, start, 2, 1e-13, passes=60))
    assert str(ended.value) == str(whole.value)


@pytest.mark.parametrize("paths", [{"store": "streamed"}, {"store": "memory"}], ids=lambda paths: paths["store"])
def test_a_search_over_geodesics_goes_on_in_a_kernel_made_anew(paths: dict[str, Any]) -> None:
    """As after the end of a process: nothing but the graph and the checkpoint is left of it."""
    graph = graph_of(nearest(np.random.default_rng(5).random((500, 3)) * [4, 2, 0.1], 9), "union")
    start = np.random.default_rng(2).standard_normal((500, 8))

    def search() -> krylov.Ritz:
        return krylov.krylov(Paths(**paths).kernel(graph, COMPUTE).apply, start, 3, 1e-6)

    whole = search()
    ended, stops = in_parts(search)
    assert stops == whole.passes - 1 >= 1 and same(whole, ended)


def test_floyd_goes_on_after_every_block_of_pivots_of_the_same_graph() -> None:
    if not native.available():
        pytest.skip("without kernels SciPy makes one call")
    points = np.random.default_rng(5).random((300, 3))
    graph, other = (graph_of(nearest(points * scale, 9), "union") for scale in (1.0, 2.0))
    whole, ended = np.empty((300, 300)), np.empty((300, 300))
    floyd_warshall(graph, whole)
    _, stops = in_parts(lambda: floyd_warshall(graph, ended))
    assert stops == -(-300 // native.STRIP) and same(whole, ended)
    keeper = Dying(every=2)
    with keeping(keeper), pytest.raises(Died):
        floyd_warshall(other, ended)
    keeper.loops, keeper.every = 0, 99
    with keeping(keeper):
        floyd_warshall(graph, ended)
    assert same(whole, ended)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_an_elimination_goes_on_after_every_stage_and_amid_one_where_the_run_ends(precision: Any, threads: int) -> None:
    if not native.available():
        pytest.skip("there is no elimination without kernels")
    graph = random_graph(700, 20_000, seed=8)
    analysis = native.Elimination(graph.starts, graph.indices, graph.lengths, np.arange(graph.size))
    with limit_threads(threads):
        whole = native.Weights.eliminated(analysis, precision)
        ended, stops = in_parts(lambda: native.Weights.eliminated(analysis, precision))
        assert stops == sum(count > 0 for count in analysis.stages) - 1 >= 2 and same(whole.numbers, ended.numbers)
        asked = count()
        ended, more = in_parts(lambda: native.Weights.eliminated(analysis, precision), every=1,
                               wanted=lambda: next(asked) % 3 == 2)
        assert more > 1 and same(whole.numbers, ended.numbers)


@pytest.mark.parametrize(("metric", "columns"), [(EUCLIDEAN, 4), (EUCLIDEAN, 20), (Cityblock(), 5)],
                         ids=["a tree", "tiles of products", "all distances"])
def test_a_search_for_neighbors_goes_on_after_every_block(metric: Any, columns: int,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(5).standard_normal((300, columns)).round(1)
    monkeypatch.setattr(blocks, "BATCH", 2)
    whole = nearest(points, 6, metric)
    ended, stops = in_parts(lambda: nearest(points, 6, metric))
    assert stops >= 4 and same(whole, ended)


POINTS = np.random.default_rng(3).standard_normal((80, 3)) @ np.random.default_rng(4).standard_normal((3, 7))
POINTS = POINTS + 0.3 * np.random.default_rng(6).standard_normal(POINTS.shape)


def by_em(options: Any) -> Iterated[Any]:
    data = Grouped.of(np.where(np.random.default_rng(7).random(POINTS.shape) < 0.1, np.nan, POINTS))
    return expectation_maximization(data, random_start(data, 2, np.random.default_rng(0)), options)


def by_newton(options: Any) -> Iterated[Any]:
    moments = ColumnCovariance(np.corrcoef(POINTS.T))
    return maximum_likelihood(moments, 2, Bounds.of(moments, 0.005), options)


@pytest.mark.parametrize("options", [Iterate(), Iterate(limit=4), Iterate(tolerance=1e-300)], ids=repr)
@pytest.mark.parametrize("method", [by_em, by_newton])
def test_an_iteration_goes_on_after_every_step(method: Callable[[Any], Iterated[Any]], options: Iterate) -> None:
    """Also with the trace, the estimate of what is left to go, and the steps since progress was last made."""
    with Notes() as undisturbed:
        whole = method(options)
    with Notes() as stopping:
        ended, stops = in_parts(lambda: method(options))
    assert stops >= min(len(whole.trace) - 1, options.limit) > 0 and same(whole, ended)
    assert stopping.notes == undisturbed.notes


TURN, HEIGHT = (np.random.default_rng(8).random((40, 2)) * [9, 4]).T
ROLL = np.column_stack([(TURN + 3) * np.cos(TURN / 2), HEIGHT, (TURN + 3) * np.sin(TURN / 2)])
UNFOLDINGS: dict[str, tuple[int, dict[str, Any]]] = {  # neighbors, and how; at least so many checkpoints
    "none may grow": (4, {"equal": False}), "kept": (4, {"equal": True}),
    "over a basis": (5, {"equal": True, "basis": 6})}


@pytest.mark.medium
@pytest.mark.parametrize("name", UNFOLDINGS)
def test_an_unfolding_goes_on_after_every_step(name: str) -> None:
    """Every program that it solves is a loop, and so is the search for directions that stresses close."""
    neighbors, options = UNFOLDINGS[name]
    chosen = {"common": False, "basis": 0, "softness": 0.03, "tolerance": 1e-7, "limit": 100, "accepted": True}
    unfold, data = Unfolding(**{**chosen, **options}), features(ROLL)
    graph = graph_of(nearest(ROLL, neighbors), "union")
    with Notes():
        whole = unfold(graph, data, COMPUTE)
        ended, stops = in_parts(lambda: unfold(graph, data, COMPUTE))
    assert stops >= len(whole.trace) >= 5 and same(whole, ended)
    assert same(whole, restored(*stored(whole)))


def test_a_loop_inside_of_another_one_has_no_checkpoints_of_its_own() -> None:
    """The outer one repeats it: which of its runs a checkpoint belongs to could not be known."""
    begun: list[int] = []

    def step(state: Any) -> Any:
        begun.append(1)
        by_em(Iterate(limit=3))
        return state

    with Notes():
        start = by_em(Iterate(limit=1)).state
        begun.clear()
        in_parts(lambda: Iterate(limit=3)(step, start, lambda a, b: 1.0))
    assert len(begun) == 3


def test_checkpoints_that_nobody_keeps_are_not_made() -> None:
    with loop(krylov.KrylovCheckpoint) as place:
        place.offer(lambda: pytest.fail("made"))
    assert place.left is None
