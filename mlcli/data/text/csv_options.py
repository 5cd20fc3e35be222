"""Options of Arrow's CSV reader, and a check whether its numbers need a second reading."""

from typing import Any

import numpy as np

from mlcli.base.machine.footprint import MIB
from mlcli.base.types import Array
from mlcli.base.values.missing import MISSING
from mlcli.data.files.arrow import pyarrow
from mlcli.data.options.input import Input
from mlcli.data.text.layout import Layout

PARSER, BLOCKS = 24 * MIB, 16  # memory of Arrow's reader of texts, and number of its blocks of text
SMALLEST, LARGEST = MIB, 32 * MIB  # bytes of such a block
TIMES = 2  # memory for a short text, in units of its size


def csv_options(layout: Layout, separator: str, input: Input, *, numbers: tuple[int, ...], texts: tuple[int, ...],
                block: int, threads: bool = False) -> tuple[Any, Any, Any]:
    """Return Arrow's options: columns of numbers first, then those of texts, named by position; `block` is in bytes.

    Types are never guessed.
    """
    from pyarrow import csv

    arrow = pyarrow()
    types = dict.fromkeys(map(str, numbers), arrow.float64()) | dict.fromkeys(map(str, texts), arrow.string())
    return (csv.ReadOptions(column_names=[str(column) for column in range(layout.width)], block_size=block,
                            use_threads=threads),
            csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=layout.width > 1),
            csv.ConvertOptions(column_types=types, include_columns=list(types),
                               null_values=[*MISSING, *input.missing_markers],
                               strings_can_be_null=False, quoted_strings_can_be_null=True, decimal_point=input.point))


def doubtful(values: Array, missing: int, tiny: bool = False) -> bool:
    """Whether an (m, d) array may have numbers of invalid cells or out of range, given its number of missing cells."""
    finite = np.isfinite(values)
    if int(finite.size - np.count_nonzero(finite)) != missing:
        return True
    return tiny and bool(np.any(values == 0))


def text_bytes(longest: int, size: int) -> float:
    """Return the bytes that reading a text needs besides its numbers, by its longest line and its size."""
    return float(min(PARSER + BLOCKS * max(SMALLEST, min(64 * longest, LARGEST), 2 * longest), TIMES * size))
