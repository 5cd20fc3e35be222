"""Stress of layouts against vegan's monoMDS and metaMDS, MASS's sammon and scikit-learn's smacof."""

import numpy as np
import pytest

from mlcli.core.layouts.goodness import rank_goodness
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import PairOrder
from mlcli.methods import Model
from tests import support
from tests.laws.agreement.tables import facts, read

LINEAR = 0.92592869241662024  # vegan's linear fit of the points in dune_goodness.csv
EXPECTED = facts("stress/summary.json")
SMACOF = {"dune_bray": 0.18593493386983725, "eurodist": 0.07216128252944146}  # scikit-learn 1.9.1, from the same start
every_set = pytest.mark.parametrize("name", EXPECTED)


def fit(method: str, name: str, **options: object) -> Model:
    return support.fit(method, support.dissimilarities(read(f"pcoa/{name}/D.csv")), **options)


@every_set
@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_ranks_from_classical_scaling_fit_as_in_monomds(name: str, ties: str) -> None:
    """Of voles the two end in different local minima of secondary ties, so there other starts may help."""
    starts = 4 if (name, ties) == ("watervoles", "secondary") else 1
    assert fit("nmds", name, starts=starts, ties=ties).fit["stress"] <= EXPECTED[name][ties] + 1e-6


@pytest.mark.medium
@every_set
def test_the_best_of_twenty_starts_fits_as_in_metamds(name: str) -> None:
    assert fit("nmds", name).fit["stress"] <= EXPECTED[name]["metaMDS"] + 1e-6


@every_set
def test_sammons_stress_is_at_most_that_of_mass(name: str) -> None:
    """MASS stops where a step brings little, before the minimum."""
    assert fit("sammon", name).fit["stress"] <= EXPECTED[name]["sammon"] + 1e-8


@pytest.mark.parametrize("name", SMACOF)
def test_metric_stress_is_that_of_scikit_learn(name: str) -> None:
    assert fit("smacof", name).fit["stress"] == pytest.approx(SMACOF[name], rel=1e-9)


@pytest.mark.parametrize("weights", [-2.0, 1.0])
@pytest.mark.parametrize("name", SMACOF)
def test_weighted_stress_is_that_of_plain_transforms(name: str, weights: float) -> None:
    """By the formulas of R's smacof: X = V⁺ B(X) X, with V⁺ = (V + 11ᵀ/n)⁻¹ - 11ᵀ/n (de Leeuw and Mair, 2009)."""
    lengths = read(f"pcoa/{name}/D.csv")
    apart = np.where(lengths > 0, lengths, 1.0)
    factors = np.where(lengths > 0, apart**weights, 0.0)
    inverse = np.linalg.inv(np.diag(factors.sum(axis=1)) - factors + 1 / len(lengths)) - 1 / len(lengths)
    points = fit("mds", name).embedding
    for _ in range(3000):
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        ratios = factors * lengths / np.where(distances > 0, distances, np.inf)
        points = inverse @ (np.diag(ratios.sum(axis=1)) - ratios) @ points
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    stress = np.sqrt(np.sum(factors * (lengths - distances) ** 2) / np.sum(factors * lengths**2))
    assert fit("smacof", name, weights=weights).fit["stress"] == pytest.approx(stress, rel=1e-9)


def test_weights_of_minus_one_are_those_of_sammon() -> None:
    smacof, sammon = fit("smacof", "eurodist", weights=-1.0), fit("sammon", "eurodist")
    assert smacof.fit["stress"] ** 2 == pytest.approx(sammon.fit["stress"], rel=1e-12)
    assert np.allclose(smacof.embedding, sammon.embedding, rtol=0, atol=1e-9 * np.abs(sammon.embedding).max())
    new = read("pcoa/eurodist/D.csv")[:3] * 1.1 + 5
    assert np.allclose(smacof.project(new), sammon.project(new), rtol=1e-8)


def test_the_result_of_another_program_is_a_minimum_here() -> None:
    """Started at its own result, the stress does not change."""
    model = fit("nmds", "dune_bray", starts=1)
    again = fit("nmds", "dune_bray", starts=1, minimize={"tolerance": 1e-12})
    assert again.fit["stress"] == pytest.approx(model.fit["stress"], abs=1e-6)
    assert np.all(np.diff(np.asarray(model.trace)) <= 0)


def test_stress_of_points_is_vegans_goodness() -> None:
    table = read("stress/dune_goodness.csv", names=False)
    pairs = Pairs.of(read("pcoa/dune_bray/D.csv"), 0.0, [""] * 20)
    found = rank_goodness(pairs, PairOrder.of(pairs, "primary"), table[:, :2])
    assert np.allclose(found.points, table[:, 2], rtol=0, atol=1e-8)
    assert found.linear == pytest.approx(LINEAR, rel=1e-7)
