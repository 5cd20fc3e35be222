"""One contract for every method in the table: what holds whatever the formula."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.compute import Compute
from mlcli.base.types import Array
from mlcli.errors import ConfigError, GeometryError, MlcliError
from mlcli.methods import METHODS, Model
from mlcli.rundir import archive
from tests.support import EPS, Notes, distances, features, fit

POINTS = np.random.default_rng(21).standard_normal((60, 5)) * [4, 2, 1, 0.5, 0.25]
OPTIONS: dict[str, dict[str, Any]] = {"isomap": {"neighbors": 9}, "lle": {"neighbors": 9}}
NEEDS_NEIGHBORS = ("isomap", "lle")
# LLE's axes are eigenvectors of M⁺ whose gaps are small beside rounding in the weights
LOOSE = {"lle": 1e-5}

every_method = pytest.mark.parametrize("method", METHODS)


def model_of(method: str, points: Array = POINTS, **options: Any) -> Model:
    return fit(method, points, **{**OPTIONS.get(method, {}), **options})


def close(method: str, left: Array, right: Array) -> None:
    assert left.shape == right.shape
    scale = max(float(np.abs(left).max(initial=0.0)), 1e-300)
    assert np.abs(left - right).max(initial=0.0) <= LOOSE.get(method, 1e-9) * scale


@every_method
def test_every_method_says_what_it_is_for(method: str) -> None:
    first, _, rest = (METHODS[method].__doc__ or "").partition("\n\n")
    assert first.rstrip().endswith((".", ".)")) or "\n" in first
    assert "Source:" in rest
    assert METHODS[method]().name == method


@every_method
def test_the_same_run_gives_the_same_bits(method: str) -> None:
    first, second = model_of(method), model_of(method)
    assert np.array_equal(first.embedding, second.embedding)
    assert np.array_equal(first.spectrum.values, second.spectrum.values)


@every_method
def test_permuted_rows_give_permuted_rows(method: str) -> None:
    order = np.random.default_rng(0).permutation(len(POINTS))
    close(method, model_of(method).embedding[order], model_of(method, POINTS[order]).embedding)


@every_method
def test_rotation_and_shift_change_nothing(method: str) -> None:
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    close(method, distances(model_of(method).embedding), distances(model_of(method, POINTS @ rotation + 1).embedding))


@every_method
def test_mirrored_points_give_the_same_embedding(method: str) -> None:
    kernel = {"kernel": {"name": "gaussian"}} if method == "kpca" else {}
    close(method, model_of(method, **kernel).embedding, model_of(method, -POINTS, **kernel).embedding)


@every_method
def test_permuted_and_constant_columns_change_nothing(method: str) -> None:
    wider = np.column_stack([POINTS[:, ::-1], np.full(len(POINTS), 3.25), np.zeros(len(POINTS))])
    close(method, model_of(method).embedding, model_of(method, wider).embedding)


@every_method
def test_axes_follow_the_sign_rule(method: str) -> None:
    for column in model_of(method, components=3).embedding.T:
        assert column[np.abs(column).argmax()] > 0


@every_method
def test_the_input_is_never_written_to(method: str) -> None:
    points = POINTS.copy()
    points.flags.writeable = False
    model = model_of(method, points)
    model.project(points)
    assert np.array_equal(points, POINTS)


@every_method
@pytest.mark.parametrize("layout", ["fortran", "strided", "read-only"])
def test_the_memory_layout_of_the_input_does_not_matter(method: str, layout: str) -> None:
    if layout == "fortran":
        points = np.asfortranarray(POINTS)
    elif layout == "strided":
        points = np.repeat(np.repeat(POINTS, 2, axis=0), 2, axis=1)[::2, ::2]
    else:
        points = POINTS.copy()
        points.flags.writeable = False
    close(method, model_of(method).embedding, model_of(method, points).embedding)


@every_method
def test_saved_and_loaded_models_project_the_same_bits(method: str, tmp_path: Any) -> None:
    model = model_of(method)
    archive.save(tmp_path, {"projector": model.projector})
    loaded = archive.load(tmp_path)["projector"]
    new = POINTS[:7] + 0.01
    assert np.array_equal(model.project(new), loaded.project(new))
    if model.projector.decoder is not None:
        assert np.array_equal(model.reconstruct(model.embedding), loaded.reconstruct(model.embedding))


@every_method
def test_projection_does_not_depend_on_what_else_is_projected(method: str) -> None:
    model, new = model_of(method), POINTS[:7] + 0.01
    together = model.project(new)
    for i in range(7):
        close(method, together[i : i + 1], model.project(new[i : i + 1]))


@every_method
def test_the_spectrum_descends_and_its_shares_add_up(method: str) -> None:
    spectrum = model_of(method).spectrum
    assert (np.diff(spectrum.values) <= 0).all()
    assert spectrum.complete
    assert spectrum.proportions.sum() == pytest.approx(1, abs=1e-9)


@every_method
def test_a_share_of_the_variance_keeps_just_enough_axes(method: str) -> None:
    model = model_of(method, components=0.7)
    cumulative = np.cumsum(model.spectrum.proportions)
    kept = model.embedding.shape[1]
    assert cumulative[kept - 1] >= 0.7 - 1e-9
    assert kept == 1 or cumulative[kept - 2] < 0.7


@every_method
def test_one_point(method: str) -> None:
    data = features([[1.0, 2.0, 3.0]])
    if method in NEEDS_NEIGHBORS:
        with pytest.raises(GeometryError) as caught:
            fit(method, data)
        assert caught.value.code == "E-ONE-POINT"
        return
    with Notes() as notes:
        model = fit(method, data)
    assert np.array_equal(model.embedding, [[0.0]])
    assert "W-RANK" in notes.codes


@every_method
def test_two_points_lie_on_a_line(method: str) -> None:
    model = fit(method, features([[0.0, 0.0], [3.0, 4.0]]))
    assert model.embedding.shape == (2, 1)
    if method in ("pca", "mds", "isomap"):
        assert np.ptp(model.embedding) == pytest.approx(5, rel=1e-14)


@every_method
def test_three_points_keep_their_triangle(method: str) -> None:
    triangle = np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
    model = fit(method, features(triangle))
    assert model.embedding.shape[0] == 3
    if method in ("pca", "mds", "isomap"):
        assert np.allclose(distances(model.embedding), distances(triangle), rtol=1e-14)


@pytest.mark.parametrize("method", NEEDS_NEIGHBORS)
def test_too_many_neighbors_are_an_error_or_a_note(method: str) -> None:
    few = features(POINTS[:6])
    with pytest.raises(ConfigError) as caught:
        fit(method, few, neighbors=6)
    assert "at most 5" in str(caught.value)
    with Notes() as notes:
        fit(method, few)
    assert "N-NEIGHBORS" in notes.codes


@every_method
def test_too_many_axes_are_an_error(method: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model_of(method, POINTS[:20], components=20)
    assert caught.value.code == "E-COMPONENTS"


@every_method
def test_duplicates_share_their_coordinates(method: str) -> None:
    doubled = np.repeat(POINTS, 2, axis=0)
    model = model_of(method, doubled)
    scale = np.abs(model.embedding).max()
    apart = np.abs(model.embedding[::2] - model.embedding[1::2]).max()
    if method == "lle":  # equal points have equal weights only up to which twin they lean on
        assert apart <= 0.5 * scale
    else:
        assert apart <= 1e4 * EPS * scale


@every_method
def test_equal_points_give_zero_or_a_clear_error(method: str) -> None:
    equal = features(np.ones((20, 3)))
    if method in NEEDS_NEIGHBORS:
        with pytest.raises(GeometryError) as caught:
            fit(method, equal, **OPTIONS[method])
        assert caught.value.code == "E-ALL-EQUAL"
        return
    with Notes() as notes:
        model = fit(method, equal)
    assert np.array_equal(model.embedding, np.zeros((20, 1)))
    assert "W-RANK" in notes.codes


@every_method
def test_constant_columns_only_differ_from_none_by_name(method: str) -> None:
    points = POINTS.copy()
    points[:, 4] = 7.0
    close(method, model_of(method, points).embedding, model_of(method, points[:, :4]).embedding)


@every_method
def test_many_more_columns_than_rows(method: str) -> None:
    wide = np.random.default_rng(3).standard_normal((25, 3000))
    model = model_of(method, wide)
    assert model.embedding.shape == (25, 2)
    assert np.isfinite(model.embedding).all()
    close(method, model.project(wide), model.embedding)


@every_method
def test_a_far_origin_costs_only_its_own_digits(method: str) -> None:
    """An offset of 1e8 takes 8 of the 16 digits of the data itself; the method must not take more."""
    points = np.round(POINTS, 3)
    moved = (points + 1e8) - 1e8  # what is left of the data after storing it at the offset
    near, far = model_of(method, moved), model_of(method, moved + 1e8)
    scale = np.abs(near.embedding).max()
    assert np.abs(near.embedding - far.embedding).max() <= 1e-6 * scale


@every_method
@pytest.mark.parametrize("kind", [np.float32, np.int16, np.uint8])
def test_narrow_numbers_are_computed_in_double(method: str, kind: Any) -> None:
    points = np.round(POINTS * 10 + 100).astype(kind)
    close(method, model_of(method, points).embedding, model_of(method, points.astype(np.float64)).embedding)


@every_method
def test_options_round_trip_through_plain_values(method: str) -> None:
    options = METHODS[method]()
    assert type(options)(**options.model_dump()) == options


@every_method
def test_the_wrong_kind_of_input_is_refused_before_anything_runs(method: str) -> None:
    from mlcli.base.inputs import Dissimilarities, Features, Similarities

    square = distances(POINTS)
    for kind in (Features, Dissimilarities, Similarities):
        data = kind(square, [str(i) for i in range(len(square))])
        if isinstance(data, METHODS[method].accepts):
            continue
        with pytest.raises(ConfigError) as caught:
            METHODS[method]().settle(data)
        assert caught.value.code == "E-KIND"


@every_method
def test_memory_over_the_limit_is_refused(method: str) -> None:
    options: dict[str, Any] = {"isomap": {"paths": {"store": "memory"}}}.get(method, {})
    if method not in ("mds", "isomap"):
        pytest.skip("needs no n x n memory")
    data = features(np.random.default_rng(0).random((3000, 2)))
    with pytest.raises(MlcliError) as caught:
        METHODS[method](**options).fit(data, Compute(memory_limit="50M"))
    assert caught.value.exit_code == 82
    assert "points fit" in caught.value.hint


def test_no_stage_default_is_overridden_by_a_method() -> None:
    """A default given by a method for a whole section would be lost as soon as one of its keys is set."""
    for kind in METHODS.values():
        for name, field in kind.model_fields.items():
            default = field.get_default()
            if name in ("neighbors", "paths", "eigensolve"):
                assert default == type(default)()
