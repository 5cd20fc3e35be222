"""Groups of columns: how they are named, and what is refused by name."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.inputs import Features
from mlcli.errors import ConfigError, DataError
from mlcli.methods.tables.blocks import column_groups
from tests.support import Notes, features, fit
from tests.wording import Wording

NAMES = ["a", "b", "c:d", "e", "f,g", "h"]
POINTS = np.random.default_rng(2).standard_normal((12, 4))
TWO = ["first=x1:x2", "second=x3,x4"]


def places(*texts: str) -> list[tuple[int, ...]]:
    return [group.columns for group in column_groups(texts, (), NAMES)]


def test_columns_of_files_that_no_text_names_are_groups_of_their_file() -> None:
    files = [ColumnGroup("left", (0, 1, 2)), ColumnGroup("right", (3, 4, 5))]
    assert column_groups((), (), NAMES, files) == files
    found = column_groups(["mixed=b,e:h"], ["left"], NAMES, files)
    assert [(group.name, group.columns, group.active) for group in found] == [
        ("mixed", (1, 3, 4, 5), True), ("left", (0, 2), False)]
    with pytest.raises(ConfigError, match="'right'"):
        column_groups(["right=b"], (), NAMES, files)


def test_groups_are_names_and_ranges_in_the_order_of_the_file() -> None:
    assert places("one=a:c:d", "two=e,h") == [(0, 1, 2), (3, 5)]
    assert places("one = h, a ", "two=f,g") == [(5, 0), (4,)]
    assert column_groups((), (), NAMES)[0].columns == tuple(range(6))


@pytest.mark.parametrize(("texts", "supplementary", "code"), [
    (["a"], [], "GROUPS"), (["=a"], [], "GROUPS"), (["one="], [], "GROUPS"),
    (["one=a", "one=b"], [], "GROUPS"), (["one=a:e", "two=b"], [], "GROUPS"), (["one=a,a"], [], "GROUPS"),
    (["one=e:a"], [], "GROUPS"), (["one=z"], [], "UNKNOWN-COLUMN"), (["one=a", "two=b"], ["three"], "GROUPS"),
    (["one=a"], ["one"], "GROUPS"), ([], ["one"], "GROUPS")])
def test_groups_that_make_no_sense_are_refused_by_name(texts: list[str], supplementary: list[str], code: str,
                                                       wording: Wording) -> None:
    with wording.raises(ConfigError, code):
        column_groups(texts, supplementary, NAMES)


def changed(column: int, values: object) -> Array:
    points = POINTS.copy()
    points[:, column] = values
    return points


def test_a_group_of_one_constant_column_is_refused_by_name(wording: Wording) -> None:
    with wording.raises(DataError, "CONSTANT-GROUP") as caught:
        fit("mfa", changed(2, 5.0), groups=["first=x1:x2", "second=x3", "third=x4"])
    assert "'second'" in str(caught.value) and "'x3'" in str(caught.value)
    with wording.raises(DataError, "CONSTANT-GROUP"):
        fit("statis", np.hstack([POINTS[:, :2], np.ones((12, 2))]), groups=TWO)


def test_a_column_that_does_not_vary_is_refused_where_each_column_is_a_group(wording: Wording) -> None:
    with wording.raises(DataError, "CONSTANT-GROUP") as caught:
        fit("famd", np.insert(changed(1, 2.0), 4, 1.0, axis=1))
    assert "'x2', 'x5'" in str(caught.value)


@pytest.mark.parametrize("method", ["mfa", "famd", "statis"])
def test_a_table_in_which_no_column_varies_is_refused_with_its_columns(method: str, wording: Wording) -> None:
    with wording.raises(DataError, "CONSTANT-GROUP") as caught:
        fit(method, np.ones((12, 3)) * [1.0, 2.0, 3.0])
    assert "'x1', 'x2', 'x3'" in str(caught.value)
    assert np.array_equal(fit(method, np.ones((1, 3))).embedding, [[0.0]])  # of one row none does, and none has to


def test_a_category_of_one_level_is_refused_by_name(wording: Wording) -> None:
    data = Features(changed(0, 0.0), [str(row) for row in range(12)], ["x1", "x2", "x3", "x4"],
                    categories={0: ("red",)})
    for method in ("famd", "mfa"):
        with wording.raises(DataError, "ONE-LEVEL") as caught:
            fit(method, data)
        assert "'x1'" in str(caught.value)


def test_unknown_names_of_options_are_refused(wording: Wording) -> None:
    with wording.raises(ConfigError, "GROUPS"):
        fit("mfa", POINTS, groups=TWO, center=["third"])
    with wording.raises(ConfigError, "UNKNOWN-COLUMN"):
        fit("famd", POINTS, categories=["x9"])


def notes_of(method: str, points: Array, **options: object) -> list[str]:
    with Notes() as notes:
        fit(method, points, **options)
    return [note.code for note in notes.notes]


def test_what_is_left_out_is_said() -> None:
    assert notes_of("mfa", POINTS, groups=["first=x1:x2", "second=x3"]) == ["W-NO-GROUP"]
    for method in ("mfa", "statis"):
        assert notes_of(method, changed(1, 2.0), groups=TWO) == ["W-CONST"]
    assert notes_of("statis", POINTS) == ["W-ONE-GROUP"]
    assert notes_of("famd", POINTS) == []


def test_a_new_row_with_a_category_of_no_training_row_is_refused() -> None:
    answers = np.hstack([POINTS[:, :2], np.arange(12)[:, None] % 3])
    model = fit("famd", answers, categories=["x3"])
    comparison = model.projector.similarity.comparison
    comparison.check(answers, [str(row) for row in range(12)], ["x1", "x2", "x3"])
    with pytest.raises(DataError, match="'x3'"):
        comparison.check(np.array([[0.0, 0.0, 7.0]]), ["new"], ["x1", "x2", "x3"])


def test_new_rows_are_placed_alone_as_the_training_rows_were() -> None:
    model = fit("mfa", features(POINTS), groups=TWO)
    assert np.allclose(model.project(POINTS[3:4]), model.embedding[3:4], atol=1e-13)


@pytest.mark.parametrize("factors", [(1e160, 1, 1, 1), (1, 1e-150, 1, 1), (1e150, 1e150, 1, 1)])
def test_a_column_whose_squares_leave_doubles_keeps_no_scale(factors: tuple[float, ...], wording: Wording) -> None:
    with wording.raises(DataError, "GROUP-SCALES"):
        fit("mfa", POINTS * factors, groups=TWO, center=["first"])
    assert np.allclose(fit("mfa", POINTS * factors, groups=TWO).embedding, fit("mfa", POINTS, groups=TWO).embedding)
