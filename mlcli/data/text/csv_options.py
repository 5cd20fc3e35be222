"""How Arrow reads a delimited text, and when what it read needs a second look."""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.missing import MISSING
from mlcli.data.files.arrow import pyarrow
from mlcli.data.options.input import Input
from mlcli.data.text.layout import Layout


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
