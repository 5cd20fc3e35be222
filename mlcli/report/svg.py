"""Figures as SVG: inside a page, whose style sheet they share, or as documents of their own."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from mlcli.report.drawing import Bar, Curve, Dots, Figure, Line, Mark, Picture, Segments, Text
from mlcli.report.palette import GROUND, style_sheet
from mlcli.report.png import png
from mlcli.report.text import safe

SHAPES = {"triangle": "m0-{0}l{1} {2}h-{3}z", "diamond": "m0-{0}l{0} {0}l-{0} {0}l-{0}-{0}z",
          "square": "m-{4}-{4}h{5}v{5}h-{5}z"}


def inline(figure: Figure) -> str:
    """A figure as an element of a page."""
    return f"{_opened(figure, '')}{_drawn(figure)}</svg>"


def document(figure: Figure) -> str:
    """A figure as a file of its own, light or dark as the reader's screen."""
    style = (f"{style_sheet(figure.kinds)}\nsvg{{background:{GROUND[0]}}}"
             f"@media screen and (prefers-color-scheme:dark){{svg{{background:{GROUND[1]}}}}}")
    space = ' xmlns="http://www.w3.org/2000/svg"'
    return f"{_opened(figure, space)}<style>{style}</style>\n{_drawn(figure)}</svg>\n"


def _opened(figure: Figure, space: str) -> str:
    return (f'<svg{space} viewBox="0 0 {figure.width:g} {figure.height:g}" width="{figure.width:g}" '
            f'height="{figure.height:g}" role="img">\n<title>{safe(figure.title, 200)}</title>\n')


def _drawn(figure: Figure) -> str:
    return "".join(f"{WRITERS[type(mark)](mark)}\n" for mark in figure.marks)


def _line(mark: Line) -> str:
    return f'<line class="{mark.kind}" x1="{mark.x1:.1f}" y1="{mark.y1:.1f}" x2="{mark.x2:.1f}" y2="{mark.y2:.1f}"/>'


def _bar(mark: Bar) -> str:
    shape = (f'<rect class="{mark.kind}" x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" '
             f'height="{mark.height:.1f}"')
    return f"{shape}><title>{safe(mark.tip)}</title></rect>" if mark.tip else f"{shape}/>"


def _curve(mark: Curve) -> str:
    return f'<polyline class="{mark.kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)}"/>'


def _segments(mark: Segments) -> str:
    """One path for all."""
    flat = mark.ends.ravel().tolist()
    return f'<path class="{mark.kind}" d="{"M%.1f %.1fL%.1f %.1f" * len(mark.ends) % tuple(flat)}"/>'


def _dots(mark: Dots) -> str:
    """One path for all dots of a kind, a few characters each; a path for each dot where each has a tip."""
    stroke, each = _shaped(mark)
    if not mark.tips:
        flat = mark.points.ravel().tolist()
        return f'<path class="{mark.kind}"{stroke} d="{f"M%.1f %.1f{each}" * len(mark.points) % tuple(flat)}"/>'
    return "\n".join(f'<path class="{mark.kind}"{stroke} d="M{x:.1f} {y:.1f}{each}"><title>{safe(tip)}</title></path>'
                     for (x, y), tip in zip(mark.points.tolist(), mark.tips, strict=True))


def _shaped(mark: Dots) -> tuple[str, str]:
    """A dot is a line without length whose ends are round, or a small filled shape: square ends print as nothing."""
    size = mark.radius
    if mark.shape in SHAPES:
        parts = (f"{part:.1f}" for part in (1.25 * size, 1.2 * size, 2.1 * size, 2.4 * size, 0.9 * size,
                                             1.8 * size))
        return ' stroke-width="0"', SHAPES[mark.shape].format(*parts)
    return f' stroke-linecap="round" stroke-width="{2 * size:.1f}"', "h0"


def _text(mark: Text) -> str:
    turn = f' transform="rotate(-90 {mark.x:.1f} {mark.y:.1f})"' if mark.turned else ""
    anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    return f'<text class="{mark.kind}" x="{mark.x:.1f}" y="{mark.y:.1f}"{anchor}{turn}>{safe(mark.text)}</text>'


def _picture(mark: Picture) -> str:
    """The image itself stands in the page, as a PNG."""
    sharp = ' image-rendering="pixelated"' if mark.kind == "pixels" else ""
    return (f'<image class="{mark.kind}" x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" '
            f'height="{mark.height:.1f}" preserveAspectRatio="none"{sharp} '
            f'href="data:image/png;base64,{b64encode(png(mark.levels)).decode()}"/>')


WRITERS: dict[type[Mark], Callable[[Any], str]] = {
    Line: _line, Bar: _bar, Curve: _curve, Segments: _segments, Dots: _dots, Text: _text, Picture: _picture}
