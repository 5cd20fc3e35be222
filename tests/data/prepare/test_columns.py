"""Columns that decide a result although they may not be meant to: one of nearly all variance, codes among answers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.prepare.columns import Codes, codes_of, dominant_column, warn_beside_lists, warn_of_samples
from mlcli.data.read.table import read
from tests.data.helpers import noted

NAMES = tuple(f"c{place}" for place in range(1000))


def normal(rows: int = 60, columns: int = 11, last: float = 1.0) -> Array:
    values = np.random.default_rng(0).standard_normal((rows, columns))
    values[:, -1] *= last
    return values


def answers(*wrong: float, low: int = 1, high: int = 6, rows: int = 100, columns: int = 5) -> Array:
    """Answers on a scale, with wrong ones in the first rows of column c1."""
    values = np.random.default_rng(1).integers(low, high + 1, (rows, columns)).astype(float)
    values[: len(wrong), 1] = wrong
    return values


def found(values: Array) -> list[Codes]:
    return codes_of(np.asarray(values, dtype=float), NAMES)


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_the_share_is_that_of_the_largest_variance(unit: float) -> None:
    values = normal(last=12.0)
    variances = values.var(axis=0)
    seen = dominant_column(values * unit, NAMES)
    assert seen is not None and seen.column == "c10"
    assert seen.share == pytest.approx(variances[-1] / variances.sum(), rel=1e-12)


@pytest.mark.parametrize("values", [
    normal(last=9.0), normal(columns=10, last=100.0), np.ones((20, 12)), normal(rows=1, last=100.0)],
    ids=["nine tenths", "ten columns", "no variance", "one row"])
def test_up_to_nine_tenths_of_more_than_ten_columns_are_no_dominance(values: Array) -> None:
    if values.shape == (60, 11):
        values[:, -1] *= np.sqrt(0.899 / 0.101 * values[:, :-1].var(axis=0).sum() / values[:, -1].var())
    assert dominant_column(values, NAMES) is None


def test_a_missing_cell_does_not_hide_a_dominant_column() -> None:
    values = normal(last=100.0)
    values[3, -1] = values[4, 0] = np.nan
    seen = dominant_column(values, NAMES)
    assert seen is not None and seen.column == "c10"


@pytest.mark.parametrize("code", [99, 999, -9, -99, 88, 97, 9999, 55])
def test_a_code_among_answers_is_named_with_its_rows_and_the_scale(code: float) -> None:
    assert found(answers(code, code, code)) == [Codes("c1", {f"{code}": 3}, 1.0, 6.0)]


def test_several_codes_and_missing_cells_are_told_apart() -> None:
    values = answers(99, 98, 99)
    values[5:8, 1] = np.nan
    values[:, 2] = np.nan
    assert found(values) == [Codes("c1", {"98": 1, "99": 2}, 1.0, 6.0)]


@pytest.mark.parametrize(("values", "codes"), [(answers(9, 9, high=2, low=0), {"9": 2}),
                                               (answers(9, high=4), {"9": 1}), (answers(7, 9, high=1, low=0), None)])
def test_a_code_of_one_digit_counts_where_no_column_has_a_number_between(values: Array,
                                                                         codes: dict[str, int] | None) -> None:
    assert [one.rows for one in found(values)] == [codes or {"7": 1, "9": 1}]
    values[0, 3] = 5
    assert found(values) == []


@pytest.mark.parametrize("wrong", [(9,), (12, 12), (0,), (41,) * 40, ()])
def test_numbers_next_to_a_scale_or_in_many_rows_are_no_codes(wrong: tuple[float, ...]) -> None:
    assert found(answers(*wrong)) == []


def test_counts_ids_and_real_numbers_hold_no_codes() -> None:
    rng = np.random.default_rng(2)
    assert found(rng.negative_binomial(0.3, 0.1, (300, 40))) == found(rng.poisson(0.6, (300, 40))) == []
    assert found(rng.integers(0, 1000, (300, 5))) == found(rng.standard_normal((300, 5))) == []
    assert found(np.where(rng.random((300, 5)) < 0.5, 1.7e308, -1.7e308)) == []
    sparse = rng.integers(0, 256, (400, 60)) * (rng.random((400, 60)) < np.linspace(0, 0.5, 60))  # as pixels are
    assert found(sparse) == []


@pytest.mark.parametrize("name", ["dune", "iris", "hair_eye", "mixture", "postures", "swiss_roll"])
def test_tables_of_counts_and_measurements_raise_no_doubt(name: str) -> None:
    with noted():
        table = read(Input(path=f"sample_data/{name}.csv", kind="features", id_column="none"), Compute())
    assert codes_of(table.values, table.columns) == []


def test_rows_that_no_sample_holds_are_counted() -> None:
    values = answers(rows=30_000)
    values[[7, 20_001], 4] = 999
    assert found(values) == [Codes("c4", {"999": 2}, 1.0, 6.0)]


def test_rows_in_blocks_give_what_rows_in_memory_give(tmp_path: Path) -> None:
    path = tmp_path / "data.npy"
    values = np.hstack([answers(rows=5000), normal(rows=5000, columns=8, last=900.0)])
    values[[7, 2500], 4] = 999
    np.save(path, values)
    options = Input(path=str(path))
    whole, blocks = (read(options.replace(stream=way), Compute(), streams=True) for way in ("never", "always"))
    for table in (whole, blocks):
        assert codes_of(table.values, table.columns) == [replace(found(values)[0], column=table.columns[4])]
    one, other = (dominant_column(table.values, table.columns) for table in (whole, blocks))
    assert one is not None and other is not None and one.column == other.column == whole.columns[12]
    assert one.share == pytest.approx(other.share, rel=1e-9)


def test_numbers_beside_a_column_of_lists_are_named() -> None:
    elements = [f"embedding[{place}]" for place in range(11)]
    for columns, said in ((["price", *elements, "year"], [["price", "year"]]), (elements, []), (["a", "b", "c[1]"], []),
                          (["price", *elements[:10]], [])):
        with noted() as notes:
            warn_beside_lists(columns)
        assert [note.facts["columns"] for note in notes.notes if note.code == "W-BESIDE-LISTS"] == said


def test_columns_of_plink_that_describe_samples_are_named() -> None:
    for columns, codes in ((["PAT", "MAT", "SEX", "PHENOTYPE", "rs1_A"], ["W-OF-SAMPLES"]), (["SEX", "PHENOTYPE"], [])):
        with noted() as notes:
            warn_of_samples(columns)
        assert notes.codes == codes
