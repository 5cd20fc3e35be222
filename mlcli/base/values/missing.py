"""Texts that mean a missing cell, in columns of numbers and of labels alike."""

from collections.abc import Iterable

import numpy as np

from mlcli.base.types import AnyArray

MISSING = ("", "NA", "NaN", "nan", "#N/A")


def is_missing(cell: str) -> bool:
    """Whether a label is missing: empty, blank, or one of the texts for a missing number."""
    return cell.strip() in MISSING


def present_cells(cells: Iterable[str]) -> AnyArray:
    """Return whether each cell or label (n) is there, a mask."""
    return np.array([not is_missing(cell) for cell in cells], dtype=bool)
