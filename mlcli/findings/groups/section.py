"""The section of the page about groups of columns."""

import numpy as np

from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
from mlcli.findings.groups import COSINE, WHOLE
from mlcli.methods.tables.combine import TablesMethod
from mlcli.report.drawing.html import Part, figure, fold, section, sentence, side_by_side, table
from mlcli.report.figures.curves import beside

MOST_GROUPS, MOST_AXES, MOST_PAIRS = 200, 5, 20  # groups and axes in the table, and groups in that of pairs


def groups(of_groups: CsvColumns, axes: CsvColumns, rv: CsvColumns, run: FinishedRun) -> Part:
    """Return the groups with their weights and contributions, on the first two axes, and their RV coefficients."""
    names = of_groups.texts("group")
    count = len(axes.texts("group")) // max(len(names), 1)
    if not names or not count:
        return None
    shown, labels = min(count, MOST_AXES), run.axis_names(count)
    contributions = axes.array("contribution").reshape(len(names), count)
    active, widths = of_groups.numbers("active"), of_groups.numbers("columns")
    of_columns = isinstance(run.config.method, TablesMethod) and not run.config.method.places_partial
    numbers = [of_groups.numbers(name) for name in ("eigenvalue", "weight")]
    rows = [(name if part else f"{name} (supplementary)", f"{width:.0f}", *(f"{cell:.4g}" for cell in cells),
             *(f"{100 * share:.1f}%" if part else "" for share in shares))
            for name, part, width, cells, shares in zip(names, active, widths, zip(*numbers, strict=True),
                                                        contributions[:, :shown].tolist(), strict=True)]
    # a column has no columns and no norm, and a table of dissimilarities has no columns
    kind, first = ("column", 4) if of_columns else ("group", 1) if any(widths) else ("table", 2)
    rows = [(row[0], *row[first:]) for row in rows]
    titles = ("group", "columns", "first eigenvalue", "weight", *(f"share of {name}" for name in labels[:shown]))
    head = (kind, *titles[first:])
    places = axes.array("coordinate").reshape(len(names), count)[:, :2]
    drawn = None if count < 2 else figure(
        beside(f"{kind.capitalize()}s", places, labels[0], labels[1], names=names, zero=True),
        "A column's coordinate is its squared correlation with the axis, of categories the squared correlation ratio "
        "η²." if of_columns else
        f"A {kind}'s coordinate is the variance that its own kernel has along the axis, divided by the norm of that "
        f"kernel. Where this is the first eigenvalue, 0 means that the {kind} has no part in the axis, and 1 that it "
        f"is the {kind}'s first axis.")
    all_of = f"all {kind}s"
    whole = [name.removeprefix(COSINE).replace(WHOLE, all_of) for name in list(rv.columns)[1:]]
    pairs = [(name.replace(WHOLE, all_of), *(f"{cell:.3f}" for cell in cells)) for name, cells in zip(
        rv.texts("group"), np.array([rv.array(name) for name in list(rv.columns)[1:]]).T.tolist(), strict=True)]
    compared = None if len(pairs) > MOST_PAIRS else fold(
        "RV coefficients", table(("", *whole), pairs, tuple(range(1, len(whole) + 1)), (0,)))
    if of_columns:
        said = "A column's share of an axis is the part of its variance that the column adds."
    else:
        each = "group of columns" if any(widths) else "table"
        said = (f"Each {each} has a kernel, the inner products of the rows; the axes are those of the weighted sum of "
                "these kernels. A share of an axis is the part of its variance that one of them adds.")
    said += (f" The RV coefficient of two {kind}s is the cosine of their kernels: at 1 both tell the rows apart alike "
             "(groups.csv, groups_axes.csv, groups_rv.csv).")
    numeric = tuple(range(1, len(head)))
    listed = table(head, rows[:MOST_GROUPS], numeric, (0,))
    return section(f"{kind.capitalize()}s", sentence(said, "soft"), side_by_side(drawn, listed), compared)
