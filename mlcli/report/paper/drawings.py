"""The plots of a run by Matplotlib: scatter and scree, with their contents and captions."""

from typing import Any

from mlcli.base.frozen import frozen
from mlcli.config.report_options import Ellipses, Look
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.palette import INKS
from mlcli.report.figures.scatter import DrawnEdges, Points
from mlcli.report.figures.scree import KINDS, ScreeValues, bars, shares_of
from mlcli.report.paper.needs import deviations, stress_note, texts
from mlcli.report.paper.scatter import MOVED, Arrows, Plot
from mlcli.report.paper.sheet import entitle, inches, one_line, sheet

SIZE = (5.0, 3.4)  # inches


@frozen
class ScreePlot:
    """A scree plot: its contents and look."""

    eigenvalues: ScreeValues
    title: str
    look: Look = Look()

    def draw(self, format: str) -> bytes:
        """Return the plot as a file: svg, pdf or png."""
        return sheet(self.look, inches(self.look, SIZE), format, self._paint)

    def _paint(self, figure: Any, axes: Any) -> None:
        """Draw bars by kind, so that each kind has its entry in the legend."""
        from matplotlib.ticker import MaxNLocator

        heights = bars(self.eigenvalues)
        for kind, name in KINDS:
            places = [place for place, (_, own) in enumerate(heights) if own == kind]
            if places:
                axes.bar([place + 1 for place in places], [heights[place][0] for place in places], width=0.7,
                         color=INKS[kind].light, label=name)
        self._draw_line(axes, len(heights))
        axes.axhline(0, color=INKS["axis"].light, linewidth=0.8)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlim=(0.4, max(len(heights), 1) + 0.6), xlabel="component", ylabel=one_line(self.eigenvalues.what))
        entitle(axes, self.title)
        self._draw_shares(axes, len(heights))
        _key(figure)

    def _draw_shares(self, axes: Any, count: int) -> None:
        """Draw the running share of the trace, where it is known, on a second scale with the same zero."""
        shares, (low, high) = shares_of(self.eigenvalues, count), axes.get_ylim()
        if not shares or high <= 0:
            return
        beside, top = axes.twinx(), 105 * max(1.0, *shares)
        beside.set(ylabel="cumulative share, %", ylim=(top * low / high, top))
        beside.spines["right"].set_visible(True)
        beside.plot(range(1, len(shares) + 1), [100 * share for share in shares], "o-", color=INKS["c2"].light,
                    linewidth=1.2, markersize=3, label="cumulative share")

    def _draw_line(self, axes: Any, count: int) -> None:
        """Draw the line of parallel analysis."""
        line = self.eigenvalues.line[:count]
        if line:
            axes.plot(range(1, len(line) + 1), line, "o--", color=INKS["curve"].light, linewidth=1.2, markersize=3,
                      label="parallel analysis")


def _key(figure: Any) -> None:
    """Draw the legend of bars and lines, the bars first."""
    pairs = [pair for axes in figure.axes for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    bars = [name for _, name in KINDS]
    pairs.sort(key=lambda pair: bars.index(pair[1]) if pair[1] in bars else len(bars))
    if len(pairs) > 1:
        figure.legend(*zip(*pairs, strict=True), loc="outside lower center", ncols=2 if len(pairs) > 2 else len(pairs))


def plot(run: FinishedRun, points: Points, title: str, edges: DrawnEdges | None = None) -> Plot:
    """Return the scatter plot of all points of a run."""
    report = run.config.report
    return Plot(points, title, report.look, texts(run), edges, report.outlines, arrows(run),
                deviations(run), note=stress_note(run))


def arrows(run: FinishedRun) -> Arrows | None:
    """Return the arrows of a biplot, where the option asks for them and there is a plane."""
    count, loadings = run.config.report.arrows, LoadingsFinding.of(run)
    if not count or loadings is None or run.embedding.values.shape[1] < 2:
        return None
    return Arrows.of(loadings, count)


def caption(run: FinishedRun) -> str:
    """Return sentences on labels, outlines and arrows of the scatter plot."""
    outlines, found, count = run.config.report.outlines, arrows(run), len(texts(run))
    beside = f" {count:,} labels overlap and are drawn on their points." * (count > MOVED)
    around = (f" Ellipses hold {100 * outlines.level:.4g}% of a normal distribution with the group's mean "
              "and covariance."
              if isinstance(outlines, Ellipses) else " Lines are the convex hulls of the groups."
              if outlines.name == "hulls" else " Lines join each point to the centroid of its group."
              if outlines.name == "spiders" else "")
    if found is None:
        return beside + around
    longest = f"the {len(found.names)} of {found.whole:,} columns with the largest loadings" if (
        len(found.names) < found.whole) else "the columns"
    return f"{beside}{around} Arrows are the loadings of {longest}, scaled together to fit."
