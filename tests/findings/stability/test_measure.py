"""Fits to rows drawn again: identities of the bootstrap and the jackknife, and invariances of the methods."""

import math

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.findings.stability.measure import (
    Resample,
    StabilityResult,
    angles_of,
    draws,
    interval,
    moves,
    refit_draws,
    summarize,
)
from mlcli.findings.stability.section import offsets
from mlcli.methods import Method
from mlcli.methods.geodesic.isomap import Isomap
from mlcli.methods.local.lle import LLE
from mlcli.methods.principal.pca import PCA
from mlcli.methods.scaling.mds import MDS
from tests.support import dissimilarities, distances, features

GENERATOR = np.random.default_rng(11)
POINTS = GENERATOR.standard_normal((60, 4)) * [4.0, 3.0, 1.0, 0.5]
GIVEN = dissimilarities(distances(POINTS))
COMPUTE = Compute()


def measured(method: Method, data: Features | Dissimilarities, drawn: list[Array], p: int = 2) -> StabilityResult:
    """What fits to these draws say together."""
    method = method.resolve(data).with_axes(p)
    model = method.fit(data, COMPUTE)
    made = refit_draws(model, lambda rows: method.fit(data.take(rows), COMPUTE), drawn)
    return summarize(model, made, asked=len(drawn), level=0.9, drawn=None)


def redrawn(count: int = 8, size: int = 60) -> list[Array]:
    return draws(size, count, None, np.random.default_rng(0))


@pytest.mark.parametrize("method", [PCA(), MDS(), Isomap(), LLE()], ids=lambda method: method.name)
def test_each_row_once_gives_the_run_itself(method: Method) -> None:
    found = measured(method, features(POINTS), [np.arange(60)] * 3)
    for name in ("eigenvalues", "shares"):
        for item in found.figures.get(name, []):
            assert [item["low"], item["high"]] == pytest.approx([item["value"]] * 2, rel=1e-12)
            assert item["deviation"] <= 1e-12 * item["value"]
    assert ("eigenvalues" in found.figures) == (method.name != "lle")
    assert found.figures["angle"]["at_most"] < 1e-6 and (found.counts == 3).all()
    np.testing.assert_allclose(found.deviations, 0, atol=1e-12)


def test_all_axes_of_a_linear_method_are_rigid() -> None:
    found = measured(PCA(), features(POINTS), redrawn(), p=4)
    np.testing.assert_allclose(found.deviations[found.counts > 1], 0, atol=1e-12)
    assert found.figures["angle"]["at_most"] < 1e-6 and found.figures["eigenvalues"][0]["deviation"] > 0.1


def test_classical_scaling_of_distances_is_as_stable_as_pca() -> None:
    own, given = measured(PCA(), features(POINTS), redrawn()), measured(MDS(), GIVEN, redrawn())
    np.testing.assert_allclose(own.deviations, given.deviations, rtol=1e-6, atol=1e-12)
    for name, factor in (("eigenvalues", 60.0), ("shares", 1.0)):
        for first, second in zip(own.figures[name], given.figures[name], strict=False):
            assert [factor * first[key] for key in first] == pytest.approx(list(second.values()), rel=1e-8)


def test_turned_moved_and_mirrored_data_changes_nothing() -> None:
    turn, _ = np.linalg.qr(GENERATOR.standard_normal((4, 4)))
    one, other = (measured(PCA(), features(points), redrawn()) for points in (POINTS, POINTS @ turn + 3.0))
    np.testing.assert_allclose(one.deviations, other.deviations, rtol=1e-7, atol=1e-12)
    assert one.figures["angle"]["median"] == pytest.approx(other.figures["angle"]["median"], rel=1e-7)


def test_data_of_any_size_is_as_stable() -> None:
    one, large = (measured(PCA(), features(points), redrawn()) for points in (POINTS, POINTS * 2.0**300))
    np.testing.assert_array_equal(one.deviations * 2.0**300, large.deviations)
    assert one.figures["shares"] == large.figures["shares"]


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = GENERATOR.standard_normal(30)
    left_out = (values.sum() - values) / 29
    found = interval(float(values.mean()), left_out, 0.9, math.sqrt(29 / 1))
    assert found["deviation"] == pytest.approx(values.std(ddof=1) / math.sqrt(30), rel=1e-12)
    assert found["low"] < found["value"] < found["high"]


def test_draws_are_seeded_and_as_large_as_asked() -> None:
    with_, without = (draws(50, 20, share, np.random.default_rng(5)) for share in (None, 0.8))
    again = draws(50, 20, 0.8, np.random.default_rng(5))
    assert all(len(rows) == 50 for rows in with_) and all(len(np.unique(rows)) == len(rows) == 40 for rows in without)
    assert all(np.array_equal(one, other) for one, other in zip(without, again, strict=True))
    assert not np.array_equal(without[0], without[1])
    assert [len(draws(3, 1, share, np.random.default_rng(0))[0]) for share in (0.01, 0.99)] == [2, 2]


def test_moves_are_variances_over_the_resamples_that_a_row_was_in() -> None:
    rows, shifts = [np.array([0, 1]), np.array([0, 2]), np.array([0, 1])], GENERATOR.standard_normal((3, 2, 2))
    made = [Resample(part, shift, np.ones(1), np.ones(1), 0.0) for part, shift in zip(rows, shifts, strict=True)]
    counts, deviations, correlations = moves(3, made, sample=True)
    assert counts.tolist() == [3, 2, 1] and np.isnan(deviations[2]).all()
    for row, own in ((0, shifts[:, 0]), (1, shifts[[0, 2], 1])):
        np.testing.assert_allclose(deviations[row], own.std(axis=0, ddof=1))
        np.testing.assert_allclose(correlations[row], np.corrcoef(own.T)[0, 1])


def test_an_ellipse_holds_its_share_of_a_normal_distribution() -> None:
    spread = np.array([[4.0, 1.5], [1.5, 1.0]])
    outline = offsets(np.array([2.0, 1.0, 0.75]), 0.8)
    radii = np.einsum("ij,jk,ik->i", outline, np.linalg.inv(spread), outline)
    np.testing.assert_allclose(radii, radii[0])
    cloud = np.random.default_rng(0).multivariate_normal([0, 0], spread, 40_000)
    inside = (np.einsum("ij,jk,ik->i", cloud, np.linalg.inv(spread), cloud) <= radii[0]).mean()
    assert inside == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 40_000))
    assert offsets(np.array([2.0]), 0.95)[1, 1] == pytest.approx(2 * 1.959964, rel=1e-6)


def test_angles_without_extent_are_unknown() -> None:
    assert angles_of(np.array([1.0, np.nan]), 0.9, 1.0) == {"median": None, "at_most": None}
    assert angles_of(np.array([80.0, 80.0]), 0.9, 2.0) == {"median": 90.0, "at_most": 90.0}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_intervals_cover_the_true_eigenvalues_as_often_as_they_say() -> None:
    """400 trials of 1,000 rows in three columns; their standard error is 0.015 at a level of 0.9."""
    true, level, trials = np.array([9.0, 4.0, 1.0]), 0.9, 400
    generator, method = np.random.default_rng(2), PCA(divisor="n-1").with_axes(3)
    covered = np.zeros(3)
    for _ in range(trials):
        data = features(generator.standard_normal((1000, 3)) * np.sqrt(true))
        model = method.fit(data, COMPUTE)
        made = refit_draws(model, lambda rows, data=data: method.fit(data.take(rows), COMPUTE),
                           draws(1000, 100, None, generator))
        found = summarize(model, made, asked=100, level=level, drawn=None).figures["eigenvalues"]
        covered += [item["low"] <= value <= item["high"] for item, value in zip(found, true, strict=True)]
    error = math.sqrt(level * (1 - level) / trials)
    assert np.abs(covered / trials - level).max() < 3 * error, covered / trials
