"""Missing cells, centers and scales: exact where the mathematics is, and the same for new rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlcli.base.values.inputs import Features
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.prepare import Dropped, Prepare, Prepared
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError, MlcliError
from tests.data.helpers import noted
from tests.wording import Wording

EPS = np.finfo(float).eps
SCALES = ["none", "center", "standard", "range", "robust"]
NAN, INF = float("nan"), float("inf")


def table(values: Any, kind: str = "features", **more: Any) -> Table:
    values = np.asarray(values, dtype=float)
    columns = tuple(f"c{place}" for place in range(values.shape[1]))
    ids = tuple(f"r{row}" for row in range(len(values)))
    return Table(values, columns, ids, kind=kind, source=Source("data.csv", lambda: "", 0, "csv"), **more)


def prepared(values: Any, **options: Any) -> Prepared:
    return prepare(Prepare(**options), table(values))


def refused(values: Any, code: str, **options: Any) -> MlcliError:
    with pytest.raises(MlcliError) as caught:
        prepared(values, **options)
    assert caught.value.code == f"E-{code}", repr(caught.value)
    return caught.value


def sample(rows: int = 50, columns: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)) * [1, 10, 100, 1e-3] + [0, 5, -1000, 1e-2]


def test_nothing_changes_by_default() -> None:
    values = sample()
    result = prepared(values)
    assert result.table.values.tobytes() == values.tobytes()
    assert result.dropped == ()
    assert result.preparation.undo(values).tobytes() == values.tobytes()


def test_center() -> None:
    values = sample()
    found = prepared(values, scale="center").table.values
    np.testing.assert_allclose(found, values - values.mean(axis=0), rtol=0, atol=1e-12)
    assert (np.abs(found.mean(axis=0)) <= 10 * EPS * np.abs(values).max(axis=0)).all()


@pytest.mark.parametrize(("divisor", "ddof"), [("n", 0), ("n-1", 1)])
def test_standard(divisor: str, ddof: int) -> None:
    values = sample()
    found = prepared(values, scale="standard", divisor=divisor).table.values
    expected = (values - values.mean(axis=0)) / values.std(axis=0, ddof=ddof)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=0, ddof=ddof), 1, rtol=1e-14)


def test_range() -> None:
    found = prepared(sample(), scale="range").table.values
    assert (found.min(axis=0) == 0).all()
    assert (found.max(axis=0) == 1).all()


def test_robust() -> None:
    values = sample()
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    found = prepared(values, scale="robust").table.values
    np.testing.assert_allclose(found, (values - median) / (high - low), rtol=1e-13)


def test_a_huge_offset_costs_only_what_the_input_lost() -> None:
    exact = np.arange(-50.0, 51)[:, None] / 64  # sums and squares without rounding
    found = prepared(exact + 2.0**30, scale="standard").table.values
    np.testing.assert_allclose(found, exact / np.sqrt(np.mean(exact**2)), rtol=1e-15)


@pytest.mark.parametrize("scale", ["standard", "range", "robust"])
@pytest.mark.parametrize("power", [-900, -300, -1, 1, 300, 900])
def test_powers_of_two_change_no_bit(scale: str, power: int) -> None:
    values = sample()
    assert (prepared(np.ldexp(values, power), scale=scale).table.values.tobytes()
            == prepared(values, scale=scale).table.values.tobytes())


@given(values=hnp.arrays(np.float64, (7, 3), elements=st.floats(-1e6, 1e6, width=32)), power=st.integers(-800, 800),
       scale=st.sampled_from(["standard", "range"]))
@settings(max_examples=100, deadline=None)
def test_powers_of_two_change_no_bit_of_any_table(values: np.ndarray, power: int, scale: str) -> None:
    assert (prepared(np.ldexp(values, power), scale=scale).table.values.tobytes()
            == prepared(values, scale=scale).table.values.tobytes())


@pytest.mark.parametrize("scale", ["center", "standard", "range", "robust"])
@pytest.mark.parametrize("unit", [1e300, 1e308, 1e-300, 1e-308, 5e-324])
def test_extreme_sizes_neither_overflow_nor_vanish(scale: str, unit: float) -> None:
    shape = np.array([[-4.0, 1], [0, 2], [4, 3], [0, 2]])  # with whole means, as nothing lies between denormals
    if unit > 1e-323:
        shape = shape / 4
    found = prepared(shape * unit, scale=scale).table.values
    assert np.isfinite(found).all()
    expected = prepared(shape, scale=scale).table.values
    np.testing.assert_allclose(found / unit if scale == "center" else found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scale", ["standard", "range", "robust"])
def test_constant_columns_become_zero_with_a_warning(scale: str) -> None:
    values = np.column_stack([np.full(6, 0.1), [1.0, 2, 3, 4, 5, 6], np.zeros(6), np.full(6, 1e300),
                              0.1 + np.array([0, 0, 1, 0, 1, 0]) * 2.0**-56])
    with noted() as notes:
        result = prepared(values, scale=scale)
    assert (result.table.values[:, [0, 2, 3, 4]] == 0).all()
    assert notes.codes == ["W-CONST"]
    assert notes.notes[0].facts == {"columns": ["c0", "c2", "c3", "c4"]}
    new = result.preparation.apply(table(values + 1)).values
    assert (new[:, [0, 2, 3, 4]] == 0).all()
    np.testing.assert_array_equal(result.preparation.undo(result.table.values)[:, :4], values[:, :4])


def test_a_constant_column_centers_to_exact_zero() -> None:
    with noted() as notes:
        found = prepared(np.full((7, 1), 0.1), scale="center").table.values
    assert (found == 0).all()
    assert notes.codes == []


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("divisor", ["n", "n-1"])
def test_a_single_row(scale: str, divisor: str) -> None:
    values = [[1.0, -2.0, 3.0, 4.0]]
    found = prepared(values, scale=scale, divisor=divisor).table.values
    assert found.tolist() == (values if scale == "none" else [[0, 0, 0, 0]])


def test_equal_quartiles_of_a_column_that_varies_are_refused() -> None:
    error = refused([[0, 1], [0, 2], [0, 3], [0, 4], [9, 5.0]], "ZERO-QUARTILES", scale="robust")
    assert "'c0'" in error.what
    assert error.exit_code == 65


@pytest.mark.parametrize("scale", SCALES)
def test_new_rows_are_treated_as_the_first_ones_and_undone(scale: str) -> None:
    values = sample()
    result = prepared(values, scale=scale)
    assert result.preparation.apply(table(values)).values.tobytes() == result.table.values.tobytes()
    assert result.preparation.apply(table(values[7:9])).values.tobytes() == result.table.values[7:9].tobytes()
    np.testing.assert_allclose(result.preparation.undo(result.table.values), values, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", SCALES)
def test_the_input_is_not_touched(scale: str) -> None:
    values = sample()
    values[3, 1] = np.nan
    before = values.tobytes()
    given_table = table(values)
    given_table.values.flags.writeable = False
    prepare(Prepare(scale=scale, missing="mean"), given_table)  # type: ignore[arg-type]
    assert values.tobytes() == before


def test_missing_cells_are_refused_by_default_with_their_places(wording: Wording) -> None:
    values = sample(20, 4)
    values[[1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 0, 1]] = NAN
    error = refused(values, "MISSING")
    assert "E-MISSING" in wording(error)
    assert error.what.count("column") == 5
    assert "E-MISSING" in wording(error)
    assert error.exit_code == 65
    assert "prepare.missing" in error.hint


def test_infinite_cells_are_refused_by_default(wording: Wording) -> None:
    error = refused([[1, INF], [-INF, 2], [3, 4]], "INFINITE")
    assert "E-INFINITE" in wording(error)
    error = refused([[1, INF], [NAN, 2], [3, 4]], "MISSING")
    assert "E-MISSING" in wording(error)


@pytest.mark.parametrize("scale", SCALES)
def test_rows_with_missing_cells_are_dropped_and_listed(scale: str) -> None:
    values = sample(6)
    values[1, [0, 2]] = NAN
    values[4, 3] = -INF
    values[5, :] = [NAN, 1, 2, INF]
    labels = {"kind": tuple("abcdef")}
    with noted() as notes:
        result = prepare(Prepare(scale=scale, missing="drop"), table(values, labels=labels))  # type: ignore[arg-type]
    assert result.dropped == (Dropped("r1", 2, "missing: 'c0', 'c2'"), Dropped("r4", 5, "infinite: 'c3'"),
                              Dropped("r5", 6, "missing: 'c0'; infinite: 'c3'"))
    assert result.table.ids == ("r0", "r2", "r3")
    assert result.table.labels == {"kind": ("a", "c", "d")}
    assert "W-DROPPED" in notes.codes
    expected = prepared(values[[0, 2, 3]], scale=scale).table.values
    assert result.table.values.tobytes() == expected.tobytes()
    again = result.preparation.apply(table(values))
    assert again.ids == result.table.ids
    assert again.values.tobytes() == expected.tobytes()


def test_a_table_without_any_whole_row_is_refused() -> None:
    assert refused([[1, NAN], [INF, 2]], "EMPTY", missing="drop").exit_code == 65


def test_missing_cells_are_filled_with_means() -> None:
    with noted() as notes:
        result = prepared([[1, 10], [NAN, 20], [3, INF], [5, 60]], missing="mean")
    assert result.table.values.tolist() == [[1, 10], [3, 20], [3, 30], [5, 60]]
    assert notes.codes == ["W-FILLED"]
    assert notes.notes[0].facts == {"cells": 2}
    assert result.dropped == ()
    assert result.preparation.apply(table([[NAN, -INF], [7, 8]])).values.tolist() == [[3, 30], [7, 8]]


@pytest.mark.parametrize("unit", [1e308, 1e-308])
def test_means_of_extreme_values(unit: float) -> None:
    values = np.array([[1.0], [1.5], [NAN], [0.5]]) * unit
    np.testing.assert_allclose(prepared(values, missing="mean").table.values[2] / unit, 1, rtol=1e-14)


def test_a_column_without_any_number_has_no_mean() -> None:
    error = refused([[1, NAN], [2, INF]], "ALL-MISSING", missing="mean")
    assert "'c1'" in error.what
    assert error.exit_code == 65


def test_new_rows_with_missing_cells_are_refused_under_the_policy_error() -> None:
    preparation = prepared(sample(), scale="standard").preparation
    with pytest.raises(DataError) as caught:
        preparation.apply(table([[1, 2, NAN, 4]]))
    assert caught.value.code == "E-MISSING"


def test_a_new_row_too_far_away_is_refused() -> None:
    preparation = prepared(np.array([[0.0], [1e-200]]), scale="standard").preparation
    with pytest.raises(DataError) as caught:
        preparation.apply(table([[1e200]]))
    assert caught.value.code == "E-OVERFLOW"


@pytest.mark.parametrize("kind", ["dissimilarities", "kernel"])
def test_square_matrices_pass_untouched(kind: str) -> None:
    given_table = table([[0, 1], [1, 0]], kind=kind)
    result = prepare(Prepare(), given_table)
    assert result.table is given_table
    assert result.preparation.apply(table([[3, 4.0]], kind=kind)).values.tolist() == [[3, 4]]


@pytest.mark.parametrize("options", [{"scale": "center"}, {"missing": "mean"}, {"divisor": "n-1"}])
@pytest.mark.parametrize("kind", ["dissimilarities", "kernel"])
def test_options_without_use_for_square_matrices_are_refused(kind: str, options: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        prepare(Prepare(**options), table([[0, 1], [1, 0]], kind=kind))
    assert caught.value.code == "E-PREPARE-OPTION"
    assert caught.value.exit_code == 78
    assert caught.value.where == f"prepare.{next(iter(options))}"


@pytest.mark.parametrize("policy", ["drop", "mean"])
def test_whole_tables_pass_every_policy_untouched(policy: str) -> None:
    values = sample()
    with noted() as notes:
        result = prepared(values, missing=policy)
    assert result.table.values.tobytes() == values.tobytes()
    assert (result.dropped, notes.codes) == ((), [])


def test_a_table_tells_the_method_what_it_is() -> None:
    data = prepared([[1.0, 2.0]]).table.data()
    assert isinstance(data, Features)
    assert (data.ids, data.columns) == (("r0",), ("c0", "c1"))
