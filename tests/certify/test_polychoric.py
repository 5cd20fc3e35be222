"""Polychoric correlations that are not the most likely ones, and thresholds that are no quantiles, are found."""

from typing import Any

import numpy as np
import pytest

from mlcli.certify.polychoric import correlation_checks, smooth_correlations
from mlcli.core.latent.polychoric import definite, polychoric_correlations

ITEMS = np.digitize(np.random.default_rng(4).standard_normal((300, 1)) * [0.9, 0.8, 0.8]
                    + np.random.default_rng(5).standard_normal((300, 3)) * 0.6, [-1.0, 0.1, 0.9]).astype(np.float64)


class Subject:
    """The parts of a subject that the checks look at."""

    def __init__(self, correlations: np.ndarray, thresholds: list[list[float]]) -> None:
        self.data: Any = type("Data", (), {"values": ITEMS})
        self.plan: Any = type("Plan", (), {"full": True})
        self.model: Any = type("Model", (), {"fit": {"polychoric": correlations.tolist(), "thresholds": thresholds}})


def verdicts(moved: float = 0.0, shift: float = 0.0) -> dict[str, str]:
    found = polychoric_correlations(ITEMS, list("abc"))
    pairs = found.pairs.copy()
    pairs[0, 1] = pairs[1, 0] = pairs[0, 1] + moved
    cuts = found.answers.thresholds.copy()
    cuts[2, 1] += shift
    subject: Any = Subject(pairs, cuts.tolist())
    return {check.name: check.verdict for check in correlation_checks(subject)}


def test_honest_correlations_pass() -> None:
    assert verdicts() == {"thresholds": "pass", "correlations": "pass"}


@pytest.mark.parametrize("moved", [-0.01, 1e-4, 0.05])
def test_a_correlation_beside_the_maximum_fails(moved: float) -> None:
    assert verdicts(moved=moved)["correlations"] == "fail"


def test_a_threshold_beside_its_quantile_fails() -> None:
    assert verdicts(shift=1e-9)["thresholds"] == "fail"


def test_smoothing_is_that_of_the_fit() -> None:
    matrix = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    subject: Any = Subject(matrix, [])
    assert np.allclose(smooth_correlations(subject), definite(matrix), rtol=0, atol=1e-14)
