"""The parts of a report that show what came out: embedding, spectrum, dimension, quality, trace, loadings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.report.coloring import Coloring, Range, coloring, plain
from mlcli.report.contents import Contents, Rows
from mlcli.report.curves import curve, shepard
from mlcli.report.decoder.shade import shares_of
from mlcli.report.drawing import Figure
from mlcli.report.html import Part, facts, figure, joined, section, sentence, table
from mlcli.report.scatter import LONGEST_RATIO, MOST, MOST_IN_PAIRS, Edges, Points, equal_units, pairs, scatter
from mlcli.report.scree import Eigenvalues, cumulative, scree
from mlcli.report.text import number, visible

MOST_LABELS = 4
LEADING = 10  # eigenvalues in the table
BESIDE = "validation"  # the column of trace.csv that is drawn beside the objective
LISTED = 20  # columns or classes whose figures are shown
MEASURES = {  # key of quality.json -> name and meaning
    "trustworthiness": ("trustworthiness", "1: no point is shown near another that is far in the data"),
    "continuity": ("continuity", "1: no neighbor in the data is torn away"),
    "lcmc": ("LCMC", "shared neighbors, over what chance would share"),
    "stress_1": ("stress-1", "0: all distances are kept"),
    "stress_1_scaled": ("stress-1, best scale", "the same after the embedding is stretched to fit"),
    "sammon_stress": ("Sammon stress", "0: all distances are kept, short ones weigh more"),
    "sammon_stress_scaled": ("Sammon stress, best scale", "the same after the embedding is stretched to fit"),
    "residual_variance": ("residual variance", "1 - r² of distances, without the diagonal"),
    "residual_variance_tenenbaum": ("residual variance (Tenenbaum)", "1 - r² over the whole matrix"),
    "shepard_correlation": ("Shepard correlation", "rank correlation of distances"),
    "reconstruction_error": ("reconstruction error", "mean squared distance to the points that come back"),
    "label_1nn_error": ("1-NN error of labels", "share of points whose nearest neighbor has another label"),
    "silhouette": ("silhouette", "1: points with the same label lie together"),
}


def embedding(run: Contents, label: str | None) -> Part:
    """The first axes, colored by each label column, and every pair of up to four axes."""
    labels = _chosen(run, label)
    values = run.embedding.values
    if not values.size and run.loadings is not None and not run.manifest["input"]["rows"]:
        return section("Embedding", sentence("A covariance matrix has no rows to embed; the axes are in the loadings."))
    if not values.size:
        return section("Embedding", sentence("The embedding has no rows or no axes."))
    colors = [coloring(name, texts) for name, texts in labels.items()] or [plain(len(values))]
    points = [Points(values, run.embedding.ids, color, len(values)) for color in colors]
    seed = int(run.manifest.get("seed") or 0)
    drawn = [part.sample(MOST, seed) for part in points]
    edges = _edges(run, drawn[0])
    unsure = _deviations(run)
    parts = [figure(scatter(part, _colored(part.colors), edges if i == 0 else None, unsure), _caption(part, i == 0)
                    + (_joined(edges) + _gray(unsure) if i == 0 else "")) for i, part in enumerate(drawn)]
    if values.shape[1] > 2:
        some = drawn[0].sample(MOST_IN_PAIRS, seed)
        parts.append(figure(pairs(some, run.proportions), f"Pairs of the first {min(values.shape[1], 4)} axes; each "
                            f"panel has scales of its own.{_sampled(some)}"))
    return section("Embedding", *parts)


def main_scatter(run: Contents, title: str) -> Figure:
    """The first two axes, colored by the first label column, as a figure of its own."""
    values, labels = run.embedding.values, run.embedding.labels
    colors = next((coloring(name, texts) for name, texts in labels.items()), plain(len(values)))
    points = Points(values, run.embedding.ids, colors, len(values)).sample(MOST, int(run.manifest.get("seed") or 0))
    return scatter(points, title, _edges(run, points), _deviations(run))


def _edges(run: Contents, points: Points) -> Edges | None:
    """The edges of the neighbor graph, where they are drawn: on a plane."""
    if run.edges is None or points.values.shape[1] < 2:
        return None
    return Edges.of(run.embedding.values, run.edges, points.values, int(run.manifest.get("seed") or 0))


def _deviations(run: Contents) -> Array | None:
    """How unsure the decoder is over the plane, where it knows that."""
    return None if run.decoded is None else run.decoded.deviations


def _gray(deviations: Array | None) -> str:
    if deviations is None:
        return ""
    if shares_of(deviations) is None:
        return f" The decoder is equally sure everywhere: its standard deviation is {number(float(deviations.max()))}."
    return (" The grayer the background, the less sure the decoder, by the logarithm of its posterior standard "
            "deviation; other axes are at their means.")


def _joined(edges: Edges | None) -> str:
    if edges is None:
        return ""
    count = len(edges.ends)
    return (f" Lines are the {edges.whole:,} edges of the neighbor graph." if count == edges.whole else
            f" Lines are a random sample of {count:,} of the {edges.whole:,} edges of the neighbor graph.")


def _chosen(run: Contents, label: str | None) -> Mapping[str, Sequence[str]]:
    labels = run.embedding.labels
    return {label: labels[label]} if label is not None else dict(list(labels.items())[:MOST_LABELS])


def _colored(colors: Coloring) -> str:
    return f"Embedding, colored by {visible(colors.name, 40)}" if colors.name else "Embedding"


def _caption(points: Points, first: bool) -> str:
    stretched = points.values.shape[1] > 1 and not equal_units(points.values)
    units = (f" The second axis is drawn longer than its unit: the ranges differ by more than {LONGEST_RATIO:.2g} "
             "times." if stretched else " A unit is equally long on both axes." if points.values.shape[1] > 1 else "")
    scale = " Colors go linearly from the least number to the largest." if isinstance(points.colors, Range) else ""
    said = "One axis, against the rows in their order." if points.values.shape[1] == 1 else "The first two axes."
    return f"{said}{units if first else ''}{scale}{_sampled(points)}"


def _sampled(points: Points) -> str:
    count = len(points.values)
    return f" A random sample of {count:,} of {points.whole:,} points is drawn." if count < points.whole else ""


def spectrum(run: Contents) -> Part:
    """The scree plot, the cumulative share, and the first eigenvalues as a table."""
    eigenvalues, summary = run.eigenvalues, run.manifest.get("spectrum") or {}
    if eigenvalues is None or not eigenvalues.values:
        return None
    rows = [(i + 1, number(value), _percent(share), _percent(total)) for i, (value, share, total) in enumerate(
        zip(eigenvalues.values[:LEADING], run.proportions, eigenvalues.cumulative, strict=False))]
    rows += [(len(rows) + i + 1, f"≥ {number(value)}", "–", "–")
             for i, value in enumerate(eigenvalues.at_least[: LEADING - len(rows)])]
    ranked = None if eigenvalues.what.startswith("eigenvalues") else sentence(
        f"Axes are ranked by {eigenvalues.what}.", "lead")
    return section("Spectrum", ranked, figure(scree(eigenvalues, "Scree plot")),
                   figure(cumulative(eigenvalues, "Cumulative share of the trace")),
                   table(("component", eigenvalues.what, "share of trace", "cumulative"), rows, (0, 1, 2, 3)),
                   _bounds(eigenvalues), _negative(summary))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"


def _bounds(eigenvalues: Eigenvalues) -> Part:
    if not eigenvalues.at_least:
        return None
    return sentence("Eigenvalues after ≥ are lower bounds, which the computation of the others leaves behind; "
                    "method.eigensolve.report computes them.", "soft")


def _negative(summary: Mapping[str, Any]) -> Part:
    share = summary.get("negative_share")
    if share is None or share == 0:
        return None
    return sentence(f"Negative eigenvalues hold {100 * share:.3g}% of the sum of all sizes; they never become axes.",
                    "soft")


def dimension(run: Contents) -> Part:
    """The recommended number of axes, the answer of each rule, and the residual variance by dimension."""
    document = run.dimension
    if document is None:
        return None
    rows = [(name.replace("_", " "), number(rule.get("components")), rule.get("detail") or "", rule.get("rule") or "")
            for name, rule in document.get("rules", {}).items()]
    left = [(name.replace("_", " "), reason) for name, reason in document.get("left_out", {}).items()]
    return section("How many dimensions", sentence(document["recommendation"]["sentence"], "lead"),
                   table(("rule", "axes", "found", "what it says"), rows, (1,)), residuals(run),
                   table(("rule that does not apply", "why"), left))


def residuals(run: Contents) -> Part:
    """Isomap's residual-variance curve."""
    rule = (run.dimension or {}).get("rules", {}).get("residual_variance", {})
    values = rule.get("figures", {}).get("residual_variances", ())
    if not values:
        return None
    places = [float(i + 1) for i in range(len(values))]
    drawn = curve("Residual variance by dimension", "axes", "1 − r²", places, {"residual variance": values},
                  marked=float(run.embedding.values.shape[1]))
    return figure(drawn, "What is left of the distances to keep after so many axes; the right number is where it "
                  "stops falling.")


def quality(run: Contents) -> Part:
    """The measures with standard errors, the Shepard diagram and the Q_NX curve."""
    document = run.quality
    if document is None:
        return None
    values = {key: value for key, value in document.items() if isinstance(value, float) and not key.endswith("_se")}
    return section("Quality", _basis(document), _measures(document, values), _shepard(run.shepard), _q_nx(document))


def _measures(document: Mapping[str, Any], values: Mapping[str, float]) -> Part:
    """The measures as a table, with standard errors where they come from a sample."""
    named = [(key, *MEASURES.get(key, (key.replace("_", " "), ""))) for key in values]
    if not any(f"{key}_se" in document for key in values):
        rows = [(name, number(values[key]), meaning) for key, name, meaning in named]
        return table(("measure", "value", "meaning"), rows, (1,))
    sampled = [(name, number(values[key]), _error(document.get(f"{key}_se")), meaning) for key, name, meaning in named]
    return table(("measure", "value", "± s.e.", "meaning"), sampled, (1, 2))


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _basis(document: Mapping[str, Any]) -> Part:
    """From how many points the measures come, and which distances were to be kept."""
    exact = document.get("exact", True)
    points = "all points" if exact else f"a seeded sample of {number(document.get('anchors'))} points"
    words = [f"Neighborhoods of {document['neighbors']} points" if document.get("neighbors") else "",
             f"measured from {points}", f"{document['distances']} distances" if document.get("distances") else ""]
    return sentence("; ".join(word for word in words if word).capitalize() + ".", "soft")


def _shepard(rows: Rows | None) -> Part:
    if rows is None:
        return None
    points = np.column_stack([rows.numbers("distance"), rows.numbers("embedded")])
    return figure(shepard("Shepard diagram", points), f"{len(points):,} pairs of points: the distance to keep and the "
                  "distance in the embedding.")


def _q_nx(document: Mapping[str, Any]) -> Part:
    values = document.get("q_nx")
    if not isinstance(values, Mapping) or not values.get("values"):
        return None
    places = [float(place) for place in values["neighbors"]]
    return figure(curve("Shared neighbors by size of neighborhood (Q_NX)", "neighbors", "share", places,
                        {"Q_NX": values["values"]}), "The share of each point's nearest neighbors that it keeps.")


def fit(run: Contents) -> Part:
    """The figures of the method's fit: single numbers, and those that every column or class has one of."""
    figures = run.manifest.get("fit", {})
    single = [(name.replace("_", " "), _said(value)) for name, value in figures.items()
              if value is None or isinstance(value, int | float)]
    each = {name.replace("_", " "): values for name, values in figures.items() if isinstance(values, Mapping)}
    cut = any(len(values) > LISTED for values in each.values())
    return section("Fit", facts(single) if single else None, *(_of_each(*item) for item in each.items()),
                   sentence(f"The first {LISTED}; all of them stand in run.json.", "soft") if cut else None)


def _of_each(name: str, values: Mapping[str, float | None]) -> Part:
    return table((name, "value"), [(key, _said(value)) for key, value in list(values.items())[:LISTED]], (1,))


def _said(value: float | None) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else number(value)


def trace(run: Contents) -> Part:
    """The objective of an iterative method, step by step, beside that of rows that are held out."""
    if run.trace is None:
        return None
    names = list(run.trace.columns)
    places = run.trace.numbers(names[0])
    shown = [[name, BESIDE] if name == names[1] and BESIDE in names else [name] for name in names[1:5]
             if name != BESIDE]
    parts = [figure(curve(f"{' and '.join(map(visible, pair))} by {visible(names[0])}", names[0], pair[0], places,
                          {name: run.trace.numbers(name) for name in pair}, zero=False)) for pair in shown]
    return section("Iterations", *parts) if places else None


def loadings(run: Contents) -> Part:
    """The columns that weigh most on the first axes."""
    if run.loadings is None:
        return None
    names = list(run.loadings.columns)
    axes = [name for name in names[1:] if name][:6]
    values = np.array([run.loadings.numbers(name) for name in axes]).T
    if not values.size:
        return None
    order = np.argsort(-np.abs(values).max(axis=1), kind="stable")[:20]
    texts = run.loadings.columns[names[0]]
    rows = [(visible(texts[row]), *(f"{value:.4g}" for value in values[row])) for row in order.tolist()]
    more = f" The {len(rows)} of {len(values):,} columns with the largest ones." if len(values) > len(rows) else ""
    return section("Loadings", joined([sentence(f"How much each column weighs on each axis.{more}", "soft"),
                                       table((names[0], *axes), rows, range(1, len(axes) + 1))]))
