"""The bilinear model of styles and contents: exact data are recovered, and each pair counts once."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled
from mlcli.errors import ConfigError, DataError, GeometryError
from mlcli.methods import METHODS, Model
from mlcli.rundir import archive
from tests.support import Notes, features
from tests.wording import Wording

GENERATOR = np.random.default_rng(31)
FACTORS, VECTORS = GENERATOR.standard_normal((4, 5, 2)), GENERATOR.standard_normal((7, 2))
STYLE, CONTENT = np.repeat(np.arange(4), 14), np.tile(np.repeat(np.arange(7), 2), 4)
EXACT = np.einsum("ndk,nk->nd", FACTORS[STYLE], VECTORS[CONTENT])
NOISE = EXACT + 0.2 * GENERATOR.standard_normal(EXACT.shape)


def crossed(points: Array, style: Array = STYLE, content: Array = CONTENT) -> CrossLabeled:
    data = features(points)
    return CrossLabeled(data.values, data.ids, data.columns, [f"s{place}" for place in style],
                        [f"c{place}" for place in content])


def fitted(data: CrossLabeled, **options: Any) -> Model:
    return METHODS["bilinear"](**options).resolve(data).fit(data, Compute())


def test_exact_data_are_recovered_up_to_an_invertible_map() -> None:
    model = fitted(crossed(EXACT))
    turn, rest, *_ = np.linalg.lstsq(VECTORS[CONTENT], model.embedding, rcond=None)
    assert rest.max() < 1e-26 and abs(np.linalg.det(turn)) > 1e-3
    assert model.fit["residual_share"] < 1e-28
    assert model.loadings is not None and len(model.spectrum.values) == 2
    back = model.loadings.values.reshape(4, 5, 2) @ model.embedding[:14:2].T
    assert np.allclose(back, FACTORS @ VECTORS.T, rtol=0, atol=1e-13)


def test_each_pair_counts_once() -> None:
    more = np.concatenate([np.arange(len(NOISE)), [0, 1, 0, 1, 20, 21]])  # both rows of a pair again
    model, other = fitted(crossed(NOISE)), fitted(crossed(NOISE[more], STYLE[more], CONTENT[more]))
    assert np.allclose(model.embedding, other.embedding[: len(NOISE)], rtol=0, atol=1e-13)
    assert np.allclose(model.spectrum.values, other.spectrum.values, rtol=1e-13)


def test_other_names_of_styles_change_their_order_alone() -> None:
    model, other = fitted(crossed(NOISE)), fitted(crossed(NOISE, 3 - STYLE))
    assert np.allclose(model.embedding, other.embedding, rtol=0, atol=1e-13)
    assert model.loadings is not None and other.loadings is not None
    first, second = (found.values.reshape(4, 5, 2) for found in (model.loadings, other.loadings))
    assert np.allclose(first, second[::-1], rtol=0, atol=1e-12)


def test_a_linear_map_of_one_style_changes_no_content_of_exact_data() -> None:
    """Contents are the same in all styles, whatever each style makes of them."""
    bent = np.where(STYLE[:, None] == 2, EXACT @ GENERATOR.standard_normal((5, 5)), EXACT)
    vectors = [fitted(crossed(points)).embedding for points in (EXACT, bent)]
    _, rest, *_ = np.linalg.lstsq(*vectors, rcond=None)
    assert rest.max() < 1e-24


def test_new_rows_are_placed_by_their_style(tmp_path: Any) -> None:
    model = fitted(crossed(NOISE))
    archive.save(tmp_path, {"projector": model.projector})
    projector = archive.load(tmp_path)["projector"]
    styles = [f"s{place}" for place in STYLE]
    assert np.allclose(projector.place(NOISE, [styles]), model.embedding, rtol=0, atol=1e-14)
    with pytest.raises(ConfigError) as unlabeled:
        projector.place(NOISE, [])
    with pytest.raises(DataError) as unknown:
        projector.place(NOISE[:2], [["s1", "x"]])
    assert (unlabeled.value.code, unknown.value.code, unknown.value.row) == ("E-NEEDS-STYLE", "E-STYLE", 1)


def test_a_style_with_fewer_directions_has_the_shortest_vectors() -> None:
    flat = np.where(STYLE[:, None] == 1, np.outer(VECTORS[CONTENT, 0], np.ones(5)), EXACT)
    with Notes() as notes:
        model = fitted(crossed(flat))
    assert "W-STYLES" in notes.codes and model.loadings is not None
    factor = model.loadings.values[5:10]
    assert np.allclose(model.embedding[14:28], flat[14:28] @ np.linalg.pinv(factor, rcond=1e-10).T, atol=1e-12)


def test_what_cannot_be_crossed_is_refused_by_name(wording: Wording) -> None:
    kept = (STYLE != 1) | (CONTENT != 3)
    with pytest.raises(DataError, match=r"1 of 28 .*'s1' with 'c3'") as absent:
        fitted(crossed(NOISE[kept], STYLE[kept], CONTENT[kept]))
    assert absent.value.code == "E-PAIRS" and absent.value.exit_code == 65
    for style, content, called in ((0 * STYLE, CONTENT, "style"), (STYLE, 0 * CONTENT, "content")):
        with pytest.raises(GeometryError, match=rf" {called} "):
            fitted(crossed(NOISE, style, content))
    data = crossed(NOISE)
    with wording.raises(DataError, "NO-LABEL"):
        fitted(replace(data, contents=["", *data.contents[1:]]))
