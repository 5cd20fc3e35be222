"""The certificate of ordinations: their equations on row sums, indicator matrices and constraints.

One pass over the table, whose numbers n have row sums nᵢ, column sums nⱼ and the grand total N.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import take_rows
from mlcli.base.rows.source import all_parts, rows_of
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio
from mlcli.base.values.inputs import TwoViews, Viewed
from mlcli.certify.subject import max_abs
from mlcli.core.check.second_moments import diagonal
from mlcli.core.metrics.distances import squares
from mlcli.core.model import Model
from mlcli.core.similarities.projector import require_projector
from mlcli.methods.ordination.constraints import ConstrainedInertia, Constraints, constraints_of
from mlcli.methods.ordination.correspondence import Represented

BLOCK = 1 << 20  # numbers of a table in memory that are looked at together


def table_parts(values: Array) -> Iterator[Array]:
    """Yield the rows of a table (n x d), in memory or in a file, a few at a time."""
    rows = rows_of(values)
    if rows is not None:
        yield from (part for _, part in all_parts(rows))
        return
    step = max(1, BLOCK // max(values.shape[1], 1))
    yield from (values[start:start + step] for start in range(0, len(values), step))


def correspondence_checks(parts: Iterable[Array], model: Model, standard: bool) -> list[Check]:
    """Check the coordinates of rows and columns, their masses and the inertias against a table given in parts.

    With `standard`, loadings are standard coordinates of the columns, otherwise principal ones.
    """
    similarity = require_projector(model.projector).similarity
    assert isinstance(similarity, Represented)
    axes, inertias, roots = model.axes, model.ranks.solved, similarity.metric.roots
    columns, count = axes.shape
    sums, squares, cross = np.zeros(columns), np.zeros(columns), np.zeros((columns, count))
    means, products, place, apart, largest = np.zeros(count), np.zeros((count, count)), 0, 0.0, 0.0
    weights = axes / np.where(roots > 0, roots, 1.0)[:, None]
    for part in parts:
        totals = part.sum(axis=1)
        some = take_rows(model.embedding, np.arange(place, place + len(part)))
        profiles = part / totals[:, None]
        sums += part.sum(axis=0)
        squares += (part * profiles).sum(axis=0)
        cross += part.T @ some
        means += totals @ some
        products += (some * totals[:, None]).T @ some
        apart = max(apart, max_abs(profiles @ weights - some))
        largest = max(largest, float((profiles @ np.abs(weights)).max(initial=0.0)))
        place += len(part)
    total = float(sums.sum())
    if not columns:  # no question has two answers
        return [ratio("rows", max_abs(model.embedding), 0.0, "rows that do not differ lie at zero")]
    masses, rounding = sums / total, EPS * max(place, columns, 10)
    root, drawn = np.sqrt(masses), np.any(axes != 0, axis=0).astype(np.float64)
    top = float(np.sqrt(inertias.max(initial=0.0)))
    found = float(np.sum(squares / sums)) - 1.0
    stated = np.diag(diagonal(inertias, model.embedding))
    return [
        ratio("masses", max_abs(roots**2 - masses), rounding, "the masses of columns are their shares of the total"),
        ratio("centering", max_abs(means) / total, rounding, "the weighted mean of every axis is zero"),
        ratio("inertias", max_abs(products / total - np.diag(stated)), rounding * (top + rounding),
              "axes are uncorrelated under the rows' masses, and their weighted variances are the inertias"),
        ratio("directions", max_abs(axes.T @ axes - np.diag(drawn)), rounding,
              "VᵀV = I, but for an axis without extent"),
        ratio("rows", apart, EPS * (columns + 10) * max(largest, 1.0),
              "a row lies at the mean of standard coordinates of columns, weighted by its profile"),
        ratio("columns", max_abs(cross / total / root[:, None] - axes * stated), rounding,
              "a column lies at the mean of rows, weighted by its profile, over the root of the inertia"),
        ratio("total inertia", abs(found - model.ranks.solved_trace), rounding * (1 + found),
              "inertias add up to the chi-square statistic of the table over its total"),
        *_loadings(model, weights if standard else weights * np.sqrt(stated)),
    ]


def _loadings(model: Model, expected: Array) -> list[Check]:
    """Check that loadings, where they are at hand, are coordinates (l x p) of the columns."""
    if model.loadings is None:
        return []
    return [ratio("loadings", max_abs(model.loadings.values - expected), 8 * EPS * max(max_abs(expected), EPS),
                  "loadings are the coordinates of the columns that were asked for")]


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
    return [ratio("adjusted inertias", max_abs(stated - expected), size,
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


AGAIN, THOROUGH = 99, 999  # permutations of the certificate's own, and with `full`
DEVIATIONS = 7.0  # standard deviations between two p-values by chance
SEED = 20
WHOLE = 2000  # points up to which all eigenvalues are computed again


@frozen
class Span:
    """An orthonormal basis of condition and constraints, and the growth of rounding in it."""

    found: Constraints
    basis: Array  # n x (c + q)
    growth: float

    @classmethod
    def of(cls, data: Viewed, condition: tuple[str, ...]) -> "Span":
        """Return the span of the second view's columns, by Householder reflections."""
        found = constraints_of(data.view.normalized().values, data.view.columns, condition)
        basis, triangle = np.linalg.qr(np.hstack([found.condition, found.columns]))
        sizes = np.abs(np.diag(triangle))
        return cls(found, basis, float(1 / sizes.min(initial=1.0)))

    @property
    def within(self) -> int:
        """The columns of the condition in the basis."""
        return self.found.condition.shape[1]

    @property
    def own(self) -> Array:
        """The basis of the constraints (n x q)."""
        return self.basis[:, self.within:]

    def off(self, values: Array, *, constraints: bool = False) -> Array:
        """Return values (n x k) without what the condition, or condition and constraints, explain."""
        basis = self.basis if constraints else self.basis[:, : self.within]
        return values - basis @ (basis.T @ values)


def redundancy_checks(data: TwoViews, model: Model, condition: tuple[str, ...], scores: str,
                      full: bool = False) -> list[Check]:
    """Return the checks of redundancy analysis, of loadings, coordinates and figures against a regression."""
    span, (size, width) = Span.of(data, condition), data.values.shape
    centered = data.values - data.values.mean(axis=0)
    centered -= centered.mean(axis=0)
    free = span.off(centered)
    explained, rest = span.own.T @ free, span.off(centered, constraints=True)
    spectrum, axes = model.ranks, model.embedding.shape[1]
    marks = np.zeros(0, dtype=bool) if spectrum.constrained is None else spectrum.constrained
    again = [np.linalg.svd(part, compute_uv=False) ** 2 for part in (explained, rest)]
    top = max(float(part.max(initial=0.0)) for part in again)
    root = float(np.sqrt(top))
    rounding = EPS * max(size, width, 10) * span.growth * root
    rounding += EPS * max_abs(data.values) * float(np.sqrt(data.values.size))
    values, first = np.pad(spectrum.solved, (0, axes))[:axes], int(marks[:axes].sum())
    checks = [*spectrum_checks(spectrum.solved, marks, again, rounding * root),
              ratio("trace", abs(float(np.sum(centered**2)) - spectrum.solved_trace), rounding * root * max(
                  min(size, width), 1), "the sum of squares of the columns is the total inertia")]
    explaining = ConstrainedInertia(float(again[0].sum()), float(again[1].sum()),
                                    (span.found.rank, span.found.residual_freedom))
    checks += figure_checks(model.fit, explaining, spectrum.solved_trace, rounding * root * max(min(size, width), 1))
    if model.loadings is not None:
        given = data.unit.measured(model.loadings.values[:width])
        roots = np.sqrt(np.maximum(values, 0.0) / max(size - 1, 1))
        directions = np.divide(given, roots, out=np.zeros_like(given), where=roots > 0)
        checks += _axes_checks(directions, values, first, (explained, rest), rounding)
        fitted = span.own @ (explained @ directions[:, :first])
        meant = np.hstack([free @ directions[:, :first] if scores == "wa" else fitted, rest @ directions[:, first:]])
        checks.append(ratio("scores", max_abs(model.embedding - meant), rounding,
                            "coordinates are weighted sums of the columns, or linear combinations of the constraints"))
        checks.append(arrows_check(model, width, span.found, fitted, np.sqrt(values[:first]), rounding))
    checks += permutation_checks(model.fit, span, lambda bases: np.sum((bases.T @ free) ** 2, axis=1),
                          float(np.sum(free**2)), full=full)
    return checks


def distance_checks(data: Viewed, model: Model, condition: tuple[str, ...], scores: str,
                    full: bool = False) -> list[Check]:
    """Return the checks of distance-based redundancy analysis, against products of the Gower-centered matrix."""
    span, size, spectrum = Span.of(data, condition), len(data.values), model.ranks
    kernel, farthest = _centered(data)
    total, norm = float(np.trace(kernel)), float(np.linalg.norm(kernel))
    within, basis = span.basis[:, : span.within], span.basis
    inner = span.own.T @ (kernel @ span.own)
    traces = [float(np.sum(part * (kernel @ part))) for part in (within, basis)]

    def free(vectors: Array) -> Array:
        """Return the product of the kernel without the condition with vectors (n x k)."""
        return span.off(kernel @ span.off(vectors))

    marks = np.zeros(0, dtype=bool) if spectrum.constrained is None else spectrum.constrained
    rounding = EPS * max(size, 10) * (span.growth * norm + farthest)
    explaining = ConstrainedInertia(float(np.trace(inner)), total - traces[1],
                                    (span.found.rank, span.found.residual_freedom))
    checks = [ratio("trace", abs(total - spectrum.solved_trace), rounding * size, "the trace is the total inertia"),
              *figure_checks(model.fit, explaining, total, rounding * size),
              *permutation_checks(model.fit, span, lambda bases: np.sum(bases * free(bases), axis=0),
                                  total - traces[0], full=full)]
    values = np.maximum(np.pad(spectrum.solved, (0, model.embedding.shape[1]))[: model.embedding.shape[1]], 0.0)
    first = int(marks[: len(values)][values[: len(marks)] > 0].sum())
    allowed = rounding + spectrum.tolerance * norm
    given, outside = np.split(model.embedding, [first], axis=1)
    turned, roots = span.own.T @ given, np.sqrt(values[:first])
    fitted = span.own @ turned  # combinations of the constraints, of weighted sums as well
    meant = fitted if scores == "lc" else free(fitted) / values[:first]
    # weighted sums magnify the rounding of the combinations, which are taken from them, by the norm over λ
    weights = np.ones(len(values))
    weights[:first] = 1.0 if scores == "lc" else np.minimum(values[:first] / norm, 1.0)
    apart, lengths = [], []
    beside = span.off(kernel @ span.off(outside, constraints=True), constraints=True)
    for product, axes, chosen in ((inner @ turned, turned, slice(0, first)), (beside, outside, slice(first, None))):
        sizes, weighed = values[chosen], weights[chosen]
        apart.append(float((np.abs(product - axes * sizes) * weighed).max(initial=0.0)))
        gap = np.abs(axes.T @ axes - np.diag(sizes)) * np.minimum(weighed, weighed[:, None])
        lengths.append(float(gap.max(initial=0.0)))
    top = float(np.sqrt(values.max(initial=0.0)))
    checks += [ratio("residual", max(apart), allowed * top, "a part times each axis is its eigenvalue times the axis"),
               ratio("lengths", max(lengths), allowed, "axes of either part are orthogonal, of the lengths √λ"),
               ratio("scores", float((np.abs(given - meant) * roots * weights[:first]).max(initial=0.0)), allowed,
                     "coordinates are weighted sums, or linear combinations of the constraints"),
               arrows_check(model, 0, span.found, fitted, roots, allowed / roots.min(initial=top) if top else EPS,
                            weights[:first])]
    again = [np.linalg.eigvalsh(inner), _residual_eigenvalues(kernel, basis) if spectrum.complete and (
        full or size <= WHOLE) else None]
    return [*checks, *spectrum_checks(spectrum.solved, marks, again, rounding)]


def _centered(data: Viewed) -> tuple[Array, float]:
    """Return the Gower-centered matrix (n x n) of the data, and the largest number before centering."""
    kernel = squares(data)  # type: ignore[arg-type]
    kernel *= -0.5
    farthest, means = -float(kernel.min(initial=0.0)), kernel.mean(axis=0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    return kernel, farthest


def _residual_eigenvalues(kernel: Array, basis: Array) -> Array:
    """Return the eigenvalues (n) of a kernel (n x n), which is lost, without what a basis (n x k) explains."""
    product = basis.T @ kernel
    for rows in row_blocks(len(kernel), 2**20, len(kernel)):
        kernel[rows] -= basis[rows] @ product
        kernel[rows] -= (kernel[rows] @ basis) @ basis.T
    return np.asarray(np.linalg.eigvalsh(kernel))


def spectrum_checks(solved: Array, marks: AnyArray, again: list[Any], allowed: float) -> list[Check]:
    """Check eigenvalues (m), with marks (m) of constrained ones, against those of both parts, descending in each.

    `again` holds arrays of eigenvalues, or None where they are not at hand.
    """
    if len(marks) != len(solved):
        return [count("eigenvalues", 1, "eigenvalues without a mark whether they are of constrained axes")]
    checks = []
    for name, stated, found in zip(("constrained", "unconstrained"), (solved[marks], solved[~marks]), again,
                                   strict=True):
        if found is None:
            checks.append(later(name))
            continue
        most = max(len(stated), len(found))
        ordered = np.sort(np.pad(found, (0, most - len(found))))[::-1]  # those left out are zero
        zeros = np.zeros(most - len(stated))
        gap = np.concatenate([stated[stated > 0], zeros, stated[stated <= 0]]) - ordered
        checks.append(ratio(name, max_abs(gap), allowed, f"{name} eigenvalues, descending, are "
                            f"those of the {'fitted values' if name == 'constrained' else 'residuals'}"))
    return checks


def arrows_check(model: Model, width: int, found: Constraints, fitted: Array, roots: Array, rounding: float,
                 weights: Array | float = 1.0) -> Check:
    """Check that the last loadings are correlations of constraints with fitted coordinates (n x p) of lengths (p).

    `weights` (p) are inverse to the axes' rounding.
    """
    assert model.loadings is not None
    given, first = model.loadings.values[width:], len(roots)
    if tuple(model.loadings.columns[width:]) != found.names or given.shape[1] < first:
        return count("arrows", 1, "constraints without an arrow")
    meant = found.columns.T @ fitted
    gap = (np.abs(given[:, :first] * roots - meant) * weights).max(initial=0.0)
    others = np.abs(given[:, first:]).max(initial=0.0)
    return ratio("arrows", float(gap + others), rounding, "arrows are correlations of the constraints with the axes")


def figure_checks(fit: Mapping[str, Any], meant: ConstrainedInertia, total: float, allowed: float) -> list[Check]:
    """Check the degrees of freedom, the share that is explained, and pseudo-F of a fit; `allowed` is of inertia."""
    wrong = int(fit.get("degrees_of_freedom") != dict(zip(("constrained", "residual"), meant.freedom, strict=True)))
    share, stated, real = fit.get("explained_share"), fit.get("pseudo_F"), meant.ratio
    relative = allowed / total if total > 0 else 0.0
    checks = [count("freedom", wrong, "degrees of freedom that are not those of the constraints")]
    if total > 0:
        gap = float("inf") if share is None else abs(share - meant.constrained / total)
        checks.append(ratio("share", gap, relative, "the share of the inertia that the constraints explain"))
    if np.isfinite(real) and meant.residual > 1e3 * allowed:
        gap = float("inf") if stated is None else abs(stated - real)
        left = allowed * (1 / meant.residual + 1 / max(abs(meant.constrained), allowed))
        checks.append(ratio("pseudo-F", gap, abs(real) * left, "the ratio of mean squares"))
    return checks


def permutation_checks(fit: Mapping[str, Any], span: Span, squares: Callable[[Array], Array], total: float, *,
                full: bool) -> list[Check]:
    """Check that the p-value is a share of the permutations, and near that of some others."""
    stated, made = fit.get("p_value"), fit.get("permutations")
    if stated is None or made is None:
        return []
    reached = stated * (made + 1)
    if not (1 - 1e-6 <= reached <= made + 1 + 1e-6 and abs(reached - round(reached)) < 1e-6 * (made + 1)):
        return [count("p-value", 1, "a p-value that is no share of the permutations")]
    size, number = len(span.basis), THOROUGH if full else AGAIN
    generator, ratios, lost = np.random.default_rng(SEED), list[float](), 1.0
    left, rank = span.found.residual_freedom, span.found.rank
    for place in range(number + 1):
        basis = span.basis if place == 0 else span.basis[generator.permutation(size)]
        sums = squares(basis)
        conditional, constrained = sums[: span.within].sum(), sums[span.within:].sum()
        rest = total - conditional - constrained
        lost = max(abs(total) / abs(rest), 1.0) if place == 0 and rest else lost
        ratios.append((constrained / rank) / (rest / left) if rest else np.inf)
    slack = max(1e-6 * max(abs(ratios[0]), 1.0), 1e-10 * abs(ratios[0]) * lost)
    share = float(np.mean(np.array(ratios) >= ratios[0] - slack))
    middle = min(max((share * number + reached) / (number + made), 2 / number), 1 - 2 / number)
    spread = DEVIATIONS * float(np.sqrt(middle * (1 - middle) * (1 / number + 1 / made)))
    return [count("p-value", int(abs(share - stated) > spread),
                  f"p-values farther from that of {number} other permutations than by chance", exact=False)]


def _axes_checks(directions: Array, values: Array, first: int, parts: tuple[Array, Array],
                 rounding: float) -> list[Check]:
    """Check that directions (d x p) are the axes of fitted values and of residuals, of these sums of squares (p)."""
    root = float(np.sqrt(values.max(initial=0.0)))
    product, apart = directions.T @ directions, np.zeros_like(directions)
    drawn = np.diag((values > 0).astype(np.float64))
    gap = np.abs(product - drawn)
    gap[:first, first:] = gap[first:, :first] = 0.0  # axes of fitted values and of residuals need not be orthogonal
    for part, chosen in zip(parts, (slice(0, first), slice(first, None)), strict=True):
        apart[:, chosen] = part.T @ (part @ directions[:, chosen]) - directions[:, chosen] * values[chosen]
    least = float(np.sqrt(values[values > 0].min(initial=root**2)))
    return [ratio("directions", float(gap.max(initial=0.0)), rounding / least if least > 0 else EPS,
                  "axes of either part are orthogonal"),
            ratio("residual", max_abs(apart), rounding * root,
                  "the cross products of a part times each axis are its eigenvalue times the axis")]
