"""The certificate of factorizations, by the conditions of Karush, Kuhn and Tucker, and of random projections."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.base.values.scaling import NORMAL, Unit
from mlcli.certify.subject import max_abs
from mlcli.core.check.stationarity import UNCONVERGED
from mlcli.methods.parts.nonnegative import NEARLY_EXACT
from mlcli.methods.parts.random_projection import some_rows

BLOCK = 1 << 20  # numbers at once
UNORDERED = 0.01  # share of the largest total: the order is that before the last weights where parts depend on others
LEFT = 1e-11  # share of a row's total, or of its products, that exact weights leave of their conditions


def factorization_checks(points: Array, weights: Array, directions: Array | None, objective: str, tolerance: float,
                         stated: Mapping[str, Any], unit: Unit) -> list[Check]:
    """Check X ≈ W H for points X (n x d), weights W (n x p) and directions Hᵀ (d x p) against the figures of a fit.

    `unit` is that of the objective for these points.

    Signs and sums; the objective by its definition; of the weights the conditions W ≥ 0, slopes ≥ 0, and zero products
    of both; of the parts that the next step over any of them alone does not promise more than convergence allows.
    """
    if directions is None or directions.shape != (points.shape[1], weights.shape[1]):
        return [count("parts", 1, "there is a part for every axis")]
    parts = directions.T
    sums, totals = parts.sum(axis=1), weights.sum(axis=0)
    wrong = int(np.sum(weights < 0) + np.sum(parts < 0))
    there = sums > 0
    checks = [count("signs", wrong, "negative numbers in W or H"),
              ratio("sums", float(np.abs(sums - 1).max(where=there, initial=0.0)), EPS * max(points.shape[1], 10),
                    "the numbers of every part add up to one"),
              count("order", int(np.sum(np.diff(totals) > UNORDERED * totals.max(initial=0.0))),
                    "parts with a larger total than the one before")]
    shares = np.asarray(stated["shares"], dtype=np.float64)
    apart = np.abs(totals / (totals.sum() or 1.0) - shares).max(initial=0.0) if len(shares) == len(totals) else np.inf
    checks.append(ratio("shares", float(apart), EPS * max(len(weights), 10), "the shares of all weights, as stated"))
    check = squares_checks if objective == "frobenius" else divergence_checks
    return checks + check(points, weights, parts, tolerance, {**stated, "objective": _measured(stated, unit)})


def squares_checks(points: Array, weights: Array, parts: Array, tolerance: float,
                   stated: Mapping[str, Any]) -> list[Check]:
    """Check squared errors, and the least squares of weights and of parts."""
    squares, lost, slopes = 0.0, 0.0, np.zeros_like(weights)
    products, gram = np.zeros_like(parts), weights.T @ weights
    for rows in row_blocks(len(points), BLOCK, points.shape[1]):
        rest = weights[rows] @ parts - points[rows]
        slopes[rows] = rest @ parts.T
        products += weights[rows].T @ rest
        lost += float(np.einsum("ij,ij->", rest, rest)) / 2
        squares += float(np.einsum("ij,ij->", points[rows], points[rows])) / 2
    lengths = np.linalg.norm(parts, axis=1)
    sizes = np.linalg.norm(points, axis=1)[:, None] * lengths
    wrong = np.maximum(-slopes, np.abs(slopes) * _weighty(weights))
    far = float(np.max(np.divide(wrong, sizes, out=np.zeros_like(wrong), where=sizes > 0), initial=0.0))
    curves: Array = np.diag(gram)[:, None]
    moved = np.maximum(parts - np.divide(products, curves, out=np.zeros_like(parts), where=curves > 0), 0.0) - parts
    falls = -np.sum(moved * products + curves * moved**2 / 2, axis=1)
    return [*_objective_check(lost, squares, len(points), stated), _weights_check(far),
            _parts_check(falls, lost, squares, tolerance, stated)]


def divergence_checks(points: Array, weights: Array, parts: Array, tolerance: float,
                      stated: Mapping[str, Any]) -> list[Check]:
    """Check the divergence, and its least values over weights and over parts."""
    sums, total, lost, far = parts.sum(axis=1), float(points.sum()), 0.0, 0.0
    products = np.zeros_like(parts)
    for rows in row_blocks(len(points), BLOCK, points.shape[1]):
        some, model = points[rows], weights[rows] @ parts
        ratios = np.divide(some, model, out=np.zeros_like(some), where=(some > 0) & (model > 0))
        lost += float(np.sum(some * np.log(ratios, where=ratios > 0, out=np.zeros_like(ratios)) - some + model))
        slopes = sums - ratios @ parts.T
        far = max(far, float(np.max(np.maximum(-slopes, np.abs(slopes) * _weighty(weights[rows])), initial=0.0,
                                    where=np.any(some > 0, axis=1)[:, None])))
        products += weights[rows].T @ ratios
    sizes = weights.sum(axis=0)[:, None]
    updated = parts * np.divide(products, sizes, out=np.ones_like(parts), where=sizes > 0)
    # an update lowers the objective by at least Σ (h' ln(h' / h) - h' + h) Σ w, of each part alone (Lee and Seung)
    logarithms = np.log(np.divide(updated, parts, out=np.ones_like(parts), where=(parts > 0) & (updated > 0)))
    falls = np.sum(sizes * (updated * logarithms - updated + parts), axis=1)
    return [*_objective_check(lost, total, len(points), stated), _weights_check(far),
            _parts_check(falls, lost, total, tolerance, stated)]


def _weighty(weights: Array) -> Array:
    """Return which weights (n x p) are not near zero, relative to the row's."""
    return np.asarray(weights > 1e-9 * weights.max(axis=1, initial=0.0)[:, None])


def _measured(stated: Mapping[str, Any], unit: Unit) -> float | None:
    """Return the objective in a unit; None where plain numbers do not hold it."""
    value = stated["objective"]
    if value is None or 0 < value < np.finfo(np.float64).tiny or (value == 0 and abs(unit.exponent) > NORMAL // 2):
        return None
    return float(unit.measured(np.asarray(value)))


def _objective_check(lost: float, size: float, rows: int, stated: Mapping[str, Any]) -> list[Check]:
    checks = [skipped("objective", "it is outside the range of double precision") if stated["objective"] is None else
              ratio("objective", abs(lost - stated["objective"]), EPS * (max(rows, 100) * lost + 100 * size),
                    "the objective by its definition, as stated")]
    if "explained" in stated:
        checks.append(ratio("explained", abs(1 - lost / (size or 1.0) - stated["explained"]),
                            EPS * max(rows, 100), "the share of ‖X‖² that W H explains, as stated"))
    return checks


def _weights_check(far: float) -> Check:
    return ratio("weights", far, LEFT, "slopes of the objective are zero for weights above zero, and not negative for "
                 "others")


def _parts_check(falls: Array, lost: float, size: float, tolerance: float, stated: Mapping[str, Any]) -> Check:
    if not stated.get("converged", True):
        return skipped("stationarity", UNCONVERGED)
    allowed = max(lost, NEARLY_EXACT * size) * tolerance + 100 * EPS * size
    return ratio("stationarity", float(np.max(falls, initial=0.0)), allowed,
                 "the fall of the objective that the next step over one part promises")


IMPROBABLE = 6.0  # standard deviations of a figure, beyond which chance does not explain it


def direction_checks(directions: Array, kind: str, density: float) -> list[Check]:
    """Check random directions (d x p): orthogonal frames are, and entries have the values or the moments of their kind.

    Σr² of d p entries of variance 1/p has mean d and variance (k - 1) d / p, with k the entries' kurtosis: 3 if normal,
    1/s of ±1 / √(s p) in a share s.
    """
    (columns, axes), size = directions.shape, directions.size
    if kind == "orthogonal":
        gap = directions.T @ directions * (axes / columns) - np.eye(axes)
        return [ratio("directions", max_abs(gap), EPS * max(columns, 10),
                      "directions are orthonormal, times √(d/p)")]
    checks = []
    if kind == "sparse":
        sized = np.abs(directions[directions != 0]) * np.sqrt(density * axes)
        checks = [count("entries", int(np.sum(np.abs(sized - 1) > 8 * EPS)), "entries other than 0 and ±1 / √(s p)")]
    kurtosis = 3.0 if kind == "gaussian" else 1 / density
    total = float(np.square(directions).sum())
    spread = np.sqrt((kurtosis - 1) * columns / axes) + IMPROBABLE * kurtosis / axes + EPS * size
    wrong = abs(total - columns) > IMPROBABLE * spread
    return [*checks, count("variance", int(wrong), "sums of squared entries that chance does not explain")]


def distortion_checks(points: Array, coordinates: Array, stated: Mapping[str, Any]) -> list[Check]:
    """Check the bound and the ratios of squared distances of coordinates (n x p) to those of points (n x d).
    """
    rows, axes = coordinates.shape
    bound, wanted = stated["bound"], 4 * np.log(max(rows, 1)) / max(axes, 1)
    if bound is None or not np.isfinite(bound):
        checks = [count("bound", int(wanted < 1 / 6 - 8 * EPS), "bounds below one that are not stated")]
    else:
        gap = abs(bound**2 / 2 - bound**3 / 3 - wanted)
        checks = [ratio("bound", gap + max(bound - 1, 0.0), EPS * (1 + wanted), "4 ln n / p is ε²/2 - ε³/3")]
    chosen = some_rows(points)
    before, after = _squares(points[chosen]), _squares(coordinates[chosen])
    differ = before > 0
    known: Mapping[str, float] = stated["distortion"]
    if not differ.any() or not known:
        return [*checks, count("distortion", int(bool(known) != bool(differ.any())), "figures of pairs that differ")]
    ratios = after[differ] / before[differ]
    found = {"smallest": ratios.min(), "mean": ratios.mean(), "largest": ratios.max()}
    gap = max(abs(float(value) - known[name]) for name, value in found.items())
    return [*checks, ratio("distortion", gap, EPS * max(points.shape[1], len(ratios)) * float(ratios.max()),
                           "ratios of squared distances of some pairs, as stated")]


def _squares(points: Array) -> Array:
    """Return the squared distances of all pairs of points (m x d)."""
    first, second = np.triu_indices(len(points), 1)
    apart = points[first] - points[second]
    return np.asarray(np.einsum("ij,ij->i", apart, apart))
