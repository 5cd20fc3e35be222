"""The page relate.html: figure, fitted variables, partition, dispersion and species of a relation."""

from collections.abc import Mapping

from mlcli.config.report_options import Report
from mlcli.report.drawing.html import Part, document, facts, figure, fold, frame_picture, join, section, sentence
from mlcli.report.drawing.text import number, safe
from mlcli.report.relation.contents import Relation
from mlcli.report.relation.figure import caption, plain_figure
from mlcli.report.relation.tables import tables_of
from mlcli.report.tables.table import ReportTable, as_html

BY = {"terms": "Terms are added one after the other, so that their order matters.",
      "margin": "Each term is tested after all others.",
      "none": "The model is tested as a whole; --by terms or --by margin test its terms."}
MOST = 20  # rows of a table that is not folded


def page(found: Relation, report: Report, title: str, drawn: bytes) -> str:
    """Return the page as one HTML document without scripts and without network; `drawn` is the figure as SVG."""
    words = f"{found.run} with {found.environment}: {found.rows:,} rows in common"
    tables = tables_of(found)
    parts = [_figure(found, report, title, drawn), _environment(found, tables), _partition(found, tables),
             _dispersion(found, tables), _species(tables), _conditions(found)]
    return document(title, f'<p class="soft">{safe(words, 400)}</p>', join(parts))


def _figure(found: Relation, report: Report, title: str, drawn: bytes) -> Part:
    if not report.plotting:
        plain = plain_figure(found, title, named=report.point_labels != "none")
        return section("Ordination and environment", figure(plain, caption(found)))
    from mlcli.report.paper.inline import inline

    picture = inline(drawn, f"Ordination and environment: {title}")
    return section("Ordination and environment", frame_picture(picture, caption(found)))


def _shown(tables: Mapping[str, ReportTable], name: str) -> Part:
    table = tables.get(name)
    return None if table is None else as_html(table)


def _environment(found: Relation, tables: Mapping[str, ReportTable]) -> Part:
    if not (found.vectors or found.factors):
        return None
    axes = ", ".join(map(str, found.axes))
    return section("Fit of the environment", sentence(
        f"On {'axis' if len(found.axes) == 1 else 'axes'} {axes}: r² is the share of a variable that the axes explain "
        "together, of a factor the share of the axes' sum of squares between its levels. p is the share of "
        "permutations with an r² no smaller. With many variables some p are small by chance.", "soft"),
        _shown(tables, "vectors.csv"), _shown(tables, "factors.csv"),
        fold("Means of the levels", _shown(tables, "centroids.csv")))


def _partition(found: Relation, tables: Mapping[str, ReportTable]) -> Part:
    if found.partition is None:
        return None
    return section("PERMANOVA", sentence(
        f"Dissimilarities ~ {found.partition.formula}, {found.partition.rows:,} rows. {BY[found.partition.by]} R² is "
        "the share of all variation. A small p says that groups differ in place or in dispersion; the test of "
        "dispersion (--dispersion) tells which.", "soft"), _shown(tables, "permanova.csv"))


def _dispersion(found: Relation, tables: Mapping[str, ReportTable]) -> Part:
    if found.spread is None:
        return None
    test = found.spread.found
    return section(f"Dispersion by {found.spread.name}", sentence(
        f"F = {number(test.ratio)} with {test.freedom[0]} and {test.freedom[1]} degrees of freedom, "
        f"p = {number(test.p_value)}: whether the mean distance to the {_center(found.spread.center)} of the own group "
        "is the same in all groups."), _shown(tables, "dispersion.csv"),
        fold("Every two groups, by the same permutations", _shown(tables, "dispersion_pairs.csv")))


def _center(center: str) -> str:
    return "spatial median" if center == "median" else center


def _species(tables: Mapping[str, ReportTable]) -> Part:
    table = tables.get("species.csv")
    if table is None:
        return None
    said, shown = sentence(f"{table.caption} species.csv has all digits.", "soft"), as_html(table)
    return section("Species", said, shown if len(table.rows) <= MOST else fold(f"All {len(table.rows):,}", shown))


def _conditions(found: Relation) -> Part:
    drawn = "given in a file" if found.seed is None else f"by seed {found.seed}"
    pairs = [("permutations", f"{found.permutations:,}, {drawn}"
              + ("" if found.strata is None else f", within {found.strata}")),
             ("rows", f"{found.rows:,} in both; {found.alone[0]:,} of the run alone, {found.alone[1]:,} of the file"),
             *([("dissimilarities", found.distances)] if found.distances else []),
             *([("weights of rows", found.weights)] if found.weights else []),
             ("hash of the file (SHA-256)", found.sha256)]
    return section("Conditions", facts(pairs), *(sentence(text, "soft") for text in found.notes))
