"""Choice of columns: ids, labels and numbers."""

from collections.abc import Sequence
from dataclasses import replace

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.column_ranges import columns_at, ends_of
from mlcli.base.values.naming import listed, shown
from mlcli.data.options.column_names import columns_named_as_ids
from mlcli.data.options.input import AllTexts, Input, LikeRun, WithCategories
from mlcli.data.options.wording import counted, duplicates, nearest, place
from mlcli.errors import ConfigError, DataError, option


@frozen
class Choice:
    """Positions of columns in the file."""

    names: tuple[str, ...]  # of all the file's columns
    id: int | None
    labels: tuple[int, ...]
    values: tuple[int, ...]
    categories: tuple[int, ...] = ()  # columns of text that become numbers
    words: tuple[int, ...] = ()  # those of the labels that no option names
    listed: bool = False  # whether the options list the columns

    @property
    def width(self) -> int:
        """The number of columns of the table."""
        return len(self.values) + len(self.categories)

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns to read as text, without the ids."""
        return (*self.labels, *self.categories)

    @property
    def word_names(self) -> tuple[str, ...]:
        """The names of the labels that no option names."""
        return tuple(self.names[column] for column in self.words)

    @property
    def category_names(self) -> tuple[str, ...]:
        """The names of the columns of text that become numbers."""
        return tuple(self.names[column] for column in self.categories)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the numeric columns."""
        return tuple(self.names[column] for column in self.values)

    @property
    def id_name(self) -> str:
        """The header of the id column."""
        return "" if self.id is None else self.names[self.id]


def choose(names: Sequence[str], input: Input, row_names: int | None = None, words: Sequence[int] = ()) -> Choice:
    """Choose columns by the options of `input`; `row_names` is a column that the file itself marks as ids.

    Columns of `words` that no option names are labels, unless words are categories. Where columns are chosen, those
    beside them that may name the rows are read, and nothing else.
    In a table that will be transposed, where a row describes a column, they are dropped in the end. Raises
    ConfigError and DataError.
    """
    if isinstance(input, AllTexts):
        return _all_texts(names, input)
    if (error := names_error(names, row_names, input.path)) is not None:
        raise error
    of_run = input if isinstance(input, LikeRun) and not input.columns else None
    known = {*input.beside} if isinstance(input, LikeRun) else set[str]()  # labels of the run, and so no ids here
    input = input.for_columns(names)
    positions = {name: column for column, name in enumerate(names)}
    nameless = input.without_ids and not input.square  # points of a matrix need their names
    id = None if nameless else row_names if input.ids_from is None else _position(input.ids_from, positions,
                                                                                 "input.id_column")
    labels = tuple(_position(name, positions, "input.label_columns") for name in input.label_columns
                   if name in positions or input.labels.path is None)  # others may be in the file of labels
    texts, use = tuple[int, ...](), "labels"
    if isinstance(input, WithCategories):
        texts, use = tuple(_position(name, positions, input.named_by) for name in input.categories), input.words
    left = tuple(column for column in words if column not in (id, row_names, *labels, *texts))
    others = {column for column in (id, row_names, *labels) if column is not None}
    if input.columns:
        values = _listed_columns(input.columns, names, positions, others)
        unnamed = () if nameless or id is not None or input.square else _may_name_rows(
            names, [column for column in left if column not in values], {*others, *values})
    else:
        unnamed = left if use == "labels" else ()
        values = tuple(column for column in range(len(names)) if column not in {*others, *unnamed})
    labels = (*labels, *unnamed)
    if of_run is not None and input.columns:
        unused = [name for column, name in enumerate(names)
                  if column not in {*others, *values, *unnamed} and name not in of_run.beside]
        note_others(unused, naming_hint(unused) if id is None and not unnamed else "")
    categories = texts if use != "categories" else tuple(column for column in values if column in (*texts, *left))
    return Choice(tuple(names), id, labels, tuple(column for column in values if column not in categories),
                  categories=categories, words=tuple(column for column in unnamed if names[column] not in known),
                  listed=bool(input.columns))


def note_others(names: Sequence[str], hint: str = "") -> None:
    """Note columns of new rows that the run does not have."""
    if names:
        note("N-OTHER-COLUMNS", f"{counted(len(names), 'column')} not of the run and not used: {listed(names)}"
             + f"; {hint}" * bool(hint), columns=len(names))


def naming_hint(names: Sequence[str]) -> str:
    """Return how to say that a column of these names the rows, of one that is named as ids are."""
    naming = columns_named_as_ids(names)
    return f"give {option('input.id_column', names[naming[0]])} if it names the rows" if naming else ""


def choose_pairs(names: Sequence[str], input: Input, row_names: int | None, words: Sequence[int]) -> Choice | None:
    """Choose the columns of a list of pairs, two of `words` and one of numbers; None for a table of other columns.

    The options of `input` give no column a role (`without_roles`). None also for names that no table has.
    """
    if names_error(names, row_names, input.path) is not None:
        return None
    choice = choose(names, input, row_names, words)
    return replace(choice, words=()) if len(choice.labels) == 2 and len(choice.values) == 1 else None


def _may_name_rows(names: Sequence[str], words: Sequence[int], used: set[int]) -> tuple[int, ...]:
    """Return the columns beside the `used` ones that may name the rows: by their names, or the first of words."""
    return tuple(dict.fromkeys(column for column in (*columns_named_as_ids(names), *words[:1]) if column not in used))


def _all_texts(names: Sequence[str], input: Input) -> Choice:
    """Choose every column as text; one without a name is called id."""
    names = tuple(name or "id" for name in names)
    if (error := names_error(names, None, input.path)) is not None:
        raise error
    return Choice(names, None, labels=(), values=(), categories=tuple(range(len(names))))


def names_error(names: Sequence[str], row_names: int | None, path: str) -> DataError | None:
    """Return the error for columns without a name and names that occur twice, or None."""
    unnamed = [column + 1 for column, name in enumerate(names) if not name and column != row_names]
    if unnamed:
        return DataError("UNNAMED-COLUMN", f"column {unnamed[0]} of {len(names)} has no name in the header",
                         where=place(path), hint="name it, or remove a separator at the end of the lines")
    again = duplicates(names)
    if again:
        return DataError("DUPLICATE-COLUMNS", f"column names occur more than once: {listed(again)}",
                         where=place(path), hint="give every column a name of its own")
    return None


def _position(name: str, positions: dict[str, int], where: str) -> int:
    """Return the column of a name; raises ConfigError with the nearest name."""
    if name not in positions:
        raise ConfigError("UNKNOWN-COLUMN", f"there is no column {shown(name)}", where=where,
                          hint=nearest(name, [known for known in positions if known]))
    return positions[name]


def _listed_columns(wanted: Sequence[str], names: Sequence[str], positions: dict[str, int],
                    others: set[int]) -> tuple[int, ...]:
    """Return the positions of names and ranges, in the order of the list; a range skips ids and labels."""
    chosen: dict[int, None] = {}
    for item in wanted:
        columns = _range(item, positions)
        if len(columns) == 1 and columns[0] in others:
            _refuse(f"column {shown(item)} is already the id or a label")
        columns = [column for column in columns if column not in others]
        twice = [names[column] for column in columns if column in chosen]
        if twice:
            _refuse(f"{listed(twice)} is chosen twice")
        chosen.update(dict.fromkeys(columns))
    return tuple(chosen)


def _range(item: str, positions: dict[str, int]) -> list[int]:
    """Return the columns of one name, of the elements of a list, or of `first:last`; raises ConfigError."""
    columns = columns_at(item, positions)
    if columns is None:
        ends = ends_of(item)
        return [_position(name, positions, "input.columns") for name in (ends[0] if ends else (item,))]
    if not columns:
        _refuse(f"the range {shown(item)} runs backwards in the file")
    return columns


def _refuse(what: str) -> None:
    """Raise the error of an impossible choice."""
    raise ConfigError("COLUMNS", what, where="input.columns", hint="list each column once, ranges as first:last")
