"""What Matplotlib draws of a run, and what stands beside its points."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

from mlcli.base.machine.footprint import NOTHING, PLOT, SPARSE, Later
from mlcli.base.types import Array
from mlcli.base.values.extras import EXTRAS, missing_module
from mlcli.config.drawing import Ellipses
from mlcli.config.report_options import LABELED, Report
from mlcli.findings.decoded import DecodedFinding
from mlcli.findings.frame.contents import Contents
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.html import Part, sentence
from mlcli.report.figures.scatter import Edges, Points
from mlcli.report.figures.scree import Eigenvalues
from mlcli.report.paper.arrows import Arrows
from mlcli.report.paper.labels import MOVED
from mlcli.report.paper.scatter import SIZE, Plot
from mlcli.report.paper.scree import ScreePlot
from mlcli.report.paper.sheet import RESOLUTION, inches, silenced

PIXEL = 8.3  # bytes of a PNG's pixel while it is drawn
NAMES, NAME = 0.2, 0.012  # starts that placing names takes, and each of them
UNNAMED = "draw no names, with --set report.point_labels=none"


class Named(Protocol):
    """Rows with names."""

    @property
    def ids(self) -> Sequence[str]:
        """Of the rows."""

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """Texts of the rows, by the name of their column."""


def plotted(run: Contents) -> bool:
    """Whether the scatter plot of the page and its SVG are Matplotlib's: where it shows what only that can draw."""
    return bool(run.config.report.plotting) or (bool(texts(run)) and installed())


def drawing(report: Report, table: Named, *, unsure: bool) -> Later:
    """What Matplotlib will take of a run with these rows, where it draws their figures."""
    names = texts_of(report, table, unsure=unsure)
    others = [f"report.{option}" for option in report.plotting if option != "point_labels"]
    others += [f"{format} in report.figures" for format in report.figures if format != "svg"]
    if not report.writes("report") or not (names or others) or missing_module("plot"):
        return NOTHING
    wide, high = inches(report.look, SIZE)
    instead = [*([UNNAMED] if names else []), *([f"leave out {', '.join(others)}"] if others else [])]
    return Later((PLOT, SPARSE) if names else (PLOT,),
                 PIXEL * RESOLUTION**2 * wide * high * ("png" in report.figures),
                 (NAMES + NAME * len(names)) * bool(names), "; ".join(instead))


def installed() -> bool:
    """Whether the extra `plot` is there and can be loaded: names that nobody asked for must not end a run."""
    if missing_module("plot"):
        return False
    silenced()
    try:
        for module in EXTRAS["plot"]:
            import_module(module)
    except ImportError:
        return False
    return True


def advice(run: Contents) -> Part:
    """How to get the labels that the page would have."""
    if not texts(run) or installed():
        return None
    return sentence("Names beside the points need Matplotlib: pip install 'manifold-cli[plot]'.", "soft")


def texts(run: Contents) -> Sequence[str]:
    """What is written beside the points of a run."""
    return texts_of(run.config.report, run.embedding,
                    unsure=deviations(run) is not None)


def texts_of(report: Report, table: Named, *, unsure: bool) -> Sequence[str]:
    """What is written beside points: what was chosen, or by itself the ids of few points.

    By itself nothing where the background shows how `unsure` the decoder is, which says more.
    """
    chosen = report.point_labels
    if chosen == "auto":
        return table.ids if 0 < len(table.ids) <= LABELED and named(table.ids) and not unsure else ()
    return () if chosen == "none" else table.ids if chosen == "ids" else table.labels[chosen]


def named(ids: Sequence[str]) -> bool:
    """Whether rows have names: numbers say little beside a point, and drawing them takes a second."""
    return not all(map(str.isdecimal, ids))


def plot(run: Contents, points: Points, title: str, edges: Edges | None = None) -> Plot:
    """The scatter plot of all points of a run."""
    report = run.config.report
    return Plot(points, title, report.look, texts(run), edges, report.outlines, arrows(run),
                deviations(run))


def deviations(run: Contents) -> Array | None:
    """How unsure the decoder is over the plane, where it knows that."""
    decoded = DecodedFinding.of(run)
    return None if decoded is None else decoded.deviations


def arrows(run: Contents) -> Arrows | None:
    """The arrows of a biplot, where they were asked for and there is a plane."""
    count, loadings = run.config.report.arrows, LoadingsFinding.of(run)
    if not count or loadings is None or run.embedding.values.shape[1] < 2:
        return None
    return Arrows.of(loadings, count)


def scree_plot(run: Contents, eigenvalues: Eigenvalues, title: str) -> ScreePlot:
    """The scree plot of a run."""
    return ScreePlot(eigenvalues, title, run.config.report.look)


def caption(run: Contents) -> str:
    """What labels, outlines and arrows of the scatter plot are."""
    outlines, found, count = run.config.report.outlines, arrows(run), len(texts(run))
    beside = f" {count:,} labels find no room apart, and stand where their points are." * (count > MOVED)
    around = (f" Ellipses hold {100 * outlines.level:.4g}% of a normal distribution with a group's mean and covariance."
              if isinstance(outlines, Ellipses) else " Groups stand in their convex hulls."
              if outlines.name == "hulls" else "")
    if found is None:
        return beside + around
    longest = f"the {len(found.names)} of {found.whole:,} columns with the largest loadings" if (
        len(found.names) < found.whole) else "the columns"
    return f"{beside}{around} Arrows are the loadings of {longest}, scaled together to fit."
