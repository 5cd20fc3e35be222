"""Neighbors by blocks of near points: those of all pairs, whatever is skipped, at every level and on any threads."""

from itertools import combinations, count, pairwise

import numpy as np
import pytest

from mlcli import native
from mlcli.base.context import set_context
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows import blocks
from mlcli.base.types import AnyArray, Array
from mlcli.core.graph import candidates, point_blocks
from mlcli.core.graph.point_blocks import ASKED, PointBlocks, _stages, _stops
from mlcli.core.graph.search import nearest
from tests.checkpoints import in_parts
from tests.native.library.bits import bits_of
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native

ROUNDING = 1e-5


def groups(rows: int, columns: int, apart: float = 8.0, seed: int = 0) -> Array:
    """Five normal groups, whose columns have less and less variance."""
    random = np.random.default_rng(seed)
    centers = random.standard_normal((5, columns)) * apart
    return (centers[random.integers(0, 5, rows)] + random.standard_normal((rows, columns))) / (1 + np.arange(columns))


def halves(points: AnyArray, count: int) -> Array:
    """Half the squared distances of the nearest of each row, from all differences in double precision."""
    wide = points.astype(np.float64)
    norms = np.square(wide).sum(axis=1)
    squares = norms[:, None] + norms - 2 * wide @ wide.T
    np.fill_diagonal(squares, np.inf)
    return np.sort(squares, axis=1)[:, :count] / 2


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("rows", [2, 16, 385, 1300])
def test_values_are_those_of_all_pairs(rows: int, level: str) -> None:
    usual, points = native.describe(), (groups(rows, 20) / 40).astype(np.float32)
    count = min(7, rows - 1)
    try:
        choose(level)
        found = PointBlocks(points, count, ROUNDING)
        found.search()
    finally:
        choose(usual)
    assert np.array_equal(np.sort(found.order), np.arange(rows))
    assert np.allclose(found.values, halves(points, count)[found.order], rtol=1e-4, atol=1e-6)
    pairs = points[found.order][:, None] - points[found.indices]
    assert np.allclose(found.values, np.square(pairs, dtype=np.float64).sum(axis=2) / 2, rtol=1e-4, atol=1e-6)
    assert (found.indices != found.order[:, None]).all()


@pytest.mark.parametrize("nearby", [None, 1])
def test_portable_values_have_the_same_bits_at_every_level(nearby: int | None) -> None:
    usual, points, bits = native.describe(), (groups(1300, 37, apart=1) / 40).astype(np.float32), set()
    for level in levels():
        try:
            choose(level)
            found = PointBlocks(points, 9, ROUNDING, portable=True)
            found.search(nearby)
        finally:
            choose(usual)
        bits.add(bits_of((found.order, found.indices, found.values)))
    assert len(bits) == 1


def test_blocks_that_are_far_from_each_other_are_skipped() -> None:
    points = np.random.default_rng(0).random((12 * 384, 20)).astype(np.float32) / 4
    one = PointBlocks(points, 5, ROUNDING)
    one.search()
    points[::2, 3] += 3
    two = PointBlocks(points, 5, ROUNDING)
    two.search()
    assert one.skipped == 0 and two.skipped == 36 * 384**2
    assert one.share < 0.3 < two.share
    assert np.allclose(two.values, halves(points, 5)[two.order], rtol=1e-4, atol=1e-6)


DATA = {"groups": groups(1500, 20), "one group": groups(1500, 20, apart=0),
        "an outlier": np.vstack([groups(1499, 30), np.full((1, 30), 1e6)]),
        "copies": np.repeat(groups(300, 18), 5, axis=0), "wide": groups(1200, 120),
        "not turned": groups(400, 50)}


@pytest.mark.parametrize("name", DATA)
def test_neighbors_are_those_of_tiles_on_any_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, shares = nearest(DATA[name], 9), set()
    monkeypatch.setattr(candidates, "MANY", 1)
    monkeypatch.setattr(candidates, "note", lambda code, message, *, skipped: shares.add(skipped))
    for threads in (1, 3):
        with set_context(threads=threads):
            found = nearest(DATA[name], 9)
        assert np.array_equal(found.indices, wanted.indices) and np.array_equal(found.lengths, wanted.lengths)
    assert len(shares) == 1


@pytest.mark.parametrize("columns", [1, 4, 16, 50, 784])
def test_stages_end_with_all_columns(columns: int) -> None:
    ends = _stages(columns)
    assert ends[-1] == columns and ends == sorted(set(ends)) and len(ends) <= 13


def test_products_stop_where_the_columns_are_fewest() -> None:
    random = np.random.default_rng(3)
    for _ in range(20):
        ends = np.concatenate([[0], np.cumsum(random.integers(1, 20, 6))])
        shares = np.concatenate([[1.0], np.sort(random.random(6))[::-1]])

        def columns(kept: list[int], ends: Array = ends, shares: Array = shares) -> float:
            places = [0, *(k + 1 for k in kept)]
            return sum(shares[a] * (ends[b] - ends[a] + ASKED) for a, b in pairwise(places))

        every = [[*some, 5] for size in range(6) for some in combinations(range(5), size)]
        assert np.isclose(columns(_stops(ends, shares)), min(map(columns, every)))


def test_blocks_with_one_center_are_compared() -> None:
    points = np.zeros((8 * 384, 20), dtype=np.float32)
    points[:300] = np.random.default_rng(1).random((300, 20)) / 8
    found = PointBlocks(points, 6, ROUNDING)
    assert (found._distances()[0] == 0).sum() > found.blocks
    found.search()
    copies = found.order >= 300
    assert (found.values[copies] == 0).all()
    assert (np.sort(found.indices[copies], axis=1)[:, :5] == np.arange(300, 305)).all(axis=1).mean() > 0.99


@pytest.mark.medium
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("nearby", [None, 2])
def test_a_search_goes_on_after_every_batch_of_tasks_and_amid_one_where_the_run_ends(
        nearby: int | None, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points = (groups(20 * 384, 24, apart=1) / 40).astype(np.float32)
    monkeypatch.setattr(point_blocks, "TOGETHER", 2)
    monkeypatch.setattr(blocks, "BATCH", 9)

    def search() -> tuple[AnyArray, AnyArray, int, int]:
        found = PointBlocks(points, 9, ROUNDING)
        found.search(nearby)
        return found.indices, found.values, found.passed, found.skipped

    with limit_threads(threads):
        whole, asked = search(), count()
        for wanted in (lambda: False, lambda: next(asked) % 5 == 4):
            ended, stops = in_parts(search, wanted=wanted)
            assert stops > 2 and bits_of(ended) == bits_of(whole)
    assert whole[3] > 0 or nearby


def test_blocks_of_other_shapes_are_refused() -> None:
    points, order = np.zeros((40, 3), dtype=np.float32), np.arange(40)
    with pytest.raises(ValueError):
        native.BlockedPoints(points, order, 20)
    with pytest.raises(ValueError):
        native.BlockedPoints(points, np.zeros(40, dtype=np.int64), 32)
    found = PointBlocks(points, 2, ROUNDING)
    found._halves = found._halves[:-1]
    with pytest.raises(ValueError):
        found.search()


@pytest.mark.parametrize("rows", [pytest.param(20_000, marks=pytest.mark.medium),
                                  pytest.param(200_000, marks=pytest.mark.slow)])
def test_one_and_two_threads_find_the_same_bytes(rows: int) -> None:
    points, found = groups(rows, 20, apart=1), []
    for threads in (1, 2):
        with limit_threads(threads):
            lists = nearest(points, 9)
        found.append(bits_of((lists.indices, lists.lengths)))
    assert found[0] == found[1]
