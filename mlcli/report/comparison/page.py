"""The comparison as a page: figures for every two runs, and small multiples of embeddings and spectra."""

from collections.abc import Sequence

from mlcli.config.report_options import LABELED
from mlcli.report.comparison import run_tables
from mlcli.report.comparison.multiples import embeddings, spectra
from mlcli.report.comparison.side_by_side import Comparison
from mlcli.report.drawing.html import Part, document, figure, join, section, sentence, side_by_side
from mlcli.report.drawing.text import safe, shorten
from mlcli.report.figures.coloring import coloring, single_color
from mlcli.report.figures.scatter import MOST_IN_PAIRS, Points, scatter

NAMED = 6  # largest number of runs with names next to few points
ALIGNED = ("Each embedding is centered, scaled to the same size, and aligned with the first by a Procrustes rotation; "
           "one of fewer axes with as many leading axes of the first; two axes are drawn. A run whose axes the "
           "rotation mixes has the names of the first run's axes, onto which it is turned.")
OWN = ("Each embedding is centered and scaled to the same size, in its own orientation; its first two axes are drawn. "
       "Signs and, where eigenvalues are close, the order of axes are arbitrary.")
MOST_ON_PAGE = 24_000  # largest number of points, so that the page stays below a megabyte or so


def page(comparison: Comparison, *, seed: int) -> str:
    """Return the page, without scripts and without network."""
    sides = comparison.sides
    head = f'<p class="soft">{safe(f"{len(sides)} runs, {len(comparison.ids):,} rows in common")}</p>'
    quality, options = run_tables.quality(comparison), run_tables.options(comparison)
    below = (side_by_side(quality, options),) if len(sides) <= run_tables.FEW else (quality, options)
    parts = [_inputs(comparison), run_tables.runs(sides), run_tables.pairs(comparison),
             embeddings_section(comparison, seed), *below, _spectra(comparison)]
    return document("Embeddings side by side", head, join(parts))


def _inputs(comparison: Comparison) -> Part:
    """Return a warning where rows of the same id may not be the same data."""
    if comparison.inputs < 2:
        return None
    return section("Warning", sentence(f"The runs were made from {comparison.inputs} different inputs. Rows are "
                                       "matched by id, so what differs may be the data."))


def embeddings_section(comparison: Comparison, seed: int, said: str = "") -> Part:
    """Return every embedding, aligned with the first or in its own orientation, once for each column for colors."""
    count, columns = len(comparison.ids), comparison.colors or list(comparison.labels)[:1]
    colors = [coloring(name, comparison.labels[name], measured=name in comparison.measured)
              for name in columns] or [single_color(count)]
    most = min(MOST_IN_PAIRS, MOST_ON_PAGE // (len(comparison.sides) * len(colors)))
    axes = [comparison.axis_labels(place) for place in range(len(comparison.placed))]
    drawn = [_drawn(comparison, [Points(values, comparison.ids, color, count, axes=names).sample(most, seed)
                                 for values, names in zip(comparison.placed, axes, strict=True)]) for color in colors]
    sample = f" A random sample of {most:,} of {count:,} points is drawn." if count > most else ""
    return section("Embeddings", *drawn, sentence(f"{ALIGNED if comparison.aligned else OWN}{sample} {said}".rstrip(),
                                                  "soft"))


def _drawn(comparison: Comparison, points: Sequence[Points]) -> Part:
    """Return every embedding in one coloring."""
    name = points[0].colors.name
    by = f", colored by {shorten(name, 40)}" if name else ""
    named = all(side.named for side in comparison.sides)
    if named and points[0].whole <= LABELED and len(points) <= NAMED:
        return join([sentence(f"Embeddings{by}.") if by else None, _labeled_panels(comparison, points)])
    return figure(embeddings(comparison.sides, points, f"Embeddings{by}"), f"Embeddings{by}." if by else "")


def _labeled_panels(comparison: Comparison, points: Sequence[Points]) -> Part:
    """Return a panel for each of few runs, with the ids of few points next to them."""
    titles = run_tables.titles(comparison.sides, 60)
    return side_by_side(*(figure(scatter(part, title, names=part.ids))
                          for title, part in zip(titles, points, strict=True)))


def _spectra(comparison: Comparison) -> Part:
    """Return the spectra of the runs that have one, and a sentence that names the others."""
    sides = comparison.sides
    if not any(side.eigenvalues for side in sides):
        return None
    drawn = figure(spectra(sides), "Eigenvalues in percent of each run's largest; kept axes stand out.")
    without = [title for side, title in zip(sides, run_tables.titles(sides, 60), strict=True) if not side.eigenvalues]
    said = f"Without a spectrum: {', '.join(without)}." if without else ""
    return section("Spectra", drawn, sentence(said, "soft") if said else None, run_tables.eigenvalues(sides))
