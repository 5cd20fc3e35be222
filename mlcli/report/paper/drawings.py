"""The plots of a run by Matplotlib: their contents and captions."""

from mlcli.config.drawing import Ellipses
from mlcli.findings.frame.contents import Contents
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.figures.scatter import Edges, Points
from mlcli.report.figures.scree import Eigenvalues
from mlcli.report.paper.arrows import Arrows
from mlcli.report.paper.labels import MOVED
from mlcli.report.paper.needs import deviations, texts
from mlcli.report.paper.scatter import Plot
from mlcli.report.paper.scree import ScreePlot


def plot(run: Contents, points: Points, title: str, edges: Edges | None = None) -> Plot:
    """Return the scatter plot of all points of a run."""
    report = run.config.report
    return Plot(points, title, report.look, texts(run), edges, report.outlines, arrows(run),
                deviations(run))


def arrows(run: Contents) -> Arrows | None:
    """Return the arrows of a biplot, where the option asks for them and there is a plane."""
    count, loadings = run.config.report.arrows, LoadingsFinding.of(run)
    if not count or loadings is None or run.embedding.values.shape[1] < 2:
        return None
    return Arrows.of(loadings, count)


def scree_plot(run: Contents, eigenvalues: Eigenvalues, title: str) -> ScreePlot:
    """Return the scree plot of a run."""
    return ScreePlot(eigenvalues, title, run.config.report.look)


def caption(run: Contents) -> str:
    """Return sentences on labels, outlines and arrows of the scatter plot."""
    outlines, found, count = run.config.report.outlines, arrows(run), len(texts(run))
    beside = f" {count:,} labels overlap and are drawn on their points." * (count > MOVED)
    around = (f" Ellipses hold {100 * outlines.level:.4g}% of a normal distribution with the group's mean "
              "and covariance."
              if isinstance(outlines, Ellipses) else " Lines are the convex hulls of the groups."
              if outlines.name == "hulls" else "")
    if found is None:
        return beside + around
    longest = f"the {len(found.names)} of {found.whole:,} columns with the largest loadings" if (
        len(found.names) < found.whole) else "the columns"
    return f"{beside}{around} Arrows are the loadings of {longest}, scaled together to fit."
