"""Axes of layouts by the stress of fits with one axis and more."""

import re
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.cli.program import run
from mlcli.findings.dimension.evidence import NotApplicable, RuleVerdict, evidence_of
from mlcli.findings.dimension.residual_variance import FEW_POINTS, MOST_AXES, residual_variance, stress_verdict
from mlcli.methods import METHODS

RANDOM = np.random.default_rng(3)
PLANE = RANDOM.standard_normal((40, 2)) * (3, 2)
CLOUD = np.column_stack([PLANE, 0.05 * RANDOM.standard_normal((40, 3))])


def verdict(method: str, points: Array) -> RuleVerdict | NotApplicable:
    data = Features(points, [str(i) for i in range(len(points))], [str(i) for i in range(points.shape[1])])
    return stress_verdict(METHODS[method](), METHODS[method]().fit(data, Compute()), data, Compute(), long=False)


@pytest.mark.parametrize("method", ["nmds", "smacof", "sammon"])
def test_points_near_a_plane_need_two_axes(method: str) -> None:
    found = verdict(method, CLOUD)
    assert isinstance(found, RuleVerdict) and found.components == 2
    stresses = found.figures["stresses"]
    assert stresses == sorted(stresses, reverse=True) and len(stresses) <= MOST_AXES


def test_axes_end_where_there_is_no_stress() -> None:
    found = verdict("smacof", PLANE)
    assert isinstance(found, RuleVerdict) and found.components == 2 and len(found.figures["stresses"]) == 2


def test_random_points_of_high_dimension_are_left_to_more_axes() -> None:
    found = verdict("nmds", RANDOM.standard_normal((60, 30)))
    assert isinstance(found, RuleVerdict)
    stresses = found.figures["stresses"]
    assert found.components is None or stresses[found.components - 1] < 0.2 <= stresses[found.components - 2]


def test_many_points_are_fitted_only_where_it_is_asked_for() -> None:
    assert isinstance(verdict("smacof", RANDOM.standard_normal((FEW_POINTS + 1, 2))), NotApplicable)


@pytest.mark.medium
@pytest.mark.parametrize("copies", [1, FEW_POINTS // len(CLOUD) + 1])
def test_as_many_axes_are_kept(tmp_path: Path, copies: int) -> None:
    """Of many points too, whose fits only `-p auto` makes; the page of the run then has no curve."""
    near = np.vstack([CLOUD + 0.01 * RANDOM.standard_normal(CLOUD.shape) for _ in range(copies)])
    (tmp_path / "data.csv").write_text("\n".join(["a,b,c,d,e", *(",".join(map(str, row)) for row in near)]))
    out = tmp_path / "out"
    assert run(["embed", str(tmp_path / "data.csv"), "-m", "smacof", "-p", "auto", "-o", str(out), "-q"]) == 0
    assert (out / "embedding.csv").read_text(encoding="utf-8").splitlines()[0].count(",") == 2
    assert ("Stress by number of axes" in (out / "report.html").read_text(encoding="utf-8")) == (copies == 1)


@pytest.mark.medium
def test_the_advice_names_the_stress_that_the_method_reached(tmp_path: Path,
                                                             capsys: pytest.CaptureFixture[str]) -> None:
    """By its twenty starts, of which the first alone ends at another stress."""
    table = Path(__file__).parents[3] / "sample_data" / "us_arrests.csv"
    assert run(["embed", str(table), "-m", "nmds", "-p", "1", "-v", "-o", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    own = re.search(r"stress ([0-9.]+), reached from", told)
    assert own is not None and f"Keep 1 axis by stress (stress {own[1]} with 1 axis)" in told


@pytest.mark.parametrize("scale", [1.0, 40.0, 1e200])
def test_all_axes_of_a_kernel_of_distances_leave_no_variance(scale: float) -> None:
    """Distances in its feature space are √(2 - 2 k(δ)), whatever the unit of the points is."""
    data = Features(scale * CLOUD, [str(i) for i in range(len(CLOUD))], list("abcde"))
    method = METHODS["kpca"].model_validate({"kernel": {"name": "laplacian"},
                                             "eigensolve": {"components": len(CLOUD) - 1}})
    found = residual_variance(evidence_of(method, method.fit(data, Compute()), data, Compute()))
    assert isinstance(found, RuleVerdict) and found.figures["residual_variances"][-1] < 1e-10
