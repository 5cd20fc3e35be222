"""The section of the page about groups of columns."""

import numpy as np

from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
from mlcli.findings.groups import COSINE, WHOLE
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
    numbers = [of_groups.numbers(name) for name in ("eigenvalue", "weight")]
    rows = [(name if part else f"{name} (supplementary)", f"{width:.0f}", *(f"{cell:.4g}" for cell in cells),
             *(f"{100 * share:.1f}%" if part else "" for share in shares))
            for name, part, width, cells, shares in zip(names, active, widths, zip(*numbers, strict=True),
                                                        contributions[:, :shown].tolist(), strict=True)]
    head = ("group", "columns", "first eigenvalue", "weight", *(f"share of {name}" for name in labels[:shown]))
    places = axes.array("coordinate").reshape(len(names), count)[:, :2]
    drawn = None if count < 2 else figure(
        beside("Groups", places, labels[0], labels[1], names=names),
        "A group's coordinate is the variance of an axis that it explains, with its kernel over its norm; all lie "
        "between 0 and 1 where kernels are divided by their first eigenvalues.")
    whole = [name.removeprefix(COSINE).replace(WHOLE, "all groups") for name in list(rv.columns)[1:]]
    pairs = [(name.replace(WHOLE, "all groups"), *(f"{cell:.3f}" for cell in cells)) for name, cells in zip(
        rv.texts("group"), np.array([rv.array(name) for name in list(rv.columns)[1:]]).T.tolist(), strict=True)]
    compared = None if len(pairs) > MOST_PAIRS else fold(
        "RV coefficients", table(("", *whole), pairs, tuple(range(1, len(whole) + 1)), (0,)))
    said = ("Each group of columns has a kernel, the inner products of the rows; the axes are those of the weighted "
            "sum of these kernels. The RV coefficient of two groups is the cosine of their kernels: at 1 both tell the "
            "rows apart alike (groups.csv, groups_axes.csv, groups_rv.csv).")
    numeric = tuple(range(1, len(head)))
    listed = table(head, rows[:MOST_GROUPS], numeric, (0,))
    return section("Groups", sentence(said, "soft"), side_by_side(drawn, listed), compared)
