"""The section `input.items`, answers of single columns, and the checks of all options of answers.

`input` in the functions is the section with these options, which imports this file.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, Strict

from mlcli.base.values.options import Options, option
from mlcli.data.options.wording import duplicates, listed, shown
from mlcli.errors import ConfigError

Texts = Annotated[tuple[str, ...], Strict(False)]
Range = Annotated[tuple[float, ...], Strict(False), Field(min_length=2, max_length=2)]


class Items(Options):
    """Columns of answers with a scale of their own."""

    columns: Texts = option(..., "The columns, by name.", min_length=1)
    answers: Texts = option((), "Their answers in words, in ascending order (empty: they hold numbers).")
    range: Range | None = option(None, "Least and greatest answer of columns of numbers, which `reverse` turns.")


def has_coding(input: Any) -> bool:
    """Whether any option says how answers become numbers."""
    return bool(input.answers or input.reverse or input.range is not None or input.items)


def check_items(input: Any) -> None:
    """Raise ConfigError for scales that are none, for columns named twice, and where there are no items."""
    if not has_coding(input):
        return
    first = next(name for name in ("answers", "reverse", "range", "items") if getattr(input, name) not in ((), None))
    wrong = (f"kind {input.kind}" if input.kind != "features" else "transpose, where columns are points"
             if input.transpose else "a second view" if input.view.path is not None else
             "stream: always, as answers are coded in memory" if input.stream == "always" else "")
    if wrong:
        _refuse(f"{first} cannot be used with {wrong}", f"input.{first}", "leave one of the two out")
    _check_scale(input.answers, input.range, "input")
    if again := duplicates(input.reverse):
        _refuse(f"columns are reversed more than once: {listed(again)}", "input.reverse", "name each column once")
    if input.range is not None and not input.reverse:
        _refuse("range has no effect: no column is reversed", "input.range", "leave it out, or give {input.reverse}")
    for number, items in enumerate(input.items):
        where = f"input.items.{number}"
        _check_scale(items.answers, items.range, where)
        if bool(items.answers) == (items.range is not None):
            _refuse("a scale has either answers in words or a range of numbers", where, "give one of the two")
        if items.range is not None and not {*items.columns} & {*input.reverse}:
            _refuse("range has no effect: none of these columns is reversed", f"{where}.range",
                    "leave it out, or name them in {input.reverse}")
    if again := duplicates([name for items in input.items for name in items.columns]):
        _refuse(f"columns have more than one scale: {listed(again)}", "input.items", "name each column once")


def refuse_coding(input: Any, source: str) -> None:
    """Raise ConfigError for a coding of a `source` that holds no questionnaire."""
    if has_coding(input):
        _refuse(f"{source} holds no answers to code", "input", "leave {input.answers}, {input.reverse} and input.items "
                "out, or give a table")


def _check_scale(answers: Sequence[str], range: Sequence[float] | None, where: str) -> None:
    """Raise ConfigError for a scale of one answer, with an answer twice, or with a range that is empty."""
    if len(answers) == 1:
        _refuse(f"a scale of one answer, {shown(answers[0])}, has no order", f"{where}.answers",
                "name all answers, the least first")
    if again := duplicates(answers):
        _refuse(f"answers are named more than once: {listed(again)}", f"{where}.answers", "name each answer once")
    if range is not None and not range[0] < range[1]:
        _refuse(f"a range from {range[0]:g} to {range[1]:g} holds no scale", f"{where}.range",
                "give the least answer first, as in 1,6")


def _refuse(what: str, where: str, hint: str) -> None:
    raise ConfigError("INPUT-OPTION", what, where=where, hint=hint)
