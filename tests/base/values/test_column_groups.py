"""Groups of columns from texts: names, ranges, and names that hold what separates others."""

import pytest

from mlcli.base.values.column_groups import groups_of, named_columns
from mlcli.errors import ConfigError

COLUMNS = ("size, cm", "weight", "a=b", "x:y", '5" of snow', " color ")


@pytest.mark.parametrize(("items", "expected"), [
    ('"size, cm",weight', (0, 1)), ('weight, "size, cm"', (1, 0)), ("size, cm", (0,)), ('"size, cm"', (0,)),
    ('"size, cm:a=b",x:y', (0, 1, 2, 3)), ("a=b , x:y", (2, 3)), ('5" of snow,weight', (4, 1)),
    ('" color ",weight', (5, 1))])
def test_a_name_that_holds_commas_stands_in_quotes_as_in_a_line_of_csv(items: str, expected: tuple[int, ...]) -> None:
    (group,) = groups_of([("g", [items])], COLUMNS, "method.groups")
    assert group.columns == expected
    assert named_columns([items], COLUMNS, "method.categories") == set(expected)


@pytest.mark.parametrize("items", ['"size",weight', 'weight,', '"size, cm,weight'])
def test_other_names_are_refused(items: str) -> None:
    with pytest.raises(ConfigError) as refused:
        groups_of([("g", [items])], COLUMNS, "method.groups")
    assert refused.value.code == "E-UNKNOWN-COLUMN"
