"""Transforms and the choice of columns: their definitions, their domains, new rows, and the way back."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from mlcli.certify.transforms import FORMULAS
from mlcli.certify.transforms import transform as certified
from mlcli.data.prepare import transforms
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Prepare, Prepared
from mlcli.data.prepare.transforms import TRANSFORMS
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, MlcliError
from tests.data.helpers import noted
from tests.data.prepare.test_prepare import NAN, table
from tests.laws.agreement.tables import read
from tests.wording import Wording

COUNTS = np.random.default_rng(3).integers(1, 40, (30, 6)) * [1.0, 2, 3, 10, 1, 7]
DEFINITIONS: dict[str, Any] = {
    "log1p": lambda x: np.log(1 + x),
    "sqrt": lambda x: x**0.5,
    "total": lambda x: x / x.sum(axis=1)[:, None],
    "hellinger": lambda x: np.sqrt(x / x.sum(axis=1)[:, None]),
    "cpm": lambda x: 1e6 * x / x.sum(axis=1)[:, None],
    "unit": lambda x: x / np.linalg.norm(x, axis=1)[:, None],
    "presence": lambda x: (x != 0) * 1.0,
    "clr": lambda x: np.log(x / np.exp(np.log(x).mean(axis=1))[:, None]),
    "alr": lambda x: np.log(x / x[:, :1]),
    "rclr": lambda x: np.log(x / np.exp(np.log(x).mean(axis=1))[:, None]),  # without a zero
    "log": lambda x: np.log2(x) + 1,
    "rank": lambda x: rankdata(x, axis=1),
    "rrank": lambda x: rankdata(x, axis=1) / x.shape[1],
    "max": lambda x: x / x.max(axis=0),
    "frequency": lambda x: x / x.mean(axis=0),
    "wisconsin": lambda x: (x / x.max(axis=0)) / (x / x.max(axis=0)).sum(axis=1)[:, None],
    "chisquare": lambda x: np.sqrt(x.sum()) * x / np.outer(x.sum(axis=1), np.sqrt(x.sum(axis=0))),
}


def prepared(values: Any, *names: str, **options: Any) -> Prepared:
    return prepare(Prepare(transform=names, **options), table(values))  # type: ignore[arg-type]


def refused(values: Any, *names: str, **options: Any) -> MlcliError:
    with pytest.raises(MlcliError) as caught:
        prepared(values, *names, **options)
    assert (caught.value.code, caught.value.exit_code, caught.value.where) == ("E-TRANSFORM", 65, "data.csv")
    return caught.value


@pytest.mark.parametrize("name", TRANSFORMS)
def test_each_is_its_definition(name: str) -> None:
    np.testing.assert_allclose(prepared(COUNTS, name).table.values, DEFINITIONS[name](COUNTS), rtol=1e-13, atol=1e-14)


def test_every_transform_has_a_definition_here() -> None:
    assert set(DEFINITIONS) == set(TRANSFORMS) == set(FORMULAS)


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e300])
def test_the_certificate_has_formulas_of_its_own(name: str, size: float) -> None:
    found = prepared(COUNTS * size, name).table.values
    near_zero = 1e-12 if name in ("clr", "rclr", "alr", "log") else 0
    np.testing.assert_allclose(FORMULAS[name](COUNTS * size), found, rtol=1e-12, atol=near_zero)


@pytest.mark.parametrize("then", ["presence", "sqrt", "log1p"])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_certificate_follows_rows_of_equal_cells_through_log_ratios(then: Any, columns: int) -> None:
    cells = np.repeat(np.exp(np.random.default_rng(0).standard_normal((50, 1))), columns, axis=1)
    found, errors = certified(cells, ("clr", then))
    assert not found.any() and not prepared(cells, "clr", then).table.values.any()
    assert (errors > 0).all() and np.isfinite(errors).all()


@pytest.mark.parametrize("names", [("total", "log1p"), ("log1p", "total"), ("cpm", "log1p", "unit")])
def test_they_are_applied_in_their_order(names: tuple[str, ...]) -> None:
    expected = COUNTS
    for name in names:
        expected = DEFINITIONS[name](expected)
    np.testing.assert_allclose(prepared(COUNTS, *names).table.values, expected, rtol=1e-13)


def test_they_come_before_the_scale() -> None:
    found = prepared(COUNTS, "log1p", scale="standard").table.values
    logs = np.log1p(COUNTS)
    np.testing.assert_allclose(found, (logs - logs.mean(axis=0)) / logs.std(axis=0), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_row_does_not_depend_on_the_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, in blocks of any size: new rows are treated as the first ones were."""
    result = prepared(COUNTS, name, scale="standard")
    for row in range(len(COUNTS)):
        again = result.preparation.apply(table(COUNTS[row : row + 1])).values
        assert again.tobytes() == result.table.values[row : row + 1].tobytes()
    monkeypatch.setattr(transforms, "BLOCK", 14)
    assert prepared(COUNTS, name, scale="standard").table.values.tobytes() == result.table.values.tobytes()
    fortran = table(np.asfortranarray(COUNTS))
    assert result.preparation.apply(fortran).values.tobytes() == result.table.values.tobytes()


@pytest.mark.parametrize("name", ["total", "hellinger", "cpm", "unit", "presence", "clr", "rclr", "alr", "rank",
                                  "rrank", "max", "frequency", "wisconsin", "chisquare"])
@pytest.mark.parametrize("power", [-1000, 1015])
def test_the_unit_of_a_row_does_not_matter(name: str, power: int) -> None:
    """Neither overflow nor vanishing squares; exactly so where no logarithm is taken."""
    found = prepared(np.ldexp(COUNTS, power), name).table.values
    expected = prepared(COUNTS, name).table.values
    if name in ("clr", "rclr", "alr"):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    else:
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "value"), [("log1p", -1.0), ("sqrt", -0.5), ("total", -2.0), ("hellinger", -2.0),
                                             ("cpm", -2.0), ("clr", 0.0), ("alr", 0.0)])
def test_cells_outside_of_a_domain_are_named(name: str, value: float, wording: Wording) -> None:
    values = COUNTS.copy()
    values[20, 3] = value
    error = refused(values, name)
    assert error.what.startswith(f"row 21 ('r20'), column 'c3': {name} ") and wording(error) == [error.code]
    assert ("pseudocount" in error.hint) == (name in ("clr", "alr")) and error.hint


@pytest.mark.parametrize("name", ["total", "hellinger", "cpm", "unit", "rank", "rclr", "wisconsin", "chisquare"])
def test_rows_of_zeros_are_named(name: str, wording: Wording) -> None:
    values = COUNTS.copy()
    values[7] = 0
    error = refused(values, name)
    assert error.what.startswith(f"row 8 ('r7'), {name} ") and wording(error) == [error.code]


def test_the_first_row_that_is_wrong_is_named_whatever_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "BLOCK", 6)
    values = COUNTS.copy()
    values[[5, 11, 29]] = -1
    assert refused(values, "sqrt").what.startswith("row 6 ('r5'), column 'c0'")


def test_the_domain_is_that_of_what_the_transform_is_given() -> None:
    assert refused([[2.0, 1.0], [3.0, 0.5]], "log1p", "clr", "sqrt").what.startswith("row 1 ('r0'), column 'c1': sqrt")


def test_missing_cells_pass_single_cells_and_no_rows(wording: Wording) -> None:
    values = COUNTS.copy()
    values[4, 2] = NAN
    found = prepared(values, "log1p", "sqrt", "presence", missing="model").table.values
    assert np.isnan(found[4, 2]) and np.count_nonzero(np.isnan(found)) == 1
    error = refused(values, "total", missing="model")
    assert "E-TRANSFORM" in wording(error)
    filled = values.copy()
    filled[4, 2] = np.nanmean(values[:, 2])
    np.testing.assert_allclose(prepared(values, "total", missing="mean").table.values, DEFINITIONS["total"](filled),
                               rtol=1e-13)


@pytest.mark.parametrize("names", [("log1p",), ("sqrt",), ("sqrt", "log1p"), ("log1p", "sqrt")])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_what_can_be_inverted_is(names: tuple[str, ...], scale: str) -> None:
    result = prepared(COUNTS, *names, scale=scale)
    with noted() as notes:
        back = result.preparation.features(result.table.values)
    np.testing.assert_allclose(back, COUNTS, rtol=1e-12)
    assert notes.codes == []


def test_what_cannot_be_inverted_is_said() -> None:
    result = prepared(COUNTS, "total", "clr", "presence", "log1p")
    with noted() as notes:
        back = result.preparation.features(result.table.values)
    np.testing.assert_allclose(back, 1, rtol=1e-15)
    assert notes.codes == ["N-TRANSFORMED"]
    assert notes.notes[0].facts == {"transform": ["total", "clr", "presence"]}
    assert "prepare.transform: [total, clr, presence]" in notes.notes[0].message


def test_roots_below_zero_stand_for_zero() -> None:
    assert prepared(COUNTS, "sqrt").preparation.features(np.array([[-1.0, 0, 1, 2, 3, 4]])).tolist() == [
        [0, 0, 1, 4, 9, 16]]


def test_features_out_of_range_are_refused() -> None:
    with pytest.raises(MlcliError) as caught:
        prepared(COUNTS, "log1p").preparation.features(np.full((1, 6), 800.0))
    assert caught.value.code == "E-UNDONE"


def test_the_columns_of_the_largest_variance_are_kept_in_their_order() -> None:
    result = prepared(COUNTS, "log1p", top_variance=3, scale="center")
    logs = np.log1p(COUNTS)
    chosen = np.sort(np.argsort(-logs.var(axis=0))[:3])
    assert result.table.columns == tuple(f"c{place}" for place in chosen)
    np.testing.assert_allclose(result.table.values, (logs - logs.mean(axis=0))[:, chosen], atol=1e-12)
    assert result.preparation.names == result.table.columns
    again = result.preparation.apply(table(COUNTS[:4]))
    assert (again.columns, again.values.tobytes()) == (result.table.columns, result.table.values[:4].tobytes())


@pytest.mark.parametrize("power", [-1000, 0, 1000])
def test_equal_variances_go_to_the_first_column(power: int) -> None:
    wide, narrow = np.arange(6.0)[:, None] * 2, np.arange(6.0)[:, None]
    values = np.ldexp(np.hstack([narrow, wide, narrow, wide, narrow]), power)
    assert [prepared(values, top_variance=count).preparation.names for count in (1, 2, 3, 4)] == [
        ("c1",), ("c1", "c3"), ("c0", "c1", "c3"), ("c0", "c1", "c2", "c3")]


def test_more_columns_than_there_are_keep_all() -> None:
    with noted() as notes:
        result = prepared(COUNTS, top_variance=6)
    assert result.preparation.chosen is None and notes.codes == ["N-TOP-VARIANCE"]
    assert result.table.values.tobytes() == COUNTS.tobytes()


def test_each_view_is_transformed_by_itself() -> None:
    other = Table(COUNTS[:, ::-1] * 3, tuple("uvwxyz"), table(COUNTS).ids)
    both = prepare(Prepare(transform=("total",), top_variance=2, scale="standard"), table(COUNTS, view=other))
    assert both.table.view is not None
    for found, alone in ((both.table, table(COUNTS)), (both.table.view, other)):
        expected = prepare(Prepare(transform=("total",), top_variance=2, scale="standard"), alone)
        assert found.columns == expected.table.columns
        assert found.values.tobytes() == expected.table.values.tobytes()
    again = both.preparation.apply(table(COUNTS))
    assert again.values.tobytes() == both.table.values.tobytes()


@pytest.mark.parametrize("options", [{"transform": ("sqrt",)}, {"top_variance": 2}])
@pytest.mark.parametrize("kind", ["dissimilarities", "kernel", "covariance"])
def test_square_matrices_are_not_transformed(kind: str, options: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        prepare(Prepare(**options), table([[0, 1], [1, 0]], kind=kind))
    assert (caught.value.code, caught.value.where) == ("E-PREPARE-OPTION", f"prepare.{next(iter(options))}")


@pytest.mark.parametrize("name", ["wisconsin", "max", "frequency", "chisquare", "log", "rclr", "rank", "rrank",
                                  "hellinger"])
def test_sparse_communities_are_those_of_decostand(name: str) -> None:
    found = prepared(read("metrics/dune.csv"), name).table.values[:6]
    np.testing.assert_allclose(found, read(f"relation/dune_{name}.csv"), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("folder", "name", "there"), [("metrics", "total", "total"), ("metrics", "unit", "normalize"),
                                                       ("metrics", "presence", "pa")])
def test_names_of_decostand(folder: str, name: str, there: str) -> None:
    found = prepared(read("metrics/dune.csv"), name).table.values[:6]
    np.testing.assert_allclose(found, read(f"{folder}/dune_{there}.csv"), rtol=1e-12, atol=1e-14)


def test_log_ratios_of_decostand() -> None:
    """vegan leaves the reference out; here it is a column of zeros."""
    counts = read("metrics/dune.csv") + 1
    np.testing.assert_allclose(prepared(counts, "clr").table.values[:6], read("metrics/dune_clr.csv"), rtol=1e-12,
                               atol=1e-14)
    found = prepared(counts, "alr").table.values[:6]
    np.testing.assert_allclose(found[:, 1:], read("relation/dune_alr.csv"), rtol=1e-12, atol=1e-14)
    assert not found[:, 0].any()


@pytest.mark.parametrize(("scale", "there"), [("range", "range"), ("standard", "standardize")])
def test_scales_of_decostand(scale: str, there: str) -> None:
    found = prepared(read("metrics/dune.csv"), scale=scale, divisor="n-1").table.values[:6]
    np.testing.assert_allclose(found, read(f"relation/dune_{there}.csv"), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("names", [("wisconsin",), ("sqrt", "wisconsin"), ("max", "chisquare", "frequency")])
def test_new_rows_are_divided_by_the_sizes_of_the_fit(names: tuple[str, ...]) -> None:
    result = prepared(COUNTS, *names)
    assert result.preparation.sizes is not None and result.preparation.sizes.shape == (
        sum(name != "sqrt" for name in names), 6)
    assert result.preparation.apply(table(COUNTS[3:5])).values.tobytes() == result.table.values[3:5].tobytes()
    for step in names:
        assert prepared(np.hstack([COUNTS, np.zeros((30, 1))]), step).table.values[:, 6].tolist() == [0.0] * 30


def test_columns_need_all_their_cells(wording: Wording) -> None:
    values = COUNTS.copy()
    values[4, 2] = NAN
    error = refused(values, "wisconsin", missing="model")
    assert error.what.startswith("row 5 ('r4'), wisconsin ") and wording(error) == [error.code]
    assert len(prepared(values, "wisconsin", missing="drop").table.ids) == 29
