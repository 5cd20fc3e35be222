"""The gray background of a scatter plot: the decoder's uncertainty on the latent plane (Lawrence, 2005, fig. 2)."""

import numpy as np

from mlcli.base.types import Array
from mlcli.report.drawing.axes import Panel
from mlcli.report.drawing.figure import Mark, Picture, Text
from mlcli.report.drawing.text import three_digits

GRAY = 128  # level of the background, for light and dark pages
MOST = 160  # opacity at the largest deviation; points still stand out
REACH = 1e-3  # smaller deviations, relative to the largest, are drawn as this one
STEPS, WIDE, TALL = 32, 16.0, 70.0  # number of steps, width and height of the bar in the legend


def shade(deviations: Array, panel: Panel) -> list[Mark]:
    """Return a gray image of deviations, a (rows, columns) array, over a panel, by their logarithms.

    The least have no gray. Nothing where all are equal.
    """
    shares = shares_of(deviations)
    left, right, top, bottom = panel.edges
    return [] if shares is None else [gray(shares, left, top, (right - left, bottom - top))]


def legend(deviations: Array, x: float, y: float) -> list[Mark]:
    """Return the legend of the grays, downward from x, y; `deviations` is a (rows, columns) array."""
    if shares_of(deviations) is None:
        return []
    ends = float(deviations.max()), max(float(deviations.min()), REACH * float(deviations.max()))
    return [Text(x, y, "decoder's standard deviation", kind="small"),
            gray(np.linspace(1, 0, STEPS)[:, None], x, y + 8, (WIDE, TALL)),
            *(Text(x + WIDE + 8, y + 8 + down, three_digits(end), kind="small")
              for end, down in zip(ends, (10.0, TALL - 2), strict=True))]


def gray(shares: Array, x: float, y: float, size: tuple[float, float]) -> Picture:
    """Return an image of grays, a (rows, columns) array from 0 to 1, over a rectangle; the page shows through."""
    levels = np.stack([np.full(shares.shape, GRAY), np.rint(MOST * shares)], axis=2).astype(np.uint8)
    return Picture(kind="shade", x=x, y=y, width=size[0], height=size[1], levels=levels)


def shares_of(deviations: Array) -> Array | None:
    """Return deviations, a (rows, columns) array, as shares from 0 to 1 by logarithms; None where all are equal."""
    largest = float(deviations.max())
    logs = np.log(np.maximum(deviations, REACH * largest) / largest) if largest > 0 else np.zeros(deviations.shape)
    reach = -float(logs.min())
    return 1 + logs / reach if reach > 1e-9 else None
