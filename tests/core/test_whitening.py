"""Columns on equal terms: their units decide nothing, down to where double precision ends and the data is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import Features
from mlcli.errors import DataError
from mlcli.methods import METHODS
from mlcli.pipeline import run as pipeline
from tests.faults.certificate.support import certificate, configured
from tests.support import features, fit, furnished
from tests.wording import Wording

WALK = np.cumsum(np.random.default_rng(4).standard_normal((60, 4)), axis=0)
WHITE = ["sfa", "lda", "cca", "ibfa"]  # methods to which no unit of a column is anything


def first_times(unit: float) -> Array:
    """The walk with its first column in another unit."""
    return WALK * [unit, 1, 1, 1]


def given(method: str, unit: float) -> Features:
    """That with the labels or the second view that a method needs, the same ones whatever the unit."""
    return replace(furnished(features(WALK), METHODS[method].accepts), values=first_times(unit))


@pytest.mark.parametrize("method", WHITE)
@pytest.mark.parametrize("power", [-350, -540, -800])
def test_a_unit_far_below_the_others_changes_no_coordinate(method: str, power: int) -> None:
    """The same numbers with exponents of their own, also where their squares vanish."""
    model, other = (fit(method, given(method, unit)) for unit in (1.0, 2.0**power))
    assert np.allclose(other.embedding, model.embedding, atol=1e-7)


@pytest.mark.parametrize(("method", "power"), [*((method, -300) for method in WHITE),
                                               *(("lgssm", power) for power in (-130, -156, -160, -220, -300))])
def test_a_unit_beyond_double_precision_is_refused_by_name(method: str, power: int) -> None:
    with pytest.raises(DataError, match=r"\b1 of 4 .*column 1 .*prepare.scale=standard") as caught:
        fit(method, given(method, 10.0**power))
    assert caught.value.code == "E-COLUMN-SCALES"


def test_the_remedy_that_the_refusal_names_helps(tmp_path: Path, wording: Wording) -> None:
    spans = WALK * [1e-150, 1, 1e10, 1e150]
    with wording.raises(DataError, "COLUMN-SCALES"):
        pipeline.run(configured(tmp_path, {"name": "lgssm"}, spans))
    pipeline.run(configured(tmp_path, {"name": "lgssm"}, spans, prepare={"scale": "standard"}))
    assert certificate(tmp_path)["verdict"] == "pass"
