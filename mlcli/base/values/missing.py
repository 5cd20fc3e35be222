"""Texts that mean a missing cell, in columns of numbers and of labels alike."""

from collections.abc import Iterable, Sequence

import numpy as np

from mlcli.base.types import AnyArray, Indices

MISSING = ("", "NA", "NaN", "nan", "#N/A")


def is_missing(cell: str) -> bool:
    """Whether a label is missing: empty, blank, or one of the texts for a missing number."""
    return cell.strip() in MISSING


def present_cells(cells: Iterable[str]) -> AnyArray:
    """Return whether each cell or label (n) is there, a mask."""
    return np.array([not is_missing(cell) for cell in cells], dtype=bool)


def classes_of(labels: Sequence[str]) -> tuple[list[str], Indices]:
    """Return the names of classes in alphabetical order, and the class of each row (n), -1 for a row without label."""
    there = present_cells(labels)
    names, codes = np.unique(np.asarray(labels)[there], return_inverse=True)
    found = np.full(len(labels), -1)
    found[there] = codes
    return names.tolist(), found
