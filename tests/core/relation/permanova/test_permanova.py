"""Partitions: of one coordinate they are the analysis of variance; parts add up; tests are what they are called."""

import numpy as np
import pytest
from scipy import stats

from mlcli.base.types import Array
from mlcli.core.permutations import Permutations
from mlcli.core.relation.permanova import AnalysisRow, By, Factor, permanova, terms_of
from mlcli.errors import DataError, GeometryError

GENERATOR = np.random.default_rng(5)
POINTS = GENERATOR.standard_normal((30, 4)) * [3, 2, 1, 1]
GROUPS = Factor(np.repeat([0, 1, 2], 10), ("a", "b", "c"))
BLOCKS = Factor(np.tile([0, 1], 15), ("u", "v"))
SITE = {"group": GROUPS, "block": BLOCKS, "x": GENERATOR.standard_normal(30), "twin": GROUPS,
        "flat": np.ones(30), "one": Factor(np.arange(30), tuple(map(str, range(30))))}


def parted(formula: str, points: Array = POINTS, by: By = "terms", count: int = 99,
           **options: object) -> list[AnalysisRow]:
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    return permanova(lambda rows, columns: squared[rows, columns].copy(), terms_of(formula), SITE, by,
                     Permutations(count), **options)  # type: ignore[arg-type]


def test_of_one_coordinate_it_is_the_analysis_of_variance() -> None:
    values = POINTS[:, 0]
    row = parted("group", values[:, None])[0]
    assert row.ratio == pytest.approx(stats.f_oneway(values[:10], values[10:20], values[20:]).statistic, rel=1e-10)


@pytest.mark.parametrize("formula", ["group + x", "x*group", "group:block", "x + block + group"])
def test_parts_add_up_to_the_whole(formula: str) -> None:
    rows = parted(formula)
    whole = float(((POINTS - POINTS.mean(axis=0)) ** 2).sum())
    assert rows[-1].squares == pytest.approx(whole, rel=1e-12)
    assert sum(row.squares for row in rows[:-1]) == pytest.approx(whole, rel=1e-12)
    assert sum(row.freedom for row in rows[:-1]) == rows[-1].freedom == 29
    model = parted(formula, by="none")
    assert model[0].squares == pytest.approx(sum(row.squares for row in rows[:-2]), rel=1e-12)


def test_the_last_term_is_its_own_margin() -> None:
    last, margin = parted("group + block + x")[2], parted("group + block + x", by="margin")[2]
    assert (last.squares, last.ratio, last.p_value) == pytest.approx((margin.squares, margin.ratio, margin.p_value))


def test_terms_that_add_nothing_are_left_out() -> None:
    assert [row.term for row in parted("group + twin + flat + x")] == ["group", "x", "Residual", "Total"]


@pytest.mark.parametrize("power", [-300, 300])
def test_units_do_not_matter(power: int) -> None:
    first, other = parted("group + x"), parted("group + x", np.ldexp(POINTS, power))
    assert [(row.ratio, row.p_value) for row in first] == [(row.ratio, row.p_value) for row in other]


def test_strata_hold_what_differs_between_them() -> None:
    strata = np.repeat(np.arange(3), 10)
    assert parted("group", strata=strata)[0].p_value == 1.0


@pytest.mark.parametrize(("formula", "points", "kind", "code"), [
    ("one", POINTS, DataError, "E-MODEL-FREEDOM"), ("flat", POINTS, DataError, "E-MODEL-FREEDOM"),
    ("group", np.ones((30, 2)), GeometryError, "E-ALL-EQUAL")])
def test_what_has_no_partition_is_refused(formula: str, points: Array, kind: type[Exception], code: str) -> None:
    with pytest.raises(kind) as caught:
        parted(formula, points)
    assert caught.value.code == code  # type: ignore[attr-defined]


def test_groups_without_any_spread_have_an_infinite_ratio() -> None:
    row = parted("group", np.repeat(np.eye(3), 10, axis=0))[0]
    assert row.ratio == np.inf and row.p_value == pytest.approx(0.01)
