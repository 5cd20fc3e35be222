"""Variables of the rows in a second file: numbers and factors, matched to the ids of a finished run."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import mute_notes, note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.core.relation.permanova import Factor
from mlcli.data.options.input import LabelFile
from mlcli.data.options.numbers import are_numbers, number
from mlcli.data.options.wording import counted, duplicates, nearest, place
from mlcli.data.read.labels import (
    LabelColumns,
    counts_rows,
    note_numbers,
    own_ids,
    read_labels,
    shared_ids,
    without_ids,
)
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.errors import ConfigError, DataError

MISSING = -1  # the code of a missing level
Variable = Array | Factor


@frozen
class Environment:
    """The variables of those rows that both the run and the file have."""

    path: str
    sha256: str
    rows: Indices  # m: their places in the run
    variables: Mapping[str, Variable]  # m numbers with NaN for a missing one, or m codes with -1
    alone: tuple[int, int]  # rows of the run that the file lacks, and the other way round


def present(variable: Variable) -> AnyArray:
    """Return whether each row (m) has a value of a variable."""
    return variable.codes != MISSING if isinstance(variable, Factor) else ~np.isnan(variable)


def some_rows(variable: Variable, rows: AnyArray) -> Variable:
    """Return a variable of some rows, a mask or places; levels that none of these has are left out."""
    if not isinstance(variable, Factor):
        return variable[rows]
    codes = variable.codes[rows]
    used = np.unique(codes[codes != MISSING])
    again = np.full(len(variable.levels) + 1, MISSING, dtype=np.int64)
    again[used] = np.arange(len(used))
    return Factor(again[codes], tuple(variable.levels[level] for level in used.tolist()))


def read_environment(path: str, ids: Sequence[str], id_name: str, *, id_column: str | None = None,
                     columns: Sequence[str] = (), factors: Sequence[str] = (),
                     tests: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Environment:
    """Read a file of variables and match its rows by id to those of a run, or row by row where neither has ids.

    A column of numbers is a variable of numbers, unless `factors` names it. `tests` names those of each option of a
    test, which are read beside `columns`. Raises ConfigError for unknown columns and
    DataError for ids that occur twice, or none in common.
    """
    named = (("--columns", columns), ("--factors", factors), *tests.items())
    with mute_notes():  # about columns that are no labels
        labels = read_labels(LabelFile(path=path, id_column=id_column,
                                       columns=tuple(itertools.chain.from_iterable(names for _, names in named))))
    for where, names in (("--id-column", [id_column] if id_column else []), *named):
        for name in names:
            if name not in labels.columns:
                raise ConfigError("UNKNOWN-COLUMN", f"{place(path)} has no column {shown(name)}", where=where,
                                  hint=nearest(name, list(labels.columns)))
    key = id_column or shared_ids(ids, id_name, labels.columns)
    if key is not None:
        note_numbers(ids, place(path), "--id-column")
    rows, theirs = _in_order(ids, labels) if key is None else _by_id(ids, labels, key)
    if key is None and not columns and len(labels.columns) > 1:
        first = next(iter(labels.columns))
        key = first if counts_rows(labels.columns[first]) else own_ids(labels.columns)
    beside = itertools.chain(*tests.values()) if columns else ()
    wanted = [name for name in dict.fromkeys((*(columns or labels.columns), *beside)) if name != key]
    if not wanted:
        raise DataError("NO-VARIABLES", "the file holds ids and no variables", where=place(path),
                        hint="a column beside the ids is needed")
    taken = {name: [labels.columns[name][row] for row in theirs] for name in wanted}
    numeric = [name for name, texts in taken.items() if name not in factors and are_numbers(tuple(texts), ".")]
    found = {name: _numbers(name, texts, path) if name in numeric else _factor(texts) for name, texts in taken.items()}
    return Environment(path, labels.source.sha256, np.array(rows, dtype=np.int64), found,
                       (len(ids) - len(rows), labels.rows - len(rows)))


def _numbers(name: str, texts: Sequence[str], path: str) -> Array:
    """Return a column of numbers; raises DataError for an infinite one."""
    values = np.array([number("" if is_missing(text) else text, ".") for text in texts])
    if np.isinf(values).any():
        raise DataError("INFINITE", f"column {shown(name)} holds an infinite number", where=place(path),
                        hint="correct the cell, or leave it empty")
    return values


def _factor(texts: Sequence[str]) -> Factor:
    """Return a column of levels: in order of their numbers where they are numbers, else of their letters."""
    there = [text for text in texts if not is_missing(text)]
    by = float if are_numbers(tuple(there), ".") else str
    levels = tuple(sorted(set(there), key=by))
    codes = {level: code for code, level in enumerate(levels)}
    return Factor(np.array([codes.get(text, MISSING) for text in texts], dtype=np.int64), levels)


def _in_order(ids: Sequence[str], labels: LabelColumns) -> tuple[list[int], list[int]]:
    """Return all rows in their order, where the run has no ids or the file lacks them."""
    path = place(labels.source.path)
    if labels.rows != len(ids) or not (isinstance(ids, RowNumbers) or counts_rows(ids)):
        raise DataError("NO-COMMON-ROWS", f"no column of the file holds ids of the run, whose rows are called "
                        f"{listed(ids, 2)}", where=path, hint="write the ids alike in both files, and name their "
                        "column with --id-column")
    note("N-ROWS-IN-ORDER", f"rows of {path} were taken in the order of the run's: {without_ids(ids)}; to match them "
         "by ids, name those of the data when these are embedded ({input.id_column}), and those of the file by "
         "--id-column")
    return list(range(len(ids))), list(range(len(ids)))


def _by_id(ids: Sequence[str], labels: LabelColumns, key: str) -> tuple[list[int], list[int]]:
    """Return the places in the run, and those in the file, of the rows whose ids both have."""
    path, keys = place(labels.source.path), labels.columns[key]
    known = {name: row for row, name in enumerate(keys)}
    if twice := [name for name in duplicates(keys) if name in set(ids)] if len(known) < len(keys) else []:
        raise DataError("DUPLICATE-IDS", f"ids occur more than once: {listed(twice)}", where=path,
                        hint="every row can have one row of variables")
    rows = [row for row, name in enumerate(ids) if name in known]
    if not rows:
        raise DataError("NO-COMMON-ROWS", f"the run and column {shown(key)} have no ids in common: the rows are called "
                        f"{listed(ids, 2)}, those of the file {listed(keys, 2)}", where=path,
                        hint="write them alike in both files, or name another column with --id-column")
    ours = [name for name in ids if name not in known]
    theirs = list((Counter(keys) - Counter(ids)).elements())
    parts = [f"{counted(len(names), 'row')} {where}: {listed(names)}"
             for names, where in ((ours, f"of the run that {path} lacks"), (theirs, f"of {path} that the run lacks"))
             if names]
    if parts:
        note("W-COMMON-ROWS", f"left out: {'; '.join(parts)}", rows=len(ours) + len(theirs))
    return rows, [known[ids[row]] for row in rows]
