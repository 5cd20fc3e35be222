"""The certificate of multiple correspondence analysis: the indicator matrix, and cross tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, ratio

BLOCK = 1 << 20  # numbers of the indicator matrix that are looked at together


def answer_parts(values: Array) -> Iterator[Array]:
    """Yield rows of the indicator matrix of answers (n x d), a few at a time; columns with one answer are left out."""
    codes, sizes = coded(values)
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    step = max(1, BLOCK // max(int(edges[-1]), 1))
    for start in range(0, len(values), step):
        some = codes[start:start + step]
        table = np.zeros((len(some), int(edges[-1])))
        np.put_along_axis(table, some + edges[:-1], 1.0, axis=1)
        yield table


def coded(values: Array) -> tuple[Indices, list[int]]:
    """Return the number of each row's answer from 0 (n x q), and how many answers the q questions have."""
    found = [np.unique(column, return_inverse=True) for column in values.T]
    varying = [(places.reshape(-1), len(levels)) for levels, places in found if len(levels) > 1]
    codes = np.array([places for places, _ in varying], dtype=np.int64).reshape(len(varying), len(values)).T
    return codes, [size for _, size in varying]


def adjustment_checks(values: Array, inertias: Array, adjusted: Array, fit: Mapping[str, Any]) -> list[Check]:
    """Check adjusted inertias (a) against inertias (r), and their total against cross tables of answers (n x d)."""
    sizes = coded(values)[1]
    count = len(sizes)
    if count < 2:
        return []
    known, roots = adjusted[np.isfinite(adjusted)], inertias - 1 / count
    expected = np.where(roots > 0, count / (count - 1) * roots, 0.0) ** 2
    stated = np.pad(known, (0, max(len(expected) - len(known), 0)))[: len(expected)]
    size = EPS * max(len(values), sum(sizes), 10)
    total = getattr(fit.get("adjusted_total"), "value", fit.get("adjusted_total"))
    return [ratio("adjusted inertias", float(np.abs(stated - expected).max(initial=0.0)), size,
                  "(Q / (Q - 1))² (λ - 1/Q)² of the inertias λ over one over Q, the number of questions"),
            ratio("adjusted total", abs(mean_inertia(values) - float(total or 0.0)), size * (1 + sum(inertias)),
                  "the mean inertia of the cross tables of two questions")]


def mean_inertia(values: Array) -> float:
    """Return the mean inertia of the cross tables of two questions, from answers (n x d).

    The inertia of a table is Σ nᵢⱼ² / (nᵢ nⱼ) - 1. The sum over all tables, of questions with themselves as well, is
    the squared norm of WᵀW, and of W Wᵀ, with the indicator matrix over the roots of its sums as W; the smaller is
    taken.
    """
    codes, sizes = coded(values)
    rows, count, answers = len(codes), len(sizes), sum(sizes)
    if rows < answers:
        products = np.zeros((rows, rows))
        for own in codes.T:
            products += (own[:, None] == own) / np.bincount(own)[own]
    else:
        products = np.zeros((answers, answers))
        for part in answer_parts(values):
            products += part.T @ part
        sums = np.diag(products).copy()
        products /= np.sqrt(np.outer(sums, sums))
    return float((np.sum(products**2) - count**2 - (answers - count)) / (count * (count - 1)))
