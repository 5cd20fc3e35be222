"""A Matplotlib figure in a style of its own, whatever the machine's settings, and its bytes, the same each time."""

import io
import logging
import re
import warnings
from collections.abc import Callable
from typing import Any

from mlcli.config.drawing import Look
from mlcli.report.drawing.palette import GROUND, INKS
from mlcli.report.drawing.text import visible

RESOLUTION = 300  # dots per inch of a PNG, and of what SVG and PDF hold as an image
DATELESS = {"svg": {"Date": None, "Creator": None, "Format": None, "Type": None}, "pdf": {"CreationDate": None},
            "png": {"Software": None}}
STYLE = {"svg.hashsalt": "mlcli", "svg.fonttype": "none", "pdf.fonttype": 42, "text.parse_math": False,
         "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False, "axes.spines.right": False,
         "axes.linewidth": 0.8, "axes.titlelocation": "left", "legend.frameon": False,
         "figure.facecolor": GROUND[0], "axes.facecolor": GROUND[0], "axes.edgecolor": INKS["axis"].light,
         "axes.labelcolor": INKS["text"].light, "text.color": INKS["text"].light,
         "xtick.color": INKS["axis"].light, "ytick.color": INKS["axis"].light,
         "xtick.labelcolor": INKS["text"].light, "ytick.labelcolor": INKS["text"].light}
TITLE = "title"  # which no legend shows: it says which texts are titles
GAP = 6.0  # pixels between a title and what stands beside it
MOST_LINES = 4  # of a title
ROUNDS = 3  # of breaking titles: more lines leave a panel other numbers at its axes, and so another width
PIECE = r"[^\s_./:-]*[\s_./:-]*"  # of a title, after which a line may end
SMALLER = ("xtick.labelsize", "ytick.labelsize", "legend.fontsize", "legend.title_fontsize")


def sheet(look: Look, size: tuple[float, float], format: str, paint: Callable[[Any, Any], None]) -> bytes:
    """What `paint` draws on a figure and its axes, on a sheet of so many inches, as the bytes of a file."""
    silenced()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():  # warnings of characters that its font lacks
        warnings.simplefilter("ignore")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style(look))
        figure = Figure(figsize=size, layout="constrained", dpi=72)
        FigureCanvasAgg(figure)
        paint(figure, figure.add_subplot())
        laid_out(figure)
        out = io.BytesIO()
        figure.savefig(out, format=format, dpi=RESOLUTION, metadata=DATELESS[format])
    return out.getvalue()


def laid_out(figure: Any) -> None:
    """Gives the parts of a figure their places for good; each further drawing would look for them anew."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        titles = [(title, title.get_text()) for title in figure.findobj(lambda part: part.get_label() == TITLE)]
        for _ in range(ROUNDS):
            if not sum(wrap(title, text, figure) for title, text in titles):
                break
            figure.draw_without_rendering()
        figure.set_layout_engine(None)


def entitle(axes: Any, text: str) -> None:
    """Set the title of a panel, which is broken into lines where the sheet has less room."""
    axes.set_title(written(text, 120)).set_label(TITLE)


def wrap(title: Any, text: str, figure: Any) -> bool:
    """Break the text of a title into lines that end before a legend beside it and the edge; return whether it was."""
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
    """The lines of a title's text that are at most so many pixels wide; words that are longer are divided."""

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


def silenced() -> None:
    """Keeps Matplotlib from warning that without a home it has a cache in TMPDIR, and uses it."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def inches(look: Look, otherwise: tuple[float, float]) -> tuple[float, float]:
    """Width and height as chosen, or as the figure asks for."""
    return otherwise if look.size is None else (look.size[0], look.size[1])


def style(look: Look) -> Any:
    """Matplotlib's settings, and the sizes of all letters."""
    return {**STYLE, "font.size": look.font_size, "axes.titlesize": 1.2 * look.font_size,
            **dict.fromkeys(SMALLER, 0.9 * look.font_size)}


def written(text: str, limit: int = 60) -> str:
    """A text of the user's in one line."""
    return visible(text, limit)
