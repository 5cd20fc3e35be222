"""Coefficients of reliability and statistics of items, from a fit and its input; and their section of the page."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.scaling import all_finite
from mlcli.core.similarities.projector import Projector
from mlcli.data.options.wording import listed
from mlcli.data.table.table import Table
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.frame.result import Result
from mlcli.findings.reliability import FIGURES, ITEMS
from mlcli.methods.factors.reliability import ItemStatistics, SchmidLeiman, alpha
from mlcli.report.drawing.html import Part, figures, fold, section, sentence
from mlcli.report.drawing.text import number
from mlcli.report.tables.table import ReportTable, as_html


def measure_reliability(result: Result) -> Mapping[str, Any] | None:
    """Return reliability.json and items.csv of the columns that vary; None of fewer than two.

    Alpha and the statistics are of the items' covariance (of missing answers the one that the method estimates);
    omega and standardized alpha are of the correlations that were fitted.
    """
    table, fit = items_table(result), result.model.fit
    loadings = result.model.loadings
    if loadings is None or rows_of(table.values) is not None:
        note("N-RELIABILITY", "reliability was not computed: it needs the table in memory, and loadings")
        return None
    means, covariance = moments_of(table, result)
    varying = np.flatnonzero(np.diag(covariance) > 0)
    if len(varying) < 2:
        return None
    covariance = covariance[np.ix_(varying, varying)]
    roots = np.sqrt(np.diag(covariance))
    correlations = fitted_correlations(fit, covariance / np.outer(roots, roots))
    factors = np.array(fit["factor_correlations"], dtype=np.float64)
    solution = SchmidLeiman.of(loadings.values[varying] / roots[:, None], factors)
    total, hierarchical = solution.omega(correlations)
    statistics = ItemStatistics.of(covariance)
    names = tuple(table.columns[place] for place in varying.tolist())
    if turned := [name for name, value in zip(names, statistics.others.tolist(), strict=True) if value < 0]:
        note("W-KEYED", f"items that correlate negatively with the sum of the others: {listed(turned)}; are they "
             "reverse-keyed? give {input.reverse}", columns=turned)
    size = len(names)
    unbiased = table.rows / (table.rows - 1) if table.rows > 1 else 1.0
    figures = {"items": size, "factors": len(factors), "alpha": alpha(covariance),
               "alpha_standardized": alpha(correlations),
               "average_correlation": float(correlations.sum() - size) / (size * (size - 1)),
               "omega_total": total, "omega_hierarchical": hierarchical}
    columns: dict[str, Any] = {
        "item": names, "mean": means[varying], "deviation": np.sqrt(np.diag(covariance) * unbiased),
        "total_correlation": statistics.whole, "corrected_correlation": statistics.others,
        "alpha_without": statistics.alpha_without, "general": solution.general,
        **{f"group{place}": column for place, column in enumerate(solution.groups.T, 1)},
        "communality": solution.communalities, "uniqueness": 1 - solution.communalities}
    return {FIGURES.name: {name: value if np.isfinite(value) else None for name, value in figures.items()},
            ITEMS.name: CsvColumns(columns)}


def items_table(result: Result) -> Table:
    """Return the rows that were embedded, or the covariance, which has none."""
    return result.method_input if result.method_input.kind == "covariance" else result.prepared


def moments_of(table: Table, result: Result) -> tuple[Array, Array]:
    """Return means (d; NaN of a covariance) and covariance (d x d, divisor n) of a table."""
    if table.kind == "covariance":
        return np.full(len(table.columns), np.nan), table.values
    if all_finite(table.values):
        means = table.values.mean(axis=0)
        apart = table.values - means
        return means, apart.T @ apart / len(apart)
    projector = result.model.projector
    assert isinstance(projector, Projector)
    moments, unit = projector.similarity.column_moments, projector.input_unit
    assert moments is not None
    return np.nanmean(table.values, axis=0), (unit**2).plain(moments)


def fitted_correlations(fit: Mapping[str, Any], correlations: Array) -> Array:
    """Return the correlations (d x d) that were fitted: those of the items, or polychoric ones."""
    if not fit.get("polychoric"):
        return correlations
    from mlcli.core.latent.polychoric import definite

    return definite(np.array(fit["polychoric"], dtype=np.float64))


WORDS = {"items": "items", "alpha": "alpha", "alpha_standardized": "alpha, standardized",
         "average_correlation": "average correlation", "omega_total": "omega total",
         "omega_hierarchical": "omega hierarchical"}
HEADS = {"item": "item", "mean": "mean", "deviation": "standard deviation", "total_correlation": "with the sum",
         "corrected_correlation": "with the others", "alpha_without": "alpha without", "general": "general factor",
         "communality": "communality", "uniqueness": "uniqueness"}
DECIMALS = 3
OPEN, MOST = 40, 500  # items up to which the table is not folded, and that it has


def reliability(document: Mapping[str, Any], items: CsvColumns) -> Part:
    """Return the coefficients with a sentence about each, and the table of the items."""
    one = document["factors"] == 1  # runs of earlier versions have omega hierarchical there too
    hierarchical = "" if one else (", hierarchical the share of the general factor of all, which a Schmid-Leiman "
                                   f"solution of {document['factors']} factors separates from factors of groups")
    said = ("Of the sum of all items. Alpha is of their covariances. Omega total is the share of the sum's variance "
            f"that is common to items{hierarchical}. Omega, standardized alpha and the average correlation are of the "
            "correlations that were fitted. \"With the others\" is the correlation of an item with the sum of the "
            "others.")
    made = items_of(items)
    shown = as_html(replace(made, rows=made.rows[:MOST]))
    stated = [name for name in WORDS if document[name] is not None and not (one and name == "omega_hierarchical")]
    return section("Reliability", figures((WORDS[name], number(document[name])) for name in stated),
                   sentence(said, "soft"),
                   shown if len(made.rows) <= OPEN else fold(f"{min(len(made.rows), MOST)} items", shown))


def items_of(items: CsvColumns) -> ReportTable:
    """Return the statistics of the items as a table; columns without numbers are left out."""
    names = [name for name in items.columns if name != "item" and any(cell == cell for cell in items.numbers(name))]
    rows = [tuple(row) for row in zip(items.texts("item"), *(items.numbers_or_none(name) for name in names),
                                      strict=True)]
    several = any(name.startswith("group") for name in names)
    heads = HEADS if several else {**HEADS, "general": "factor"}
    return ReportTable(f"Statistics of the items{', and a Schmid-Leiman solution' if several else ''}.",
                       [heads.get(name, name.replace("group", "group ")) for name in ("item", *names)], rows,
                       decimals=DECIMALS, keys=("item", *names))
