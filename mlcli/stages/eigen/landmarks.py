"""Landmarks: a few points whose kernel rows place all others (de Silva and Tenenbaum, 2004)."""

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.stages.algebra.costs import pass_cost
from mlcli.stages.algebra.linalg import symmetric_eigen

MOST = 500  # landmarks for a start; more give little for their rows
ROOM = 2**25  # numbers in their rows at most: 256 MiB


def choose_landmarks(size: int, count: int, generator: np.random.Generator) -> Indices:
    """Return the indices of at most `count` of `size` points, drawn at random, ascending."""
    return np.sort(generator.choice(size, min(count, size), replace=False))


def landmark_step(count: int, points: int, memory: float) -> Step:
    """Return the step that places all points by `count` landmarks; `memory` is its bytes."""
    return Step("coordinates", f"{points} points placed by {count} landmarks", 45 * pass_cost(count * points), memory,
                remedy="use fewer landmarks")


def landmark_start(rows: RowsOf, size: int, width: int, most: int, generator: np.random.Generator) -> Array:
    """Return a start block (n x width) for an eigensolver: Nystrom's extension of the landmarks' own eigenvectors."""
    count = min(most, ROOM // size, size)
    block: Array = generator.standard_normal((size, width))
    if count < 2 * width:
        return block
    landmarks = choose_landmarks(size, count, generator)
    across = rows(landmarks)
    across -= across.mean(axis=0)
    across -= across.mean(axis=1, keepdims=True)
    square = across[:, landmarks]
    _, vectors = symmetric_eigen((square + square.T) / 2)
    start = across.T @ vectors[:, :width]
    return start / np.maximum(np.linalg.norm(start, axis=0), 1e-300) + 1e-3 * block / np.sqrt(size)
