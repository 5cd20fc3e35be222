"""What Matplotlib draws of a run: the options that it alone can draw, and PNG and PDF; what that costs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mlcli.base.machine.footprint import NOTHING, PLOT, SPARSE, AfterFit
from mlcli.base.types import Array
from mlcli.config.report_options import LABELED, Report
from mlcli.findings.decoded import DecodedFinding
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.stress import in_corner
from mlcli.report.paper.sheet import RESOLUTION, inches

PIXEL = 8.3  # bytes for each pixel of a PNG while it is drawn
NAMES, NAME = 0.36, 0.021  # time of placing names, in starts of the program: constant, and for each name
UNNAMED = "draw no names, with --set report.point_labels=none"


class NamedRows(Protocol):
    """Rows with ids and labels."""

    @property
    def ids(self) -> Sequence[str]:
        """The ids of the rows."""

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """Texts of the rows, by the name of their column."""


def plot_cost(report: Report, table: NamedRows, *, unsure: bool) -> AfterFit:
    """Return the memory and time of Matplotlib after the fit, where it draws the figures of these rows."""
    others = [f"report.{option}" for option in report.plotting if option != "point_labels"]
    others += [f"{format} in report.figures" for format in report.figures if format != "svg"]
    if not report.writes("report") or not (report.plotting or others):
        return NOTHING
    names = texts_of(report, table, unsure=unsure)
    from mlcli.report.paper.scatter import SIZE

    wide, high = inches(report.look, SIZE)
    instead = [*([UNNAMED] if names else []), *([f"leave out {', '.join(others)}"] if others else [])]
    return AfterFit((PLOT, SPARSE) if names else (PLOT,),
                    PIXEL * RESOLUTION**2 * wide * high * ("png" in report.figures),
                    (NAMES + NAME * len(names)) * bool(names), "; ".join(instead))


def texts(run: FinishedRun) -> Sequence[str]:
    """Return the texts next to the points of a run."""
    return texts_of(run.config.report, run.embedding, unsure=deviations(run) is not None)


def texts_of(report: Report, table: NamedRows, *, unsure: bool) -> Sequence[str]:
    """Return the texts next to points: those that the user chose, or by default the ids of few points.

    By default there are none where the background shows how `unsure` the decoder is, which is more informative.
    """
    chosen = report.point_labels
    if chosen == "auto":
        shown = 0 < len(table.ids) <= LABELED and not unsure and not all(map(str.isdecimal, table.ids))  # not numbers
        return table.ids if shown else ()
    return () if chosen == "none" else table.ids if chosen == "ids" else table.labels[chosen]


def stress_note(run: FinishedRun) -> str:
    """Return the stress of a run's layout for the corner of its scatter plot; empty where it has none."""
    return in_corner(run.fit, run.embedding.values.shape[1])


def deviations(run: FinishedRun) -> Array | None:
    """Return the decoder's standard deviations over the plane, a (rows, columns) array, where it has them."""
    decoded = DecodedFinding.of(run)
    return None if decoded is None else decoded.deviations
