"""The section of the page about reliability: the coefficients, and the table of the items."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.report.drawing.html import Part, figures, section, sentence
from mlcli.report.drawing.text import four_digits
from mlcli.report.tables.table import ReportTable, fold_long

WORDS = {"items": "items", "alpha": "alpha", "alpha_standardized": "alpha, standardized",
         "average_correlation": "average correlation", "omega_total": "omega total",
         "omega_hierarchical": "omega hierarchical"}
HEADS = {"item": "item", "mean": "mean", "deviation": "standard deviation", "total_correlation": "with the sum",
         "corrected_correlation": "with the others", "alpha_without": "alpha without", "general": "general factor",
         "communality": "communality", "uniqueness": "uniqueness"}
DECIMALS = 3
MOST = 500  # items in the table


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
    shown = replace(made, rows=made.rows[:MOST])
    stated = [name for name in WORDS if document[name] is not None and not (one and name == "omega_hierarchical")]
    return section("Reliability", figures((WORDS[name], four_digits(document[name])) for name in stated),
                   sentence(said, "soft"),
                   fold_long(shown, f"{len(shown.rows)} items"))


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
