"""The page of an explanation: one HTML document with formulas as MathML and each array as a table with a heat map."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.explain import mathml
from mlcli.explain.record import LAYOUT
from mlcli.explain.steps import ExplainedStep, Explanation, Matrix
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Curve, Dots, Figure, Mark
from mlcli.report.drawing.html import Html, Part, document, figure, fold, join, section, sentence, verbatim
from mlcli.report.drawing.text import safe, shorten
from mlcli.report.figures.coloring import single_color
from mlcli.report.figures.scatter import (
    BOTTOM,
    LEFT,
    WIDE,
    Points,
    backdrop,
    panel_of,
    place_names,
    plane,
    scatter,
    sides,
)

SHADES = 9  # of a heat map, on each side of zero
MOST = 40  # rows and columns of a table
NAMED = 18  # characters of a name of a row or column
COMMAND = 20_000  # signs of a command, which is to be copied whole
DIGITS = 4  # of a number in a table; --json has all
ROUNDING = 1e-13  # share of the largest number of a table that is shown as zero
SMALL = 1e-3  # size of a number below which it is written with an exponent
WAYS_OF_CHOICE = {
    "random": "drawn at random with seed {} (--seed draws others), in their order",
    "consecutive": "in their order without gaps, as the method is for sequences, from a place drawn with seed {} "
                   "(--seed draws another)",
    "crossed": "of every pair of some styles and contents, drawn with seed {} (--seed draws others), in their order"}
UNKNOWN = ""  # an entry that is not there
RADIUS = 3.6  # of a dot, in pixels
WAYS = "The first two axes of the layout after each of these steps, joined by lines; the dot is the last."
STYLE = f"""
:root{{--plus:0,114,178;--minus:213,94,0}}
@media screen and (prefers-color-scheme:dark){{:root{{--plus:75,163,227;--minus:255,138,61}}}}
main>section{{counter-increment:step}} main>section>h2::before{{content:counter(step) ". ";color:var(--soft)}}
{mathml.STYLE}
.heat td,.heat th{{padding:.2rem .5rem;text-align:right;border:0;white-space:nowrap;min-width:3.2em;
  font-variant-numeric:tabular-nums;overflow-wrap:normal}}
.heat tr>:first-child{{text-align:left;font-weight:600;color:var(--soft)}} .heat{{border-collapse:separate;
  border-spacing:1px}}
.heat td{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
{"".join(f".p{shade}{{background:rgba(var(--plus),{0.055 * shade:.3f})}}.m{shade}{{background:rgba(var(--minus),"
         f"{0.055 * shade:.3f})}}" for shade in range(1, SHADES + 1))}
.symbol{{margin:.9rem 0 .1rem;font-weight:600}}
.tables{{display:flex;flex-wrap:wrap;gap:0 2.5rem;align-items:flex-start}} .tables>div{{max-width:100%;min-width:0}}
@media print{{.tables{{display:block}} .heat{{font-size:6.6pt}} .heat td,.heat th{{padding:.08rem .18rem;min-width:0}}
  .wide{{break-inside:avoid}} math[display]{{font-size:10pt}}}}
"""


def page(found: Explanation) -> str:
    """Return the whole page, without scripts and without network."""
    title = f"{found.method}, step by step"
    head = f'<p class="lead">{safe(found.title, 400)}</p><p class="soft">{safe(rows_sentence(found), 1000)}</p>'
    steps = [_section(step) for step in found.steps]
    return document(title, head, join([*_changes(found), *steps, _end(found)]), style=STYLE)


def rows_sentence(found: Explanation) -> str:
    """Return the sentence on which rows were taken."""
    names = ", ".join(shorten(name, NAMED) for name in found.ids)
    if found.of > len(found.ids) > 0:
        return (f"{len(found.ids)} of the {found.of:,} rows of {found.path}, "
                f"{WAYS_OF_CHOICE[found.choice].format(found.seed)}: {names}.")
    return f"All rows of {found.path}: {names}." if found.ids else f"{found.path} holds no rows."


def _changes(found: Explanation) -> list[Part]:
    said = [*(f"Set for so few rows: {change}." for change in found.changes),
            *(f"The run notes: {note}." for note in found.said)]
    lines = "".join(f"<li>{safe(text, 1000)}</li>" for text in said)
    return [Html(f'<ul class="soft">{lines}</ul>')] if said else []


def _section(step: ExplainedStep) -> Part:
    formula = Html(mathml.mathml(step.formula)) if step.formula else None
    arrays = [array for array in step.arrays if not array.symbol.startswith(LAYOUT)]
    layouts = [array for array in step.arrays if array.symbol.startswith(LAYOUT)]
    drawn = (figure(_picture(step)) if step.key == "coordinates" else
             figure(_ways([array.values for array in layouts], layouts[-1].rows), WAYS) if layouts else None)
    return section(step.name, formula, sentence(step.sentence), _tables(arrays), drawn,
                   fold(f"The layout after each of these steps ({len(layouts)} tables)", _tables(layouts)))


def _tables(arrays: list[Matrix]) -> Part:
    if not arrays:
        return None
    return Html('<div class="tables">' + "".join(f"<div>{_table(array)}</div>" for array in arrays) + "</div>")


def _table(array: Matrix) -> str:
    """Return an array as a table, each number on a color as strong as it is large: blue above zero, orange below."""
    height, width = array.values.shape
    values = shown(array.values)
    strengths = _strengths(values)[:MOST, :MOST]
    size = f"{height:,} x {width:,}" + (f", the first {MOST} of each" if min(height, width) > MOST else
                                    f", the first {MOST} rows" if height > MOST else
                                    f", the first {MOST} columns" if width > MOST else "")
    head = "".join(f"<th>{safe(shorten(name, NAMED))}</th>" for name in array.columns[:MOST])
    lines = []
    for name, row, strength in zip(array.rows[:MOST], values[:MOST, :MOST].tolist(), strengths.tolist(), strict=True):
        cells = "".join(f"<td{_shade(shade)}>{_number(value)}</td>" for value, shade in zip(row, strength, strict=True))
        lines.append(f"<tr><th>{safe(shorten(name, NAMED))}</th>{cells}</tr>")
    body = "\n".join(lines)
    return (f'<p class="symbol">{safe(array.symbol)} <span class="soft">({size})</span></p>'
            f'<div class="wide"><table class="heat pinned">\n<thead><tr><th></th>{head}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody></table></div>")


def shown(array: Array) -> Array:
    """Return an array (any shape) with what is rounding beside its largest entry as zero."""
    largest = np.nanmax(np.abs(array), initial=0.0)
    return np.where(np.abs(array) < ROUNDING * largest, 0.0, array)


def _strengths(values: Array) -> Array:
    """Return the shade of each number, from -SHADES to SHADES, by its share of the largest; 0 where there is none."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    return np.nan_to_num(np.round(SHADES * values / largest if largest > 0 else np.zeros_like(values))).astype(np.int64)


def _shade(strength: int) -> str:
    return f' class="{"p" if strength > 0 else "m"}{abs(strength)}"' if strength else ""


def _number(value: float) -> str:
    """Format a number to a few digits, with a typographic minus sign; empty where there is none."""
    if np.isnan(value):
        return UNKNOWN
    text = f"{value:.{DIGITS}g}"
    if "e" in text or 0 < abs(value) < SMALL:
        digits, _, power = f"{value:.{DIGITS - 1 if abs(value) > 1 else 1}e}".partition("e")
        text = f"{digits}e{int(power)}"
    return text.replace("-", "−")


def _picture(step: ExplainedStep) -> Figure:
    """Draw the rows on the first two axes, with their names."""
    (array,) = step.arrays
    names = [shorten(name, NAMED) for name in array.rows]
    points = Points(array.values, names, single_color(len(names)), len(names), axes=list(array.columns))
    return scatter(points, "The rows on the first axes", names=names)


def _ways(layouts: Sequence[Array], names: Sequence[str]) -> Figure:
    """Draw the way of each row through the layouts (n x p each), its name at the end."""
    panel = panel_of(np.vstack(layouts))
    ways = np.stack([to_pixels(plane(layout), panel) for layout in layouts], axis=1)  # n x steps x 2
    short = [shorten(name, NAMED) for name in names]
    ends = ways[:, -1]
    texts = [text for text in place_names(ends, short, RADIUS, panel) if text is not None]
    curves = [Curve("edge", [(x, y) for x, y in way]) for way in ways.tolist()]
    marks: list[Mark] = [*backdrop("The way of each row", panel), *curves, Dots("plain", ends, RADIUS, tips=short),
                         *texts, *panel.names(*sides(["1", "2"], layouts[-1].shape[1]))]
    return Figure("The way of each row", WIDE + 2 * LEFT, panel.y.start + BOTTOM, marks)


def _end(found: Explanation) -> Part:
    said = ("A run with the same coordinates:" if found.command else
            f"No options choose these rows. A run of all {found.of:,}, with other coordinates:")
    again = [sentence(said, "soft"), verbatim(found.command or found.command_of_all, width=COMMAND)]
    return Html("<footer>" + join([*again, sentence(
        f"Numbers have {DIGITS} digits here, and what is rounding beside the largest number of a table is 0; --json "
        "has all digits. Colors show the size of a number relative to the largest of its table: blue above zero, "
        "orange below.", "soft")]).text + "</footer>")
