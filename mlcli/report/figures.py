"""The figures that a run has as files of their own, in the formats asked for."""

from collections.abc import Callable, Mapping

from mlcli.report.contents import Contents
from mlcli.report.drawing import Figure
from mlcli.report.results import main_scatter
from mlcli.report.scree import scree
from mlcli.report.svg import document


def figures(run: Contents) -> dict[str, Figure]:
    """The scree plot and the scatter plot by their names, each where there is something to draw."""
    eigenvalues, points = run.eigenvalues, run.embedding.values
    return {**({} if eigenvalues is None else {"scree": scree(eigenvalues, run.name)}),
            **({"scatter": main_scatter(run, run.name)} if points.size else {})}


def drawn_as(figure: Figure, format: str) -> bytes:
    """A figure as the content of a file."""
    return WRITERS[format](figure)


def _svg(figure: Figure) -> bytes:
    return document(figure).encode("utf-8", "replace")


def _png(figure: Figure) -> bytes:
    from mlcli.report.matplotlib_figures import image

    return image(figure, "png")


def _pdf(figure: Figure) -> bytes:
    from mlcli.report.matplotlib_figures import image

    return image(figure, "pdf")


WRITERS: Mapping[str, Callable[[Figure], bytes]] = {"svg": _svg, "png": _png, "pdf": _pdf}
