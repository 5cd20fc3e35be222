"""The page interactive.html: one file with its scripts, the rows as data, and a policy that allows nothing else."""

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.config.report_options import MOST_SHOWN, axes_shown
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.report.drawing.html import Html, document, figure, join, sentence
from mlcli.report.drawing.palette import GROUND, sequential
from mlcli.report.drawing.text import visible
from mlcli.report.figures.coloring import Groups, numbers_of
from mlcli.report.figures.scatter import sample_rows, scatter
from mlcli.report.interactive.columns import LAST, id_column, inks, number_column, text_column
from mlcli.report.page.embedding import MOST_LABELS, coloring_of, first_column, points_of

LABELS, CELLS = 30, 4_000_000  # label columns to choose from, and cells of them above which there are fewer
SCRIPTS = tuple(Path(__file__).with_name(name) for name in ("data.js", "picture.js", "page.js"))
STYLE = Path(__file__).with_name("page.css")
CONTROLS = """<div id="shown" hidden>
<div id="controls">
<label>x <select id="x"></select></label> <label>y <select id="y"></select></label>
<label>z <select id="z"></select></label> <label>color <select id="color"></select></label>
<label><input type="checkbox" id="names" checked> names</label>
<input type="search" id="search" placeholder="search ids and labels" aria-label="search ids and labels"
spellcheck="false">
<button id="lasso" aria-pressed="false" title="Draw a loop around points (L)">lasso</button>
<button id="inview" title="Select the points inside the frame (V)">select view</button>
<button id="save" disabled title="The ids of the selected rows as CSV (S)">save ids</button>
<button id="clear" disabled title="Forget the selection (Esc)">clear</button>
<button id="whole" title="Show the whole picture (0)">reset view</button>
<span id="said" role="status"></span></div>
<div id="field"><div id="frame"><canvas id="plot" tabindex="0" role="application"
aria-label="Scatter plot of the embedding; arrow keys move it, + and - zoom, V selects what is in view"
></canvas><div id="tip" hidden></div></div>
<div id="legend" role="group" aria-label="Legend" hidden></div></div>
<p id="shades" hidden><i></i> <span></span></p></div>
<p id="failed" hidden>The interactive picture could not be drawn; this is the one of report.html.</p>"""
NO_SCRIPTS = "<noscript><p>JavaScript is turned off: this picture stands still.</p></noscript>"
HELP = ("Drag to move or to turn, scroll or pinch to zoom, double-click for the whole picture. Point at a row, or tap "
        "it, to read it. Click a label to hide it, double-click to show it alone. Lasso, or Shift and drag, selects "
        "rows; select view selects what the frame shows; save ids writes their ids as CSV. Keys: arrows, +, -, 0 "
        "(reset view), / (search), L (lasso), V (select view), S (save ids), Esc (clear).")


def data_of(run: FinishedRun) -> dict[str, Any]:
    """Return the data for the page's scripts, with the chosen columns as the first colors; a sample of very many rows.
    """
    table = run.embedding
    sample = sample_rows(len(table.values), MOST_SHOWN, run.seed)
    rows = range(len(table.values)) if sample is None else sample.tolist()
    some: Any = slice(None) if sample is None else sample
    count = axes_shown(len(rows), table.values.shape[1])
    axes = [number_column(name, title, np.asarray(table.values[some, axis]))
            for axis, (name, title) in enumerate(zip(run.axis_names(count), run.axes, strict=False))]
    if count == 1:
        axes.append(number_column("row", "row", 1.0 + np.arange(len(table.values))[some]))
    columns = list(dict.fromkeys((*run.colors, *table.labels)))[:label_count(run)]
    return {"rows": len(rows), "single": count == 1,
            "ids": id_column(table.ids if sample is None else [table.ids[row] for row in rows]),
            "axes": axes, "columns": [label_column(run, name, rows) for name in columns],
            "plain": inks("plain"), "other": inks("other"), "ground": GROUND,
            "ramps": [sequential(ground) for ground in (0, 1)]}


def label_column(run: FinishedRun, name: str, rows: Any) -> dict[str, Any]:
    """Return a label column of some rows: numbers where the report has a scale for them, else texts."""
    texts, colors = run.embedding.labels[name], coloring_of(run.embedding, name)
    some = texts if len(rows) == len(texts) else [texts[row] for row in rows]
    if isinstance(colors, Groups):
        return text_column(colors, some)
    return number_column(visible(name), visible(name), np.array(numbers_of(some) or [np.nan] * len(some)))


def label_count(run: FinishedRun) -> int:
    """Return how many label columns the page has at most: fewer of very many rows, but all that were chosen."""
    rows = len(run.embedding.values)
    return max(len(run.colors), MOST_LABELS, min(LABELS, CELLS // max(rows, 1)))


def as_json(data: Mapping[str, Any]) -> str:
    """Return JSON without "<", so that no text can close the script element around it."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def interactive_page(run: FinishedRun) -> str:
    """Return the page of a run with points; it loads nothing from the network."""
    scripts = [path.read_text(encoding="utf-8") for path in SCRIPTS]
    still = figure(scatter(points_of(run, first_column(run)), run.title))
    held = f'<script type="application/json" id="data">{as_json(data_of(run))}</script>'
    inside = join([Html(CONTROLS), Html('<div id="still">'), Html(NO_SCRIPTS), still, Html("</div>"), Html(held),
                   *(Html(f"<script>{script}</script>") for script in scripts)])
    policy = ("default-src 'none'; script-src " + " ".join(map(policy_hash, scripts))
              + "; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; base-uri 'none'")
    return document(run.title, summary(run).text, inside, policy=policy, style=STYLE.read_text(encoding="utf-8"))


def summary(run: FinishedRun) -> Html:
    """Return how many of the rows and columns are shown, how exactly, and how to handle them."""
    (rows, axes), labels = run.embedding.values.shape, len(run.embedding.labels)
    shown = min(rows, MOST_SHOWN)
    sample = f"a random sample of {shown:,} of {rows:,} rows" if rows > shown else f"all {rows:,} rows"
    count = axes_shown(shown, axes)
    some = f", the first {count} of {axes} axes" if axes > count else ""
    few = f", {label_count(run)} of {labels} label columns" if labels > label_count(run) else ""
    return join([sentence(f"Shows {sample}{some}{few}. Numbers are rounded to 1/{LAST:,} of their column's range.",
                          "soft"),
                 Html(f"<details id=\"keys\"><summary>How to use it</summary>{sentence(HELP, 'soft').text}</details>")])


@cache
def policy_hash(script: str) -> str:
    """Return the hash of a script in the form of a content security policy."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
