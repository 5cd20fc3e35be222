"""Layouts that are not those of least stress fail; those of hostile tables and dissimilarities pass, or end by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import Spatial
from mlcli.errors import DataError, GeometryError
from mlcli.methods import Model
from tests.faults.certificate.layout_lies import GOODNESS, checked, fit_of, moved, stated, turned
from tests.support import Notes, dissimilarities, features
from tests.wording import Wording

RANDOM = np.random.default_rng(6)
POINTS = RANDOM.standard_normal((25, 4)) * [3, 2, 1, 0.5]
BENT = np.abs(RANDOM.standard_normal((14, 14))) + 0.1
BENT = (BENT + BENT.T) * (1 - np.eye(14))  # of no triangle
NAMES = ("smacof", "sammon", "nmds")
FEW: dict[str, dict[str, Any]] = {"smacof": {}, "sammon": {}, "nmds": {"starts": 2}}


def of_data(name: str, data: Spatial, **options: Any) -> tuple[Any, Any, Model]:
    return fit_of(name, data, **{**FEW[name], **options})


@cache
def fitted(name: str) -> tuple[Any, Any, Model]:
    return of_data(name, features(POINTS))


def one_point(points: Array) -> Array:
    points[3, 1] += 1e-3 * np.abs(points).max()
    return points


LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "a point moved": (moved(one_point), {"stress", "axes"}), "turned": (moved(turned), {"axes"}),
    "off the center": (moved(lambda points: points + 1e-9), {"axes"}),
    "axes in another order": (moved(lambda points: points[:, ::-1].copy()), {"axes"}),
    "larger": (moved(lambda points: points * 1.001), {"stationarity", "size", "stress"}),
    "another stress": (stated(stress=lambda value: value * 1.0001), {"stress"}), **GOODNESS}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_seen(name: str, lie: str) -> None:
    method, data, model = fitted(name)
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}
    change, seen = LIES[lie]
    assert {check.name for check in checked(method, data, change(model)) if check.verdict == "fail"} & seen


@pytest.mark.parametrize("name", NAMES)
def test_a_start_is_no_end(name: str) -> None:
    """The first coordinates, on principal axes and with their own stress, are not at rest, whatever is claimed."""
    section = "minimize" if name == "nmds" else "iterate"
    method, data, model = of_data(name, features(POINTS), starts=1, **{section: {"limit": 1, "tolerance": 1e-9}})
    assert not model.fit["converged"]
    assert "stationarity" in {check.name for check in checked(
        method, data, replace(model, fit={**model.fit, "converged": True})) if check.verdict == "fail"}


HOSTILE: dict[str, Spatial] = {
    **{name: features(values) for name, values in {
        "huge": POINTS * 1e300, "tiny": POINTS * 1e-300, "far from zero": POINTS + 1e9, "a row": POINTS[:1],
        "two rows": POINTS[:2], "two equal rows": POINTS[[0, 0]], "equal": np.ones((9, 3)), "one point twice": POINTS[[
            0, 0, 1]], "on a line": POINTS[:, :1] * np.ones(3), "twins": np.repeat(POINTS[:7], 3, axis=0),
        "constant columns": np.column_stack([POINTS, np.full((25, 2), 7.0)]),
        "an outlier": np.vstack([POINTS, np.full(4, 1e9)]),
        "lattice": np.argwhere(np.ones((4, 4))).astype(float)}.items()},
    **{name: dissimilarities(values) for name, values in {
        "of no triangle": BENT, "huge and of no triangle": BENT * 1e300, "tiny and of no triangle": BENT * 1e-300,
        "of two lengths": (BENT > 1) + 1.0 - np.eye(14), "zeros": np.zeros((5, 5)), "a point": np.zeros((1, 1)),
        }.items()}}


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", HOSTILE)
def test_honest_runs_of_hostile_data_pass(name: str, case: str) -> None:
    method, data, model = of_data(name, HOSTILE[case])
    assert np.isfinite(model.embedding).all() and np.isfinite(model.fit["stress"])
    assert np.isfinite(model.project(data.values)).all()
    checks = checked(method, data, model)
    assert {check.verdict for check in checks} <= {"pass", "skipped"}, checks


def test_weights_that_rounding_hides_are_refused_by_name(wording: Wording) -> None:
    """Two groups, one of points a few roundings apart: their weights are 1e16 times those of other pairs."""
    generator = np.random.default_rng(3)
    near = 1e-8 * generator.standard_normal((30, 4)) + 9.0 * (np.arange(30) % 2)[:, None]
    with wording.raises(DataError, "WEIGHTS-SPAN") as refused:
        of_data("sammon", features(near), metric="cosine", axes={"components": 1})
    assert refused.value.code == "E-WEIGHTS-SPAN"


@pytest.mark.parametrize("name", NAMES)
def test_points_on_a_line_have_one_axis(name: str, wording: Wording) -> None:
    """Distances that fewer axes have exactly leave no others, which would hold what is left of a random start."""
    line = features(POINTS[:, :1] * np.ones(3))
    assert of_data(name, line)[2].embedding.shape == (25, 1)
    with wording.raises(GeometryError, "AXES") as refused:
        of_data(name, line, axes={"components": 2})
    assert refused.value.where == "method.axes.components"


@pytest.mark.parametrize("name", NAMES)
def test_a_layout_that_did_not_converge_is_told(name: str) -> None:
    section = "minimize" if name == "nmds" else "iterate"
    with Notes() as notes:
        of_data(name, features(POINTS), **{section: {"limit": 2}})
    assert notes.codes == {"W-UNCONVERGED"}
