"""The expected tables, and how far a result is from them in units of its leading eigenvalue."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

TABLES = Path(__file__).parents[2] / "tables"
TOLERANCE = 1e-8  # of the leading eigenvalue; for scores of its root, over the gap to the other eigenvalues


def read(name: str, *, names: bool = True, header: bool = True) -> np.ndarray:
    """The numbers of a table, without its header and its row names."""
    with (TABLES / name).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1 if header else 0 :]
    return np.array([[float(cell) for cell in row[1 if names else 0 :]] for row in rows])


def column(name: str) -> np.ndarray:
    """A table of one column."""
    return read(name)[:, 0]


def facts(name: str) -> dict[str, Any]:
    """A JSON file."""
    return json.loads((TABLES / name).read_text(encoding="utf-8"))


def value_deviation(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of two spectra over the leading eigenvalue."""
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / expected[0])


def score_deviation(found: np.ndarray, expected: np.ndarray, values: np.ndarray) -> float:
    """The largest difference of scores (n x p) up to the sign of each column.

    In units of √λ₁ λ₁/gap: rounding of a matrix of size λ₁ turns an eigenvector by its size over the gap
    to the nearest other eigenvalue, so this is the relative error of the matrix that would explain it.
    """
    assert found.shape == expected.shape
    signs = np.where((found * expected).sum(axis=0) < 0, -1.0, 1.0)
    distances = np.abs(values[: found.shape[1], None] - values)
    distances[np.arange(found.shape[1]), np.arange(found.shape[1])] = np.inf
    gaps = distances.min(axis=1) / values[0]
    assert gaps.min() > 1e-6, "equal eigenvalues leave single axes undefined"
    errors = np.abs(found * signs - expected).max(axis=0) / np.sqrt(values[0])
    return float((errors * gaps).max())


def residual_variances(distances: np.ndarray, points: np.ndarray) -> np.ndarray:
    """1 - r² between distances (n x n) and those of the first 1, 2, ... axes, over the whole matrix (Tenenbaum)."""
    result = []
    squared = np.zeros_like(distances)
    for axis in points.T:
        squared = squared + (axis[:, None] - axis) ** 2
        result.append(1 - np.corrcoef(distances.ravel(), np.sqrt(squared).ravel())[0, 1] ** 2)
    return np.array(result)


def aligned(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Columns turned to the side of those expected."""
    return found * np.where((found * expected).sum(axis=0) < 0, -1.0, 1.0)
