"""Kernels computed anew in every pass give what a matrix in memory gives."""

import weakref
from concurrent.futures import CancelledError
from itertools import chain
from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows import blocks
from mlcli.base.rows.memo import Memo, open_memo
from mlcli.base.values.compute import Compute
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.core.kernels import streamed, tiles
from mlcli.core.kernels.functions import Gaussian, Linear, Polynomial
from mlcli.core.kernels.streamed import BlockSums, PassPart, Streamed, add_in_order
from mlcli.core.kernels.tiles import kernel_of
from mlcli.core.paths import elimination
from mlcli.core.paths.elimination import Analysis, EliminationRows
from mlcli.core.paths.paths import Paths
from mlcli.engine.executor import ends_span, span_of
from mlcli.errors import ConfigError, MlcliError
from tests.support import Notes, fit

POINTS = np.random.default_rng(5).random((300, 3)) * [4, 2, 0.1]
COMPUTE = Compute()
eliminates = native.available()


def isomap(**paths: Any) -> np.ndarray:
    return fit("isomap", POINTS, neighbors=9, paths=paths, eigensolve={"solver": "krylov"}).spectrum.values[:2]


@pytest.mark.parametrize(("algorithm", "precision", "bound"), [
    ("elimination", "float32", 1e-6), ("elimination", "float64", 1e-10), ("dijkstra", "float64", 1e-10)])
def test_streamed_isomap_is_isomap(algorithm: str, precision: str, bound: float) -> None:
    if algorithm == "elimination" and not eliminates:
        pytest.skip("needs the native kernels")
    whole = fit("isomap", POINTS, neighbors=9, paths={"algorithm": "dijkstra", "store": "memory"})
    model = fit("isomap", POINTS, neighbors=9, eigensolve={"tolerance": 1e-9 if precision == "float64" else 1e-6},
                paths={"algorithm": algorithm, "store": "streamed", "precision": precision})
    assert np.abs(model.spectrum.values[:2] / whole.spectrum.values[:2] - 1).max() <= bound
    assert np.abs(model.embedding - whole.embedding).max() <= 1e3 * bound * np.abs(whole.embedding).max()
    assert model.spectrum.trace == pytest.approx(whole.spectrum.trace, rel=10 * bound)
    new = POINTS[:9] + 0.01
    assert np.abs(model.project(new) - whole.project(new)).max() <= 1e4 * bound * np.abs(whole.embedding).max()


def test_every_store_gives_the_same_spectrum() -> None:
    reference = isomap(store="memory")
    for store in ("disk", "streamed"):
        assert np.abs(isomap(store=store) / reference - 1).max() < 1e-6


def test_a_full_scratch_disk_is_an_error_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(MlcliError) as caught:
        isomap(store="disk")
    assert (caught.value.exit_code, caught.value.code) == (74, "E-SCRATCH")


def test_elimination_without_its_needs_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.core.paths.paths.native_available", lambda: False)
    with pytest.raises(ConfigError) as caught:
        isomap(algorithm="elimination")
    assert caught.value.code == "E-ELIMINATION"
    with Notes() as notes:
        isomap()
    assert any("dijkstra" in note.message for note in notes.notes if note.code == "F-PATHS")


@pytest.mark.parametrize("function", [Gaussian(rate=0.7), Polynomial(degree=2, gamma=0.5), Linear()])
def test_a_streamed_kernel_function_is_its_matrix(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kernel_of(function, POINTS, COMPUTE)
    monkeypatch.setattr(streamed, "STORED", 1)
    monkeypatch.setattr(tiles, "TILE", 17)
    passing = kernel_of(function, POINTS, COMPUTE)
    assert isinstance(passing, Streamed)
    block = np.random.default_rng(0).standard_normal((300, 5))
    scale = np.abs(whole.matrix).max() * 300  # type: ignore[union-attr]
    assert np.abs(passing.apply(block) - whole.apply(block)).max() <= 1e-14 * scale * 10
    assert passing.trace == pytest.approx(whole.trace, rel=1e-12)
    assert passing.frobenius == pytest.approx(whole.frobenius, rel=1e-11)
    assert np.allclose(passing.centering.means, whole.centering.means, rtol=1e-12)
    assert passing.passes == 1


@pytest.mark.parametrize("tile", [7, 64, 300, 1000])
def test_tiles_of_half_the_matrix_are_all_of_it(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "TILE", tile)
    function, block = Gaussian(rate=0.7), np.random.default_rng(1).standard_normal((300, 3))
    matrix = function(POINTS, POINTS)
    for kind, bound in ((np.float64, 1e-14), (np.float32, 1e-6)):
        work, product, sums, squares, trace = tiles.Tiles(function, POINTS, kind), np.zeros((300, 3)), 0.0, 0.0, 0.0
        for part in (part for number in range(work.blocks) for part in work.fold(number, block, True)):
            product[part.rows] += part.product
            sums, squares, trace = sums + np.sum(part.sums), squares + part.squares, trace + part.trace
        assert np.abs(product - matrix @ block).max() <= 10 * bound * np.abs(matrix).sum(axis=1).max()
        assert (sums, squares, trace) == pytest.approx((matrix.sum(), (matrix**2).sum(), 300), rel=300 * bound)


@pytest.mark.parametrize(("spread", "single"), [(1.0, True), (1e3, False)])
def test_single_precision_only_begins(spread: float, single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eigenvalues are those of double precision, also where two far groups leave single precision no digits."""
    points = np.vstack([POINTS, POINTS[:150] * 0.9 + spread]) if spread > 1 else POINTS
    kernel = {"name": "gaussian", "rate": 0.7}
    whole = fit("kpca", points, kernel=kernel, eigensolve={"solver": "dense"})
    monkeypatch.setattr(streamed, "STORED", 1)
    with Notes() as notes:
        model = fit("kpca", points, kernel=kernel, eigensolve={"tolerance": 1e-9})
    found = next(note for note in notes.notes if note.code == "F-KRYLOV")
    assert (found.facts["single_precision"] > 0) == single
    assert max(found.facts["residuals"][:2]) <= 1e-9
    assert np.abs(model.spectrum.values[:2] / whole.spectrum.values[:2] - 1).max() < 1e-9
    assert model.spectrum.trace == pytest.approx(whole.spectrum.trace, rel=1e-9)


def test_streamed_kernel_pca_is_kernel_pca(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = {"name": "gaussian", "rate": 0.7}
    whole = fit("kpca", POINTS, kernel=kernel)
    monkeypatch.setattr(streamed, "STORED", 1)
    model = fit("kpca", POINTS, kernel=kernel)
    assert np.abs(model.spectrum.values[:2] / whole.spectrum.values[:2] - 1).max() < 1e-10
    assert np.abs(model.embedding - whole.embedding).max() < 1e-4
    share = fit("kpca", POINTS, kernel=kernel, components=0.6)
    assert share.spectrum.proportions[: share.embedding.shape[1]].sum() >= 0.6


def test_the_geodesics_of_a_streamed_kernel_are_those_of_the_matrix() -> None:
    graph = graph_of(nearest(POINTS, 9), "union")
    rows = Paths(algorithm="dijkstra").distances(graph, COMPUTE)
    kernel = Paths(store="streamed").kernel(graph, COMPUTE)
    assert isinstance(kernel, Streamed)
    assert np.allclose(kernel.rows(np.array([3, 200])), -0.5 * rows[[3, 200]] ** 2, rtol=1e-12)


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
def test_quick_rows_are_those_of_the_matrix_in_the_precision_of_a_pass() -> None:
    graph = graph_of(nearest(POINTS, 9), "union")
    rows, some = Paths(algorithm="dijkstra").distances(graph, COMPUTE), np.arange(299, 100, -2)
    for precision, tolerance in (("float32", 3e-6), ("float64", 1e-12)):
        options = {"algorithm": "elimination", "store": "streamed", "precision": precision}
        kernel = Paths(**options).kernel(graph, COMPUTE)
        assert kernel.quick_rows is not None
        assert np.allclose(kernel.quick_rows(some), -0.5 * rows[some] ** 2, rtol=tolerance)


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
def test_rows_that_outlive_a_fit_do_not_hold_all_its_distances() -> None:
    engine = EliminationRows.of(Analysis.of(graph_of(nearest(POINTS, 9), "union")), "float32", keep=True)
    engine.fold(0, np.ones((300, 1)), moments=True)
    rows, alive = engine.quick_rows, weakref.ref(engine.rooms[0])
    del engine
    assert alive() is None and rows(np.array([7]))[0, 7] == 0


@frozen
class Identity:
    """The identity as a kernel that is never stored, with a block for each row."""

    size: int
    stopped: list[bool]
    width = 4
    landmarks = 4
    order = None
    quick_rows = sample = None

    @property
    def blocks(self) -> int:
        return self.size

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        return np.eye(self.size)[chosen]

    def fold(self, number: int, vectors: np.ndarray, moments: bool) -> list[BlockSums]:
        return [BlockSums(slice(number, number + 1), vectors[number : number + 1])]

    def stop(self) -> None:
        self.stopped.append(True)


def test_a_pass_that_is_left_tells_its_blocks_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Identity(50, [])
    kernel = Streamed(rows)
    with limit_threads(2):
        kernel.apply(np.ones((50, 2)))
    assert not rows.stopped

    def interrupted(done: int, total: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(blocks, "advance", interrupted)
    with limit_threads(2), pytest.raises(KeyboardInterrupt):
        kernel.apply(np.ones((50, 2)))
    assert rows.stopped == [True]


@pytest.mark.parametrize("collects", [False, True])
def test_sums_of_workers_have_the_bits_of_a_pass_in_one_process(collects: bool) -> None:
    """Whatever results a worker adds together within a span, as long as their order is that of the blocks."""
    size, count, random = 60, 40, np.random.default_rng(3)

    def result() -> list[BlockSums]:
        some = []
        for start in (int(random.integers(0, size - 6)), *(6 * random.permutation(10)[:2]).tolist()):
            rows = slice(start, start + 6 if some else size)
            count = rows.stop - start
            some.append(BlockSums(rows, random.standard_normal((count, 3)),
                                  random.standard_normal(count) if collects else 0.0))
        return [*some, BlockSums(slice(0, 0), np.zeros((0, 3)), 0.0, random.random(), random.random())]

    every = [result() for _ in range(count)]
    here = PassPart.before(np.zeros((size, 3)), None, collects=collects)
    for number, folded in enumerate(every, 1):
        here = here.add(folded, ends=ends_span(number, count))
    whole: list[Any] = []
    for start in range(0, count, span_of(count)):
        span: list[Any] = []
        left = every[start : start + span_of(count)]
        while left:
            some = int(random.integers(1, 6))
            span, left = [add_in_order([*span, *left[:some]])], left[some:]
        whole = [add_in_order([*whole, *span])]
    there = PassPart.before(np.ones((size, 3)), None, collects=collects).at(count, whole[0])
    assert span_of(count) < count and there.blocks == here.blocks
    assert all(getattr(here, name)[0].tobytes() == getattr(there, name)[0].tobytes()
               for name in ("product", "sums", "squares", "trace"))


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
@pytest.mark.parametrize("size", [65, 700, 2500])
def test_the_blocks_of_a_pass_are_all_sweeps_much_work_and_little_in_turn(size: int,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).random((size, 2))
    engine = EliminationRows.of(Analysis.of(graph_of(nearest(points, 6), "union")), "float32")
    folded: list[list[int]] = []
    monkeypatch.setattr(EliminationRows, "_fold", lambda self, number, *rest: folded[-1].append(number) or 0.0)
    for number in range(engine.blocks):
        folded.append([])
        engine.fold(number, np.ones((size, 2)), moments=True)
    assert sorted(chain.from_iterable(folded)) == list(range(engine.strips))
    halves = [sum(size - 64 * number for number in chain.from_iterable(folded[half::2])) for half in (0, 1)]
    assert engine.blocks < 4 or halves[0] > halves[1]
    for first, second in zip(folded[::2], folded[1::2], strict=False):
        assert abs(first[0] + second[-1] - (engine.strips - 1)) <= len(first)


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
def test_a_stopped_elimination_folds_no_further_block(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).random((2500, 2))
    analysis = Analysis.of(graph_of(nearest(points, 6), "union"))
    monkeypatch.setattr(elimination, "SHARES", 1)
    engine, folded = EliminationRows.of(analysis, "float32"), []
    whole = EliminationRows._fold

    def once(self: EliminationRows, number: int, *rest: Any) -> float:
        folded.append(number)
        self.stop()
        return whole(self, number, *rest)

    monkeypatch.setattr(EliminationRows, "_fold", once)
    with pytest.raises(CancelledError):
        engine.fold(0, np.ones((2500, 2)), moments=True)
    assert folded == [0]


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
def test_runs_of_a_sweep_make_a_pass_over_one_graph_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that differ by their axes alone pass over the same kernel with the same blocks, as far as both go."""
    folded, fold = [0], EliminationRows.fold

    def counted(self: EliminationRows, number: int, vectors: np.ndarray, moments: bool) -> Any:
        folded[-1] += number == 0
        return fold(self, number, vectors, moments)

    def spectrum(components: int, neighbors: int = 9) -> np.ndarray:
        fitted = fit("isomap", POINTS, neighbors=neighbors, paths={"store": "streamed", "algorithm": "elimination"},
                     eigensolve={"solver": "krylov", "components": components})
        return np.column_stack([fitted.embedding, fitted.embedding @ np.diag(fitted.spectrum.values[:components])])

    monkeypatch.setattr(EliminationRows, "fold", counted)
    alone = {}
    for components in (2, 3, 5):
        folded.append(0)
        alone[components] = spectrum(components), folded[-1]
    memo = Memo(shared=True)
    for components in (3, 2, 5):
        folded.append(0)
        with open_memo(memo):
            assert np.array_equal(spectrum(components), alone[components][0])
        assert folded[-1] == max(alone[components][1] - {3: 0, 2: 99, 5: alone[3][1]}[components], 0)
    folded.append(0)
    with open_memo(memo):
        spectrum(2, neighbors=11)
    assert folded[-1] > 0


@pytest.mark.skipif(not eliminates, reason="needs the native kernels")
def test_thick_up_sets_are_swept_for_more_vectors_unless_distances_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spectrum is the same, and the search begins from more landmarks and takes no more passes."""
    graph = graph_of(nearest(np.random.default_rng(0).random((900, 8)), 9), "union")

    def passes() -> tuple[int, np.ndarray]:
        kernel = Paths(store="streamed", algorithm="elimination").kernel(graph, COMPUTE)
        assert isinstance(kernel, Streamed)
        solved = kernel.solve(Eigensolve(solver="krylov"), COMPUTE)
        return kernel.passes, solved.values[:2]

    engine = EliminationRows.of(Analysis.of(graph), "float32")
    thin, usual = (engine.width, engine.landmarks), passes()
    monkeypatch.setattr(elimination, "THICK", 1)
    kept = EliminationRows.of(Analysis.of(graph), "float32", keep=True)
    assert (kept.width, kept.landmarks) == thin < (engine.width, engine.landmarks)
    wide = passes()
    assert wide[0] <= usual[0]
    assert np.abs(wide[1] / usual[1] - 1).max() < 1e-6
