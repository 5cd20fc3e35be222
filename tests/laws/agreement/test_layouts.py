"""Stress of layouts against vegan's monoMDS and metaMDS, MASS's sammon and scikit-learn's smacof."""

import numpy as np
import pytest

from mlcli.methods import Model
from mlcli.stages.layout.disparities import Order
from mlcli.stages.layout.goodness import rank_goodness
from mlcli.stages.layout.pairs import Pairs
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


def test_the_result_of_another_program_is_a_minimum_here() -> None:
    """Started at its own result, the stress does not change."""
    model = fit("nmds", "dune_bray", starts=1)
    again = fit("nmds", "dune_bray", starts=1, minimize={"tolerance": 1e-12})
    assert again.fit["stress"] == pytest.approx(model.fit["stress"], abs=1e-6)
    assert np.all(np.diff(np.asarray(model.trace)) <= 0)


def test_stress_of_points_is_vegans_goodness() -> None:
    table = read("stress/dune_goodness.csv", names=False)
    pairs = Pairs.of(read("pcoa/dune_bray/D.csv"), "one", [""] * 20)
    found = rank_goodness(pairs, Order.of(pairs, "primary"), table[:, :2])
    assert np.allclose(found.points, table[:, 2], rtol=0, atol=1e-8)
    assert found.linear == pytest.approx(LINEAR, rel=1e-7)
