"""The figures of a run as separate files, in the chosen formats."""

from collections.abc import Callable
from functools import partial

from mlcli.findings.discontinuity import SCORES, DiscontinuityFinding
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.images.sections import rows_drawn
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.svg import document
from mlcli.report.figures.scree import ScreeValues, scree
from mlcli.report.page.embedding import colored_drawing, colored_scatter, first_column

MOST_COLORS = 12  # columns chosen for colors, each with a plot; more make the page large
NAMES = ("scree", "scatter", "images", "discontinuity")
FURTHER = tuple(f"scatter-{place}" for place in range(2, MOST_COLORS + 1))  # of the second of these columns, and so on
Drawing = Callable[[str], bytes]  # a format -> the content of a file


def figures(run: FinishedRun) -> dict[str, Drawing]:
    """Return functions that draw scree plot, scatter plots, rows as images and doubtful points, by name.

    Only those with content.

    A scatter plot for each of the columns that were chosen for colors: scatter, scatter-2, scatter-3, ...
    Matplotlib draws PDF and PNG; SVG where the scatter plot has parts that need it, or a look was chosen.
    """
    drawn: dict[str, Drawing] = {}
    if (eigenvalues := run.scree) is not None:
        drawn["scree"] = partial(scree_file, run, eigenvalues)
    if run.embedding.values.size:
        columns = (first_column(run), *run.colors[1:])
        drawn |= {name: partial(scatter_file, run, column)
                  for name, column in zip(("scatter", *FURTHER), columns, strict=False)}
    if (rows := rows_drawn(run, run.title)) is not None:
        drawn["images"] = partial(render, rows)
    if (value := DiscontinuityFinding.of(run)) is not None and run.embedding.values.size:
        from mlcli.findings.discontinuity.section import map_of

        drawn["discontinuity"] = partial(render, map_of(value[SCORES.name], run, run.title))
    return drawn


def scree_file(run: FinishedRun, eigenvalues: ScreeValues, format: str) -> bytes:
    """Return the scree plot as the content of a file."""
    if format == "svg" and not run.config.report.plotting:
        return render(scree(eigenvalues, run.title, shared=True), format)
    from mlcli.report.paper.drawings import ScreePlot

    return ScreePlot(eigenvalues, run.title, run.config.report.look).draw(format)


def scatter_file(run: FinishedRun, name: str | None, format: str) -> bytes:
    """Return the scatter plot colored by a column as the content of a file."""
    if format == "svg" and not run.config.report.plotting:
        return render(colored_scatter(run, name), format)
    return colored_drawing(run, name, format)


def render(figure: Figure, format: str) -> bytes:
    """Return a figure as the content of a file."""
    if format == "svg":
        return document(figure).encode("utf-8", "replace")
    from mlcli.report.drawing.matplotlib_figures import image

    return image(figure, format)
