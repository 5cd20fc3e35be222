"""How Arrow reads a delimited text, and when what it read needs a second look."""

from typing import Any

import numpy as np

from mlcli.base.machine.footprint import MIB
from mlcli.base.types import Array
from mlcli.base.values.missing import MISSING
from mlcli.data.files.arrow import pyarrow
from mlcli.data.options.input import Input
from mlcli.data.text.layout import Layout

PARSER, BLOCKS = 24 * MIB, 16  # what Arrow's reader of texts holds, and blocks of text beside it
SMALLEST, LARGEST = MIB, 32 * MIB  # bytes of such a block
TIMES = 2  # the size of a text that is short


def csv_options(layout: Layout, separator: str, input: Input, *, numbers: tuple[int, ...], texts: tuple[int, ...],
                block: int, threads: bool = False) -> tuple[Any, Any, Any]:
    """Arrow's options: the columns of numbers first, then those of texts, named by their positions; a block in bytes.

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
    """Whether a number may come from a cell that is none, or is out of range; so many cells are known to be missing."""
    finite = np.isfinite(values)
    if int(finite.size - np.count_nonzero(finite)) != missing:
        return True
    return tiny and bool(np.any(values == 0))


def text_bytes(longest: int, size: int) -> float:
    """The bytes that reading a text takes beside its numbers, by its longest line and its size."""
    return float(min(PARSER + BLOCKS * max(SMALLEST, min(64 * longest, LARGEST), 2 * longest), TIMES * size))
