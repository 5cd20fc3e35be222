"""The page interactive.html: one file with Plotly's script, the rows as data, and a policy that allows nothing else."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.report.drawing.html import Html, document, sentence
from mlcli.report.drawing.palette import INKS, sequential
from mlcli.report.drawing.text import visible
from mlcli.report.figures.coloring import Coloring, Groups, numbers_of, single_color
from mlcli.report.figures.scatter import sample_rows
from mlcli.report.page.embedding import MOST_LABELS, coloring_of

MOST = 50_000  # largest number of points that a browser turns smoothly
AXES = 10  # largest number of axes to choose from


def data_of(run: FinishedRun) -> dict[str, Any]:
    """Return the data for the page's script, with the chosen columns as the first colors; a sample of many rows."""
    table, count = run.embedding, min(run.embedding.values.shape[1], AXES)
    rows = sample_rows(len(table.values), MOST, run.seed)
    rows = np.arange(len(table.values)) if rows is None else rows
    columns = list(dict.fromkeys((*run.colors, *table.labels)))[:max(MOST_LABELS, len(run.colors))]
    return {"ids": [visible(table.ids[row]) for row in rows.tolist()], "rows": pack(rows, "<u4"),
            "axes": [{"name": name, "title": title, "values": pack(table.values[rows, axis], "<f8")}
                     for axis, (name, title) in enumerate(zip(run.axis_names(count), run.axes,
                                                              strict=False))],
            "labels": [label_column(coloring_of(table, name), table.labels[name], rows) for name in columns],
            "plain": color_entries(single_color(0)), "ramps": [sequential(ground) for ground in (0, 1)]}


def label_column(colors: Coloring, texts: Sequence[str], rows: AnyArray) -> dict[str, Any]:
    """Return a label column: its different texts, the number of each row's text, and the colors."""
    known = {text: place for place, text in enumerate(dict.fromkeys(texts[row] for row in rows.tolist()))}
    codes = np.array([known[texts[row]] for row in rows.tolist()], np.int64)
    described = {"name": visible(colors.name), "texts": [visible(text) for text in known], "codes": pack(codes, "<u4"),
                 **color_entries(colors)}
    if isinstance(colors, Groups):
        return {**described, "groups": pack(colors.of[rows], "u1"), "names": [visible(part) for part in colors.names]}
    numbers = np.array(numbers_of(texts) or ())[rows]
    return {**described, "numbers": pack(numbers, "<f8")}


def color_entries(colors: Coloring) -> dict[str, Any]:
    """Return the color of each group on light and on dark ground, and its shape."""
    return {"colors": [[INKS[kind].light, INKS[kind].dark] for kind in colors.kinds], "shapes": list(colors.shapes)}


def pack(values: AnyArray, kind: str) -> str:
    """Return numbers as base64 of their bytes, the least significant first."""
    return b64encode(np.ascontiguousarray(values, kind).tobytes()).decode()


def as_json(data: Mapping[str, Any]) -> str:
    """Return JSON without "<", so that no text can close the script element around it."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


SCRIPT = Path(__file__).with_name("draw.js")
CONTROLS = """<p id="controls">
<label>across <select id="x"></select></label> <label>up <select id="y"></select></label>
<label>deep <select id="z"></select></label> <label>color <select id="color"></select></label></p>
<noscript><p>This page draws with JavaScript, which is turned off; report.html needs none.</p></noscript>
<div id="plot"></div>"""
STYLE = """
body{max-width:none} h1{font-size:1.15rem} label{margin-right:1rem;white-space:nowrap}
select{font:inherit;color:var(--text);background:var(--tint);border:1px solid var(--line);border-radius:.3rem}
#plot{width:100%;height:calc(100vh - 11rem);min-height:26rem}
"""


def interactive_page(run: FinishedRun) -> str:
    """Return the page of a run with points; it loads nothing from the network."""
    scripts = plotly(), SCRIPT.read_text(encoding="utf-8")
    held = f'<script type="application/json" id="data">{as_json(data_of(run))}</script>'
    inside = "\n".join([CONTROLS, held, *(f"<script>{script}</script>" for script in scripts)])
    policy = ("default-src 'none'; script-src " + " ".join(map(policy_hash, scripts))
              + "; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; base-uri 'none'")
    return document(run.title, summary(run).text, Html(inside), policy=policy, style=STYLE)


def summary(run: FinishedRun) -> Html:
    """Return how many of the rows and axes are shown, and how to handle them."""
    rows, axes = run.embedding.values.shape
    sample = f"a random sample of {MOST:,} of {rows:,} rows" if rows > MOST else f"all {rows:,} rows"
    some = f", the first {AXES} of {axes} axes" if axes > AXES else ""
    return sentence(f"Shows {sample}{some}. Drag to turn or to zoom, double-click to go back, point at a row to read "
                    "its name; click a label to hide it, double-click to show it alone.", "soft")


@cache
def plotly() -> str:
    """Return Plotly's script, as its package ships it."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def policy_hash(script: str) -> str:
    """Return the hash of a script in the form of a content security policy."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
