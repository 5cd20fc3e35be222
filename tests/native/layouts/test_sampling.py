"""Steps by sampled forces have the bits of NumPy's, at every instruction set."""

from collections.abc import Callable

import numpy as np
import pytest

from mlcli import native
from mlcli.core.graph.search import nearest
from mlcli.methods.neighbor_embedding.fuzzy_graph import fuzzy_graph
from mlcli.methods.neighbor_embedding.negative_sampling import density_moves, local_radii, move_rows, phases_of
from mlcli.native.layouts import Draw, EdgeArrays, density_rows, radii_rows, sample_rows
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native
RANDOM = np.random.default_rng(5)
EDGES = phases_of(fuzzy_graph(nearest(RANDOM.standard_normal((60, 3)), 7), 1.0, 1.0), 40)
CURVE = np.array([1.577, 0.895, 1.5, 1e-3, 4.0])


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize(("axes", "samples"), [(1, 5), (2, 5), (2, 0), (3, 1), (9, 8)])
def test_steps_are_those_of_numpy(axes: int, samples: int, level: str) -> None:
    points, usual = 5 * RANDOM.random((60, axes)), native.describe()
    points[7] = points[8]
    own, draw = points[10:30], Draw(samples, 6, 2**63 + 11)
    try:
        choose(level)
        for edges in EDGES[:3]:
            some = edges._replace(starts=edges.starts[10:31])
            for place, first in ((own, 10), (5 * RANDOM.random((20, axes)), -1)):
                found = sample_rows(some, place, first, points, CURVE, draw, 0.5)
                expected = move_rows(some, place, first, points, CURVE, draw, 0.5)
                assert found[0].tobytes() == expected[0].tobytes() and found[1:] == expected[1:]
    finally:
        choose(usual)


def radii_and_steps(radii: Callable[..., np.ndarray], step: Callable[..., None],
                    points: np.ndarray) -> list[np.ndarray]:
    """What two functions say of rows 10 to 30: their radii, and where a step leads."""
    edges, moved = EDGES[0]._replace(starts=EDGES[0].starts[10:31]), points[10:30].copy()
    pulls = 1e9 * np.random.default_rng(6).standard_normal((60, 2))
    step(edges, 10, points, pulls=pulls, curve=CURVE, epoch=6, rate=0.5, moved=moved)
    return [radii(edges.starts, edges.columns, 10, points, CURVE, 1e-8), moved]


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("axes", [1, 2, 3, 9])
def test_radii_and_steps_that_keep_them_are_those_of_numpy(axes: int, level: str) -> None:
    points, usual = 5 * RANDOM.random((60, axes)), native.describe()
    points[EDGES[0].columns[EDGES[0].starts[12]]] = points[12]
    try:
        choose(level)
        for found, expected in zip(radii_and_steps(radii_rows, density_rows, points),
                                   radii_and_steps(local_radii, density_moves, points), strict=True):
            assert found.tobytes() == expected.tobytes() and np.ptp(expected) > 0.1
        assert np.abs(expected - points[10:30]).max() > 1e-3
    finally:
        choose(usual)


def test_extreme_positions_have_finite_steps() -> None:
    for size in (1e-160, 1e-9, 1e9, 1e120):
        points = size * RANDOM.random((60, 2))
        moved, cost, _ = sample_rows(EDGES[0], points, 0, points, CURVE, Draw(5, 6, 1), 1.0)
        assert np.isfinite(moved).all() and np.isfinite(cost)
        assert all(np.isfinite(found).all() for found in radii_and_steps(radii_rows, density_rows, points))


def test_edges_that_are_not_there_are_refused() -> None:
    points = RANDOM.random((60, 2))
    edges = EDGES[0]
    changes: list[Callable[[EdgeArrays], EdgeArrays]] = [
        lambda e: e._replace(columns=e.columns + np.int32(60)), lambda e: e._replace(columns=e.columns - np.int32(60)),
        lambda e: e._replace(starts=e.starts + len(e.columns)), lambda e: e._replace(starts=e.starts[:-1]),
        lambda e: e._replace(starts=e.starts[::-1].copy()), lambda e: e._replace(rates=e.rates[:-1])]
    for change in changes:
        with pytest.raises(ValueError, match=r"out of range|descend|must have"):
            sample_rows(change(edges), points, 0, points, CURVE, Draw(5, 6, 1), 1.0)
        with pytest.raises(ValueError, match=r"out of range|descend|must have"):
            density_rows(change(edges), 0, points, pulls=points, curve=CURVE, epoch=6, rate=1.0, moved=points.copy())
    with pytest.raises(ValueError, match="out of range"):
        radii_rows(edges.starts, edges.columns, 1, points, CURVE, 1e-8)
    with pytest.raises(ValueError, match="two pulls"):
        density_rows(edges, 0, points, pulls=points[:, :1].copy(), curve=CURVE, epoch=6, rate=1.0, moved=points.copy())
