"""The certificate of correspondence analysis: its equations on row sums, column sums and profiles of the table itself.

One pass over the table, whose numbers n have row sums nᵢ, column sums nⱼ and the grand total N.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from mlcli.base.rows.passes import all_parts
from mlcli.base.rows.scratch import take_rows
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.second_moments import diagonal
from mlcli.stages.similarities.projector import require_projector
from mlcli.stages.similarities.represented import Represented

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
        apart = max(apart, float(np.abs(profiles @ weights - some).max(initial=0.0)))
        largest = max(largest, float((profiles @ np.abs(weights)).max(initial=0.0)))
        place += len(part)
    total = float(sums.sum())
    if not columns:  # no question has two answers
        return [ratio("rows", worst(model.embedding), 0.0, "rows that do not differ lie at zero")]
    masses, rounding = sums / total, EPS * max(place, columns, 10)
    root, drawn = np.sqrt(masses), np.any(axes != 0, axis=0).astype(np.float64)
    top = float(np.sqrt(inertias.max(initial=0.0)))
    found = float(np.sum(squares / sums)) - 1.0
    stated = np.diag(diagonal(inertias, model.embedding))
    return [
        ratio("masses", worst(roots**2 - masses), rounding, "the masses of columns are their shares of the total"),
        ratio("centering", worst(means) / total, rounding, "the weighted mean of every axis is zero"),
        ratio("inertias", worst(products / total - np.diag(stated)), rounding * (top + rounding),
              "axes are uncorrelated under the rows' masses, and their weighted variances are the inertias"),
        ratio("directions", worst(axes.T @ axes - np.diag(drawn)), rounding, "VᵀV = I, but for an axis without extent"),
        ratio("rows", apart, EPS * (columns + 10) * max(largest, 1.0),
              "a row lies at the mean of standard coordinates of columns, weighted by its profile"),
        ratio("columns", worst(cross / total / root[:, None] - axes * stated), rounding,
              "a column lies at the mean of rows, weighted by its profile, over the root of the inertia"),
        ratio("total inertia", abs(found - model.ranks.solved_trace), rounding * (1 + found),
              "inertias add up to the chi-square statistic of the table over its total"),
        *_loadings(model, weights if standard else weights * np.sqrt(stated)),
    ]


def _loadings(model: Model, expected: Array) -> list[Check]:
    """Check that loadings, where they are at hand, are coordinates (l x p) of the columns."""
    if model.loadings is None:
        return []
    return [ratio("loadings", worst(model.loadings.values - expected), 8 * EPS * max(worst(expected), EPS),
                  "loadings are the coordinates of the columns that were asked for")]


def worst(gaps: Array) -> float:
    """Return the largest size of gaps, an array of any shape."""
    return float(np.abs(gaps).max(initial=0.0))
