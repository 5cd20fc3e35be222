"""Sampled forces of a layout by NumPy: the definition that the native kernel computes, to rounding."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.sampling import Draw, Edges

STRIDE = np.uint64(0x9E3779B97F4A7C15)  # of the counter
WORD = 2**32


def mixed(numbers: AnyArray) -> AnyArray:
    """Return numbers without order from counters, arrays of uint64 (splitmix64; Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def key_of(seed: int, epoch: int) -> int:
    """Return the key of the counter of an epoch."""
    with np.errstate(over="ignore"):
        first = mixed(np.array([seed % 2**64], dtype=np.uint64) + STRIDE)
        return int(mixed(first + np.uint64(epoch) * STRIDE)[0])


def samples_of(numbers: AnyArray, draw: Draw, count: int) -> AnyArray:
    """Return the points (e x s), of `count`, that the edges with these numbers (e) draw in an epoch."""
    with np.errstate(over="ignore"):
        base = mixed(np.uint64(draw.key) + STRIDE * numbers.astype(np.uint64))
        words = mixed(base[:, None] + STRIDE * np.arange(1, (draw.samples + 3) // 2, dtype=np.uint64))
    halves = np.stack([words >> np.uint64(32), words & np.uint64(WORD - 1)], axis=2)
    halves = halves.reshape(len(numbers), 2 * words.shape[1])
    return (halves[:, : draw.samples] * np.uint64(count) >> np.uint64(32)).astype(np.int64)


def due_of(rates: AnyArray, epoch: int) -> AnyArray:
    """Return a mask (e) of the edges that are due: where the fraction of epoch x rate falls below the rate."""
    with np.errstate(over="ignore"):
        return np.uint32(epoch) * rates < rates


def kept_edges(weights: Array, epochs: int) -> Indices:
    """Return the places of the edges that are due in one epoch at least, given their memberships (e)."""
    return np.flatnonzero(weights / weights.max(initial=0.0) * epochs >= 1)


def move_rows(edges: Edges, own: Array, first: int, points: Array, curve: Array, draw: Draw,
              rate: float) -> tuple[Array, float, int]:
    """Return positions (m x p) of rows after a step, its cost, and the edges due, as `native.sampling.sample_rows`.

    An edge attracts by -2 a b d^(2b - 2) / (1 + a d^2b) of the difference of its ends, a sample repels by
    2 γ b / ((ε + d²) (1 + a d^2b)), and no force on an axis is above a largest one. The cost of an edge is
    log(1 + a d^2b), that of a sample log((1 + a d^2b) / (a d^2b + ε)).
    """
    a, b, gamma, near, most = curve
    rows = np.repeat(np.arange(len(own)), np.diff(edges.starts))
    inside = slice(int(edges.starts[0]), int(edges.starts[-1]))
    due = due_of(edges.rates[inside], draw.epoch)
    rows, columns, numbers = rows[due], edges.columns[inside][due], edges.numbers[inside][due]
    heads = numbers >= 0
    others = samples_of(numbers[heads], draw, len(points))
    sampling = np.repeat(rows[heads], draw.samples)
    others = others.ravel()
    apart = (others != first + sampling) if first >= 0 else np.ones(len(others), dtype=bool)
    moves, cost = np.zeros_like(own), 0.0
    for here, there, along in ((rows, columns, True), (sampling[apart], others[apart], False)):
        gaps = own[here] - points[there]
        squares = np.sum(gaps**2, axis=1)
        distinct = squares > 1e-300
        bent = np.where(distinct, a * np.where(distinct, squares, 1.0) ** b, 0.0)
        over, under = (-2 * b * bent, squares) if along else (2 * gamma * b, squares + near)
        strengths = np.where(distinct, over / np.where(distinct, under * (1 + bent), 1.0), 0.0)
        np.add.at(moves, here, np.clip(strengths[:, None] * gaps, -most, most))
        cost += float(np.sum(np.log((1 + bent) / (1.0 if along else bent + near))))
    return own + rate * moves, cost, int(heads.sum())
