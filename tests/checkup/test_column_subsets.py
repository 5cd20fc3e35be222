"""Distances over the number of columns: theory of independent columns, plain definitions, and what the curves say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from scipy.stats import mannwhitneyu

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.checkup.column_subsets import FEWEST, PairSums, nested_sizes, share_below, subsets_of
from mlcli.checkup.features import labels_of
from mlcli.checkup.lines import subset_sentences
from mlcli.checkup.report import ColumnSubsets, Interval
from tests.support import features


def subsets(points: Array, **labels: list[str]) -> ColumnSubsets:
    found, skipped = subsets_of(points / max(1.0, np.abs(points).max()), labels, Compute())
    assert found is not None and not skipped
    return found


def classes(rows: int, columns: int, shift: float, seed: int = 0) -> tuple[Array, list[str]]:
    """Two classes of normal points whose means differ by `shift` in each of the columns."""
    kinds = np.arange(rows) % 2
    points = np.random.default_rng(seed).standard_normal((rows, columns)) + shift * kinds[:, None]
    return points, [f"k{kind}" for kind in kinds]


def test_sizes_double_up_to_all_columns() -> None:
    assert [nested_sizes(columns) for columns in (2, 4, 5, 8, 9)] == [
        (1, 2), (1, 2, 4), (1, 2, 4, 5), (1, 2, 4, 8), (1, 2, 4, 8, 9)]


def test_the_variation_of_independent_columns_falls_by_the_root_of_their_number() -> None:
    """Squared distances of d standard normal columns are 2 chi-square: their variation is √(2 / d)."""
    found = subsets(np.random.default_rng(1).standard_normal((150, 64)))
    for size, measured, theory in zip(found.sizes, found.variation, found.variation_independent, strict=True):
        assert theory == pytest.approx(np.sqrt(2 / size), rel=0.15)
        assert measured.median == pytest.approx(theory, rel=0.15)
        assert measured.low <= measured.median <= measured.high
    assert found.independent_columns == pytest.approx(64, rel=0.3)
    assert np.all(np.diff([share.median for share in found.nearest_over_farthest]) > 0)


def test_copies_of_a_column_are_as_one() -> None:
    """Distances of columns that are equal vary as those of one, however many there are; independent ones do not."""
    column = np.random.default_rng(2).standard_normal((60, 1))
    found = subsets(np.repeat(column, 16, axis=1))
    assert np.ptp([share.median for share in found.variation]) < 1e-12
    assert found.variation_independent[-1] == pytest.approx(found.variation[0].median / 4, rel=1e-12)


def test_the_separation_of_two_classes_grows_by_the_root_of_the_number_of_columns() -> None:
    """Of independent columns that differ alike, d' of squared distances is δ²√d / √(8 + 4δ²) for a shift of δ."""
    from scipy.special import ndtri

    points, labels = classes(200, 64, 0.6)
    (found,) = subsets(points, kind=labels).separation
    apart = np.array([ndtri(share) * np.sqrt(2) for share in found.nearer_independent])
    sizes = np.array(nested_sizes(64))
    assert apart / np.sqrt(sizes) == pytest.approx(apart[-1] / 8, rel=0.35)
    measured = np.array([share.median for share in found.nearer])
    assert measured[3:] == pytest.approx(np.array(found.nearer_independent[3:]), abs=0.03)
    assert found.values == 2 and np.all(np.diff(measured[2:]) > 0)


def test_the_last_subset_is_the_data() -> None:
    """All draws agree there, and the figures are those of plain definitions."""
    points, labels = classes(40, 6, 1.0)
    found = subsets(points, kind=labels)
    apart = cdist(points, points)
    farthest = apart.max(axis=1)
    np.fill_diagonal(apart, np.inf)
    squared, same = pdist(points) ** 2, pdist(np.array([[label == "k1"] for label in labels], dtype=float)) == 0
    expected = mannwhitneyu(squared[~same], squared[same]).statistic / (same.sum() * (~same).sum())
    for interval, value in ((found.nearest_over_farthest[-1], np.median(apart.min(axis=1) / farthest)),
                            (found.variation[-1], squared.std() / squared.mean()),
                            (found.separation[0].nearer[-1], expected)):
        assert [interval.low, interval.median, interval.high] == pytest.approx([value] * 3, rel=1e-12)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_the_share_below_counts_ties_by_half(one: list[int], other: list[int]) -> None:
    pairs = [1.0 if low < high else 0.5 * (low == high) for low in one for high in other]
    assert share_below(np.array(one, float), np.array(other, float)) == pytest.approx(np.mean(pairs), rel=1e-12)


@given(st.integers(0, 10**6), st.integers(2, 12))
def test_sums_over_pairs_are_those_of_all_differences(seed: int, rows: int) -> None:
    points = np.random.default_rng(seed).standard_normal((rows, 3))
    low, high = np.triu_indices(rows, 1)
    differences = points[low] - points[high]
    sums = PairSums.of(points)
    assert sums.pairs == len(low)
    assert sums.squares == pytest.approx((differences**2).sum(axis=0), rel=1e-12)
    assert sums.fourths == pytest.approx((differences**4).sum(axis=0), rel=1e-12)


@pytest.mark.parametrize("factor", [1e-12, 0.5])
def test_a_unit_changes_nothing(factor: float) -> None:
    points, labels = classes(30, 5, 1.0)
    one, other = subsets(points / 8, kind=labels), subsets(points / 8 * factor, kind=labels)
    assert [share.median for share in one.variation] == pytest.approx([share.median for share in other.variation])
    assert one.separation[0].nearer[0].median == pytest.approx(other.separation[0].nearer[0].median)


def test_too_few_rows_or_columns_have_no_curve() -> None:
    points = np.random.default_rng(0).standard_normal((30, 2)) / 8
    for some, said in ((points[: FEWEST - 1], "10 rows, and 9 rows"), (points * [1.0, 0.0], "columns that vary"),
                       (points * [1.0, 0.0] + 0.1, "columns that vary"), (points * [1.0, 1e-70], "more than 1e-60 of")):
        found, (skipped,) = subsets_of(some, {}, Compute())
        assert found is None and skipped.check == "column_subsets" and said in skipped.reason


@pytest.mark.parametrize(("texts", "reason"), [
    ([str(row) for row in range(30)], "30 rows with 30 values are fewer than 3"), (["a"] * 30, "one value only"),
    (["", "NA", " "] * 10, "no row has a value"), ([*"ab" * 2, *[""] * 26], "4 rows with 2 values")])
def test_a_label_without_a_curve_has_its_own_reason(texts: list[str], reason: str) -> None:
    points = np.random.default_rng(0).standard_normal((30, 2)) / 8
    found, (skipped,) = subsets_of(points, {"kind": texts}, Compute())
    assert found is not None and found.separation == () and reason in skipped.reason
    assert skipped.check == "column_subsets.separation of 'kind'"


def test_rows_without_a_label_do_not_count() -> None:
    points, labels = classes(60, 4, 1.0)
    some = np.arange(60) % 3 > 0
    unlabeled = [label if known else "" for label, known in zip(labels, some, strict=True)]
    one, other = (subsets(part, kind=texts).separation[0] for part, texts in (
        (points, unlabeled), (points[some], [label for label in unlabeled if label])))
    assert (one.values, one.nearer[-1].median) == (2, pytest.approx(other.nearer[-1].median))
    assert one.nearer_independent[-1] == pytest.approx(other.nearer_independent[-1])
    data = features(points)
    given, kept = (labels_of(part, {"kind": texts}, Compute())[0] for part, texts in (
        (data, unlabeled), (data, labels)))
    assert given.values == kept.values == 2 and given.shares[0] == pytest.approx(kept.shares[0], abs=0.1)


def test_where_all_rows_have_a_double_at_least_half_have_one() -> None:
    points = np.repeat(np.random.default_rng(0).standard_normal((15, 3)), 2, axis=0)
    assert "half of all rows or more have another one" in subset_sentences(subsets(points))[0]


def test_sentences_tell_columns_that_add_up_from_columns_that_blur() -> None:
    points, labels = classes(120, 64, 0.8)
    curse, blessing = subset_sentences(subsets(points, kind=labels))
    assert " With all 64 columns the farthest row is only " in curse and "independent columns" in curse
    assert curse.endswith("neighbors mean little.")
    assert blessing.endswith("columns add up.")
    noise = subsets(np.random.default_rng(0).standard_normal((120, 64)), kind=labels)
    assert "hardly separate" in subset_sentences(noise)[1]
    shares = [Interval(share, share, share) for share in (0.6, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8)]
    fewer = replace(noise, separation=(replace(noise.separation[0], nearer=tuple(shares)),))
    assert "in 80% of all comparisons, with 2 columns in 90%: many columns blur" in subset_sentences(fewer)[1]


def test_the_curse_is_said_in_sentences_that_end_in_a_conclusion() -> None:
    """Columns that repeat one another keep near rows apart from far ones, however many they are."""
    places = np.random.default_rng(0).standard_normal((80, 2))
    curse = subset_sentences(subsets(places @ np.random.default_rng(1).standard_normal((2, 32))))[0]
    one, every, alike = curse.split(". ")
    assert one.startswith("With one column ") and every.startswith("With all 32 columns the farthest row is ")
    assert alike.startswith("Distances are as much alike as those of ") and alike.endswith("neighbors have a meaning.")


def test_the_page_holds_the_curves_and_names_as_text() -> None:
    from mlcli.checkup.page import page
    from mlcli.checkup.report import Report

    points, labels = classes(40, 6, 1.0)
    found = subsets(points, **{"<b>kind": labels})
    written = page(Report("x.csv", "features", 40, 6, 40, column_subsets=found))
    assert written.count("<svg") == 3 and "prefers-color-scheme:dark" in written
    assert "<b>" not in written and "&lt;b&gt;kind" in written
    assert subset_sentences(found)[0] in written


def test_nothing_on_the_page_is_cut_or_said_twice() -> None:
    """Of this table the first sentence has more than 200 characters, and a list of columns as well."""
    from mlcli.checkup.page import page
    from mlcli.checkup.report import Missing, Report, TableFacts

    found = subsets(np.repeat(np.random.default_rng(0).integers(0, 2, (40, 1)), 6, axis=1).astype(float))
    sentence = subset_sentences(found)[0]
    names = tuple(f"a column of a rather long name {place}" for place in range(8))
    table = TableFacts(40, 14, Missing(0, 0, 0, 0, ()), len(names), names, 0, (), 0, (), 0, (), (), None, None)
    written = page(Report("x.csv", "features", 40, 6, 40, features=table, column_subsets=found))
    assert len(sentence) > 200 and written.count(sentence) == 1 and "\N{HORIZONTAL ELLIPSIS}" not in written
