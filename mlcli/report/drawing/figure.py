"""Figures as values: lines, bars, curves, dots, texts and images in pixels, for any writer to draw."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array


@frozen
class Line:
    """A straight line."""

    kind: str
    x1: float
    y1: float
    x2: float
    y2: float


@frozen
class Bar:
    """A filled rectangle."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    tip: str = ""


@frozen
class Curve:
    """Points joined by lines."""

    kind: str
    points: Sequence[tuple[float, float]]


@frozen
class Segments:
    """Many straight lines of one kind, an (m, 4) array: x1, y1, x2, y2 of each."""

    kind: str
    ends: Array


@frozen
class Dots:
    """Points of one kind and shape, an (m, 2) array, with tips where there are few."""

    kind: str
    points: Array
    radius: float = 2.5
    shape: str = "circle"  # circle, square, triangle, diamond, cross
    tips: Sequence[str] = ()


@frozen
class Text:
    """A line of text whose anchor (start, middle, end) lies at x, y."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    kind: str = "text"
    turned: bool = False  # rotated by a quarter, reading upward


SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLORS = {2: 4, 4: 6}  # gray and opacity; red, green, blue and opacity -> the standard's type of color
LEVEL = 4  # of compression: 9 takes fifty times as long on clouds of points, for a quarter fewer bytes


def png(levels: AnyArray) -> bytes:
    """Return an image as PNG (ISO/IEC 15948): gray or colored, with opacity, eight bits each, its rows unfiltered.

    `levels` is a (rows, columns, 2 or 4) array from 0 to 255.
    """
    rows, columns, channels = levels.shape
    lines = np.zeros((rows, 1 + columns * channels), np.uint8)  # each begins with the number of its filter: none
    lines[:, 1:] = levels.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, COLORS[channels], 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), LEVEL)), (b"IEND", b"")
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks)


@frozen
class Picture:
    """An image over a rectangle: rows from the top, with a last axis of gray, or red, green and blue, and opacity."""

    kind: str  # pixels: sharp; shade: interpolated; day, night: on light or dark ground alone
    x: float
    y: float
    width: float
    height: float
    levels: AnyArray  # (rows, columns, 2 or 4) array, from 0 to 255

    @cached_property
    def png(self) -> bytes:
        """The image as the content of a file, made once for every drawing of it."""
        return png(self.levels)


@frozen
class Tile:
    """A rectangle of a figure that a page arranges: next to the others where there is room, else below them."""

    x: float
    y: float
    width: float
    height: float
    key: bool = False  # a legend, which is never drawn smaller

    def holds(self, x: float, y: float) -> bool:
        """Whether a place lies in it."""
        return 0 <= x - self.x < self.width and 0 <= y - self.y < self.height


Mark = Line | Bar | Curve | Segments | Dots | Text | Picture


@frozen
class Figure:
    """A figure, in pixels from its upper left corner."""

    title: str  # alternative text for screen readers
    width: float
    height: float
    marks: Sequence[Mark] = field(default_factory=tuple)
    parts: Sequence[Tile] = ()  # parts with all marks; none: it is one piece

    @property
    def kinds(self) -> set[str]:
        """The kinds of its marks."""
        return {mark.kind for mark in self.marks}

    @property
    def pieces(self) -> list[tuple[Tile, list[Mark]]]:
        """The parts with the marks that begin in them; a mark outside all parts is in the first."""
        pieces: list[tuple[Tile, list[Mark]]] = [(part, []) for part in self.parts]
        for mark in self.marks:
            place = corner(mark)
            next((marks for part, marks in pieces if part.holds(*place)), pieces[0][1]).append(mark)
        return pieces


def corner(mark: Mark) -> tuple[float, float]:
    """Return the start of a mark; of one without points the figure's corner."""
    if isinstance(mark, Line):
        return mark.x1, mark.y1
    if isinstance(mark, Segments | Curve | Dots):
        points = mark.ends if isinstance(mark, Segments) else mark.points
        return (float(points[0][0]), float(points[0][1])) if len(points) else (0.0, 0.0)
    return mark.x, mark.y
