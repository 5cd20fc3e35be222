"""The parts of a report that show what came out besides the embedding: spectrum, dimension, fit, trace, loadings."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from mlcli.findings.contents import Contents
from mlcli.findings.dimension.recommend import words
from mlcli.findings.loadings import correlations_table, loadings_table
from mlcli.report.drawing.html import UNKNOWN, Part, figure, figures, folded, section, sentence, side_by_side, table
from mlcli.report.drawing.text import in_words, number, visible
from mlcli.report.figures.curves import curve
from mlcli.report.figures.scree import Eigenvalues, cumulative, scree
from mlcli.report.page.shares import WHY, of_positive, passes
from mlcli.report.tables.table import as_html

LEADING = 10  # eigenvalues in the table
BESIDE = "validation"  # the column of trace.csv that is drawn beside the objective
MOST_ROWS, MOST_AXES = 500, 20  # columns of the data, and axes, in the table of loadings
OF_COLUMNS = ("uniquenesses", "variances", "sampling_adequacy")  # figures that the table of loadings has or uses
LISTED = 20  # columns or classes whose figures are shown
OPEN = 40  # loadings up to which they are not folded


def spectrum(run: Contents) -> Part:
    """The scree plot, the cumulative share, and the first eigenvalues as a table."""
    eigenvalues, summary = run.eigenvalues, run.manifest.get("spectrum") or {}
    if eigenvalues is None or not eigenvalues.values:
        return None
    rows = [(i + 1, number(value), _percent(share), _percent(total)) for i, (value, share, total) in enumerate(
        zip(eigenvalues.values[:LEADING], run.proportions, eigenvalues.cumulative, strict=False))]
    rows += [(len(rows) + i + 1, f"≥ {number(value)}", UNKNOWN, UNKNOWN)
             for i, value in enumerate(eigenvalues.at_least[: LEADING - len(rows)])]
    head = ["component", eigenvalues.what, "share of trace", "cumulative"]
    if shares := of_positive(eigenvalues.values[:LEADING], eigenvalues.cumulative, summary.get("sum_of_positive")):
        head.append("cumulative, of positive ones")
        rows = [(*row, _percent(share)) for row, share in zip_longest(rows, shares)]
    ranked = None if eigenvalues.what.startswith("eigenvalues") else sentence(
        f"Axes are ranked by {eigenvalues.what}.", "lead")
    return section("Spectrum", ranked, side_by_side(
                       figure(scree(run.scree or eigenvalues, "Scree plot"), _expected(run)),
                       figure(cumulative(eigenvalues, "Cumulative share of the trace"))),
                   table(head, rows, range(len(head))), _bounds(eigenvalues),
                   sentence(WHY, "soft") if passes(eigenvalues.cumulative) else None, _negative(summary))


def _expected(run: Contents) -> str:
    """What the line in the scree plot is."""
    if run.scree is None or not run.scree.line:
        return ""
    return "The line is parallel analysis: what unrelated columns of the same size would show at the 95th percentile."


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.2%}"


def _bounds(eigenvalues: Eigenvalues) -> Part:
    if not eigenvalues.at_least:
        return None
    return sentence("Eigenvalues after ≥ are lower bounds, which the computation of the others leaves behind; "
                    "method.eigensolve.report computes them.", "soft")


def _negative(summary: Mapping[str, Any]) -> Part:
    share = summary.get("negative_share")
    if share is None or share == 0:
        return None
    return sentence(f"Negative eigenvalues hold {100 * share:.3g}% of the sum of all sizes; they never become axes.",
                    "soft")


def dimension(run: Contents) -> Part:
    """The recommended number of axes, the answer of each rule, and the residual variance by dimension."""
    document = run.dimension
    if document is None:
        return None
    rows = [(words(name), number(rule.get("components")), rule.get("detail") or "", rule.get("rule") or "")
            for name, rule in document.get("rules", {}).items()]
    left = [(words(name), reason) for name, reason in document.get("left_out", {}).items()]
    return section("How many dimensions", sentence(document["recommendation"]["sentence"], "lead"),
                   table(("rule", "axes", "found", "what it says"), rows, (1,), said=True), residuals(run),
                   folded(_inapplicable(len(left)), table(("rule", "why"), left)))


def _inapplicable(count: int) -> str:
    return "1 rule that does not apply" if count == 1 else f"{count} rules that do not apply"


def residuals(run: Contents) -> Part:
    """Isomap's residual-variance curve."""
    rule = (run.dimension or {}).get("rules", {}).get("residual_variance", {})
    values = rule.get("figures", {}).get("residual_variances", ())
    if not values:
        return None
    drawn = curve("Residual variance by dimension", "axes", "1 − r²", [i + 1.0 for i in range(len(values))],
                  {"residual variance": values}, marked=float(run.embedding.values.shape[1]))
    return figure(drawn, "What is left of the distances to keep after so many axes; the right number is where it "
                  "stops falling.")


def fit(run: Contents) -> Part:
    """The figures of the method's fit: single numbers, and those that every column or class has one of."""
    found = run.manifest.get("fit", {})
    single = [(in_words(name), _said(value)) for name, value in found.items()
              if value is None or isinstance(value, int | float)]
    columns = set() if run.loadings is None else set(run.loadings.texts(next(iter(run.loadings.columns))))
    each = {in_words(name): values for name, values in found.items() if isinstance(values, Mapping)
            and not (name in OF_COLUMNS and columns and columns.issuperset(values))}
    cut = any(len(values) > LISTED for values in each.values())
    return section("Fit", figures(single) if single else None, *(_of_each(*item) for item in each.items()),
                   sentence(f"The first {LISTED}; all of them stand in run.json.", "soft") if cut else None)


def _of_each(name: str, values: Mapping[str, float | None]) -> Part:
    return table((name, "value"), [(key, _said(value)) for key, value in list(values.items())[:LISTED]], (1,))


def _said(value: float | None) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else number(value)


def trace(run: Contents) -> Part:
    """The objective of an iterative method, step by step, beside that of rows that are held out."""
    if run.trace is None:
        return None
    names = list(run.trace.columns)
    places = run.trace.numbers(names[0])
    shown = [[name, BESIDE] if name == names[1] and BESIDE in names else [name] for name in names[1:5]
             if name != BESIDE]
    parts = [figure(curve(f"{' and '.join(map(visible, pair))} by {visible(names[0])}", names[0], pair[0], places,
                          {name: run.trace.numbers(name) for name in pair}, zero=False)) for pair in shown]
    return section("Iterations", *parts) if places else None


def loadings(run: Contents, cutoff: float) -> Part:
    """Every column with its loadings, sorted by factor, and the correlations of the factors."""
    table = loadings_table(run, cutoff, MOST_ROWS, MOST_AXES)
    if table is None:
        return None
    whole = len(next(iter(run.loadings.columns.values()))) if run.loadings else 0
    more = (f" The {len(table.rows)} of {whole:,} columns with the largest ones." if whole > len(table.rows) else "")
    axes = len(run.loadings.columns) - 1 if run.loadings else 0
    more += (f" The first {MOST_AXES} of {axes:,} axes; all of them stand in loadings.csv." if axes > MOST_AXES else "")
    factors = correlations_table(run)
    beside = [] if factors is None or axes > MOST_AXES else [sentence(factors.caption, "soft"), as_html(factors)]
    said = f"{table.caption} Columns are sorted by the axis on which they load most.{more}"
    rows = as_html(table)
    return section("Loadings", sentence(said, "soft"), rows if len(table.rows) <= OPEN else
                   folded(f"{len(table.rows)} columns", rows), *beside)
