"""Independent components: known sources come back, whatever mixed them."""

import numpy as np
import pytest

from tests.support import Notes, fit

GENERATOR = np.random.default_rng(6)
SOURCES = np.column_stack([np.sin(np.arange(1500) / 9), np.sign(np.sin(np.arange(1500) / 31)),
                           GENERATOR.laplace(size=1500)])
MIXING = np.array([[1.0, 0.5, -1], [2, -1, 0.3], [0.2, 1, 1]])
every = pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube"])
both = pytest.mark.parametrize("algorithm", ["symmetric", "deflation"])


@every
@both
def test_mixed_sources_are_unmixed(contrast: str, algorithm: str) -> None:
    model = fit("ica", SOURCES @ MIXING, components=3, contrast=contrast, algorithm=algorithm)
    assert model.fit["converged"]
    matches = np.abs(np.corrcoef(model.embedding.T, SOURCES.T)[:3, 3:])
    assert (matches.max(axis=0) > 0.99).all() and (matches.max(axis=1) > 0.99).all()


@every
@both
def test_components_do_not_depend_on_how_the_sources_were_mixed(contrast: str, algorithm: str) -> None:
    """The same components from another mixture, and from another seed; to the fixed point's own tolerance."""
    options = {"components": 3, "contrast": contrast, "algorithm": algorithm, "iterate": {"tolerance": 1e-12}}
    model, mixed = fit("ica", SOURCES, **options), fit("ica", 1e5 * SOURCES @ MIXING + 4e5, **options)
    assert np.allclose(mixed.embedding, model.embedding, atol=1e-6 if algorithm == "symmetric" else 0.1)


@every
def test_components_are_a_fixed_point(contrast: str) -> None:
    """E z g(wᵀz) lies, but for a multiple of w, in the span of the others symmetrically: E y g(y')ᵀ is symmetric."""
    model = fit("ica", SOURCES @ MIXING, components=3, contrast=contrast, iterate={"tolerance": 1e-12})
    values = model.embedding
    slopes = {"logcosh": np.tanh(values), "exp": values * np.exp(-(values**2) / 2), "cube": values**3}[contrast]
    derivatives = {"logcosh": 1 - np.tanh(values) ** 2, "exp": (1 - values**2) * np.exp(-(values**2) / 2),
                   "cube": 3 * values**2}[contrast]
    step = slopes.T @ values / 1500 - np.diag(derivatives.mean(axis=0))
    signs = np.sign(np.diag(step))
    assert np.allclose(signs[:, None] * step, (signs[:, None] * step).T, atol=1e-8)


@pytest.mark.medium
def test_gaussian_data_ends_soon_with_a_warning() -> None:
    """Nothing tells its directions apart: they turn for ever, and thousands of turns more bring nothing."""
    with Notes() as notes:
        model = fit("ica", np.random.default_rng(0).standard_normal((200, 30)), components=6)
    assert not model.fit["converged"] and model.fit["iterations"] < 4000 and "W-UNCONVERGED" in notes.codes
    assert np.allclose(model.embedding.T @ model.embedding / 200, np.eye(6), atol=1e-10)


def test_components_are_white_and_in_order_of_negentropy() -> None:
    model = fit("ica", SOURCES @ MIXING, components=3)
    assert np.allclose(model.embedding.T @ model.embedding / 1500, np.eye(3), atol=1e-10)
    assert np.all(np.diff(model.fit["negentropy"]) < 0)
    assert model.spectrum is None and np.isfinite(model.trace).all()


def test_negentropy_is_that_of_the_contrast_beside_a_gaussian() -> None:
    """With G(y) = y⁴/4 it is the squared excess of kurtosis over sixteen."""
    model = fit("ica", SOURCES @ MIXING, components=3, contrast="cube")
    kurtosis = np.mean(model.embedding**4, axis=0) - 3
    assert np.allclose(model.fit["negentropy"], kurtosis**2 / 16, rtol=1e-9)


def test_all_components_lead_back_to_the_points() -> None:
    points = SOURCES @ MIXING + [1, 2, 3]
    model = fit("ica", points, components=3)
    assert np.allclose(model.reconstruct(model.embedding), points, atol=1e-10)
    assert np.allclose(model.project(points), model.embedding, atol=1e-10)
    assert np.allclose(model.loadings.values @ model.embedding.T, (points - points.mean(axis=0)).T, atol=1e-10)


def test_fewer_components_than_columns_are_sought_in_the_leading_principal_components() -> None:
    model, principal = fit("ica", SOURCES @ MIXING, components=2), fit("pca", SOURCES @ MIXING, components=2)
    design = np.linalg.lstsq(principal.embedding, model.embedding, rcond=None)[0]
    assert np.allclose(principal.embedding @ design, model.embedding, atol=1e-10)


def test_what_does_not_come_to_rest_is_warned_of() -> None:
    with Notes() as notes:
        model = fit("ica", np.random.default_rng(0).standard_normal((50, 5)), components=5, iterate={"limit": 5})
    assert not model.fit["converged"] and "W-UNCONVERGED" in notes.codes
