"""The inputs of methods: exact scaling, parts, and what a method says of what is missing."""

from typing import Any, ClassVar

import numpy as np
import pytest

from mlcli.base.values.inputs import Covariance, Features, Labeled, TwoViews
from mlcli.base.values.scaling import Unit
from mlcli.cli.line.parsing import in_flags
from mlcli.core.eigen.options import Axes
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from mlcli.methods.method import Method
from tests.support import Notes, names
from tests.wording import Wording

VALUES = np.random.default_rng(0).standard_normal((6, 3))


class Supervised(Method):
    """A method that needs labels."""

    accepts: ClassVar = (Labeled,)
    name: str = "supervised"
    axes: Axes = Axes()


class Paired(Supervised):
    """A method that needs two views."""

    accepts: ClassVar = (TwoViews,)
    name: str = "paired"


def table(**more: Any) -> Table:
    return Table(VALUES, ("a", "b", "c"), tuple(names(6)), **more)


@pytest.mark.parametrize("power", [-900, -3, 0, 1, 1000])
def test_each_view_is_scaled_by_its_own_power_of_two(power: int) -> None:
    other = Features(np.ldexp(VALUES[:, :2], power), names(6), ("u", "v"))
    data = TwoViews(VALUES * 8, names(6), ("a", "b", "c"), other).normalized()
    for view, original in ((data, VALUES * 8), (data.view, other.values)):
        assert 0.5 <= np.abs(view.values).max() < 2
        assert np.array_equal(view.unit.plain(view.values), original)


@pytest.mark.parametrize("power", [-700, -3, 0, 1, 700])
def test_a_covariance_is_scaled_by_an_even_power(power: int) -> None:
    matrix = np.ldexp(VALUES.T @ VALUES, power)
    data = Covariance(matrix, ("a", "b", "c"), 6).normalized()
    assert data.value_unit == data.unit**2 and 0.25 <= np.abs(data.values).max() < 2
    assert np.array_equal(data.value_unit.plain(data.values), matrix)
    assert data.observations == 6 and data.columns == ("a", "b", "c")


def test_missing_cells_do_not_hide_the_scale() -> None:
    values = np.array([[np.nan, 3e200], [1.0, np.nan]])
    data = Features(values, names(2), ("a", "b")).normalized()
    assert np.array_equal(data.value_unit.plain(data.values), values, equal_nan=True)
    assert 0.5 <= np.nanmax(data.values) < 1


def test_rows_of_columns_have_the_units_of_their_views() -> None:
    view = Features(VALUES[:, :2], names(6), ("u", "v"), unit=Unit(-4))
    data, rows = TwoViews(VALUES, names(6), ("a", "b", "c"), view, unit=Unit(3)), np.ones((5, 2))
    assert data.units == (Unit(3), Unit(-4))
    assert data.plain_rows(rows, 2)[:, 0].tolist() == [64.0, 64.0, 64.0, 2.0**-8, 2.0**-8]
    assert data.plain_rows(rows, -1)[:, 1].tolist() == [0.125, 0.125, 0.125, 16.0, 16.0]


def test_a_table_gives_all_that_it_has() -> None:
    labels = {"kind": tuple("ababab"), "other": tuple("xyzxyz")}
    labeled = table(labels=labels).data()
    assert isinstance(labeled, Labeled) and labeled.labels == labels["kind"]
    assert labeled.take(np.array([1, 2])).labels == ["b", "a"]
    other = Table(VALUES[:, :2], ("u", "v"), tuple(names(6)))
    both = table(labels=labels, view=other).take([5, 0]).data()
    assert isinstance(both, TwoViews) and np.array_equal(both.view.values, VALUES[[5, 0], :2])
    assert both.take(np.array([1])).view.ids == ["1"]
    assert type(table().data()) is Features


@pytest.mark.parametrize(("method", "given", "code", "flag"), [
    (Supervised(), {}, "NEEDS", "--label-column"),
    (Paired(), {"labels": {"kind": tuple("ababab")}}, "NEEDS", "--view"),
    (Supervised(), {"labels": {"kind": tuple("ababab")}, "view": table()}, "VIEW", ""),
    (METHODS["pca"](), {"view": table()}, "VIEW", ""),
])
def test_what_is_missing_or_of_no_use_is_named(method: Method, given: dict[str, Any], code: str, flag: str,
                                               wording: Wording) -> None:
    with wording.raises(ConfigError, code) as caught:
        method.resolve(table(**given).data())
    assert flag in in_flags(caught.value.hint)


def test_counts_of_axes_are_clipped_or_refused_as_those_of_the_eigensolve() -> None:
    with Notes() as notes:
        assert Axes().resolved(1, 1).components == 1
    assert notes.codes == {"N-COMPONENTS"}
    with pytest.raises(ConfigError) as caught:
        Axes(components=4).resolved(3, 3)
    assert caught.value.code == "E-COMPONENTS"


def test_only_a_method_with_a_model_takes_missing_cells() -> None:
    with pytest.raises(ConfigError) as caught:
        METHODS["mds"]().require_kind("features", "model")
    assert caught.value.code == "E-NO-MODEL"
