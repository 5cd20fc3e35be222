"""Groups of columns: their names, and the columns of each by names and ranges."""

from collections.abc import Iterable, Mapping, Sequence

from mlcli.base.frozen import frozen
from mlcli.base.values.column_ranges import columns_at, ends_of, split_at_commas
from mlcli.base.values.naming import listed
from mlcli.errors import ConfigError


@frozen
class ColumnGroup:
    """A group of columns."""

    name: str
    columns: tuple[int, ...]  # their places in the table
    active: bool = True  # else supplementary: it takes no part in the sum of kernels


def groups_of(named: Iterable[tuple[str, Sequence[str]]], columns: Sequence[str], where: str) -> list[ColumnGroup]:
    """Return the groups with these names and items among the columns (d); raises ConfigError for the option at `where`.

    An item has names and ranges first:last, separated by commas, those that hold commas in quotes. No two groups share
    a name or a column.
    """
    positions = {name: place for place, name in enumerate(columns)}
    found, owner = list[ColumnGroup](), dict[int, str]()
    for name, items in named:
        require_names([*(group.name for group in found), name], where)
        places = [place for item in items for place in _places(item, positions, f" of group {name[:80]!r}", where)]
        for place in places:
            if place in owner:
                also = "twice" if owner[place] == name else f"and in {owner[place][:80]!r}"
                raise ConfigError("GROUPS", f"column {columns[place][:80]!r} is in group {name[:80]!r} {also}",
                                  where=where, hint="give each column to one group")
            owner[place] = name
        found.append(ColumnGroup(name, tuple(places)))
    return found


def require_names(names: Sequence[str], where: str) -> None:
    """Raise ConfigError for a name of two groups, in the option at `where`."""
    if again := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ConfigError("GROUPS", f"two groups are called {again[0][:80]!r}", where=where,
                          hint="give each a name of its own")


def require_groups(names: Sequence[str], groups: Sequence[ColumnGroup], where: str) -> None:
    """Raise ConfigError for a name that no group has, in the option at `where`."""
    if unknown := [name for name in names if name not in (group.name for group in groups)]:
        raise ConfigError("GROUPS", f"there is no group {unknown[0][:80]!r}", where=where,
                          hint=f"the groups are {listed([group.name for group in groups])}")


def named_columns(items: Sequence[str], columns: Sequence[str], where: str) -> set[int]:
    """Return the places of columns (d) by names and ranges; raises ConfigError for an unknown one."""
    positions = {name: place for place, name in enumerate(columns)}
    return {place for item in items for place in _places(item, positions, "", where)}


def _places(items: str, positions: Mapping[str, int], within: str, where: str) -> list[int]:
    """Return the places of columns that a text names, separated by commas; raises ConfigError.

    A name that holds commas stands in quotes, unless it is the whole text.
    """
    if whole := columns_at(items, positions):
        return whole
    places = list[int]()
    for name in split_at_commas(items):
        item = name if name in positions else name.strip()
        found = columns_at(item, positions)
        if found is None:
            ends = next(iter(ends_of(item)), (item,))
            lacking = next((name for name in ends if name not in positions), item)
            raise ConfigError("UNKNOWN-COLUMN", f"there is no column {lacking[:80]!r}{within}", where=where,
                              hint=f"the columns are {listed([*positions])}")
        if not found:
            raise ConfigError("GROUPS", f"the range {item[:80]!r}{within} runs backwards in the file", where=where,
                              hint="write ranges as first:last")
        places += found
    return places
