"""New points among those of a run: the run's in gray, the new ones in color, over the first two axes."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Dots, Figure, Mark, Text
from mlcli.report.figures.coloring import ROW, coloring, single_color
from mlcli.report.figures.scatter import (
    BESIDE,
    BOTTOM,
    LEFT,
    MOST,
    TOP,
    WIDE,
    Points,
    dots,
    panel_of,
    plane,
    sample_rows,
    with_legend,
)

FAINT = 0.8  # radius of the run's points over that of the new ones


def new_points_over(values: Array, new: Array, ids: Sequence[str], labels: Mapping[str, Sequence[str]], *,
                    axes: Sequence[str], seed: int) -> Figure:
    """Draw new points, an (m, p) array, over an embedding, an (n, p) array, colored by the first label column.

    Samples of very many. New points of a single axis are over the numbers of their own rows.
    """
    colors = next((coloring(name, texts) for name, texts in labels.items()), single_color(len(new)))
    shown = Points(new, ids, colors, len(new), axes=axes).sample(MOST, seed)
    rows = sample_rows(len(values), MOST, seed)
    others = plane(values, rows) if rows is None else plane(values[rows], rows)
    panel = panel_of(np.concatenate([values, new]))
    title = f"{len(new):,} new point{'' if len(new) == 1 else 's'} among {len(values):,}"
    right = float(LEFT + WIDE + BESIDE)
    key = [*_key(len(values), len(new), right, named=bool(labels)), *colors.legend(right, TOP + 8 + 3 * ROW)]
    marks: list[Mark] = [Text(LEFT, 22, title, kind="title"), *panel.rows(), *panel.columns(),
                         Dots("other", to_pixels(others, panel), FAINT * shown.radius),
                         *dots(shown, plane(shown.values, shown.rows), panel, shown.radius + 0.6),
                         *panel.names(*shown.sides), *key]
    return with_legend(title, panel.y.start + BOTTOM, marks, key)


def _key(old: int, new: int, x: float, *, named: bool) -> list[Mark]:
    """Return the legend of gray, and of the new points' color where they have one."""
    y = TOP + 8.0
    gray: list[Mark] = [Dots("other", np.array([[x + 6, y - 4]]), 3),
                        Text(x + 17, y, f"the run's ({old:,})", kind="small")]
    own: list[Mark] = [Dots("plain", np.array([[x + 6, y + ROW - 4]]), 4),
                       Text(x + 17, y + ROW, f"new ({new:,})", kind="small")]
    return gray if named else [*gray, *own]
