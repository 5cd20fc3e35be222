"""The page interactive.html: one file with Plotly's script, the rows as data, and a policy that allows nothing else."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from mlcli.findings.frame.contents import Contents
from mlcli.report.drawing.html import Html, document, sentence
from mlcli.report.interactive.points import AXES, MOST, as_json, data_of

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


def interactive_page(run: Contents) -> str:
    """Return the page of a run with points; it loads nothing from the network."""
    scripts = plotly(), SCRIPT.read_text(encoding="utf-8")
    held = f'<script type="application/json" id="data">{as_json(data_of(run))}</script>'
    inside = "\n".join([CONTROLS, held, *(f"<script>{script}</script>" for script in scripts)])
    policy = ("default-src 'none'; script-src " + " ".join(map(policy_hash, scripts))
              + "; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; base-uri 'none'")
    return document(run.title, summary(run).text, Html(inside), policy=policy, style=STYLE)


def summary(run: Contents) -> Html:
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
