"""The comparison as a page: figures for every two runs, and small multiples of embeddings and spectra."""

from collections.abc import Sequence

from mlcli.config.drawing import Look
from mlcli.config.report_options import LABELED
from mlcli.report.coloring import coloring, plain
from mlcli.report.comparison.multiples import embeddings, spectra
from mlcli.report.comparison.side_by_side import LEADING, Comparison, Pair
from mlcli.report.html import Part, document, figure, framed, joined, section, sentence, side_by_side, table
from mlcli.report.measured import MEASURES
from mlcli.report.paper.drawings import installed
from mlcli.report.paper.inline import inline
from mlcli.report.paper.scatter import Plot
from mlcli.report.scatter import MOST_IN_PAIRS, Points
from mlcli.report.text import number, safe

NAMED = 6  # runs up to which few points have their names beside them
PANEL = Look(size=(5.2, 4.6))
MOST_ON_PAGE = 24_000  # points, so that the page stays below a megabyte or so


def page(comparison: Comparison, *, label: str | None, seed: int) -> str:
    """The page, without scripts and without network; colors are by a label column of the first run."""
    names = ", ".join(side.name for side in comparison.sides)
    head = f'<p class="soft">{safe(f"{len(comparison.ids):,} rows in common: {names}", 400)}</p>'
    parts = [_inputs(comparison), _pairs(comparison), embeddings_section(comparison, label, seed),
             side_by_side(_quality(comparison), _options(comparison)), _spectra(comparison), _runs(comparison)]
    return document("Embeddings side by side", head, joined(parts))


def _inputs(comparison: Comparison) -> Part:
    """A warning where rows of the same id may not be the same data."""
    if comparison.inputs < 2:
        return None
    return section("Warning", sentence(f"The runs were made from {comparison.inputs} different inputs. Rows are "
                                       "matched by id, so what differs may be the data."))


def _quality(comparison: Comparison) -> Part:
    """The measures of every run, a column for each."""
    keys = [key for key in MEASURES if any(key in side.quality for side in comparison.sides)]
    rows = [(MEASURES[key][0], *(number(side.quality[key]) if key in side.quality else "–"
                                 for side in comparison.sides), MEASURES[key][1]) for key in keys]
    head = ("measure", *(side.name for side in comparison.sides), "meaning")
    return section("Quality", table(head, rows, range(1, 1 + len(comparison.sides)),
                                            said=len(comparison.sides) <= 2))


def _options(comparison: Comparison) -> Part:
    """The options in which runs differ."""
    rows = [(path, *values) for path, values in comparison.options.items()]
    return section("Options that differ", table(("option", *(side.name for side in comparison.sides)), rows))


def _pairs(comparison: Comparison) -> Part:
    rows = [(pair.first, pair.second, number(pair.fit.m2), angles(pair), *_neighbors(pair))
            for pair in comparison.pairs]
    near = next((pair.agreement for pair in comparison.pairs if pair.agreement), None)
    said = f"Neighborhoods of {near.neighbors} points, seen from {near.points:,}. " if near else ""
    return section("How alike they are", table(
        ("run", "with", "Procrustes m²", "principal angles", "shared neighbors", "Jaccard"), rows, (2, 4, 5)), sentence(
        f"{said}Procrustes m² is what is left of the sum of squares when one embedding, centered and scaled to 1, is "
        "turned, mirrored and scaled onto the other: 0 the same shape, 1 nothing alike. Principal angles are those "
        "between the spans of the centered embeddings.", "soft"))


def angles(pair: Pair) -> str:
    """The principal angles in degrees, ascending; the first four of many."""
    shown = [f"{angle:.3g}°" for angle in pair.angles[:4]]
    return ", ".join(shown) + (f" to {pair.angles[-1]:.3g}°" if len(pair.angles) > 4 else "")


def _neighbors(pair: Pair) -> tuple[str, str]:
    near = pair.agreement
    if near is None:
        return "", ""
    return with_error(near.overlap, near.overlap_se), with_error(near.jaccard, near.jaccard_se)


def with_error(value: float, error: float | None) -> str:
    """A share with its standard error, where it has one."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.2g}"


def embeddings_section(comparison: Comparison, label: str | None, seed: int, said: str = "") -> Part:
    """Every embedding, aligned to the first where they are of the same rows."""
    name = label if label is not None else next(iter(comparison.labels), None)
    count = len(comparison.ids)
    colors = plain(count) if name is None else coloring(name, comparison.labels[name])
    most = min(MOST_IN_PAIRS, MOST_ON_PAGE // len(comparison.sides))
    axes = comparison.sides[0].axes
    points = [Points(values, comparison.ids, colors, count, axes=axes).sample(most, seed)
              for values in comparison.placed]
    drawn = f" A random sample of {most:,} of {count:,} points is drawn." if count > most else ""
    caption = ("Each embedding is centered, scaled to the same size, and turned onto the first by Procrustes, so that "
               f"all have its axes; two are drawn.{drawn} {said}".rstrip())
    named = all(side.named for side in comparison.sides)
    if named and count <= LABELED and len(points) <= NAMED and installed():
        return section("Embeddings", _labeled(comparison, points), sentence(caption, "soft"))
    return section("Embeddings", figure(embeddings(comparison.sides, points), caption))


def _labeled(comparison: Comparison, points: Sequence[Points]) -> Part:
    """A panel for each of few runs, with the ids of few points beside them."""
    plots = [Plot(part, side.name, PANEL, part.ids) for side, part in zip(comparison.sides, points, strict=True)]
    return side_by_side(*(framed(inline(plot.drawn("svg"), f"Embedding: {plot.title}")) for plot in plots))


def _spectra(comparison: Comparison) -> Part:
    rows = [(str(i + 1), *(number(side.eigenvalues[i]) if i < len(side.eigenvalues) else "–"
                           for side in comparison.sides)) for i in range(LEADING)
            if any(i < len(side.eigenvalues) for side in comparison.sides)]
    drawn = figure(spectra(comparison.sides), "Eigenvalues in percent of each run's largest; kept axes stand out.")
    return section("Spectra", drawn, table(("component", *(side.name for side in comparison.sides)), rows,
                                            range(1 + len(comparison.sides))))


def _runs(comparison: Comparison) -> Part:
    rows = [(side.name, side.method, side.input, f"{side.rows:,}", str(side.values.shape[1]),
             "" if side.seconds is None else f"{side.seconds:.3g}") for side in comparison.sides]
    return section("Runs", table(("run", "method", "input", "rows", "axes", "seconds"), rows, (3, 4, 5)))
