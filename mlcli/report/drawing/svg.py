"""Figures as SVG: inside a page, whose style sheet they share, or as separate documents."""

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Line, Mark, Picture, Segments, Text, Tile
from mlcli.report.drawing.palette import GROUND, style_sheet
from mlcli.report.drawing.text import safe

SHAPES = {"triangle": "m0-{0}l{1} {2}h-{3}z", "diamond": "m0-{0}l{0} {0}l-{0} {0}l-{0}-{0}z",
          "square": "m-{4}-{4}h{5}v{5}h-{5}z",
          "cross": "m-{6}-{8}h{7}v{9}h{9}v{7}h-{9}v{9}h-{7}v-{9}h-{9}v-{7}h{9}z"}


PHONE = 340.0  # width of a figure on a narrow screen
BROAD = 300.0  # width of a part from which it has the whole narrow screen, not half
DENSE = 600.0  # width of a figure in one piece from which a narrow screen scrolls it
LETTERS = 11.0, 15.0  # size of small letters: as drawn, and at most on a narrow screen, where a figure shrinks
LEGIBLE = 10.5  # size of letters on a narrow screen, where the drawing has room for them


def inline(figure: Figure) -> str:
    """Return a figure as an element of a page; its parts as a grid, which a narrow screen sets below each other."""
    if not figure.parts:
        whole = Tile(x=0, y=0, width=figure.width, height=figure.height)
        dense = figure.width > DENSE
        drawn = (f'{_piece(whole, "dense" if dense else "broad")} role="img">\n'
                 f"<title>{safe(figure.title, 200)}</title>\n{_mark_elements(figure.marks)}</svg>")
        return f'<div class="wide">{drawn}</div>' if dense else drawn
    lefts, tops = sorted({part.x for part in figure.parts}), _rows(figure.parts)
    columns = [max(part.width for part in figure.parts if part.x == left) for left in lefts]
    shares = " ".join(f"minmax(0,{width:g}fr)" for width in columns)
    cells = "\n".join(f"{_cell(part, lefts, tops)}{_mark_elements(marks)}</svg>" for part, marks in figure.pieces)
    kind = "parts pile" if any(part.width > BROAD for part in figure.parts) else "parts"
    return (f'<div class="{kind}" role="img" aria-label="{safe(figure.title, 200)}" '
            f'style="max-width:{sum(columns):g}px;grid-template-columns:{shares}">\n{cells}\n</div>')


def _rows(parts: Sequence[Tile]) -> list[float]:
    """Return the tops of a grid's rows: each begins below all earlier parts."""
    tops: list[float] = []
    end = -math.inf
    for part in sorted(parts, key=lambda part: part.y):
        if part.y >= end:
            tops, end = [*tops, part.y], part.y + part.height
    return tops


def _cell(part: Tile, lefts: Sequence[float], tops: Sequence[float]) -> str:
    """Return the start tag of a part at its place in the grid; a legend may begin lower, and span rows."""
    row, last = (sum(top <= y for top in tops) for y in (part.y, part.y + part.height - 1))
    kind = "key" if part.key else "broad" if part.width > BROAD else ""
    down = f"--down:{part.y - tops[row - 1]:g}px;" if part.key else ""
    return f"{_piece(part, kind, f'grid-area:{row}/{lefts.index(part.x) + 1}/span {1 + last - row};{down}')}>\n"


def _piece(part: Tile, kind: str, style: str = "") -> str:
    """Return the start tag of an element, with the size of its letters on a narrow screen."""
    shown = part.width if kind == "dense" else PHONE if kind else min(PHONE / 2, part.width)
    least, most = LETTERS
    letters = least if part.key else min(max(LEGIBLE * part.width / shown, least), most)
    named = f' class="{kind}"' if kind else ""
    return (f'<svg{named} viewBox="{part.x:g} {part.y:g} {part.width:g} {part.height:g}" width="{part.width:g}" '
            f'height="{part.height:g}" style="{style}--letters:{letters:.1f}px"')


def document(figure: Figure) -> str:
    """Return a figure as a separate file, light or dark as the reader's screen."""
    style = (f"{style_sheet(figure.kinds)}\nsvg{{background:{GROUND[0]}}}"
             f"@media screen and (prefers-color-scheme:dark){{svg{{background:{GROUND[1]}}}}}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {figure.width:g} {figure.height:g}" '
            f'width="{figure.width:g}" height="{figure.height:g}" role="img">\n'
            f"<title>{safe(figure.title, 200)}</title>\n<style>{style}</style>\n{_mark_elements(figure.marks)}</svg>\n")


def _mark_elements(marks: Sequence[Mark]) -> str:
    return "".join(f"{WRITERS[type(mark)](mark)}\n" for mark in marks)


def _line(mark: Line) -> str:
    return f'<line class="{mark.kind}" x1="{mark.x1:.1f}" y1="{mark.y1:.1f}" x2="{mark.x2:.1f}" y2="{mark.y2:.1f}"/>'


def _bar(mark: Bar) -> str:
    shape = (f'<rect class="{mark.kind}" x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" '
             f'height="{mark.height:.1f}"')
    return f"{shape}><title>{safe(mark.tip)}</title></rect>" if mark.tip else f"{shape}/>"


def _curve(mark: Curve) -> str:
    return f'<polyline class="{mark.kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points)}"/>'


def _segments(mark: Segments) -> str:
    """Return one path for all segments."""
    flat = mark.ends.ravel().tolist()
    return f'<path class="{mark.kind}" d="{"M%.1f %.1fL%.1f %.1f" * len(mark.ends) % tuple(flat)}"/>'


def _dots(mark: Dots) -> str:
    """Return one path for all dots of a kind, a few characters each; a path for each dot where each has a tip."""
    stroke, each = _dot_shape(mark)
    if not mark.tips:
        flat = mark.points.ravel().tolist()
        return f'<path class="{mark.kind}"{stroke} d="{f"M%.1f %.1f{each}" * len(mark.points) % tuple(flat)}"/>'
    return "\n".join(f'<path class="{mark.kind}"{stroke} d="M{x:.1f} {y:.1f}{each}"><title>{safe(tip)}</title></path>'
                     for (x, y), tip in zip(mark.points.tolist(), mark.tips, strict=True))


def _dot_shape(mark: Dots) -> tuple[str, str]:
    """Return a line without length with round ends, or a small filled shape: square ends are not printed."""
    size = mark.radius
    if mark.shape in SHAPES:
        parts = (f"{part:.1f}" for part in (1.25 * size, 1.2 * size, 2.1 * size, 2.4 * size, 0.9 * size,
                                             1.8 * size, 0.3 * size, 0.6 * size, 1.3 * size, size))
        return ' stroke-width="0"', SHAPES[mark.shape].format(*parts)
    return f' stroke-linecap="round" stroke-width="{2 * size:.1f}"', "h0"


def _text(mark: Text) -> str:
    turn = f' transform="rotate(-90 {mark.x:.1f} {mark.y:.1f})"' if mark.turned else ""
    anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
    return f'<text class="{mark.kind}" x="{mark.x:.1f}" y="{mark.y:.1f}"{anchor}{turn}>{safe(mark.text)}</text>'


def _picture(mark: Picture) -> str:
    """Return the image with its PNG inside."""
    sharp = ' image-rendering="pixelated"' if mark.kind == "pixels" else ""
    return (f'<image class="{mark.kind}" x="{mark.x:.1f}" y="{mark.y:.1f}" width="{mark.width:.1f}" '
            f'height="{mark.height:.1f}" preserveAspectRatio="none"{sharp} '
            f'href="data:image/png;base64,{b64encode(mark.png).decode()}"/>')


WRITERS: dict[type[Mark], Callable[[Any], str]] = {
    Line: _line, Bar: _bar, Curve: _curve, Segments: _segments, Dots: _dots, Text: _text, Picture: _picture}
