"""However few eigenvalues are computed, what is said of the whole spectrum is true of it."""

from typing import Any

import numpy as np
import pytest

from mlcli.errors import ConfigError, GeometryError
from mlcli.findings.spectrum.table import spectrum_facts
from mlcli.methods import Model
from tests.support import Notes, dissimilarities, fit, spectrum_table

POINTS = np.random.default_rng(5).random((180, 8)) * np.geomspace(4, 0.1, 8)
WIDE = np.random.default_rng(6).standard_normal((180, 90))
CURVED = dissimilarities(np.abs(POINTS[:, None, :] - POINTS[None, :, :]).sum(axis=2))  # not Euclidean
STREAMED = {"paths": {"store": "streamed", "precision": "float64"}}

# method, data, options of the whole spectrum, options of its top only
FORMS: dict[str, tuple[str, Any, dict[str, Any], dict[str, Any]]] = {
    "dense": ("mds", CURVED, {}, {"eigensolve": {"solver": "krylov"}}),
    "streamed": ("isomap", POINTS, {"neighbors": 8}, {"neighbors": 8, "eigensolve": {"solver": "krylov"}, **STREAMED}),
    "factored, power": ("pca", POINTS, {}, {"route": "power"}),
    "factored, krylov": ("pca", WIDE, {}, {"route": "dual", "eigensolve": {"solver": "krylov"}}),
}


def both(form: str) -> tuple[Model, Model]:
    method, data, whole, top = FORMS[form]
    return fit(method, data, **whole), fit(method, data, **top)


@pytest.mark.parametrize("form", FORMS)
def test_shares_and_norms_are_those_of_the_whole_spectrum(form: str) -> None:
    whole, top = (model.spectrum for model in both(form))
    assert whole.complete and not top.complete and len(top.values) < len(whole.values)
    assert top.trace == pytest.approx(whole.values.sum(), rel=1e-11)
    assert top.frobenius == pytest.approx(np.linalg.norm(whole.values), rel=1e-11)
    assert top.proportions == pytest.approx(whole.proportions[: len(top.values)], rel=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_the_negative_mass_lies_within_its_bounds(form: str) -> None:
    whole, top = (model.spectrum for model in both(form))
    true = float(np.abs(whole.values[whole.values < 0]).sum())
    assert whole.negative_mass == pytest.approx((true, true), rel=1e-12)
    least, most = top.negative_mass
    assert least * (1 - 1e-9) <= true <= most * (1 + 1e-9) + 1e-12 * whole.trace
    low, high = top.negative_shares
    assert low - 1e-9 <= whole.negative_share <= high + 1e-9


def test_more_eigenvalues_tighten_the_bounds() -> None:
    method, data, _, top = FORMS["streamed"]
    shares = [fit(method, data, **{**top, "eigensolve": {"solver": "krylov", "report": count}}).spectrum.negative_shares
              for count in (2, 10, 30)]
    widths = [high - low for low, high in shares]
    assert widths[0] > widths[1] > widths[2] and shares[2][0] > 0


TOPS = {**{name: FORMS[name] for name in ("dense", "streamed", "factored, krylov")},
        "inverse": ("lle", POINTS, {"neighbors": 9}, {"neighbors": 9, "eigensolve": {"solver": "krylov"}})}


@pytest.mark.parametrize("form", TOPS)
def test_ten_eigenvalues_are_known_or_bounded_from_below(form: str) -> None:
    method, data, whole, top = TOPS[form]
    exact = fit(method, data, **whole).spectrum
    spectrum = fit(method, data, **top).spectrum
    known, bounds = len(spectrum.eigenvalues), spectrum.further_at_least
    assert known + len(bounds) == max(known, 10)
    following = exact.eigenvalues[known : known + len(bounds)]
    assert (bounds <= following * (1 + 1e-9)).all() and (bounds >= following / 2).all()
    assert spectrum_facts(spectrum)["further_at_least"] == bounds.tolist()
    assert len(exact.further_at_least) == 0


@pytest.mark.parametrize(("method", "options"), [
    ("pca", {}), ("pca", {"route": "svd"}), ("kpca", {"kernel": {"name": "linear"}}), ("mds", {})])
def test_eigenvalues_that_are_zero_but_for_rounding_are_no_negative_share(method: str, options: dict[str, Any]) -> None:
    flat = np.random.default_rng(3).standard_normal((90, 3)) @ np.random.default_rng(4).standard_normal((3, 12))
    spectrum = fit(method, flat, **options).spectrum
    facts = spectrum_facts(spectrum)
    assert spectrum.complete and (facts["negative_share"], facts["negative_sum_at_most"]) == (0, 0)


def test_kernels_of_inner_products_have_no_negative_mass_even_unseen() -> None:
    facts = spectrum_facts(fit("pca", POINTS, route="power").spectrum)
    assert (facts["negative_share_at_most"], facts["negative_sum_at_most"]) == (0, 0)
    assert facts["negative_share"] is None and facts["sum_of_positive"] is None


def test_the_top_of_lle_says_that_its_trace_is_not_known() -> None:
    with Notes() as notes:
        spectrum = fit("lle", POINTS, neighbors=9, eigensolve={"solver": "krylov"}).spectrum
    assert "N-TRACE" in notes.codes and spectrum_facts(spectrum)["trace"] is None
    rows = [line.split(",") for line in spectrum_table(spectrum, None).splitlines()[1:]]
    assert all((share, total) == ("", "") and float(cost) == 1 / float(value)
               for _, value, share, total, cost, *_ in rows)
    with Notes() as notes:
        fit("lle", POINTS, neighbors=9)
    assert "N-TRACE" not in notes.codes


@pytest.mark.parametrize(("method", "options"), [
    ("mds", {"eigensolve": {"solver": "krylov"}}), ("isomap", {"neighbors": 8, **STREAMED}),
    ("isomap", {"neighbors": 8, "landmarks": 40}), ("kpca", {"eigensolve": {"solver": "krylov"}}),
    ("lle", {"neighbors": 9, "eigensolve": {"solver": "krylov"}}), ("mds", {"landmarks": 40})])
def test_a_report_longer_than_the_embedding_is_computed(method: str, options: dict[str, Any]) -> None:
    eigensolve = {**options.get("eigensolve", {}), "report": 20}
    model = fit(method, POINTS, **{**options, "eigensolve": eigensolve})
    assert model.embedding.shape[1] == 2 and len(model.spectrum.values) >= 20
    assert len(spectrum_table(model.spectrum, 20).splitlines()) == 21


@pytest.mark.parametrize(("method", "options", "most"), [
    ("pca", {}, 8), ("pca", {"route": "power"}, 8), ("mds", {}, 180), ("isomap", {"landmarks": 40}, 40),
    ("lle", {}, 180)])
def test_a_report_of_more_than_there_is_is_refused(method: str, options: dict[str, Any], most: int) -> None:
    fit(method, POINTS, **options, eigensolve={"report": most})
    with pytest.raises(ConfigError) as caught:
        fit(method, POINTS, **options, eigensolve={"report": most + 1})
    assert caught.value.code == "E-REPORT" and str(most) in caught.value.hint


@pytest.mark.parametrize(("method", "options"), [
    ("pca", {}), ("pca", {"route": "power"}), ("pca", {"route": "svd"}), ("pca", {"eigensolve": {"solver": "krylov"}}),
    ("mds", {}), ("mds", {"landmarks": 40}), ("kpca", {}), ("kpca", {"kernel": {"name": "gaussian", "rate": 0.01}}),
    ("isomap", {"neighbors": 8}), ("isomap", {"neighbors": 8, **STREAMED}),
    ("isomap", {"neighbors": 8, "landmarks": 40}), ("lle", {}), ("lle", {"eigensolve": {"solver": "krylov"}})])
def test_all_is_every_axis_with_a_positive_eigenvalue(method: str, options: dict[str, Any]) -> None:
    model = fit(method, POINTS, components="all", **options)
    values, kept = model.spectrum.values, model.embedding.shape[1]
    assert model.spectrum.complete and kept < len(values) + (method == "pca")
    assert (values[:kept] > 0).all() and values[kept:].max(initial=0.0) <= 1e-10 * values[0]
    assert (np.abs(model.embedding).max(axis=0) > 0).all()


def test_all_of_curved_dissimilarities_are_the_positive_ones() -> None:
    model = fit("mds", CURVED, components="all")
    assert model.embedding.shape[1] == int((model.spectrum.values > 1e-12 * model.spectrum.values[0]).sum()) < 179
    with pytest.raises(GeometryError):
        fit("mds", CURVED, components=model.embedding.shape[1] + 1)


def test_axes_that_share_an_eigenvalue_name_its_first_component() -> None:
    grid = np.array([[i, j] for i in range(5) for j in range(5)], dtype=float)
    model = fit("mds", grid)
    head, *rows = spectrum_table(model.spectrum, 3).splitlines()
    assert head.endswith(",shares_with") and [row.rpartition(",")[2] for row in rows] == ["1", "1", ""]
    assert spectrum_facts(model.spectrum)["shared"] == [[1, 2]]
    plain = fit("mds", POINTS).spectrum
    assert "shares_with" not in spectrum_table(plain, None) and "shared" not in spectrum_facts(plain)


def test_axes_by_landmarks_have_an_angle() -> None:
    model = fit("mds", POINTS, metric="cityblock", landmarks=60)
    head, *rows = spectrum_table(model.spectrum, None).splitlines()
    last = [row.rpartition(",")[2] for row in rows]
    assert head.endswith(",cumulative,angle_bound") and {*last[2:]} == {""}
    assert [float(cell) for cell in last[:2]] == spectrum_facts(model.spectrum)["angle_bounds"]
