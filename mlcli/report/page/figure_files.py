"""The figures of a run as separate files, in the chosen formats."""

from collections.abc import Callable, Mapping
from functools import partial

from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.images.sections import rows_drawn
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.svg import document
from mlcli.report.figures.scree import ScreeValues, scree
from mlcli.report.page.embedding import colored_drawing, main_drawing, main_scatter

MOST_COLORS = 12  # columns chosen for colors, each with a plot; more make the page large
NAMES = ("scree", "scatter", "images")
FURTHER = tuple(f"scatter-{place}" for place in range(2, MOST_COLORS + 1))  # of the second of these columns, and so on
Drawing = Callable[[str], bytes]  # a format -> the content of a file


def figures(run: FinishedRun) -> dict[str, Drawing]:
    """Return functions that draw scree plot, scatter plots and rows as images, by name; only those with content.

    A scatter plot for each of the columns that were chosen for colors: scatter, scatter-2, scatter-3, ...
    Matplotlib draws PDF and PNG; SVG where the scatter plot has parts that need it, or a look was chosen.
    """
    title, papers = run.title, bool(run.config.report.plotting)
    drawn: dict[str, Drawing] = {}
    if run.scree is not None:
        eigenvalues = run.scree
        drawn["scree"] = lambda format: (paper_scree(run, eigenvalues, format) if papers or format != "svg" else
                                         _svg(scree(eigenvalues, title, shared=True)))
    if run.embedding.values.size:
        drawn["scatter"] = lambda format: (main_drawing(run, format) if papers or format != "svg" else
                                           _svg(main_scatter(run, title)))
        drawn |= {name: partial(colored_scatter, run, column)
                  for name, column in zip(FURTHER, run.colors[1:], strict=False)}
    rows = rows_drawn(run, title)
    if rows is not None:
        drawn["images"] = lambda format: render(rows, format)
    return drawn


def colored_scatter(run: FinishedRun, name: str, format: str) -> bytes:
    """Return the scatter plot colored by a column as the content of a file."""
    if run.config.report.plotting or format != "svg":
        return colored_drawing(run, format, name)
    return _svg(main_scatter(run, run.title, name))


def paper_scree(run: FinishedRun, eigenvalues: ScreeValues, format: str) -> bytes:
    """Return the scree plot by Matplotlib as the content of a file."""
    from mlcli.report.paper.drawings import scree_plot

    return scree_plot(run, eigenvalues, run.title).draw(format)


def render(figure: Figure, format: str) -> bytes:
    """Return a figure as the content of a file."""
    return WRITERS[format](figure)


def _svg(figure: Figure) -> bytes:
    return document(figure).encode("utf-8", "replace")


def _png(figure: Figure) -> bytes:
    from mlcli.report.drawing.matplotlib_figures import image

    return image(figure, "png")


def _pdf(figure: Figure) -> bytes:
    from mlcli.report.drawing.matplotlib_figures import image

    return image(figure, "pdf")


WRITERS: Mapping[str, Callable[[Figure], bytes]] = {"svg": _svg, "png": _png, "pdf": _pdf}
