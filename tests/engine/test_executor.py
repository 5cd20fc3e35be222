"""A pass gives the same bytes wherever its blocks run: on threads, or in processes that are started for it."""

import io
import pickle
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows import blocks
from mlcli.base.rows.blocks import AHEAD
from mlcli.base.stages.checkpoints import keeping
from mlcli.base.values.compute import Compute
from mlcli.core.graph import search
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import Lists, nearest, nearest_of_new, within
from mlcli.core.kernels import streamed
from mlcli.core.kernels.functions import Gaussian, Linear, Polynomial
from mlcli.core.kernels.streamed import Streamed
from mlcli.core.kernels.tiles import GROUP, TILE, Tiles
from mlcli.core.metrics.distances import between, with_metric
from mlcli.core.paths.elimination import Analysis, EliminationRows
from mlcli.core.paths.geodesics import DijkstraRows
from mlcli.core.similarities import spaces
from mlcli.engine.executor import Block, results, running_on
from mlcli.findings.quality.measure import BaselineCoordinates, quality
from tests.checkpoints import Died, Dying, in_parts
from tests.core.test_metrics import metric
from tests.support import Notes, features, fit

MANY = np.random.default_rng(7).random((TILE * GROUP + 700, 3)) * [4, 2, 0.1]  # points of three blocks of tiles
POINTS = MANY[:300]
eliminates = pytest.mark.skipif(not native.available(),
                                reason="needs the native kernels")
KPCA: dict[str, Any] = {"kernel": {"name": "gaussian", "rate": 0.7}}
ISOMAP: dict[str, Any] = {"neighbors": 9, "paths": {"algorithm": "dijkstra", "store": "streamed"}}


def a_pass(kernel: Streamed) -> list[bytes]:
    """What a pass gives, and the moments that it collects."""
    product = kernel.apply(np.random.default_rng(0).standard_normal((kernel.size, 5)))
    return [product.tobytes(), kernel.centering.means.tobytes(), np.array([kernel.trace, kernel.frobenius]).tobytes()]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("function", [Gaussian(rate=0.7), Polynomial(degree=2, gamma=0.5), Linear()],
                         ids=lambda function: function.name)
def test_tiles_of_a_kernel_function(function: Any, kind: Any, processes: Executor) -> None:
    tiles = Tiles(function, MANY, kind)
    assert tiles.blocks == 3
    tiles.rows(np.array([1]))  # what it keeps for itself does not travel
    with limit_threads(2):
        here = a_pass(Streamed(tiles))
        with running_on(processes, 2):
            assert a_pass(Streamed(tiles)) == here


def test_large_kernels_have_larger_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not more of them: their number would keep a cluster's scheduler busy for longer than the workers."""
    tiles = Tiles(Gaussian(rate=0.7), MANY, np.float64)
    vectors = np.random.default_rng(0).standard_normal((len(MANY), 2))
    fine = tiles.blocks, Streamed(tiles).apply(vectors)
    monkeypatch.setattr("mlcli.core.kernels.tiles.GROUP", 1)
    monkeypatch.setattr("mlcli.core.kernels.tiles.GROUPS", 3)
    assert tiles.blocks == 6 != fine[0]
    np.testing.assert_allclose(Streamed(tiles).apply(vectors), fine[1], rtol=0, atol=1e-9 * np.abs(fine[1]).max())


def test_geodesics_by_dijkstra(processes: Executor) -> None:
    source = DijkstraRows(graph_of(nearest(POINTS, 9), "union"))
    assert source.blocks == 5
    with limit_threads(2):
        here = a_pass(Streamed(source))
        with running_on(processes, 2):
            assert a_pass(Streamed(source)) == here


@eliminates
@pytest.mark.parametrize("keep", [False, True])
def test_geodesics_by_elimination(keep: bool, processes: Executor) -> None:
    source = EliminationRows.of(Analysis.of(graph_of(nearest(POINTS, 9), "union")), "float32", keep)
    with limit_threads(2):
        here = a_pass(Streamed(source))
        with running_on(processes, 2):
            assert a_pass(Streamed(source)) == here


@pytest.mark.medium
@pytest.mark.parametrize("columns", [3, 40], ids=["tree", "products"])
def test_neighbors(columns: int, processes: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).integers(0, 3, (500, columns)).astype(float)  # with many ties
    with limit_threads(2):
        here = nearest(points, 7)
        monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
        with running_on(processes, 2):
            there = nearest(points, 7)
    assert here.indices.tobytes() == there.indices.tobytes() and here.lengths.tobytes() == there.lengths.tobytes()


@pytest.mark.medium
@pytest.mark.parametrize("name", ["cosine", "minkowski", "gower", "jaccard"])
def test_neighbors_under_a_metric(name: str, processes: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """By candidates and by all distances, and within a radius."""
    points = np.random.default_rng(1).integers(0, 3, (300, 40)).astype(float)
    points[150:] += np.random.default_rng(2).random((150, 40)) * (name != "jaccard")
    comparison = metric(name).fitted(points)
    far = float(np.quantile(between(comparison, points[:50], points), 0.1))

    def found() -> list[bytes]:
        lists = [nearest(points, 7, comparison),
                 nearest_of_new(points[:90] + 1.0, points, 7, comparison),
                 within(points, points, far, comparison, without_self=True)]
        return [part.tobytes() for some in lists for part in (some.starts, some.indices, some.lengths)]

    with limit_threads(2):
        here = found()
        monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
        with running_on(processes, 2):
            assert found() == here


def test_a_radius(processes: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).integers(0, 5, (500, 3)).astype(float)  # with many ties
    monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
    here = within(points, points, 1.0, without_self=True)
    with running_on(processes, 2):
        there = within(points, points, 1.0, without_self=True)
    assert here.lengths.size > 500 and there.indices.tobytes() == here.indices.tobytes()
    assert there.lengths.tobytes() == here.lengths.tobytes()


SEARCHES: dict[str, Callable[[], Lists]] = {
    "nearest": lambda: nearest(MANY[:400], 7),
    "metric": lambda: nearest(MANY[:400], 7, metric("minkowski").fitted(MANY[:400])),
    "within": lambda: within(MANY[:400], MANY[:400], 0.3, without_self=True)}


@pytest.mark.medium
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_that_dies_on_workers_goes_on_there_or_here(name: str, processes: Executor,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are done are not searched for again, though threads have other blocks than workers."""
    monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
    monkeypatch.setattr(search, "HELD", 2**14)
    whole, died = SEARCHES[name](), Dying(every=150)
    with keeping(died), running_on(processes, 2), pytest.raises(Died):
        SEARCHES[name]()
    assert died.offers == 150
    for place in (running_on(processes, 2), nullcontext()):
        later = Dying(every=1000)
        later.kept = dict(died.kept)
        with keeping(later), place:
            ended = SEARCHES[name]()
        assert later.offers <= 400 / 2 - 150
        assert all(getattr(ended, part).tobytes() == getattr(whole, part).tobytes()
                   for part in ("starts", "indices", "lengths"))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_on_threads_goes_on_after_any_block(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "HELD", 2**14)
    monkeypatch.setattr(blocks, "BATCH", 1)
    whole = SEARCHES[name]()
    ended, deaths = in_parts(SEARCHES[name])
    assert deaths > 3
    assert all(getattr(ended, part).tobytes() == getattr(whole, part).tobytes()
               for part in ("starts", "indices", "lengths"))


@pytest.mark.parametrize(("rows", "anchors", "columns", "name"), [
    pytest.param(6000, 2900, 3, "euclidean", marks=pytest.mark.slow), (300, 300, 3, "euclidean"),
    (300, 300, 40, "manhattan"), (300, 40, 5, "cosine")])
def test_quality(rows: int, anchors: int, columns: int, name: str, processes: Executor,
                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Of anchors in two groups, or in one; under metrics that are compared directly, and by Euclidean distances."""
    points = np.random.default_rng(4).standard_normal((rows, columns))
    data = features(points)
    source = with_metric(metric(name), data)
    decode = fit("pca", points).projector.decode

    def found() -> tuple[str, bytes]:
        measured = quality(source, points[:, :2], labels={"half": ["a", "b"] * (rows // 2)}, decode=decode,
                           sample=anchors, baseline=BaselineCoordinates("pca", points[:, 1:]),
                           generator=np.random.default_rng(5))
        return repr(measured.figures), measured.pairs.tobytes()

    with limit_threads(2):
        here = found()
        monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
        with running_on(processes, 2):
            assert found() == here


@eliminates
def test_quality_along_a_graph(processes: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose distances are swept from the eliminated graph."""
    monkeypatch.setattr(streamed, "STORED", 1)
    monkeypatch.setattr(spaces, "STORED", 1)
    with limit_threads(2):
        model = fit("isomap", POINTS, neighbors=9, paths={"store": "streamed"})
        kept = model.space(Compute())
        assert kept is not None and kept.portable and isinstance(pickle.loads(pickle.dumps(kept)), spaces.GeodesicSpace)

        def found() -> str:
            return repr(quality(features(POINTS), model.embedding, kept=kept, sample=100,
                                generator=np.random.default_rng(5)).figures)

        here = found()
        monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
        with running_on(processes, 2):
            assert found() == here


@pytest.mark.medium
@pytest.mark.parametrize("method", ["isomap", "kpca"])
def test_a_whole_fit(method: str, processes: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "STORED", 1)
    points, options = (MANY, KPCA) if method == "kpca" else (POINTS, ISOMAP)
    with limit_threads(2), Notes() as notes:
        here = fit(method, points, **options)
        with running_on(processes, 2):
            there = fit(method, points, **options)
    assert "F-KRYLOV" in notes.codes
    assert here.embedding.tobytes() == there.embedding.tobytes()
    assert here.spectrum.values.tobytes() == there.spectrum.values.tobytes()


@eliminates
def test_an_eliminated_graph_travels_with_its_weights_and_without_what_it_kept() -> None:
    source = EliminationRows.of(Analysis.of(graph_of(nearest(POINTS, 9), "union")), "float32", keep=True)
    vectors = np.random.default_rng(0).standard_normal((300, 5))
    here = [source.fold(number, vectors, moments=True)[0] for number in range(source.blocks)]
    file = io.BytesIO()
    Pickler(file).dump(Block(source, 0))
    there = Unpickler(io.BytesIO(file.getvalue()), source.weights).load().source
    assert file.getbuffer().nbytes < source.graph.bytes + 5000 and source.rooms and not there.rooms
    for number, wanted in enumerate(here):
        found, = there.fold(number, vectors, moments=True)
        assert found.product.tobytes() == wanted.product.tobytes() and found.squares == wanted.squares
    source.stop()
    assert not there.stopped.is_set()


class Pickler(pickle.Pickler):
    """Leaves the weights of an elimination to those who know how they are stored."""

    def persistent_id(self, value: Any) -> str | None:
        return "weights" if isinstance(value, native.Weights) else None


class Unpickler(pickle.Unpickler):
    """Puts them back."""

    def __init__(self, file: io.BytesIO, weights: native.Weights) -> None:
        super().__init__(file)
        self.weights = weights

    def persistent_load(self, name: str) -> native.Weights:
        assert name == "weights"
        return self.weights


@frozen
class Counting:
    """A source that counts how often its blocks begin, and stops."""

    blocks: int
    fails: int
    begun: list[int]
    stops: list[int]

    def work(self, number: int) -> int:
        self.begun.append(number)
        return number // (number != self.fails)

    def stop(self) -> None:
        self.stops.append(len(self.begun))


@pytest.mark.parametrize("threads", [2, 4])
def test_an_error_stops_the_source(threads: int) -> None:
    source = Counting(100, 20, [], [])
    with limit_threads(threads), pytest.raises(ZeroDivisionError):
        list(results(source))
    assert len(source.stops) == 1 and 20 in source.begun and max(source.begun) <= 20 + threads + AHEAD
