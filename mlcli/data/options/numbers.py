"""Texts that are numbers, and texts of missing values."""

import math
import re
from typing import Literal

from mlcli.base.values.missing import MISSING

NUMBERS = {point: re.compile(rf"[+-]?(?:[0-9]+(?:{re.escape(point)}[0-9]*)?|{re.escape(point)}[0-9]+)"
                             r"(?:[eE][+-]?[0-9]+)?") for point in (".", ",")}
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)
BLANKS = " \t"  # allowed around a number

EXACT = 2**53  # all integers up to this one are doubles

Fault = Literal["", "text", "overflow", "underflow"]


def is_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number: sign, digits, point, exponent, or an infinity."""
    bare = cell.strip(BLANKS)
    return bool(NUMBERS[decimal].fullmatch(bare) or INFINITE.fullmatch(bare))


def are_numbers(cells: list[str] | tuple[str, ...], decimal: str) -> bool:
    """Whether a row consists of numbers; some may be missing, but not all."""
    present = [cell for cell in cells if cell not in MISSING]
    return bool(present) and all(is_number(cell, decimal) for cell in present)


def number(cell: str, decimal: str) -> float:
    """Return the value of a cell that is a number or missing."""
    return math.nan if cell in MISSING else float(cell.strip(BLANKS).replace(decimal, "."))


def fault(cell: str, decimal: str) -> Fault:
    """Return the fault of a cell of a numeric column; empty if there is none."""
    if cell in MISSING:
        return ""
    bare = cell.strip(BLANKS)
    if not NUMBERS[decimal].fullmatch(bare):
        return "" if INFINITE.fullmatch(bare) else "text"
    value = float(bare.replace(decimal, "."))
    if math.isinf(value):
        return "overflow"
    return "underflow" if value == 0 and re.search("[1-9]", re.split("[eE]", bare)[0]) else ""
