"""The subject of a certificate: what can be checked of a model whose input is not at hand."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance
from mlcli.certify.subject import NoInput, Plan
from mlcli.methods import METHODS
from mlcli.pipeline.certify import subject_of
from tests.support import checks_of, features

POINTS = np.random.default_rng(3).standard_normal((30, 4)) * [4, 2, 1, 0.5]
SPECTRAL = ["order", "sum", "orthogonality", "centering"]


@pytest.mark.parametrize(("name", "covariance", "alone"), [
    ("pca", False, ["finite", *SPECTRAL[:-1]]), ("pca", True, []), ("mds", False, ["finite", *SPECTRAL]),
    ("lle", False, ["finite", *SPECTRAL]), ("laplacian", False, ["finite"]), ("lpp", False, ["finite"]),
    ("fa", False, ["finite"]), ("fa", True, []), ("smacof", False, ["finite"]), ("nmf", False, ["finite"])])
def test_without_the_input_the_result_is_checked_alone(name: str, covariance: bool, alone: list[str]) -> None:
    data: Any = Covariance(np.cov(POINTS.T), list("abcd")) if covariance else features(np.abs(POINTS))
    axes = "axes" if "axes" in METHODS[name].model_fields else "eigensolve"
    method = METHODS[name](**{axes: {"components": 1}}).resolve(data)
    checks = checks_of(method, None, method.fit(data, Compute()))
    assert [check.name for check in checks] == [*alone, "input"]
    assert [check.verdict for check in checks] == ["pass"] * len(alone) + ["skipped"]


def test_an_input_that_is_not_at_hand_is_not_taken_for_an_empty_one() -> None:
    data = features(POINTS)
    method = METHODS["mds"]().resolve(data)
    subject = subject_of(method, None, method.fit(data, Compute()), Plan())
    with pytest.raises(NoInput):
        assert subject.data is None
