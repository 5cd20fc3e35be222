"""Corruption by a transform: one view encoded, another decoded; equal views are the autoencoder of one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import TwoViews
from mlcli.errors import ConfigError, DataError
from mlcli.methods import METHODS, Model
from mlcli.methods.networks.network import linear
from tests.laws.theorems.views.test_views import FIRST, SECOND, same, views
from tests.support import Notes, checks_of, fit

OWN = 20 * np.random.default_rng(2).standard_normal((120, 2))  # of the first view alone
NOISY = np.hstack([FIRST, OWN])
DATA = views(NOISY, SECOND)
QUICK: dict[str, Any] = {"layers": [4], "learning": {"epochs": 3, "batch": 16, "precision": "float64"}}
WAYS = [pytest.param({}, id="linear"), pytest.param(QUICK, id="deep", marks=pytest.mark.medium)]


def error(model: Model, first: Array, second: Array) -> float:
    """The mean squared error of a cell of the second view."""
    return float(np.mean((model.reconstruct(model.project(first)) - second) ** 2))


def verdicts(data: TwoViews, model: Model, **options: Any) -> dict[str, str]:
    return {check.name: check.verdict for check in checks_of(METHODS["autoencoder"](**options).resolve(data), data,
                                                             model)}


@pytest.mark.parametrize("options", WAYS)
def test_equal_views_are_one(options: dict[str, Any]) -> None:
    one, two = fit("autoencoder", FIRST, **options), fit("autoencoder", views(FIRST, FIRST), **options)
    assert same(two.embedding, one.embedding) and same(two.project(FIRST + 1), one.project(FIRST + 1))
    assert same(two.reconstruct(two.embedding), one.reconstruct(one.embedding))
    for name in ("unexplained", "mean_squared_error"):
        assert two.fit[name] == pytest.approx(one.fit[name], rel=1e-9)


def test_without_hidden_layers_it_is_the_redundancy_analysis_of_the_second_view() -> None:
    """Reduced-rank regression (Izenman, 1975) has the axes of `rda` (Rao, 1964) with the views' parts exchanged."""
    for count in (1, 2, 3):
        model = fit("autoencoder", DATA, components=count)
        analysis = fit("rda", views(SECOND, NOISY), components=count, scores="lc", permutations=0)
        assert same(model.embedding * np.sqrt(SECOND.var(axis=0).mean()), analysis.embedding)
        shares = analysis.spectrum.values / analysis.spectrum.trace
        assert model.fit["unexplained"] == pytest.approx(1 - shares[:count].sum(), rel=1e-9)
        assert model.fit["mean_squared_error"] == pytest.approx(error(model, NOISY, SECOND), rel=1e-9)


def test_no_other_linear_map_of_its_rank_is_nearer_to_the_second_view() -> None:
    model, generator = fit("autoencoder", DATA), np.random.default_rng(0)
    first, second = NOISY - NOISY.mean(axis=0), SECOND - SECOND.mean(axis=0)
    least = error(model, NOISY, SECOND)
    best = np.linalg.lstsq(first, second, rcond=None)[0]
    left, sizes, right = np.linalg.svd(best, full_matrices=False)
    assert least < float(np.mean((first @ (left[:, :2] * sizes[:2]) @ right[:2] - second) ** 2))
    for _ in range(20):
        codes = model.embedding + 1e-3 * first @ generator.standard_normal((6, 2))
        back = np.linalg.lstsq(codes, second, rcond=None)[0]
        assert least < float(np.mean((codes @ back - second) ** 2))


def test_it_keeps_what_the_views_share_and_no_other_variation() -> None:
    """The first view has most of its variance alone: an autoencoder of it keeps that, one of both views nothing."""
    def of_its_own(model: Model) -> float:
        known = np.column_stack([OWN, np.ones(len(OWN))])
        rest = model.embedding - known @ np.linalg.lstsq(known, model.embedding, rcond=None)[0]
        return 1 - float(np.sum(rest**2) / np.sum(model.embedding**2))

    assert of_its_own(fit("autoencoder", NOISY)) > 0.95
    assert of_its_own(fit("autoencoder", DATA)) < 0.05


@pytest.mark.medium
def test_trained_it_comes_to_the_closed_form() -> None:
    steady = {"epochs": 1500, "batch": 120, "rate": 0.02, "validation": 0.0, "precision": "float64"}
    data = views(FIRST, SECOND)
    trained, closed = fit("autoencoder", data, training="always", learning=steady), fit("autoencoder", data)
    assert trained.fit["mean_squared_error"] == pytest.approx(closed.fit["mean_squared_error"], rel=1e-4)
    assert trained.fit["mean_squared_error"] >= closed.fit["mean_squared_error"] * (1 - 1e-12)
    assert error(trained, FIRST, SECOND) == pytest.approx(trained.fit["mean_squared_error"], rel=1e-9)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("powers", [(300, -300), (-900, 900)])
def test_each_view_has_a_unit_of_its_own(options: dict[str, Any], powers: tuple[int, int]) -> None:
    first, second = (np.ldexp(part, power) for part, power in zip((NOISY, SECOND), powers, strict=True))
    one, other = fit("autoencoder", DATA, **options), fit("autoencoder", views(first, second), **options)
    assert np.array_equal(one.embedding, other.embedding)
    assert np.array_equal(other.project(first[:5]), one.project(NOISY[:5]))
    assert np.array_equal(other.reconstruct(other.embedding), np.ldexp(one.reconstruct(one.embedding), powers[1]))
    assert set(verdicts(views(first, second), other, **options).values()) <= {"pass", "skipped"}


@pytest.mark.parametrize("options", WAYS)
def test_the_certificate_sees_a_decoder_of_other_weights(options: dict[str, Any]) -> None:
    model = fit("autoencoder", DATA, **options)
    assert set(verdicts(DATA, model, **options).values()) <= {"pass", "skipped"}
    decoder: Any = model.projector.decoder
    *others, last = decoder.network.layers
    bent = replace(decoder, network=replace(decoder.network, layers=(*others, replace(
        last, biases=last.biases + 0.01))))
    found = verdicts(DATA, replace(model, projector=replace(model.projector, decoder=bent)), **options)
    assert found["reconstruction"] == "fail"


def test_the_certificate_sees_a_regression_that_is_not_the_best() -> None:
    """A consistent lie: other weights, with the error that they have."""
    model = fit("autoencoder", DATA)
    projector: Any = model.projector
    weights = projector.decoder.network.layers[0].weights
    weights = weights + 1e-3 * np.random.default_rng(1).standard_normal(weights.shape)
    lied = replace(model, projector=replace(projector, decoder=replace(projector.decoder, network=linear(weights))))
    left = float(np.sum((lied.reconstruct(lied.embedding) - SECOND) ** 2) / np.sum((SECOND - SECOND.mean(axis=0)) ** 2))
    found = verdicts(DATA, replace(lied, fit={**model.fit, "unexplained": left}))
    assert {name for name, verdict in found.items() if verdict == "fail"} == {"stationarity"}


@pytest.mark.parametrize("first", [
    np.column_stack([FIRST, FIRST[:, 0] + 1e-9 * OWN[:, 0]]), np.column_stack([FIRST, np.full(120, 1e9)]),
    np.random.default_rng(0).standard_normal((120, 150))],
    ids=["columns that nearly depend on each other", "a large constant column", "more columns than rows"])
def test_first_views_that_are_hard_to_invert_pass_their_certificate(first: Array) -> None:
    data, many = views(first, SECOND), first.shape[1] > len(first)
    with Notes() as notes:
        model = fit("autoencoder", data)
    assert set(verdicts(data, model).values()) <= {"pass", "skipped", "warn"}
    assert ("W-SATURATED" in notes.codes) == many
    if many:  # then the first view gives any second one, whose principal axes are the best
        assert same(model.embedding, fit("autoencoder", SECOND).embedding)
        assert fit("autoencoder", data, components=3).fit["unexplained"] < 1e-12


def test_views_that_cannot_be_decoded_are_refused_by_name() -> None:
    with pytest.raises(DataError) as equal:
        fit("autoencoder", views(FIRST, np.ones((120, 2))))
    assert (equal.value.code, equal.value.where) == ("E-NO-VARIATION", "input.view")
    with pytest.raises(ConfigError) as shared:
        fit("autoencoder", DATA, training="always", tied=True)
    assert (shared.value.code, shared.value.where) == ("E-TIED", "method.tied")
    with pytest.raises(ConfigError) as second:
        fit("vae", DATA)
    assert second.value.code == "E-VIEW"
    with pytest.raises(ConfigError) as placed:
        fit("autoencoder", DATA).others[0].require_places()  # type: ignore[union-attr]
    assert placed.value.code == "E-AS-VIEW"
