"""The gray background of a scatter plot: where on the latent plane the decoder is unsure (Lawrence, 2005, fig. 2)."""

import numpy as np

from mlcli.base.types import Array
from mlcli.report.drawing.axes import Panel
from mlcli.report.drawing.figure import Mark, Picture, Text
from mlcli.report.drawing.text import rounded

GRAY = 128  # of the background, which light and dark pages have in common
MOST = 160  # opacity where the decoder is least sure, so that points stand out
REACH = 1e-3  # deviations smaller than this part of the largest are drawn as that
STEPS, WIDE, TALL = 32, 16.0, 70.0  # of the bar in the legend


def shade(deviations: Array, panel: Panel) -> list[Mark]:
    """Posterior standard deviations (up x across) over a panel, by their logarithms: no gray where they are least.

    Nothing where they are the same everywhere.
    """
    shares = shares_of(deviations)
    left, right, top, bottom = panel.edges
    return [] if shares is None else [gray(shares, left, top, (right - left, bottom - top))]


def legend(deviations: Array, x: float, y: float) -> list[Mark]:
    """What the grays mean, downward from a place."""
    if shares_of(deviations) is None:
        return []
    ends = float(deviations.max()), max(float(deviations.min()), REACH * float(deviations.max()))
    return [Text(x, y, "decoder's standard deviation", kind="small"),
            gray(np.linspace(1, 0, STEPS)[:, None], x, y + 8, (WIDE, TALL)),
            *(Text(x + WIDE + 8, y + 8 + down, rounded(end), kind="small")
              for end, down in zip(ends, (10.0, TALL - 2), strict=True))]


def gray(shares: Array, x: float, y: float, size: tuple[float, float]) -> Picture:
    """An image of grays (up x across, from 0 to 1) over a rectangle; the ground of the page shows through."""
    levels = np.stack([np.full(shares.shape, GRAY), np.rint(MOST * shares)], axis=2).astype(np.uint8)
    return Picture(kind="shade", x=x, y=y, width=size[0], height=size[1], levels=levels)


def shares_of(deviations: Array) -> Array | None:
    """How unsure the decoder is, from 0 to 1; None where it is equally so everywhere."""
    largest = float(deviations.max())
    logs = np.log(np.maximum(deviations, REACH * largest) / largest) if largest > 0 else np.zeros(deviations.shape)
    reach = -float(logs.min())
    return 1 + logs / reach if reach > 1e-9 else None
