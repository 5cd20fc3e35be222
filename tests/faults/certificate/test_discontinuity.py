"""Scores of discontinuity that are not those of the layout fail the certificate."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.certify.subject import Plan
from mlcli.findings.discontinuity.check import alarm_checks, discontinuity_checks
from mlcli.findings.discontinuity.measure import Scores, doubtful_points, scores_of
from mlcli.findings.discontinuity.thresholds import threshold_of
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.methods import METHODS
from mlcli.pipeline.certify import subject_of
from tests.support import features

POINTS = np.random.default_rng(6).standard_normal((40, 4)) * [3, 2, 1, 0.5]
CASES: dict[str, dict[str, Any]] = {
    "tsne": {"perplexity": 8.0, "dof": 0.8, "descent": {"early_steps": 10, "steps": 10}},
    "umap": {"neighbors": {"count": 6}, "epochs": 20}, "smacof": {"metric": "cityblock"}, "sammon": {},
    "nmds": {"starts": 1}}


@cache
def fitted(name: str, copies: int = 1) -> tuple[Any, Any, Scores]:
    data = features(np.repeat(POINTS, copies, axis=0))
    method: Any = METHODS[name](**CASES[name]).resolve(data)
    model = method.fit(data, Compute())
    return method, subject_of(method, method.with_metric(data), model, Plan()), scores_of(
        method.point_losses(method.in_range(data), model, Compute()))


def verdicts(name: str, change: Callable[[Array], Array] = lambda values: values, doubtful: Sequence[int] = (),
             copies: int = 1) -> dict[str, str]:
    """The checks of scores, with other singularities, with more doubtful points, or of so many copies of each row."""
    method, subject, found = fitted(name, copies)
    limits = threshold_of(name, method.neighborhood)
    over = doubtful_points(found, limits).astype(float)
    over[list(doubtful)] = 1 - over[list(doubtful)]
    scores = CsvColumns({"perturbation": found.perturbation, "singularity": change(found.singularity.copy()),
                         "doubtful": over})
    figures = {"perturbation": limits.perturbation, "singularity": limits.singularity, "share": limits.share,
               "doubtful": int(over.sum()), "torn": bool(over.mean() > limits.share)}
    return {check.name: check.verdict for check in discontinuity_checks(figures, scores, subject, method)}


@pytest.mark.parametrize("name", CASES)
def test_honest_scores_pass(name: str) -> None:
    assert verdicts(name) == {"doubtful": "pass", "singularity": "pass"}


@pytest.mark.parametrize("name", CASES)
def test_honest_scores_of_equal_rows_pass(name: str) -> None:
    assert verdicts(name, copies=2) == {"doubtful": "pass", "singularity": "pass"}


@pytest.mark.parametrize("name", CASES)
def test_another_curvature_of_a_point_fails(name: str) -> None:
    def lie(values: Array) -> Array:
        values[0] = 2.0 if np.isinf(values[0]) else values[0] * 1.01
        return values

    assert verdicts(name, lie)["singularity"] == "fail"


@pytest.mark.parametrize("name", CASES)
def test_scores_of_points_in_another_order_fail(name: str) -> None:
    assert verdicts(name, lambda values: np.roll(values, 1))["singularity"] == "fail"


def test_a_doubtful_point_where_there_is_no_alarm_fails() -> None:
    _, subject, found = fitted("sammon")
    figures = dict.fromkeys(("perturbation", "singularity", "share", "doubtful", "torn"))
    scores = {"perturbation": found.perturbation, "singularity": found.singularity}
    for doubtful, verdict in ((np.nan, "pass"), (1.0, "fail")):
        columns = CsvColumns({**scores, "doubtful": np.full(len(found.singularity), doubtful)})
        assert [check.verdict for check in alarm_checks(figures, columns, len(subject.embedding))] == [verdict]


def test_a_doubtful_point_that_is_none_fails() -> None:
    assert verdicts("smacof", doubtful=[4])["doubtful"] == "fail"
