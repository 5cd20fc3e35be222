"""The symmetric bilinear model: planted factors are recovered, and styles and contents that the fit never saw."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled
from mlcli.errors import ConfigError, DataError
from mlcli.methods import METHODS, Model
from mlcli.methods.views.bilinear import Crossing
from mlcli.methods.views.style_projector import FactorProjector
from mlcli.rundir import archive
from tests.support import Notes, features

STYLES, CONTENTS, COLUMNS, AXES = 6, 7, 8, (3, 2)  # axes of styles and of contents
GENERATOR = np.random.default_rng(17)
OF_STYLES, OF_CONTENTS = GENERATOR.standard_normal((STYLES, AXES[0])), GENERATOR.standard_normal((CONTENTS, AXES[1]))
INTERACTION = GENERATOR.standard_normal((AXES[0], COLUMNS, AXES[1]))
TIMES = GENERATOR.integers(1, 4, STYLES * CONTENTS)  # rows of each pair
STYLE = np.repeat(np.repeat(np.arange(STYLES), CONTENTS), TIMES)
CONTENT = np.repeat(np.tile(np.arange(CONTENTS), STYLES), TIMES)
NEW_STYLES, NEW_CONTENTS = GENERATOR.standard_normal((9, AXES[0])), GENERATOR.standard_normal((9, AXES[1]))


def rows_of(styles: Array, contents: Array) -> Array:
    """The rows (n x d) of style vectors and content vectors."""
    return np.einsum("nq,qdp,np->nd", styles, INTERACTION, contents)


EXACT = rows_of(OF_STYLES[STYLE], OF_CONTENTS[CONTENT])
NOISE = EXACT + 0.3 * GENERATOR.standard_normal(EXACT.shape)
NEW = rows_of(NEW_STYLES, NEW_CONTENTS)


def crossed(points: Array, style: Array = STYLE, content: Array = CONTENT) -> CrossLabeled:
    data = features(points)
    return CrossLabeled(data.values, data.ids, data.columns, [f"s{place}" for place in style],
                        [f"c{place}" for place in content])


def fitted(data: CrossLabeled, style_axes: int | None = AXES[0], axes: int = AXES[1], **options: Any) -> Model:
    method = METHODS["bilinear"](style_axes=style_axes, axes={"components": axes}, **options)
    return method.resolve(data).fit(data, Compute())


def projector_of(model: Model) -> FactorProjector:
    assert isinstance(model.projector, FactorProjector)
    return model.projector


def placed(model: Model, new: Array, *labels: list[str]) -> tuple[Array, Array]:
    """The coordinates and the style vectors of new rows."""
    coordinates, beside = projector_of(model).place_with(new, labels)
    return coordinates, np.column_stack([beside[name] for name in projector_of(model).beside])


def cell_means(model: Model) -> Array:
    """The means of pairs (s x d x c) that a model gives."""
    assert model.loadings is not None
    projector = projector_of(model)
    return model.loadings.values.reshape(len(projector.styles), -1, projector.maps.shape[2]) @ (
        projector.content_vectors.T)


def between(left: Array, right: Array) -> float:
    """The sine of the largest angle between the spans of columns."""
    one, other = (np.linalg.qr(columns)[0] for columns in (left, right))
    return float(np.linalg.norm(other - one @ (one.T @ other), 2))


TRUE_MEANS = np.einsum("sq,qdp,cp->sdc", OF_STYLES, INTERACTION, OF_CONTENTS)


def test_planted_factors_are_recovered_up_to_the_maps_that_the_model_leaves_free() -> None:
    model = fitted(crossed(EXACT))
    projector = projector_of(model)
    assert between(projector.style_vectors, OF_STYLES) < 1e-12
    assert between(projector.content_vectors, OF_CONTENTS) < 1e-12
    assert between(projector.interaction.transpose(1, 0, 2).reshape(COLUMNS, -1),
                   INTERACTION.transpose(1, 0, 2).reshape(COLUMNS, -1)) < 1e-12
    assert np.abs(cell_means(model) - TRUE_MEANS).max() < 1e-12
    assert np.abs(projector.decode_in(model.embedding, [f"s{place}" for place in STYLE]) - EXACT).max() < 1e-12
    assert model.fit["explained_share"] == pytest.approx(1, abs=1e-14) and model.fit["residual_share"] < 1e-28


def test_under_noise_the_model_is_nearer_to_the_true_means_than_the_asymmetric_one_and_these_than_the_means() -> None:
    """With fewer parameters that hold, less of the noise is fitted."""
    data = crossed(NOISE)
    model, other = fitted(data), fitted(data, STYLES)
    means = Crossing.of(data.labels, data.contents, data.ids).means(data.values)
    errors = [float(np.sum((found - TRUE_MEANS) ** 2)) for found in (cell_means(model), cell_means(other), means)]
    assert errors[0] < 0.75 * errors[1] < 0.75 * 0.75 * errors[2]
    assert between(projector_of(model).style_vectors, OF_STYLES) < 0.2


def test_with_as_many_axes_as_styles_it_is_the_asymmetric_model() -> None:
    model, other = fitted(crossed(NOISE), STYLES), fitted(crossed(NOISE), None)
    assert model.loadings is not None and other.loadings is not None
    assert np.allclose(model.loadings.values, other.loadings.values, rtol=0, atol=1e-12)
    assert np.allclose(model.embedding, other.embedding, rtol=0, atol=1e-13)
    assert np.allclose(model.spectrum.values, other.spectrum.values, rtol=1e-12)  # type: ignore[union-attr]


def test_with_as_many_axes_as_contents_it_is_the_asymmetric_model_of_the_exchanged_labels() -> None:
    """Its vectors of contents are then any basis: what is left is the singular vectors over styles."""
    model = fitted(crossed(NOISE), 2, CONTENTS)
    swapped = fitted(crossed(NOISE, CONTENT, STYLE), None, 2)
    assert swapped.loadings is not None
    data = crossed(NOISE)
    means = Crossing.of(data.labels, data.contents, data.ids).means(data.values)
    factors = swapped.loadings.values.reshape(CONTENTS, COLUMNS, 2)
    vectors = np.linalg.lstsq(factors.reshape(-1, 2), means.transpose(2, 1, 0).reshape(-1, STYLES), rcond=None)[0]
    assert np.allclose(cell_means(model), np.einsum("cdq,qs->sdc", factors, vectors), rtol=0, atol=1e-12)


def test_the_explained_share_never_falls_and_each_side_is_the_best_for_the_other() -> None:
    model = fitted(crossed(NOISE), 2, 1)
    trace = np.asarray(model.trace)
    assert len(trace) > 3 and model.fit["converged"] and (np.diff(trace) >= -1e-15).all()
    projector = projector_of(model)
    data = crossed(NOISE)
    means = Crossing.of(data.labels, data.contents, data.ids).means(data.values)
    for flat, own in ((means @ projector.content_vectors, projector.style_vectors),
                      ((projector.style_vectors.T @ means.transpose(1, 0, 2)).T, projector.content_vectors)):
        leading = np.linalg.svd(flat.reshape(len(own), -1))[0][:, : own.shape[1]]
        assert between(leading, own) < 1e-8
    assert model.fit["explained_share"] == pytest.approx(1 - float(np.sum((means - cell_means(model)) ** 2)) / float(
        np.sum(means**2)), abs=1e-14)


def test_each_pair_counts_once_and_the_order_of_rows_and_columns_not_at_all() -> None:
    model = fitted(crossed(NOISE))
    again = np.r_[np.arange(len(NOISE)), np.flatnonzero((STYLE == 2) & (CONTENT == 3))]  # all rows of a pair again
    order = GENERATOR.permutation(again)
    other = fitted(crossed(NOISE[order], STYLE[order], CONTENT[order]))
    assert np.allclose(other.embedding, model.embedding[order], rtol=0, atol=1e-9)
    turn = np.linalg.qr(GENERATOR.standard_normal((COLUMNS, COLUMNS)))[0]
    assert np.allclose(fitted(crossed(NOISE @ turn)).embedding, model.embedding, rtol=0, atol=1e-9)


def test_rows_of_unknown_style_and_content_are_taken_apart() -> None:
    """Without noise the vectors are those of the fit's axes, up to the scale between both, and rows come back."""
    model = fitted(crossed(EXACT))
    coordinates, vectors = placed(model, NEW)
    projector = projector_of(model)
    assert np.abs(projector.decode_with(coordinates, vectors) - NEW).max() < 1e-10
    of_styles = NEW_STYLES @ np.linalg.lstsq(OF_STYLES, projector.style_vectors, rcond=None)[0]
    ratios = vectors / of_styles
    assert np.abs(ratios / ratios[:, :1] - 1).max() < 1e-9
    assert np.abs(np.linalg.norm(vectors, axis=1)[:, None] - np.linalg.norm(projector.style_vectors, axis=1)).min(
        axis=1).max() < 1e-12
    assert np.array_equal(projector.project(NEW), coordinates)
    assert np.allclose(placed(model, NEW[4:5])[0], coordinates[4:5], rtol=0, atol=1e-12)


def test_rows_of_the_fit_get_their_own_vectors_without_labels() -> None:
    model = fitted(crossed(EXACT))
    coordinates, vectors = placed(model, EXACT)
    assert np.allclose(coordinates, model.embedding, rtol=0, atol=1e-10)
    assert np.allclose(vectors, projector_of(model).style_vectors[STYLE], rtol=0, atol=1e-10)


def test_a_new_style_follows_from_rows_of_known_contents_by_least_squares() -> None:
    model = fitted(crossed(NOISE))
    projector = projector_of(model)
    new = rows_of(NEW_STYLES[[0] * CONTENTS], OF_CONTENTS) + 0.3 * GENERATOR.standard_normal((CONTENTS, COLUMNS))
    with Notes() as notes:
        coordinates, vectors = placed(model, new, ["new"] * CONTENTS, [f"c{place}" for place in range(CONTENTS)])
    assert "N-NEW-STYLES" in notes.codes and np.ptp(vectors, axis=0).max() == 0
    designs = np.einsum("qdp,cp->cdq", projector.interaction, projector.content_vectors).reshape(-1, AXES[0])
    measured = projector.input_unit.measured(new)
    assert np.allclose(vectors[0], np.linalg.lstsq(designs, measured.ravel(), rcond=None)[0], rtol=0, atol=1e-12)
    factor = np.einsum("q,qdp->dp", vectors[0], projector.interaction)
    assert np.allclose(coordinates, np.linalg.lstsq(factor, measured.T, rcond=None)[0].T, rtol=0, atol=1e-11)


def test_a_new_content_follows_from_the_map_of_its_style_and_leads_to_all_others() -> None:
    """Translation: a content seen in one style, as the others would have it."""
    model = fitted(crossed(EXACT))
    new = rows_of(OF_STYLES[[1]], NEW_CONTENTS[[0]])
    coordinates, vectors = placed(model, new, ["s1"])
    assert np.allclose(vectors[0], projector_of(model).style_vectors[1])
    everywhere = projector_of(model).decode_in(np.repeat(coordinates, STYLES, axis=0), [f"s{i}" for i in range(STYLES)])
    assert np.abs(everywhere - rows_of(OF_STYLES, NEW_CONTENTS[[0] * STYLES])).max() < 1e-11


def test_a_new_content_in_known_styles_has_the_vector_of_least_squares_over_all_of_them() -> None:
    model = fitted(crossed(NOISE))
    projector = projector_of(model)
    new = rows_of(OF_STYLES[:4], NEW_CONTENTS[[0] * 4]) + 0.3 * GENERATOR.standard_normal((4, COLUMNS))
    coordinates, beside = projector.place_with(new, [["s0", "s1", "s2", "s3"], ["new", "new", "new", "c5"]])
    vectors = np.column_stack([beside["content1"], beside["content2"]])
    measured = projector.input_unit.measured(new)
    designs = np.einsum("sq,qdp->sdp", projector.style_vectors[:3], projector.interaction).reshape(-1, AXES[1])
    assert np.allclose(vectors[:3], np.linalg.lstsq(designs, measured[:3].ravel(), rcond=None)[0], rtol=0, atol=1e-11)
    assert np.array_equal(vectors[3], projector.content_vectors[5])
    assert np.allclose(coordinates, placed(model, new, ["s0", "s1", "s2", "s3"])[0], rtol=0, atol=1e-14)


@pytest.mark.medium
def test_rows_of_new_styles_and_new_contents_share_their_vectors() -> None:
    """Two new styles and two new contents: their four rows have the residual of stationary vectors, less than alone."""
    model = fitted(crossed(EXACT))
    styles, contents = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    new = rows_of(NEW_STYLES[styles], NEW_CONTENTS[contents])
    coordinates, vectors = placed(model, new, [f"n{place}" for place in styles], [f"m{place}" for place in contents])
    assert np.abs(projector_of(model).decode_with(coordinates, vectors) - new).max() < 1e-10
    assert np.allclose(vectors[0], vectors[1]) and np.allclose(coordinates[0], coordinates[2], atol=1e-9)
    noisy = new + 0.1 * GENERATOR.standard_normal(new.shape)
    _, shared = placed(model, noisy, ["n"] * 4)
    assert np.ptp(shared, axis=0).max() == 0
    missing, alone = placed(model, noisy, ["", "NA", "n", ""])[1], placed(model, noisy)[1]
    assert np.allclose(missing, alone, rtol=0, atol=1e-9)


def test_under_noise_the_end_is_stationary_and_no_worse_than_the_planted_vectors() -> None:
    model = fitted(crossed(NOISE))
    projector = projector_of(model)
    noisy = NEW + 0.1 * GENERATOR.standard_normal(NEW.shape)
    coordinates, vectors = placed(model, noisy)
    rest = noisy - projector.decode_with(coordinates, vectors)
    for slope in (np.einsum("nd,qdp,np->nq", rest, projector.interaction, coordinates),  # zero in any unit
                  np.einsum("nd,qdp,nq->np", rest, projector.interaction, vectors)):
        assert np.abs(slope).max() < 1e-9
    styles = NEW_STYLES @ np.linalg.lstsq(OF_STYLES, projector.style_vectors, rcond=None)[0]
    contents = NEW_CONTENTS @ np.linalg.lstsq(OF_CONTENTS, projector.content_vectors, rcond=None)[0]
    scales = np.einsum("nd,nd->n", noisy, projector.decode_with(contents, styles))
    near = projector.decode_with(contents, styles)
    near *= (scales / np.einsum("nd,nd->n", near, near))[:, None]
    assert (np.sum(rest**2, axis=1) <= np.sum((noisy - near) ** 2, axis=1)).all()


@pytest.mark.medium
def test_a_stored_projector_places_rows_alike_in_any_unit(tmp_path: Any) -> None:
    model = fitted(crossed(NOISE))
    archive.save(tmp_path, {"projector": model.projector})
    projector = archive.load(tmp_path)["projector"]
    assert np.array_equal(projector.project(NEW), placed(model, NEW)[0])
    larger = fitted(crossed(NOISE * 2.0**70))
    coordinates, vectors = placed(larger, NEW * 2.0**70)
    assert np.allclose(coordinates, placed(model, NEW)[0], rtol=0, atol=1e-10)
    assert np.allclose(projector_of(larger).decode_with(coordinates, vectors) / 2.0**70, projector.decode_with(
        *placed(model, NEW)), rtol=0, atol=1e-10)


def test_rows_that_do_not_determine_their_vectors_are_refused() -> None:
    few = fitted(crossed(EXACT[:, :4]))  # 3 + 2 numbers of 4
    with pytest.raises(ConfigError) as unlabeled:
        placed(few, NEW[:, :4])
    with pytest.raises(DataError) as lonely:
        placed(few, NEW[:3, :4], ["s1", "s2", "new"])
    assert (unlabeled.value.code, lonely.value.code, lonely.value.row) == ("E-NEEDS-STYLE", "E-NEW-STYLE", 2)
    assert np.isfinite(placed(few, NEW[:3, :4], ["s1", "new", "new"], ["", "c1", "c2"])[0]).all()


def test_options_that_cannot_be_are_refused_by_name() -> None:
    data = crossed(NOISE)
    with pytest.raises(ConfigError) as many:
        fitted(data, STYLES + 1)
    with pytest.raises(ConfigError) as unused:
        fitted(data, None, iterate={"limit": 5})
    assert (many.value.code, unused.value.code) == ("E-STYLE-AXES", "E-UNUSED")
    with Notes() as notes:
        short = fitted(crossed(EXACT), STYLES)
    assert "W-RANK" in notes.codes and projector_of(short).style_vectors.shape[1] == AXES[0]
    with Notes() as notes:
        stopped = fitted(data, 2, 1, iterate={"limit": 2})
    assert "W-UNCONVERGED" in notes.codes and stopped.fit["converged"] is False


def test_vectors_that_are_not_those_of_the_contents_are_no_projector() -> None:
    projector = projector_of(fitted(crossed(EXACT)))
    with pytest.raises(ValueError, match="content"):
        replace(projector, contents=projector.contents[1:])
