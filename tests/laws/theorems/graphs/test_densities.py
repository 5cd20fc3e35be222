"""Facts about layouts that keep local densities: radii of known points, the gradient of their correlation, its rise."""

from dataclasses import replace

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Labeled
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Nearest
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from mlcli.methods.neighbor_embedding.fuzzy_graph import fuzzy_graph_of, graph_lists, with_lengths
from mlcli.methods.neighbor_embedding.negative_sampling import (
    LEAST_RADIUS,
    WORD,
    Density,
    DensityTerm,
    data_radii,
    density_term,
    move_by_density,
)
from mlcli.native.layouts import EdgeArrays
from tests.support import Notes, dissimilarities, distances, features, fit
from tests.wording import Wording

RANDOM = np.random.default_rng(4)
SPARSE = RANDOM.standard_normal((40, 3))
GROUPS = np.vstack([SPARSE, 0.1 * SPARSE + 30])  # one is the other, ten times as dense
FORM = np.array([1.577, 0.895, 1.0, 1e-3, np.inf])  # no force is too large
RING = np.stack([np.cos(np.arange(32) * np.pi / 16), np.sin(np.arange(32) * np.pi / 16)], axis=1)


def term_of(values: np.ndarray, options: Density | None = None, epochs: int = 100) -> DensityTerm | None:
    data = features(values)
    lists = graph_lists(data, Nearest(8))
    graph = fuzzy_graph_of(data, lists, 1.0, 1.0)
    return density_term(options or Density(), graph, with_lengths(graph, lists).lengths, epochs)


TERM = term_of(GROUPS)
PLACES = RANDOM.random((80, 2)) * 4


def test_a_group_scaled_by_c_has_radii_scaled_by_c() -> None:
    assert TERM is not None
    apart = np.exp(TERM.radii) - LEAST_RADIUS
    assert apart[:40] == pytest.approx(100 * apart[40:], rel=1e-6)


def test_radii_of_a_grid_are_those_of_its_spacing() -> None:
    """Both ways of a path with lengths h and 2 h: the ends see one each, the middle their mean square by weight."""
    radii = data_radii(np.array([0, 1, 1, 2]), np.array([1.0, 1.0, 0.5, 0.5]), np.array([3.0, 3.0, 6.0, 6.0]), 4)
    assert np.exp(radii[:3]) == pytest.approx(np.array([9, (9 + 18) / 1.5, 36]) / 18, rel=1e-6) and np.isnan(radii[3])


def test_radii_do_not_depend_on_the_unit() -> None:
    larger = term_of(GROUPS * 2.0**37)
    assert TERM is not None and larger is not None and np.array_equal(larger.radii, TERM.radii)


def test_a_ring_of_equal_steps_has_no_densities_to_keep() -> None:
    options = {"neighbors": {"count": 2}, "epochs": 40}
    with Notes() as notes:
        kept = fit("umap", RING, density={}, **options)
    assert "N-DENSITY" in notes.codes and "radius_correlation" not in kept.fit and kept.radii is None
    assert np.array_equal(kept.embedding, fit("umap", RING, **options).embedding)


def correlation(term: DensityTerm, places: np.ndarray) -> float:
    """cov(R, S) / √(var S + shift), by the definition."""
    logs, standard = np.zeros(80), (term.radii - term.radii.mean()) / term.radii.std()
    for row in range(80):
        others = term.columns[term.starts[row] : term.starts[row + 1]]
        squares = ((places[row] - places[others]) ** 2).sum(axis=1)
        near = 1 / (1 + FORM[0] * squares ** FORM[1])
        logs[row] = np.log(LEAST_RADIUS + near @ squares / near.sum())
    return float(np.mean(standard * (logs - logs.mean())) / np.sqrt(logs.var() + term.options.shift))


@pytest.mark.parametrize("options", [Density(), Density(weight=0.7, shift=0.0), Density(shift=2.0)])
def test_steps_along_all_edges_are_the_gradient_of_the_correlation(options: Density) -> None:
    """An edge is one of two entries, each due in its share of the epochs: of equal shares, half the gradient of one."""
    term = term_of(GROUPS, options)
    assert term is not None
    rates = np.ones(len(term.columns), dtype=np.uint32)
    edges, moved = EdgeArrays(term.starts, term.columns, rates,
                              np.full(len(rates), -1, dtype=np.int32)), np.zeros((80, 2))
    move_by_density(edges, 0, PLACES, pulls=term.pulls(PLACES, FORM), curve=FORM, epoch=0, rate=1.0, moved=moved)
    gradient = 2 * moved / (WORD * options.weight * term.shares)
    for row, axis in ((0, 0), (17, 1), (44, 0), (79, 1)):
        step = np.zeros((80, 2))
        step[row, axis] = 1e-5
        slope = (correlation(term, PLACES + step) - correlation(term, PLACES - step)) / 2e-5
        assert gradient[row, axis] == pytest.approx(slope, rel=1e-6, abs=1e-9)
    assert moved.sum(axis=0) == pytest.approx(0, abs=1e-9 * np.abs(moved).sum())


def test_radii_of_the_data_in_the_layout_correlate_with_themselves() -> None:
    """Of points on a plane, whose layout they are, where the curve is nearly flat and memberships all alike."""
    plane = RANDOM.standard_normal((80, 2))
    lists = np.argsort(distances(plane), axis=1)[:, 1:9]
    joined = np.zeros((80, 80), dtype=bool)
    np.put_along_axis(joined, lists, True, axis=1)
    rows, columns = np.nonzero(joined | joined.T)
    graph = Graph(np.concatenate([[0], np.cumsum(np.bincount(rows))]), columns, np.ones(len(rows)))
    term = density_term(Density(), graph, distances(plane)[rows, columns], 100)
    assert term is not None
    radii, known = term.correlation(plane, np.array([1e-9, 1.0, 1.0, 1e-3, 4.0]))
    assert known == pytest.approx(1, abs=1e-9) and radii[:, 0] == pytest.approx(radii[:, 1], abs=1e-6)


def test_a_denser_group_is_drawn_denser() -> None:
    plain, kept = (fit("umap", GROUPS, epochs=200, density=density) for density in (None, {}))
    ratios = [np.linalg.norm(model.embedding[:40].std(axis=0)) / np.linalg.norm(model.embedding[40:].std(axis=0))
              for model in (plain, kept)]
    assert ratios[0] < 1.5 < 2 < ratios[1]
    assert kept.fit["radius_correlation"] > 0.95


def test_only_the_last_epochs_follow_the_term() -> None:
    """A share of 0.1 of ten epochs is the last: those before are as without."""
    options = Density(share=0.1)
    assert [epoch for epoch in range(10) if options.acts(epoch, 10)] == [9]
    assert all(Density(share=1.0).acts(epoch, 7) for epoch in range(7))
    assert Density(share=1e-9).acts(4, 5) and not Density(share=1e-9).acts(3, 5)


def test_threads_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.methods.neighbor_embedding.negative_sampling.BLOCK", 16)
    data = features(GROUPS)
    one, two = (METHODS["umap"](epochs=20, density={}).resolve(data).fit(data, Compute(threads=count))
                for count in (1, 2))
    assert np.array_equal(one.embedding, two.embedding) and one.fit == two.fit


def test_new_points_and_classes_keep_working() -> None:
    data = features(GROUPS)
    labeled = Labeled(data.values, data.ids, data.columns, labels=["one", "other"] * 40)
    for given, more in ((data, {}), (labeled, {"target_weight": 0.5}), (dissimilarities(distances(GROUPS)), {})):
        model = fit("umap", given, epochs=20, density={}, **more)
        assert np.array_equal(model.project(given.values[:5]), model.embedding[:5])
        assert np.isfinite(model.project(given.values[:5] * 1.01)).all()


def test_memberships_without_lengths_are_refused(wording: Wording) -> None:
    graph = AffinityGraph(np.zeros((3, 0)), ["a", "b", "c"], np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]), np.ones(4))
    with wording.raises(ConfigError, "NEEDS"):
        METHODS["umap"](density={}).resolve(graph)


def test_points_without_edges_have_no_radius_and_no_pulls() -> None:
    assert TERM is not None
    alone = replace(TERM, starts=np.append(TERM.starts, TERM.starts[-1]), radii=np.append(TERM.radii, np.nan))
    places = np.vstack([PLACES, [[9.0, 9.0]]])
    assert np.array_equal(alone.pulls(places, FORM)[:80], TERM.pulls(PLACES, FORM))
    assert not alone.pulls(places, FORM)[80].any()
    assert alone.correlation(places, FORM)[1] == TERM.correlation(PLACES, FORM)[1]


def test_the_number_of_epochs_is_larger_with_densities() -> None:
    data = features(GROUPS)
    assert METHODS["umap"](density={}).epochs_of(data) == METHODS["umap"]().epochs_of(data) + 200
    assert METHODS["umap"](density={}, epochs=7).epochs_of(data) == 7
