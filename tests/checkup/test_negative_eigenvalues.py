"""The cause of negative eigenvalues: planted sets are recognized, others are not taken for one of these."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.checkup.negative_eigenvalues import autocorrelations, cause_of, detours
from mlcli.checkup.report import Cause
from tests.checkup.test_metric import examined, written

SCRIPT = Path(__file__).parents[2] / "scripts" / "negative_eigenvalues.py"
KINDS = ("noise", "extent", "space")
SEED = 77  # the limits were chosen by sets of other seeds


@pytest.fixture(scope="module")
def planted() -> ModuleType:
    """The script that plants sets."""
    found = importlib.util.spec_from_file_location("planted", SCRIPT)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def cause(distances: Array) -> Cause:
    return cause_of(distances, np.random.default_rng(0))


@pytest.mark.medium
@pytest.mark.parametrize("kind", KINDS)
def test_nine_of_ten_planted_sets_are_recognized_and_hardly_one_is_taken_for_another(planted: ModuleType,
                                                                                     kind: str) -> None:
    names = [found.name for found in planted.causes(planted.KINDS[kind], SEED, 100)]
    assert names.count(kind) >= 90, names
    assert sum(name not in (kind, "undecided") for name in names) <= 5, names


@pytest.mark.parametrize("planter", ["noise", "balls", "segments", "sphere", "hyperbolic", "city_block"])
def test_a_few_sets_of_each_planter(planted: ModuleType, planter: str) -> None:
    kind = next(kind for kind, planters in planted.KINDS.items() if getattr(planted, planter) in planters)
    names = [found.name for found in planted.causes((getattr(planted, planter),), SEED, 3)]
    assert names.count(kind) >= 2 and set(names) <= {kind, "undecided"}


@pytest.mark.parametrize("planter", ["equal_balls", "squares"])
def test_other_causes_are_left_undecided(planted: ModuleType, planter: str) -> None:
    assert {found.name for found in planted.causes((getattr(planted, planter),), SEED, 3)} == {"undecided"}


@pytest.mark.parametrize("kind", KINDS)
def test_neither_the_unit_nor_the_order_of_points_matters(planted: ModuleType, kind: str) -> None:
    generator = np.random.default_rng(SEED)
    distances = planted.one_of(planted.KINDS[kind], generator)
    order = generator.permutation(len(distances))
    known, scaled, mixed = cause(distances), cause(distances * 2.0**100), cause(distances[np.ix_(order, order)])
    assert known == scaled
    assert mixed.name == known.name and mixed.evidence is not None and known.evidence is not None
    assert mixed.evidence.autocorrelation == pytest.approx(known.evidence.autocorrelation, abs=0.01)  # nearest may tie
    for fact in ("triangle_excess", "breadth", "size_variation", "size_correlation"):
        assert getattr(mixed.evidence, fact) == pytest.approx(getattr(known.evidence, fact), abs=1e-6)


def test_the_excess_of_a_ball_between_two_others_is_its_diameter() -> None:
    centers, radii = np.array([0.0, 5.0, 11.0, 30.0]), np.array([0.5, 1.5, 0.25, 2.0])
    distances = np.abs(centers[:, None] - centers[None]) - radii[:, None] - radii[None]
    np.fill_diagonal(distances, 0)
    np.testing.assert_allclose(detours(distances), [0, 3, 0.5, 0], atol=1e-12)


def test_a_vector_that_is_constant_in_far_groups_is_alike_at_nearest_points() -> None:
    groups = np.repeat([0.0, 100.0], 20)
    points = groups + np.random.default_rng(0).random(40)
    vectors = np.stack([np.sign(groups - 50), np.ones(40)], axis=1)
    np.testing.assert_allclose(autocorrelations(np.abs(points[:, None] - points[None]), vectors), 1)


def test_too_few_points_and_a_sample_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1).random((80, 80))
    distances = np.triu(random, 1) + np.triu(random, 1).T
    assert cause(distances[:20, :20]) == Cause("undecided", 20, None)
    monkeypatch.setattr("mlcli.checkup.negative_eigenvalues.MOST", 50)
    found = cause(distances)
    assert found.points == 50 and found.name == "noise"


@pytest.mark.parametrize("kind", KINDS)
def test_the_checkup_states_the_cause_its_evidence_and_what_to_do(planted: ModuleType, tmp_path: Path,
                                                                  kind: str) -> None:
    from mlcli.checkup.lines import lines_of

    report = examined(written(tmp_path, planted.one_of(planted.KINDS[kind], np.random.default_rng(SEED))))
    assert report.cause is not None and report.cause.name == kind
    line = next(line for line in lines_of(report) if line.strip().startswith("cause"))
    assert {"noise": "noise", "extent": "extended", "space": "curved"}[kind] in line
    advice = next(finding.advice for finding in report.findings if finding.code == "C-NOT-EUCLIDEAN")
    assert {"noise": "noise", "extent": "sizes", "space": "nmds"}[kind] in advice
    assert report.document()["cause"]["evidence"]["breadth"] > 0


def test_euclidean_distances_have_no_cause(tmp_path: Path) -> None:
    points = np.random.default_rng(2).standard_normal((40, 3))
    report = examined(written(tmp_path, np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))))
    assert report.cause is None and "cause" not in report.document()
