"""Rows that were added to the map of another run: those that are kept lie where they were, new ones where they belong.
"""

from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.certify.projection import ROW, row_tolerance
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.check.kernels import NUMBER
from mlcli.core.similarities.registration import Registration


def kept_check(coordinates: Array, known: Array | None, stated: str) -> Check:
    """Check that coordinates of kept rows (m x p) are those that the former run has, where it is at hand, as stated."""
    wrong = int(hashed(coordinates) != stated)
    if known is not None:
        wrong += int(np.sum((coordinates != known).any(axis=1))) if known.shape == coordinates.shape else len(known)
    return count("kept", wrong, "rows of the former map that are not where they were, to the last bit")


def moved_check(coordinates: Array, *, known: Array | None, stated: str, former: Array, distances: Array) -> Check:
    """Check the distances (m) that are written of tied rows (m x p) from their former places, which are as stated."""
    said = "the distances of rows from their former places, by both files"
    if former.shape != coordinates.shape or hashed(former) != stated or (
            known is not None and not np.array_equal(former, known)):
        return count("moved", len(coordinates), "former places that are not those of the former map")
    apart = np.linalg.norm(coordinates - former, axis=1)
    return ratio("moved", max_abs(distances - apart), EPS * max(max_abs(coordinates), max_abs(former)),
                 said)


def hashed(coordinates: Array) -> str:
    """Return the SHA-256 of coordinates (m x p), as doubles in little-endian order."""
    return sha256(np.ascontiguousarray(coordinates, dtype="<f8").tobytes()).hexdigest()


def registration_check(coordinates: Array, known: Array, onto: Registration | None) -> Check:
    """Check that coordinates of rows (m x p) are registered onto known ones: by SVD, no turn brings them nearer.

    At the best turn, scale and shift both have one mean, and the product of the centered ones is symmetric.
    """
    if onto is None:
        return count("registration", 1, "a map that was fitted anew states how it was turned")
    wrong = float(np.abs(onto.turn.T @ onto.turn - np.eye(len(onto.turn))).max())
    size = max(max_abs(coordinates), max_abs(known), 1e-300)
    wrong = max(wrong, float(np.abs(coordinates.mean(axis=0) - known.mean(axis=0)).max()) / size)
    product = (coordinates - coordinates.mean(axis=0)).T @ (known - known.mean(axis=0))
    sizes = np.linalg.svd(product, compute_uv=False)
    wrong = max(wrong, float(sizes.sum() - np.trace(product)) / max(float(sizes.sum()), 1e-300))
    return ratio("registration", wrong, 1e-9, "the map is turned and moved onto the former one as near as it can be")


def placement_checks(subject: Subject, moving: Indices) -> Iterator[Check]:
    """Check that the stored model places new rows, one at a time, where they lie; `moving` are their places (m)."""
    if not len(moving):
        yield count("placed", 0, "there are no new rows")
        return
    cost = ROW + NUMBER * len(subject.projector.axes) * subject.data.values.shape[1]
    some = moving[subject.plan.sample_in_memory(0.2, cost, len(moving), least=1)] if subject.projector.rowwise else (
        moving)
    values = np.asarray(subject.data.values)
    parts = [some[[place]] for place in range(len(some))] if subject.projector.rowwise else [some]
    found = np.vstack([subject.projector.place(values[rows], subject.data.labels_at(rows)) for rows in parts])
    gaps = np.abs(found - subject.embedding[some])
    allowed = np.maximum(np.asarray(row_tolerance(subject, some)), 1e-12 * max_abs(subject.embedding))
    yield ratio("placed", float((gaps / np.where(allowed > 0, allowed, 1e-300)).max(initial=0.0)), 1.0,
                f"{len(some)} new rows, placed again one by one, lie where the embedding has them",
                exact=len(some) == len(moving))
