"""Figures of rows that are images: pictures over the embedding, and axes as images.

Sources: Tenenbaum, de Silva and Langford, 2000, fig. 1; eigenfaces: Turk and Pentland, 1991.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.types import Array
from mlcli.config.report_options import Image
from mlcli.findings.decoded.pictures import LETTER, Shape
from mlcli.findings.images.thumbnails import GAP, Thumbnails, box_of
from mlcli.report.drawing.axes import Panel, to_pixels
from mlcli.report.drawing.figure import Bar, Dots, Figure, Mark, Picture, Text
from mlcli.report.drawing.text import LONGEST, shorten
from mlcli.report.figures.scatter import BOTTOM, LEFT, MOST, panel_of, plane, sample_rows

TITLE, AXES = "Images over the embedding", "Axes as images"
LARGER = 2.4  # sides of the image of an axis, in sides of a picture over the embedding
ROOM, TOP = 600.0, 24.0  # pixels of a line of images, and of the space above it
RIGHT = 20.0  # pixels to the right of the plot


def over_plane(embedding: Array, found: Thumbnails, image: Image, seed: int, axes: Sequence[str],
               title: str = TITLE) -> Figure:
    """Draw the chosen rows as pictures, each to the lower right of its point, over the other points in gray.

    `embedding` is an (n, p) array, of which the first two axes are drawn.
    """
    wide, tall = box_of(image)
    pixels = to_pixels(plane(embedding), panel_of(embedding))
    panel = widen(panel_of(embedding), wide + GAP, tall + GAP)
    some = sample_rows(len(pixels), MOST, seed)
    points = pixels[found.rows]
    marks: list[Mark] = [Text(LEFT, 22, shorten(title, LONGEST), kind="title"), *panel.rows(), *panel.columns(),
                         Dots("other", pixels if some is None else pixels[some], 1.5)]
    for (x, y), levels in zip(points.tolist(), Shape.of(image, found.values).levels(found.values), strict=True):
        marks += [Picture(kind="shade", x=x + GAP / 2, y=y + GAP / 2, width=wide, height=tall, levels=levels),
                  Bar(kind="frame", x=x + GAP / 2, y=y + GAP / 2, width=wide, height=tall)]
    marks += [Dots("mark", points, 2.6), *panel.names(*(axes[:2] if embedding.shape[1] > 1 else ("row", axes[0])))]
    return Figure(title, panel.x.end + RIGHT, panel.y.start + BOTTOM, marks)


def widen(panel: Panel, wide: float, tall: float) -> Panel:
    """Return a panel with more pixels to the right and below; points in it stay where they are."""
    x, y = panel.x, panel.y
    across, up = ((scale.high / 2 - scale.low / 2) / abs(scale.end - scale.start) * 2 for scale in (x, y))
    return Panel(replace(x, high=min(x.high + across * wide, sys.float_info.max), end=x.end + wide),
                 replace(y, low=max(y.low - up * tall, -sys.float_info.max), start=y.start + tall))


def axes_as_images(loadings: Array, image: Image, names: Sequence[str]) -> Figure:
    """Draw the weights of the first axes, a (d, p) array, as images: mid-gray is zero, and each has its own range."""
    wide, tall = (LARGER * side for side in box_of(image))
    across = int(ROOM / (wide + GAP))
    marks: list[Mark] = []
    for axis, (weights, name) in enumerate(zip(loadings[:, : 2 * across].T, names, strict=False)):
        x, y = LEFT + axis % across * (wide + GAP), TOP + axis // across * (tall + TOP)
        most = float(np.abs(weights).max()) or 1.0
        levels = Shape(image, -most, most).levels(weights[None])[0]
        marks += [Text(x, y - 6, shorten(name, max(4, int(wide / LETTER))), kind="small"),
                  Picture(kind="shade", x=x, y=y, width=wide, height=tall, levels=levels)]
    drawn = len(marks) // 2
    return Figure(AXES, LEFT + min(across, drawn) * (wide + GAP), -(-drawn // across) * (tall + TOP) + 4, marks)
