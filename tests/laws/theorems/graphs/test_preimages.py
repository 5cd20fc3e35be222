"""Decoders of nonlinear methods: planes, interpolation, fixed points, rows left out, agreement, and refusals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.similarities.preimages import Barycentric, FixedPoint
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from tests.support import checks_of, dissimilarities, distances, features, fit
from tests.wording import Wording

GENERATOR = np.random.default_rng(8)
POINTS = GENERATOR.standard_normal((60, 5)) * [4, 2, 1, 0.5, 0.25] + 3
NINE = {"neighbors": {"count": 9}}
GAUSSIAN = {"name": "gaussian", "rate": 0.05}


def kernel(left: Array, right: Array, rate: float) -> Array:
    return np.exp(-rate * ((left[:, None] - right) ** 2).sum(axis=2))


@pytest.mark.parametrize(("method", "neighbors"), [("isomap", 59), ("sde", 8)])
def test_places_inside_a_plane_lead_back_exactly(method: str, neighbors: int) -> None:
    """Coordinates of points on a plane are those points turned, so that the same weights make both."""
    plane = GENERATOR.standard_normal((60, 2)) @ GENERATOR.standard_normal((2, 4)) + 1
    model = fit(method, plane, neighbors={"count": neighbors}, decoder={"name": "barycentric", "ridge": 1e-10})
    weights = GENERATOR.dirichlet(np.ones(60), size=20)
    gap = np.abs(model.reconstruct(weights @ model.embedding) - weights @ plane).max()
    assert gap <= (1e-7 if method == "isomap" else 1e-3) * np.abs(plane).max()  # sde solves its program to 1e-4
    assert model.fit["decoder_error_left_out"] <= 1e-6


@pytest.mark.parametrize("other", [False, True])
def test_with_all_axes_a_row_is_the_fixed_point_of_its_coordinates(other: bool,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the iteration starts there, or at the row nearest to it."""
    model = fit("kpca", POINTS, kernel=GAUSSIAN, components="all", decoder={"name": "fixed_point", "limit": 5000})
    if other:
        apart = distances(POINTS) + 1e9 * np.eye(60)
        monkeypatch.setattr(FixedPoint, "nearest", lambda decoder, weights: apart.argmin(axis=1)[: len(weights)])
    assert np.abs(model.reconstruct(model.embedding) - POINTS).max() <= 1e-6


def test_a_fixed_point_is_the_weighted_mean_of_the_rows() -> None:
    """z = Σ γ k(z, x) x / Σ γ k(z, x), with γ of the axes and a share of the mean (Mika and others, 1999)."""
    model = fit("kpca", POINTS, kernel=GAUSSIAN, components=3, decoder={"name": "fixed_point", "limit": 5000})
    centered = np.eye(60) - 1 / 60
    values, vectors = np.linalg.eigh(centered @ kernel(POINTS, POINTS, 0.05) @ centered)
    axes = vectors[:, -1:-4:-1] / np.sqrt(values[-1:-4:-1])
    signs = np.sign((vectors[:, -1:-4:-1] * model.embedding).sum(axis=0))
    places = model.reconstruct(model.embedding)
    shares = (model.embedding @ (axes * signs).T + 1 / 60) * kernel(places, POINTS, 0.05)
    assert np.abs(shares @ POINTS / shares.sum(axis=1, keepdims=True) - places).max() <= 1e-6


def test_ridge_regression_interpolates_as_its_ridge_vanishes() -> None:
    gaps = [np.abs(model.reconstruct(model.embedding) - POINTS).max() for model in (
        fit("kpca", POINTS, components=8, decoder={"name": "ridge", "alpha": alpha}) for alpha in (1e-2, 1e-6, 1e-11))]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] <= 1e-5


@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_ridge_regression_is_that_of_scikit_learn(alpha: float) -> None:
    """`KernelPCA(fit_inverse_transform=True)` 1.6 of centered columns: k(y, Y) (k(Y, Y) + α I)⁻¹ X, at one rate."""
    points = POINTS - POINTS.mean(axis=0)
    model = fit("kpca", points, kernel=GAUSSIAN, components=4, decoder={"name": "ridge", "alpha": alpha, "rate": 0.05})
    new = model.project(points[:9] + 0.1)
    dual = np.linalg.solve(kernel(model.embedding, model.embedding, 0.05) + alpha * np.eye(60), points)
    expected = kernel(new, model.embedding, 0.05) @ dual
    assert np.abs(model.reconstruct(new) - expected).max() <= 1e-10 * np.abs(points).max()


def test_errors_left_out_are_those_of_the_other_rows() -> None:
    total = ((POINTS - POINTS.mean(axis=0)) ** 2).sum()
    model = fit("isomap", POINTS, **NINE, decoder={"name": "barycentric"})
    whole: Any = model.projector.decoder
    ridge = fit("isomap", POINTS, **NINE, decoder={"name": "ridge", "rate": 0.1, "alpha": 0.1})
    places, centered = ridge.embedding, POINTS - POINTS.mean(axis=0)
    squares = [0.0, 0.0]
    for row in range(60):
        rest = np.delete(np.arange(60), row)
        few = Barycentric(whole.coordinates[rest], whole.points[rest], whole.origin, whole.neighbors, whole.ridge)
        found = few(whole.coordinates[[row]])
        assert np.allclose(found, whole.decode_left_out(whole.coordinates[[row]]), rtol=1e-9, atol=1e-9)
        squares[0] += (model.projector.input_unit.plain(found - whole.points[row]) ** 2).sum()
        dual = np.linalg.solve(kernel(places[rest], places[rest], 0.1) + 0.1 * np.eye(59), centered[rest])
        squares[1] += ((kernel(places[[row]], places[rest], 0.1) @ dual - centered[row]) ** 2).sum()
    assert model.fit["decoder_error_left_out"] == pytest.approx(squares[0] / total, rel=1e-9)
    assert ridge.fit["decoder_error_left_out"] == pytest.approx(squares[1] / total, rel=1e-9)
    assert np.array_equal(model.reconstruct(model.embedding), POINTS)


@pytest.mark.parametrize(("decoder", "power"), [("barycentric", 1), ("ridge", 1), ("fixed_point", 0)])
def test_another_unit_changes_nothing(decoder: str, power: int) -> None:
    method = "kpca" if decoder == "fixed_point" else "isomap"
    near, far = (fit(method, unit * POINTS, **(NINE if power else {}), decoder={"name": decoder})
                 for unit in (1.0, 2.0**300))
    places = near.embedding * 0.9
    assert np.array_equal(2.0**300 * near.reconstruct(places), far.reconstruct(places * 2.0 ** (300 * power)))
    assert {name: value for name, value in near.fit.items() if "error" in name} == {
        name: value for name, value in far.fit.items() if "error" in name}


@pytest.mark.parametrize(("method", "options"), [
    ("kpca", {"kernel": {"name": "linear"}, "decoder": {"name": "ridge"}}),
    ("kpca", {"kernel": {"name": "laplacian"}, "decoder": {"name": "fixed_point"}}),
    ("kpca", {"metric": "cosine", "decoder": {"name": "fixed_point"}}),
    ("chain", {"kernel": {"name": "laplacian"}, "decoder": {"name": "fixed_point"}}),
    ("isomap", {**NINE, "decoder": {"name": "barycentric"}})])
def test_a_decoder_that_makes_no_sense_is_refused(method: str, options: dict[str, Any], wording: Wording) -> None:
    data = dissimilarities(distances(POINTS)) if method == "isomap" else POINTS
    with wording.raises(ConfigError, "DECODER") as caught:
        fit(method, data, **options)
    assert caught.value.where == "method.decoder"


def changed(**parts: Any) -> Any:
    """A change of parts of the decoder."""
    return lambda model: replace(model, projector=replace(model.projector, decoder=replace(
        model.projector.decoder, **{name: change(getattr(model.projector.decoder, name))
                                    for name, change in parts.items()})))


def stated(name: str) -> Any:
    return lambda model: replace(model, fit={**model.fit, name: model.fit[name] * (1 + 1e-6)})


def one(values: Array) -> Array:
    """The values with one that is off."""
    wrong = values.copy()
    wrong[7, 1] *= 1 + 1e-6
    return wrong


LIES = [("barycentric", changed(coordinates=one), "decoder rows"),
        ("barycentric", changed(points=one), "decoder parts"),
        ("barycentric", changed(neighbors=lambda count: count + 1), "decoder parts"),
        ("barycentric", stated("decoder_error_left_out"), "decoder error"),
        ("ridge", changed(weights=one), "decoder"), ("ridge", changed(mean=lambda mean: mean + 1e-6), "decoder mean"),
        ("ridge", changed(rate=lambda rate: 1.2 * rate), "decoder rate"),
        ("ridge", stated("decoder_error"), "decoder error"),
        ("ridge", stated("decoder_error_left_out"), "decoder error"),
        ("fixed_point", changed(axes=one), "decoder parts"),
        ("fixed_point", changed(share=lambda _: 0.0), "decoder parts"),
        ("fixed_point", stated("decoder_error"), "decoder error")]


@pytest.mark.parametrize(("decoder", "change", "seen"), LIES, ids=[f"{name} {seen} {place}" for place, (
    name, _, seen) in enumerate(LIES)])
def test_the_certificate_sees_a_decoder_that_is_off(decoder: str, change: Any, seen: str) -> None:
    data = features(POINTS)
    method = METHODS["kpca"](decoder={"name": decoder}).resolve(data)
    model = method.fit(data, Compute())
    honest, found = ({check.name for check in checks_of(method, data, some, full=True)
                      if check.verdict == "fail"} for some in (model, change(model)))
    assert not honest and seen in found


def test_the_certificate_sees_a_code_that_decodes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    data = features(POINTS)
    for decoder, kind in (("barycentric", Barycentric), ("fixed_point", FixedPoint)):
        method = METHODS["kpca"](decoder={"name": decoder}).resolve(data)
        model = method.fit(data, Compute())
        own = kind.decode_left_out
        monkeypatch.setattr(kind, "decode_left_out", lambda self, places, own=own: own(self, places) + 1e-5)
        monkeypatch.setattr(kind, "__call__", lambda self, places, own=kind.__call__: own(self, places) + 1e-5)
        failed = {check.name for check in checks_of(method, data, model, full=True)
                  if check.verdict == "fail"}
        assert "decoder" in failed, decoder
