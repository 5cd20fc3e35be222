"""The comparison as a page: figures for every two runs, and small multiples of embeddings and spectra."""

from mlcli.report.coloring import coloring, plain
from mlcli.report.comparison.multiples import embeddings, spectra
from mlcli.report.comparison.side_by_side import LEADING, Comparison, Pair
from mlcli.report.html import Part, document, figure, joined, section, sentence, table
from mlcli.report.scatter import MOST_IN_PAIRS, Points
from mlcli.report.text import number, safe

MOST_ON_PAGE = 24_000  # points, so that the page stays below a megabyte or so


def page(comparison: Comparison, *, label: str | None, seed: int) -> str:
    """The page, without scripts and without network; colors are by a label column of the first run."""
    names = ", ".join(side.name for side in comparison.sides)
    head = f'<p class="soft">{safe(f"{len(comparison.ids):,} rows in common: {names}", 400)}</p>'
    parts = [_pairs(comparison), embeddings_section(comparison, label, seed), _spectra(comparison), _runs(comparison)]
    return document("Embeddings side by side", head, joined(parts))


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
    points = [Points(values, comparison.ids, colors, count).sample(most, seed) for values in comparison.placed]
    drawn = f" A random sample of {most:,} of {count:,} points is drawn." if count > most else ""
    caption = ("Each embedding is centered, scaled to the same size, and turned onto the first by Procrustes; two axes "
               f"are drawn.{drawn} {said}".rstrip())
    return section("Embeddings", figure(embeddings(comparison.sides, points), caption))


def _spectra(comparison: Comparison) -> Part:
    rows = [(str(i + 1), *(number(side.eigenvalues[i]) if i < len(side.eigenvalues) else "–"
                           for side in comparison.sides)) for i in range(LEADING)
            if any(i < len(side.eigenvalues) for side in comparison.sides)]
    drawn = figure(spectra(comparison.sides), "Eigenvalues in percent of each run's largest; kept axes stand out.")
    return section("Spectra", drawn, table(("component", *(side.name for side in comparison.sides)), rows,
                                            range(1 + len(comparison.sides))))


def _runs(comparison: Comparison) -> Part:
    rows = [(side.name, side.method, side.input, f"{side.rows:,}", str(side.values.shape[1]))
            for side in comparison.sides]
    return section("Runs", table(("run", "method", "input", "rows", "axes"), rows, (3, 4)))
