"""A Matplotlib figure in a style of its own, whatever the machine's settings, and its bytes, the same each time."""

import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

from mlcli.config.drawing import Look
from mlcli.report.palette import GROUND, INKS
from mlcli.report.text import visible

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
        figure.set_layout_engine(None)


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
