"""Columns that decide a result although they may not be meant to: one of nearly all variance, codes among answers, and
numbers beside a column of lists.

The first two are looked for in some of the rows, evenly spread, so that a run does not read a large table once more.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.units import percent
from mlcli.base.values.naming import LISTED, listed, shown
from mlcli.core.counts_pass import count_numbers, counts_of
from mlcli.data.options.formats import OWN, TEXTS
from mlcli.data.options.wording import counted, joined
from mlcli.data.prepare.scales import BLOCK, spreads
from mlcli.data.table.table import Source, Table
from mlcli.errors import option

MANY_COLUMNS, NEARLY_ALL = 10, 0.9  # columns of which more must be there, and the share of the variance that one has
MOST = 2**19  # numbers that are looked at, in whole rows
SOME = 1000  # rows that tell which columns hold answers
LARGEST = 1e9  # size of an answer or a code
DISTINCT = 20  # values of answers, codes included
STEP = 3  # the largest step between answers, where one that nobody gave lies between
LONGEST = 10  # from the lowest answer to the highest: 0 to 10
ZEROS = 0.25  # the share of zeros from which on a column may hold counts
NAMED = 100  # columns in run.json
FEWEST = 10  # rows with an answer
FEW = 0.25  # the largest share of rows with a code
TYPOS = 5  # lengths of a scale: a number so far from it cannot be an answer, whether it is a usual code or not
ELEMENT = re.compile(r"(.+)\[\d+\]")  # the name of an element of a column of lists
OF_SAMPLES = frozenset(("PAT", "MAT", "SEX", "PHENOTYPE"))  # columns of numbers before the genotypes of PLINK
CODE = re.compile("-?(7+|8+|9+[78]?)")  # the usual codes of missing answers


@frozen
class Dominant:
    """A column that holds nearly all of the variance."""

    column: str
    share: float


@frozen
class Codes:
    """Numbers of a column that stand far outside of the short scale of all others."""

    column: str
    rows: Mapping[str, int]  # by number, the rows that have it
    low: float  # of the scale
    high: float

    @property
    def text(self) -> str:
        """The column, its codes and its scale in words."""
        found = [f"{value} in {counted(rows, 'row')}" for value, rows in self.rows.items()]
        return (f"column {shown(self.column)} holds {joined(found[:LISTED], len(found))}, all others are {self.low:g} "
                f"to {self.high:g}")


def warn_of_dominant(table: Table, known: Collection[str]) -> None:
    """Warn of a column of features that holds nearly all of the variance, unless codes, which are `known`, explain it.
    """
    found = dominant_column(table.values, table.columns)
    if found is not None and found.column not in known:
        note("W-DOMINANT", f"column {shown(found.column)} holds {percent(found.share)} of the variance of "
             f"{len(table.columns):,} columns, so the others hardly count: {remedy(found.column, table.source)}",
             **vars(found))


def remedy(name: str, source: Source | None) -> str:
    """Return what to do about a column that holds nearly all of the variance, of a file or of an array in memory."""
    of_file = source is not None and source.format in OWN
    way = f", as by {option('input.label_columns', name)}" if of_file else ""
    return (f"leave it out if it describes the rows{way}; if it was only measured in another unit, give "
            "{prepare.scale=standard}")


def warn_of_codes(table: Table) -> list[str]:
    """Warn of numbers that stand far outside of the short scale of their column, of features; return the columns."""
    found = codes_of(table.values, table.columns)
    if found:
        note("W-CODES", f"numbers far outside of a short scale: {texts(found)}; {proposal(found, table.source)}",
             columns=[dict(vars(codes)) for codes in found[:NAMED]])
    return [codes.column for codes in found]


def warn_beside_lists(columns: Sequence[str]) -> None:
    """Warn of columns of numbers that nobody chose beside the elements of a column of lists, as of an embedding."""
    lists = Counter(match[1] for match in map(ELEMENT.fullmatch, columns) if match is not None)
    others = [name for name in columns if ELEMENT.fullmatch(name) is None]
    if others and (name := next((name for name, count in lists.items() if count > MANY_COLUMNS), None)) is not None:
        note("W-BESIDE-LISTS", f"beside the lists {shown(name)}, columns of numbers were used: {listed(others)}; to "
             f"use the lists alone, give {option('input.columns', name)}", columns=others[:NAMED])


def warn_of_samples(columns: Collection[str]) -> None:
    """Warn of columns of PLINK's `.raw` that describe samples and are used as genotypes."""
    if OF_SAMPLES.issubset(columns):
        note("W-OF-SAMPLES", "columns of PLINK that describe samples were used as features: "
             f"{listed(sorted(OF_SAMPLES))}; give {{input.id_column=IID}} and the genotypes by "
             "{input.columns=FIRST:LAST}")


def texts(found: Sequence[Codes]) -> str:
    """Return the codes in words, of the first columns."""
    return joined([codes.text for codes in found[:LISTED]], len(found))


def proposal(found: Sequence[Codes], source: Source | None) -> str:
    """Return what to do about numbers far outside of the scales of their columns, in a file of text or in others."""
    values = [*dict.fromkeys(value for codes in found for value in codes.rows)][:LISTED]
    way = (f"give {option('input.missing_markers', ','.join(values))}" if source is not None and source.format in TEXTS
           else "make these cells empty")
    return f"if such numbers mean missing, {way}; if they are mistakes, correct them"


def dominant_column(values: Array, names: Sequence[str]) -> Dominant | None:
    """Return the column of an (n, d) array with over 90% of the variance of more than ten; None if there is none."""
    if values.shape[1] <= MANY_COLUMNS or len(values) < 2:
        return None
    rows = rows_of(values)
    if rows is None:
        deviations, _, _ = spreads(values[::_step(values)])
    elif rows.moments is None:
        return None
    else:
        known = rows.moments
        roots = np.sqrt(known.squares)
        top = 0 if known.exponent is None else known.exponent - int(known.exponent.max())
        deviations = np.ldexp(roots, top)
    column = int(deviations.argmax())
    if not deviations[column] > 0:
        return None
    with np.errstate(under="ignore"):
        share = float(1 / ((deviations / deviations[column]) ** 2).sum())
    return Dominant(names[column], share) if share > NEARLY_ALL else None


def _step(values: Array) -> int:
    """Return the distance of the rows that are looked at."""
    return -(-values.size // MOST)


def codes_of(values: Array, names: Sequence[str]) -> list[Codes]:
    """Return the columns of answers of an (n, d) array, in their order, that hold codes or numbers that are none.

    Answers are whole numbers on a scale of at most ten steps. A usual code lies beyond the scale by its length, any
    other number by five lengths and more. Counts are no answers: where a quarter of the numbers is zero, and none
    below, no other such column may have a number between the scale and the code.
    """
    rows = rows_of(values)
    count = min(len(values), SOME, max(MOST // max(values.shape[1], 1), SOME // 10))
    some = values[::-(-len(values) // max(count, 1)) or 1] if rows is None else rows[rows.some(count)]
    columns, ordered = _short(some)
    zeros = (ordered[:1] == 0).all(axis=0) & ((ordered == 0).sum(axis=0) >= ZEROS * len(some))
    counts = np.sort(ordered[:, zeros], axis=None)
    if np.count_nonzero(counts[1:] != counts[:-1]) >= DISTINCT:  # np.unique would import masked arrays
        columns, ordered, zeros = columns[~zeros], ordered[:, ~zeros], zeros[~zeros]
    if not len(columns):
        return []
    least, most = _ends(values, rows, columns)
    with np.errstate(over="ignore"):
        apart = np.diff(np.vstack([least, ordered, most]), axis=0)
    suspects = np.flatnonzero((apart > STEP).any(axis=0))
    tables = _tables(values, rows, columns[suspects].tolist())
    known = {number for numbers in map(counts_of, ordered.T) for number in _scale(numbers)} if len(suspects) else set()
    found = []
    for place in suspects.tolist():
        column = int(columns[place])
        parts = split(tables[column])
        if parts is not None and not _between(known, *parts, zeros=bool(zeros[place])):
            codes, low, high = parts
            found.append(Codes(names[column], {f"{value:.15g}": rows for value, rows in codes.items()}, low, high))
    return found


def _short(some: Array) -> tuple[Indices, Array]:
    """Return the columns of an (m, d) array of rows with few whole numbers, and their sorted cells.

    A missing cell repeats the smallest number of its column. Returns a (c,) and an (m, c) array.
    """
    with np.errstate(invalid="ignore"):
        whole = ((some == np.rint(some)) & (np.abs(some) < LARGEST) | np.isnan(some)).all(axis=0)
    columns = np.flatnonzero(whole & ~np.isnan(some).all(axis=0))
    cells = some[:, columns]
    ordered = np.sort(np.where(np.isnan(cells), np.fmin.reduce(cells, axis=0), cells), axis=0)
    short = 1 + (ordered[1:] != ordered[:-1]).sum(axis=0) <= DISTINCT
    return columns[short], ordered[:, short]


def _scale(numbers: Mapping[float, int]) -> list[float]:
    """Return the numbers without codes."""
    parts = split(numbers)
    return [number for number in numbers if parts is None or number not in parts[0]]


def _ends(values: Array, rows: Rows | None, columns: Indices) -> tuple[Array, Array]:
    """Return the smallest and the largest number of each of some columns, of shape (c,): two (c,) arrays."""
    if rows is not None:
        return rows.min(axis=0)[columns], rows.max(axis=0)[columns]

    def block(some: slice) -> tuple[Array, Array]:
        cells = values[some][:, columns]
        with np.errstate(invalid="ignore"):
            return np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)

    least, most = zip(*in_order(block, row_blocks(len(values), BLOCK, len(columns))), strict=True)
    return np.fmin.reduce(least), np.fmax.reduce(most)


def _tables(values: Array, rows: Rows | None, columns: Sequence[int]) -> dict[int, dict[float, int]]:
    """Return the numbers of some columns in all rows; of rows in a file by another pass."""
    return {column: counts_of(values[:, column]) for column in columns} if rows is None else count_numbers(
        rows, columns)


def split(numbers: Mapping[float, int]) -> tuple[dict[float, int], float, float] | None:
    """Return the codes among numbers, and the ends of the scale of all others; None if they are not such.

    `numbers` are those of a column with how often each occurs. The scale grows from the median in steps of at most 3.
    """
    values, total = sorted(numbers), sum(numbers.values())
    places = np.cumsum([numbers[value] for value in values])
    low = high = values[int(np.searchsorted(2 * places, total))]
    for value in values:
        high = value if high < value <= high + STEP else high
    for value in reversed(values):
        low = value if low - STEP <= value < low else low
    codes = {value: numbers[value] for value in values if not low <= value <= high}
    length, coded = high - low, sum(codes.values())
    if not codes or not 1 <= length <= LONGEST or total - coded < FEWEST or coded > FEW * total:
        return None
    apart = all(max(low - value, value - high) >= (length if _usual(value, low) else TYPOS * length + LONGEST)
                for value in codes)
    return (codes, low, high) if apart else None


def _usual(value: float, low: float) -> bool:
    """Whether a number is a usual code of a missing answer on a scale from `low` on."""
    return value < 0 <= low or CODE.fullmatch(f"{value:.0f}") is not None


def _between(known: Collection[float], codes: Mapping[float, int], low: float, high: float, *, zeros: bool) -> bool:
    """Whether a code of one digit, or any beside `zeros`, may be a number like others: columns have some between."""
    doubtful = [code for code in codes if zeros or abs(code) < LONGEST]
    return any(high < value < code or code < value < low for code in doubtful for value in known)
