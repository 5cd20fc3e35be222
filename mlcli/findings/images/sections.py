"""The parts of a report with rows, and axes, as images."""

from math import prod

import numpy as np

from mlcli.config.report_options import Image
from mlcli.findings.frame.contents import Contents
from mlcli.findings.images import ImagesFinding
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.html import Part, figure, section

TITLE = "Images over the embedding"


def over_plane(run: Contents) -> Part:
    """Return pictures of some rows next to their points."""
    drawn, found = rows_drawn(run), ImagesFinding.of(run)
    if drawn is None or found is None:
        return None
    return section(TITLE, figure(drawn, f"{len(found.rows)} rows as images, each to the "
                   "lower right of its point: each is the one farthest from those before it, as long as there is room "
                   "for its image. The other points are gray."))


def rows_drawn(run: Contents, title: str = TITLE) -> Figure | None:
    """Return the figure with pictures of rows; None where rows are no images."""
    image, found = run.config.report.picture, ImagesFinding.of(run)
    if found is None or image is None:
        return None
    from mlcli.findings.images import figures

    seed = int(run.manifest.get("seed") or 0)
    return figures.over_plane(run.embedding.values, found, image, seed, run.axes, title)


def axes(run: Contents, image: Image | None) -> Part:
    """Return the loadings of each axis as images."""
    loadings = LoadingsFinding.of(run)
    if image is None or loadings is None:
        return None
    names = list(loadings.columns)
    weights = np.array([loadings.array(name) for name in names[1:] if name]).T
    if not weights.size or len(weights) != prod((image.rows, image.columns, image.channels)):
        return None
    from mlcli.findings.images import figures

    shown = figures.axes_as_images(np.nan_to_num(weights), image, run.axis_names(weights.shape[1]))
    return section("Axes as images", figure(shown, "The loadings of each axis as an image. Mid-gray is zero, and the "
                   "largest weight is black or white."))
