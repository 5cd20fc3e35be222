"""A Matplotlib figure in a fixed style, whatever the machine's settings, as bytes that repeat."""

import io
import logging
import re
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from mlcli.base.values.extras import require
from mlcli.config.report_options import Look
from mlcli.report.drawing.palette import GROUND, INKS
from mlcli.report.drawing.text import visible

RESOLUTION = 300  # dots per inch of a PNG, and of images in SVG and PDF
DATELESS = {"svg": {"Date": None, "Creator": None, "Format": None, "Type": None}, "pdf": {"CreationDate": None},
            "png": {"Software": None}}
STYLE = {"svg.hashsalt": "mlcli", "svg.fonttype": "none", "pdf.fonttype": 42, "text.parse_math": False,
         "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False, "axes.spines.right": False,
         "axes.linewidth": 0.8, "axes.titlelocation": "left", "legend.frameon": False,
         "figure.facecolor": GROUND[0], "axes.facecolor": GROUND[0], "axes.edgecolor": INKS["axis"].light,
         "axes.labelcolor": INKS["text"].light, "text.color": INKS["text"].light,
         "xtick.color": INKS["axis"].light, "ytick.color": INKS["axis"].light,
         "xtick.labelcolor": INKS["text"].light, "ytick.labelcolor": INKS["text"].light}
TITLE = "title"  # label of texts that are titles; no legend shows it
MARGIN = 3.0  # pixels around everything, as Matplotlib's layout has it
GAP = 6.0  # pixels between a title and the legend
MOST_LINES = 4  # lines of a title
ROUNDS = 3  # rounds of breaking titles: more lines may change the panel's ticks, and so its width
PIECE = r"[^\s_./:-]*[\s_./:-]*"  # a piece of a title, after which a line may end
SMALLER = ("xtick.labelsize", "ytick.labelsize", "legend.fontsize", "legend.title_fontsize")


def sheet(look: Look, size: tuple[float, float], format: str, paint: Callable[[Any, Any], None]) -> bytes:
    """Return the bytes of a file with what `paint` draws on a figure and its axes, of a size in inches.

    Raises DependencyMissing.
    """
    require("plot", f"drawing {format}")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home it warns of a cache in TMPDIR, and uses it
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():  # warnings about characters missing in the font
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style(look))
        figure = Figure(figsize=size, layout="constrained", dpi=72)
        FigureCanvasAgg(figure)
        paint(figure, figure.add_subplot())
        fix_layout(figure)
        out = io.BytesIO()
        figure.savefig(out, format=format, dpi=RESOLUTION, metadata=DATELESS[format])
    return out.getvalue()


def fix_layout(figure: Any) -> None:
    """Compute the layout of a figure once and for all; otherwise each further drawing would compute it again."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        titles = [(title, title.get_text()) for title in figure.findobj(lambda part: part.get_label() == TITLE)]
        for _ in range(ROUNDS):
            if not sum(wrap(title, text, figure) for title, text in titles):
                break
            figure.draw_without_rendering()
        figure.set_layout_engine(None)
        moved = [_pull_in(axes, figure) for axes in figure.axes]
        if any(moved):
            figure.draw_without_rendering()


def _pull_in(axes: Any, figure: Any) -> bool:
    """Move the left and lower end of a panel whose numbers or names leave the sheet; return whether some did.

    Equal units may change the ticks of a panel after the layout, and longer numbers need more room than it gave.
    """
    box, place = axes.get_tightbbox(), axes.get_position()
    right, up = (max(MARGIN - start, 0) * (start < 0) / size for start, size in zip(box.min, figure.bbox.size,
                                                                                    strict=True))
    if right or up:
        axes.set_position([place.x0 + right, place.y0 + up, place.width - right, place.height - up])
    return bool(right or up)


def space_numbers(axes: Any) -> None:
    """Take fewer ticks across where their numbers touch; the layout of the panel and its limits are final."""
    from matplotlib.ticker import MaxNLocator

    low, high = axes.get_xlim()
    for most in range(len(axes.get_xticks()), 1, -1):
        boxes = [label.get_window_extent() for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(),
                                                                  strict=True) if low <= tick <= high]
        if all(right.x0 - left.x1 > GAP / 2 for left, right in pairwise(boxes)):
            return
        axes.xaxis.set_major_locator(MaxNLocator(most - 1))


def entitle(axes: Any, text: str) -> None:
    """Set the title of a panel, which is broken into lines where the sheet has less room."""
    axes.set_title(one_line(text, 120)).set_label(TITLE)


def wrap(title: Any, text: str, figure: Any) -> bool:
    """Break the text of a title into lines that end before a legend and the edge; return whether it was too long."""
    box = title.get_window_extent()
    beside = [legend.get_window_extent() for legend in figure.legends]
    ends = [other.x0 for other in (*beside, figure.bbox.translated(figure.bbox.width, 0))
            if other.x0 > box.x0 and other.y1 > box.y0]
    room = min(ends) - box.x0 - GAP
    if box.width <= room:
        return False
    title.set_text("\n".join(_lines(title, text, room)))
    return True


def _lines(title: Any, whole: str, room: float) -> list[str]:
    """Return the lines of a title's text, at most `room` pixels wide; longer words are divided."""

    def fits(text: str) -> bool:
        title.set_text(text.rstrip())
        return bool(title.get_window_extent().width <= room)

    lines = [""]
    for piece in re.findall(PIECE, whole):
        if fits(lines[-1] + piece):
            lines[-1] += piece
            continue
        lines.append("")
        for letter in piece:
            lines = [*lines, letter] if lines[-1] and not fits(lines[-1] + letter) else [*lines[:-1],
                                                                                         lines[-1] + letter]
    full = [line.rstrip() for line in lines if line.strip()]
    return full if len(full) <= MOST_LINES else [*full[: MOST_LINES - 1], full[MOST_LINES - 1][:-1] + "…"]


def inches(look: Look, otherwise: tuple[float, float]) -> tuple[float, float]:
    """Return the chosen width and height, or `otherwise`."""
    return otherwise if look.size is None else (look.size[0], look.size[1])


def style(look: Look) -> Any:
    """Return Matplotlib's settings, with the sizes of all letters."""
    return {**STYLE, "font.size": look.font_size, "axes.titlesize": 1.2 * look.font_size,
            **dict.fromkeys(SMALLER, 0.9 * look.font_size)}


def one_line(text: str, limit: int = 60) -> str:
    """Return a text of the user's in one line."""
    return visible(text, limit)
