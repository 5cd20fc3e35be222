"""The variational information bottleneck: the linear one is the Gaussian one, and trained networks tell as much."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TwoViews
from mlcli.errors import ConfigError, DataError, GeometryError
from mlcli.methods import METHODS, Model
from mlcli.methods.networks.vib import BottleneckEncoder, divergences
from tests.laws.theorems.views.test_views import FIRST, SECOND, views
from tests.support import Notes, checks_of, fit

DATA = views(FIRST, SECOND)
STEADY = {"epochs": 500, "batch": 4000, "rate": 0.05, "validation": 0.0, "precision": "float64"}
QUICK = {"layers": [6], "learning": {"epochs": 10, "batch": 32, "rate": 0.01, "validation": 0.2}}


def planted(rows: int) -> TwoViews:
    """Two Gaussian views of two shared factors, the columns in units of their own."""
    generator = np.random.default_rng(12)
    shared = generator.standard_normal((rows, 2))
    first, second = (shared @ np.array(loadings) + 0.7 * generator.standard_normal((rows, len(loadings[0])))
                     for loadings in ([[1, 0, 1, 0.5], [0, 1, 0.5, -0.5]], [[1, 0, 0.5], [0, 0.5, 0.5]]))
    return views(first * [1, 10, 100, 1e-3] + 5, second)


def encoder_of(model: Model) -> BottleneckEncoder:
    """The encoder of a model."""
    encoder = model.required_projector.similarity
    assert isinstance(encoder, BottleneckEncoder)
    return encoder


@pytest.mark.parametrize("options", [{}, {"components": 1}, {"components": 3}, {"beta": 40.0}, {"beta": 1e9}])
def test_without_hidden_layers_it_is_the_gaussian_bottleneck(options: dict[str, Any]) -> None:
    """T has variance one there, and the noise of gib has: coordinates of an axis are over √(1 + α²)."""
    model, gaussian = fit("vib", DATA, **options), fit("gib", DATA, **options)
    squares = gaussian.spectrum.values[:gaussian.embedding.shape[1]] ** 2
    lengths = np.sqrt((gaussian.fit["beta"] * squares - 1) / (1 - squares))
    longer = np.sqrt(1 + lengths**2)
    assert np.allclose(model.embedding * longer, gaussian.embedding, rtol=0, atol=1e-9 * lengths.max())
    assert np.allclose(model.project(FIRST[:7] + 1) * longer, gaussian.project(FIRST[:7] + 1), rtol=0,
                       atol=1e-9 * lengths.max())
    assert np.allclose(model.spreads, 1 / longer, rtol=1e-9)
    for name in ("beta", "critical_betas", "kept_information", "relevant_information"):
        assert model.fit[name] == gaussian.fit[name]
    assert all(np.array_equal(values, gaussian.information[name]) for name, values in model.information.items())
    assert model.fit["axis_information"] == pytest.approx((0.5 * np.log1p(lengths**2)).tolist(), rel=1e-9)


def test_the_bounds_of_linear_networks_are_the_informations_of_gaussian_data() -> None:
    """Both bounds, of the model's own distributions, over the rows."""
    model = fit("vib", DATA, beta=40.0)
    encoder = encoder_of(model)
    outputs = encoder.rows(model.required_projector.input_unit.measured(FIRST))
    second = (DATA.view.normalized().values - encoder.origin) @ encoder.into
    assert divergences(outputs).sum(axis=1).mean() == pytest.approx(model.fit["kept_information"], rel=1e-9)
    assert encoder.expected_gains(second, outputs, 1, [0]).mean() == pytest.approx(
        model.fit["relevant_information"], rel=1e-9)


def same_information(model: Model, gaussian: Model, share: float) -> None:
    """Bounds within a share of the informations of the Gaussian bottleneck."""
    for name in ("kept_information", "relevant_information"):
        assert model.fit[name] == pytest.approx(gaussian.fit[name], rel=share)


@pytest.mark.medium
def test_a_linear_encoder_that_is_trained_is_the_gaussian_bottleneck() -> None:
    data = planted(600)
    model, gaussian = fit("vib", data, beta=8.0, training="always", learning=STEADY), fit("gib", data, beta=8.0)
    same_information(model, gaussian, 1e-6)
    assert np.rad2deg(subspace_angles(model.embedding, gaussian.embedding)).max() < 1e-2
    variances = 1 + gaussian.embedding.var(axis=0)
    assert np.allclose(model.embedding * np.sqrt(variances), gaussian.embedding, atol=1e-3)
    assert np.allclose(model.spreads**2, 1 / variances, rtol=1e-3)
    assert np.all(np.diff(model.fit["axis_information"]) < 0)


@pytest.mark.medium
def test_networks_tell_as_much_of_gaussian_data_as_its_best_summary() -> None:
    """Globerson and Tishby, 2004: the best summary of Gaussian data is linear and Gaussian."""
    data = planted(3000)
    same_information(fit("vib", data, beta=8.0, layers=[4], learning=STEADY),
                     fit("gib", data, beta=8.0), 0.01)


@pytest.mark.medium
def test_networks_see_what_correlations_do_not() -> None:
    generator = np.random.default_rng(3)
    first = generator.standard_normal((800, 2))
    data = views(first, first[:, :1] ** 2 + 0.3 * generator.standard_normal((800, 1)))
    straight = fit("vib", data, beta=1e6, components=1)
    bent = fit("vib", data, beta=20.0, components=1, layers=[12], learning={
        "epochs": 150, "batch": 80, "rate": 0.02, "validation": 0.2})
    assert straight.fit["relevant_information"] < 0.05 and bent.fit["relevant_information"] > 0.8
    assert bent.fit["held_out_information"] > 0.6


@pytest.mark.slow
def test_the_figures_of_networks_are_those_of_their_rows() -> None:
    model = fit("vib", DATA, curve=3, **QUICK)
    figures, encoder, curve = model.fit, encoder_of(model), model.information
    outputs = encoder.rows(model.required_projector.input_unit.measured(FIRST))
    assert figures["axis_information"] == pytest.approx(divergences(outputs).mean(axis=0).tolist(), rel=1e-9)
    assert figures["kept_information"] == pytest.approx(sum(figures["axis_information"]), rel=1e-12)
    second = (DATA.view.normalized().values - encoder.origin) @ encoder.into
    assert encoder.expected_gains(second, outputs, 3000, [7]).mean() == pytest.approx(
        figures["relevant_information"], abs=0.05)
    assert curve["beta"] == pytest.approx([figures["beta"] * factor for factor in (1, 10, 100)])
    assert (curve["kept"][0], curve["relevant"][0]) == (figures["kept_information"], figures["relevant_information"])
    assert set(model.curves) == {"validation", "kept", "relevant"}
    assert np.allclose(model.trace, model.curves["kept"].value / figures["beta"] - model.curves["relevant"].value,
                       rtol=1e-5)
    assert np.isfinite(figures["held_out_information"])


def test_a_view_that_does_not_vary_leaves_all_axes_closed() -> None:
    data = views(FIRST, np.full((len(FIRST), 2), 3.0))
    method = METHODS["vib"]().resolve(data)
    model = method.fit(data, Compute())
    assert not model.embedding.any() and (model.spreads == 1).all() and model.fit["kept_information"] == 0
    assert {check.verdict for check in checks_of(method, data, model)} <= {"pass", "skipped"}


@pytest.mark.medium
def test_summaries_that_tell_nothing_are_said_to() -> None:
    generator = np.random.default_rng(5)
    data = views(generator.standard_normal((60, 2)), generator.standard_normal((60, 2)))
    with Notes() as notes:
        fit("vib", data, layers=[4], beta=1.01, learning={
            "epochs": 2, "batch": 60, "rate": 3.0, "validation": 0.0})
    assert "W-NOT-LEARNED" in [note.code for note in notes.notes]


@pytest.mark.parametrize(("first", "second"), [(np.ones((20, 2)), SECOND[:20]), (FIRST[:20], np.ones((20, 2)))])
def test_views_that_teach_nothing_are_an_error(first: Array, second: Array) -> None:
    with pytest.raises(DataError) as caught:
        fit("vib", views(first, second), layers=[4])
    assert (caught.value.code, caught.value.exit_code) == ("E-NO-VARIATION", 65)


@pytest.mark.parametrize(("options", "where"), [
    ({"curve": 4}, "method.curve"), ({"learning": {"rate": 0.5}}, "method.learning.rate"),
    ({"draws": 4}, "method.draws"), ({"activation": "relu"}, "method.activation"),
    ({"training": "always", "draws": 4}, "method.draws")])
def test_options_that_do_nothing_are_refused(options: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit("vib", DATA, **options)
    assert (caught.value.code, caught.value.where) == ("E-UNUSED", where)


def test_a_beta_that_opens_no_axis_is_refused() -> None:
    critical = fit("vib", DATA).fit["critical_betas"]
    with pytest.raises(GeometryError) as caught:
        fit("vib", DATA, beta=1 + (critical[0] - 1) / 2)
    assert caught.value.code == "E-BETA"
