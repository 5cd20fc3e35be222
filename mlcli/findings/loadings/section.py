"""The section of the page about loadings."""

from mlcli.findings.frame.contents import Contents
from mlcli.findings.loadings import LoadingsFinding
from mlcli.findings.loadings.tables import correlations_table, loadings_table
from mlcli.report.drawing.html import Part, fold, section, sentence
from mlcli.report.tables.table import as_html

MOST_ROWS, MOST_AXES = 500, 20  # columns of the data, and axes, in the table
OPEN = 40  # number of rows up to which the table is not folded


def loadings(run: Contents, cutoff: float) -> Part:
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
    said = f"{table.caption} Columns are sorted by the axis on which they load most.{more}"
    rows = as_html(table)
    return section("Loadings", sentence(said, "soft"), rows if len(table.rows) <= OPEN else
                   fold(f"{len(table.rows)} columns", rows), *beside)
