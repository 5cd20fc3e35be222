"""scree.svg: eigenvalues as bars and their cumulative share as a line, in plain SVG."""

import math
from html import escape

import numpy as np

from mlcli.base.types import Array
from mlcli.stages.spectrum import Spectrum

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 78, 62, 48, 56
MOST = 30  # bars beyond this cannot be told apart

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #333 }
  .title { font-size: 15px; font-weight: 600 }
  .axis { stroke: #999; stroke-width: 1 }
  .grid { stroke: #ddd; stroke-width: 1 }
  .kept { fill: #2b6cb0 } .rest { fill: #a0b8d0 } .negative { fill: #c05621 }
  .share { fill: none; stroke: #805ad5; stroke-width: 1.5 } .dot { fill: #805ad5 }
  @media (prefers-color-scheme: dark) {
    svg { background: #1a202c } text { fill: #ddd } .grid { stroke: #3a4252 } .axis { stroke: #888 }
    .kept { fill: #63b3ed } .rest { fill: #4a6580 } .share { stroke: #b794f4 } .dot { fill: #b794f4 }
  }"""


def scree(spectrum: Spectrum, kept: int, rows: int | None, title: str, ranked_by: str = "eigenvalues") -> str:
    """The scree plot of the first eigenvalues, or what else axes are ranked by, as an SVG; kept axes are darker."""
    values = spectrum.eigenvalues[: min(rows or MOST, MOST)]
    scale = _Scale(values)
    parts = [_frame(title), *_grid(scale), *_bars(values, kept, scale),
             *_shares(spectrum, len(values)), *_labels(values, ranked_by)]
    if len(values) < len(spectrum.values):
        parts.append(_text(WIDTH - RIGHT, TOP - 8, f"first {len(values)} of {len(spectrum.values)} computed", "end"))
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Scale:
    """Maps eigenvalues to heights, with round ticks."""

    def __init__(self, values: Array) -> None:
        finite = values[np.isfinite(values)]
        high, low = float(finite.max(initial=0.0)), float(finite.min(initial=0.0))
        span = high - low or 1.0
        step = 10.0 ** math.floor(math.log10(span / 4))
        self.step = step * next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 6)
        self.low = math.floor(low / self.step) * self.step
        self.high = math.ceil((high or span) / self.step) * self.step

    def __call__(self, value: float) -> float:
        """The y coordinate of a value."""
        clipped = min(max(value, self.low), self.high)
        return HEIGHT - BOTTOM - (clipped - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def ticks(self) -> list[float]:
        """Round values from the lowest to the highest."""
        return [self.low + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)]


def _x(index: float, count: int) -> float:
    return LEFT + (index + 0.5) * (WIDTH - LEFT - RIGHT) / max(count, 1)


def _share_y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _frame(title: str) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img">\n<title>{escape(title)}</title>\n<style>{STYLE}\n</style>\n'
            + _text(LEFT + 10, 24, title, "start", "title"))


def _grid(scale: _Scale) -> list[str]:
    lines = []
    for tick in scale.ticks():
        y = scale(tick)
        kind = "axis" if abs(tick) < scale.step / 2 else "grid"
        lines.append(f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(LEFT - 8, y + 4, "0" if kind == "axis" else _tick(tick), "end"))
    return lines


def _tick(value: float) -> str:
    return f"{value:,.6g}" if 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def _bars(values: Array, kept: int, scale: _Scale) -> list[str]:
    width = min(0.7 * (WIDTH - LEFT - RIGHT) / max(len(values), 1), 60)
    bars = []
    for i, value in enumerate(values):
        kind = "negative" if value < 0 else "kept" if i < kept else "rest"
        top, bottom = sorted((scale(float(value)), scale(0.0)))
        bars.append(f'<rect class="{kind}" x="{_x(i, len(values)) - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
                    f'height="{bottom - top:.1f}"><title>{i + 1}: {value:.6g}</title></rect>')
    return bars


def _shares(spectrum: Spectrum, count: int) -> list[str]:
    """The cumulative share with its own axis, where the trace is known."""
    shares = np.cumsum(spectrum.proportions)[:count]
    if not count or not np.isfinite(shares).all():
        return []
    top = max(1.0, float(shares.max()))
    points = [(_x(i, count), _share_y(float(share) / top)) for i, share in enumerate(shares)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in points]
    ticks = [_text(WIDTH - RIGHT + 8, _share_y(tick / top) + 4, f"{tick:.0%}", "start")
             for tick in (0, 0.25, 0.5, 0.75, 1)]
    return [f'<polyline class="share" points="{path}"/>', *dots, *ticks,
            _text(WIDTH - 8, TOP - 24, "cumulative share", "end")]


def _labels(values: Array, ranked_by: str) -> list[str]:
    count = len(values)
    every = max(1, math.ceil(count / 15))
    numbers = [_text(_x(i, count), HEIGHT - BOTTOM + 18, str(i + 1), "middle") for i in range(0, count, every)]
    return [*numbers, _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "component", "middle"),
            _text(8, TOP - 24, ranked_by, "start")]


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
