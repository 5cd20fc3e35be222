"""Loadings as tables: variables by their factors, shares of variance, correlations; and their section of the page."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.html import Part, section, sentence
from mlcli.report.tables.table import ReportTable, Row, as_html, fold_long

DECIMALS = 3  # decimals of loadings about as large as correlations
ORDINARY = 0.1, 10.0  # range of the largest of these
HUGE = np.errstate(over="ignore", invalid="ignore")  # numbers of a damaged file are left blank where squares overflow


@frozen
class Shares:
    """Communalities and uniquenesses of the variables, in the units of the loadings' squares."""

    communalities: Array  # d
    uniquenesses: Array | None  # d; None where the variances of the variables are not known
    total: float  # the variance of all variables; NaN where it is not known


@frozen
class FactorLoadings:
    """The loadings of a run: of standardized variables where the model has noise of each variable's own."""

    names: tuple[str, ...]  # d
    columns: tuple[str, ...]  # q, in loadings.csv
    axes: tuple[str, ...]  # q, names in figures
    values: Array  # d x q
    head: str  # head of the column of names
    correlations: Array  # q x q, of the factors
    standardized: bool
    adequacy: Array | None = None  # d
    shares: Shares | None = None  # None where the axes are no factors, or loadings have length one

    @property
    def order(self) -> Indices:
        """The variables in the order of the factor with their largest loading, largest loadings first."""
        sizes = np.abs(self.values)
        return np.lexsort((-sizes.max(axis=1), sizes.argmax(axis=1)))

    @property
    def complexity(self) -> Array:
        """The number of factors of a variable, about: (Σ λ²)² / Σ λ⁴ (Hofmann, 1978); NaN without loadings."""
        squares = (self.values / max(float(np.abs(self.values).max(initial=0.0)), np.finfo(float).tiny)) ** 2
        fourth = (squares**2).sum(axis=1)
        return np.divide(squares.sum(axis=1) ** 2, fourth, out=np.full(len(fourth), np.nan), where=fourth > 0)

    @property
    def decimals(self) -> int | None:
        """The number of decimals of loadings; None where they are much larger or smaller than correlations."""
        largest = float(np.nanmax(np.abs(self.values), initial=0.0))
        return DECIMALS if ORDINARY[0] <= largest < ORDINARY[1] else None

    @property
    def oblique(self) -> bool:
        """Whether the factors are correlated."""
        return bool(np.any(np.abs(self.correlations - np.eye(len(self.correlations))) > 1e-12))


@HUGE
def loadings_of(run: FinishedRun) -> FactorLoadings | None:
    """Return the loadings of a run; None where it has none."""
    given = LoadingsFinding.of(run)
    if given is None or len(given.columns) < 2:
        return None
    head, *columns = given.columns
    names, fit = tuple(given.texts(head)), run.fit
    values = np.stack([given.array(column) for column in columns], axis=1)
    values = np.where(np.isfinite(values), values, np.nan)
    stated, correlations = fit.get("factor_correlations"), np.eye(len(columns))
    if stated and np.shape(stated) == correlations.shape:
        correlations = np.array(stated, dtype=np.float64)
    variances = _column_figures(fit, "variances", names)
    # loadings of equal noise are in the units of the columns, as its spectrum is
    equal = getattr(run.config.method, "noise", "each") == "equal"
    standardized = run.config.method.columns_model == "own noise" and variances is not None and not equal
    if standardized and variances is not None:
        roots = np.sqrt(variances)
        values = np.divide(values, roots[:, None], out=np.zeros_like(values), where=roots[:, None] > 0)
        variances = np.sign(variances)
    elif variances is None:
        variances = _scaled_variances(run, values)
    axes = tuple(run.axis_names(len(columns)))
    found = FactorLoadings(names=names, columns=tuple(columns), axes=axes, values=values, head=head,
                           correlations=correlations,
                           standardized=standardized, adequacy=_column_figures(fit, "sampling_adequacy", names))
    unique = _column_figures(fit, "uniquenesses", names)  # shares of the columns' variances
    if unique is not None and variances is not None:
        unique = unique * variances
    return _with_shares(run, found, variances, unique)


def _with_shares(run: FinishedRun, found: FactorLoadings, variances: Array | None,
                 uniquenesses: Array | None) -> FactorLoadings:
    """Return the loadings with communalities, where axes are factors and loadings are not of length one."""
    if run.config.method.columns_model == "none" or getattr(run.config.method, "loadings", "scaled") == "unit":
        return found
    communalities = np.einsum("ij,ij->i", found.values @ found.correlations, found.values)
    trace = run.spectrum_facts.get("trace")
    known = variances.sum() if variances is not None and found.standardized else trace
    total = np.nan if known is None else float(known)
    if uniquenesses is None and variances is not None:
        uniquenesses = np.maximum(variances - communalities, 0.0)
    return replace(found, shares=Shares(communalities, uniquenesses, total))


def _scaled_variances(run: FinishedRun, loadings: Array) -> Array | None:
    """Return the variances of columns that were scaled to one, over the method's divisor, or of the normal variables
    behind answers; None for others.
    """
    if run.fit.get("polychoric"):
        return np.where(loadings.any(axis=1), 1.0, 0.0)
    config, rows = run.config, int(run.manifest["embedding"]["rows"])
    divisor = getattr(config.method, "divisor", None)
    if config.prepare.scale != "standard" or config.prepare.reduce is not None or divisor is None or rows < 2:
        return None
    known = {"n": rows, "n-1": rows - 1}
    return np.where(loadings.any(axis=1), known[config.prepare.divisor] / known[divisor], 0.0)


def _column_figures(fit: Mapping[str, Any], name: str, columns: tuple[str, ...]) -> Array | None:
    """Return a figure of every column; None where the run does not have it for all."""
    values = fit.get(name)
    if not isinstance(values, Mapping) or any(column not in values for column in columns):
        return None
    return np.array([np.nan if values[column] is None else values[column] for column in columns], dtype=np.float64)


@HUGE
def loadings_table(run: FinishedRun, cutoff: float = 0.0, most: int | None = None,
                   first: int | None = None) -> ReportTable | None:
    """Return variables with loadings, communality, uniqueness, complexity, sampling adequacy; then sums over factors.

    With `most`, only that many variables, those that load most; with `first`, their loadings on that many axes.
    """
    found = loadings_of(run)
    if found is None or not found.values.size:
        return None
    extra: dict[str, Array] = {}
    if (shares := found.shares) is not None:
        extra["communality"] = shares.communalities
        if shares.uniquenesses is not None:
            extra["uniqueness"] = shares.uniquenesses
        extra["complexity"] = found.complexity
    if found.adequacy is not None:
        extra["sampling adequacy"] = found.adequacy
    wanted = np.argsort(-np.abs(found.values).max(axis=1), kind="stable")[:most]
    places = found.order[np.isin(found.order, wanted)]
    cells = np.column_stack([found.values[places, :first], *(column[places] for column in extra.values())]).tolist()
    rows = [(found.names[place], *row) for place, row in zip(places.tolist(), cells, strict=True)]
    axes, columns = found.axes[:first], found.columns[:first]
    said = _caption(found, cutoff, run.config.method.loads)
    return ReportTable(caption=said, head=(found.head, *axes, *extra), rows=rows,
                       footers=[(*row[: len(axes) + 1], *("",) * len(extra)) for row in _factor_rows(found)],
                       decimals=found.decimals, cutoff=cutoff, cut=len(axes), keys=(found.head, *columns, *extra))


def _caption(found: FactorLoadings, cutoff: float, loads: str) -> str:
    what = ("Standardized loadings" if found.standardized else
            "Shares of the columns in the rows of each cluster" if loads == "shares" else "Loadings")
    if loads == "levels":
        what += ", of columns of numbers the correlations with the axes, of a category the mean of its rows"
    oblique = " (pattern) on correlated factors" if found.oblique else ""
    return f"{what}{oblique}" + (f"; those below {cutoff:g} in absolute value are left out." if cutoff > 0 else ".")


@HUGE
def factors_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return for every factor the sum of squared loadings, and its shares of the variance."""
    found = loadings_of(run)
    rows = [] if found is None else _factor_rows(found)
    if found is None or not rows:
        return None
    return ReportTable("Variance explained by the factors.", ("figure", *found.axes), rows,
                       decimals=found.decimals, keys=("figure", *found.columns))


def _factor_rows(found: FactorLoadings) -> list[Row]:
    """Return sums of squared loadings; of correlated factors with shared variance; proportions, cumulative ones."""
    if found.shares is None:
        return []
    squares = (found.values**2).sum(axis=0)
    carried = np.diag(found.correlations @ found.values.T @ found.values)
    rows: list[Row] = [("sum of squared loadings", *squares.tolist())]
    if found.oblique:
        rows.append(("with shared variance", *carried.tolist()))
    if found.shares.total > 0:
        proportions = carried / found.shares.total
        rows += [("proportion of variance", *proportions.tolist()),
                 ("cumulative", *np.cumsum(proportions).tolist())]
    return rows


def correlations_table(run: FinishedRun, cutoff: float = 0.0) -> ReportTable | None:
    """Return the correlations of the factors; None where they are uncorrelated."""
    found = loadings_of(run)
    if found is None or not found.oblique:
        return None
    rows = [(name, *row) for name, row in zip(found.axes, found.correlations.tolist(), strict=True)]
    return ReportTable("Correlations of the factors.", ("factor", *found.axes), rows, decimals=DECIMALS)


MOST_ROWS, MOST_AXES = 500, 20  # columns of the data, and axes, in the table


def loadings(run: FinishedRun, cutoff: float) -> Part:
    """Return every column with its loadings, sorted by factor, and the correlations of the factors."""
    table = loadings_table(run, cutoff, MOST_ROWS, MOST_AXES)
    if table is None:
        return None
    found = LoadingsFinding.of(run)
    whole = len(next(iter(found.columns.values()))) if found else 0
    more = (f" The {len(table.rows)} of {whole:,} columns with the largest loadings."
            if whole > len(table.rows) else "")
    axes = len(found.columns) - 1 if found else 0
    more += (f" The first {MOST_AXES} of {axes:,} axes; loadings.csv has all of them." if axes > MOST_AXES else "")
    factors = correlations_table(run)
    beside = [] if factors is None or axes > MOST_AXES else [sentence(factors.caption, "soft"), as_html(factors)]
    shares = run.config.method.loads == "shares"
    order = "cluster in which their share is largest" if shares else "axis on which they load most"
    said = f"{table.caption} Columns are sorted by the {order}.{more}"
    title = "Shares of columns" if shares else "Loadings"
    return section(title, sentence(said, "soft"), fold_long(table, f"{len(table.rows)} columns"), *beside)
