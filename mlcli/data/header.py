"""The first record of a text, and whether it holds names or numbers."""

import itertools
from collections.abc import Iterator

from mlcli.base.frozen import frozen
from mlcli.base.stage import note
from mlcli.data.numbers import are_numbers, is_number
from mlcli.data.text import Text
from mlcli.data.wording import counted, place, shown
from mlcli.errors import DataError


@frozen
class Head:
    """The first record, and where the text around it begins."""

    cells: tuple[str, ...]
    top: int  # bytes of comments before the first record
    top_lines: int
    end: int  # bytes up to the record after it
    end_lines: int


def read_head(text: Text) -> Head:
    """Finds the first record; raises DataError where there is none."""
    lines = text.lines()
    top = list(itertools.takewhile(lambda line: line.startswith("#"), text.lines())) if text.input.square else []
    top_bytes = sum(len(line.encode()) for line in itertools.islice(lines, len(top)))
    taken: list[str] = []
    first = next(text.records(_recorded(lines, taken), len(top)), None)
    if first is None:
        raise DataError("EMPTY", "the file holds no rows and no columns", where=place(text.path),
                        hint="at least one row and one column of numbers are needed")
    end = top_bytes + sum(len(line.encode()) for line in taken)
    head = Head(tuple(first[1]), top_bytes, len(top), end, len(top) + len(taken))
    _require_separated(text, head.cells)
    return head


def _recorded(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    """The lines, each put down when it is taken."""
    for line in lines:
        taken.append(line)
        yield line


def _require_separated(text: Text, cells: tuple[str, ...]) -> None:
    """Refuses a single column that is plainly several under another separator."""
    if text.input.separator != "auto" or len(cells) > 1:
        return
    found = [mark for mark in (";", "\t", ",", "|") if mark in cells[0]]
    words = cells[0].split()
    if not found and len(words) > 1 and all(is_number(word, text.input.decimal) for word in words):
        found = [" "]
    if found:
        raise DataError("SEPARATOR", f"the first row is one cell, {shown(cells[0], 40)}, with {found[0]!r} in it",
                        where=place(text.path, 1),
                        hint=f"give input.separator={_spoken(found[0])}, or ',' for a single column")


def _spoken(mark: str) -> str:
    """A separator as it is written on the command line."""
    return {"\t": "tab", " ": "' '"}.get(mark, f"'{mark}'")


def holds_names(text: Text, cells: tuple[str, ...]) -> bool:
    """Whether the first record is a header: as told, or by an empty first cell or any text in it."""
    if text.input.header != "auto":
        return text.input.header
    if len(cells) > 1 and cells[0] == "":
        return True
    return not are_numbers(cells, text.input.decimal)


def warn_of_numbers(text: Text, cells: tuple[str, ...]) -> None:
    """Notes a header that looks like data."""
    numbers = [cell for cell in cells if is_number(cell, text.input.decimal)]
    if text.input.header == "auto" and cells[0] != "" and 2 * len(numbers) >= len(cells):
        note("W-HEADER-NUMBERS", f"the first row was taken for names although {counted(len(numbers), 'cell')} of "
             f"{len(cells)} are numbers; if it is data, give input.header=false", cells=len(numbers))
