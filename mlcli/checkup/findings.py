"""Findings of a checkup: facts that the user should know and may have to act on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_UP, Context

import numpy as np

from mlcli.base.context import context
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array
from mlcli.base.units import percent
from mlcli.base.values.naming import listed, shown
from mlcli.checkup.report import (
    EdgeFacts,
    EuclideanConditions,
    Finding,
    LabelFacts,
    MetricConditions,
    Offender,
    Outliers,
    Report,
    TableFacts,
    Unknown,
)
from mlcli.config.run_config import RunConfig
from mlcli.core.graph.neighbors import MANY
from mlcli.data.options.wording import counted
from mlcli.data.pairs.square import SHARE, look_like_similarities
from mlcli.data.prepare.columns import MANY_COLUMNS, NEARLY_ALL, proposal, remedy, texts
from mlcli.data.table.table import Table
from mlcli.errors import spell

REMEDIES = {  # by the cause of negative eigenvalues
    "noise": "; as they are noise of measurement, leave them out",
    "extent": "; as they come from the sizes of objects, leave them out, too: a correction adds one size to all",
    "space": "; as they are distances of a space that is not Euclidean, {method.name=nmds}, which keeps their order, "
             "or {method.name=isomap}, which keeps what is near, may show more",
    "undecided": ""}


def look_like_dissimilarities(values: Array) -> bool:
    """Whether an (n, d) array is square and symmetric, with a zero diagonal and no number below zero."""
    rows, columns = values.shape
    if rows != columns or rows < 3 or np.diag(values).any() or not values.any():
        return False
    return all(bool((values[block] >= 0).all() and (values[block] == values[:, block].T).all())
               for block in row_blocks(rows, 512))


SPREAD, DOMINANT = 10.0, 0.5  # ratio of standard deviations, and share of the variance in one column
NEAR_IS_FAR = 0.5  # median ratio of nearest to farthest distance above which distances are concentrated
FEWEST = 10  # points from which near and far can be distinguished
BATCHES = ("batch", "plate", "lane", "chip", "slide", "flowcell", "scanner", "machine", "instrument", "operator",
           "technician", "center", "centre", "laboratory", "lab", "session", "day", "date", "week", "run", "library",
           "replicate")  # words in label names that denote a measurement batch
SHOWN = 0.3  # share of an axis that a batch label explains, above which it is reported
SKEWED = 1.4  # skewness of how often points are neighbors


def findings_of(report: Report, config: RunConfig, table: Table) -> Iterator[Finding]:
    """Yield all findings, errors (where `embed` would stop) first."""
    findings = [*_of_metric(report, table), *_of_euclidean(report), *_of_kernel(report, table),
                *_of_features(report.features, config, table), *_of_geometry(report),
                *_of_outliers(report.outliers), *_of_labels(report.labels),
                *_of_edges(report.edges)]
    spelling = context().spelling
    yield from sorted((replace(finding, advice=spell(finding.advice, spelling)) for finding in findings),
                      key=lambda finding: finding.severity)


def _of_metric(report: Report, table: Table) -> Iterator[Finding]:
    metric = report.metric
    if metric is None:
        return
    if metric.missing.cells:
        yield _of_unknown(metric.missing)
    elif look_like_similarities(table.values):
        yield Finding("C-SIMILARITIES", "error", "these look like similarities: every row has its largest number on "
                      "the diagonal", "give {input.kind=kernel}, or a rule that turns them into dissimilarities, such "
                      "as {input.similarities=max-minus}")
        return
    if metric.nonnegative.violations:
        yield Finding("C-NEGATIVE", "error", f"{counted(metric.nonnegative.violations, 'pair')} below zero, "
                      f"the lowest {_pair(metric.nonnegative.worst[0])}", "dissimilarities are zero or more")
    if metric.identity.violations:
        yield Finding("C-DIAGONAL", "error", f"{counted(metric.identity.violations, 'point')} with a dissimilarity to "
                      f"themselves, the largest {_pair(metric.identity.worst[0])}", "the diagonal must be zero")
    if metric.symmetry.violations:
        yield Finding("C-ASYMMETRIC", "error", f"{counted(metric.symmetry.violations, 'pair')} with two different "
                      f"numbers, most {_pair(metric.symmetry.worst[0])}", "choose input.symmetrize: mean, min or max")
    yield from _of_distances(metric, report.euclidean)


def _of_unknown(missing: Unknown) -> Finding:
    return Finding("C-MISSING", "error", f"{counted(missing.cells, 'cell')} without a finite number, most at "
                   f"{shown(missing.worst[0][0])}", "give every two points a number, or leave points out")


def _of_distances(metric: MetricConditions, euclidean: EuclideanConditions | None) -> Iterator[Finding]:
    triangle, same = metric.triangle, metric.identity.coincident_pairs
    if same:
        yield Finding("C-COINCIDENT", "warning", f"{counted(same, 'pair')} of different points at zero distance, as "
                      f"{_pair(metric.identity.coincident[0])}", "if they are duplicates, keep one of each")
    if triangle is None or not triangle.violations:
        return
    yield Finding("C-TRIANGLE", "warning", f"{triangle.violations:,} of {triangle.triples:,} triples break the "
                  f"triangle inequality{_worst(triangle.worst)}", "distances never do: expect negative eigenvalues")
    if triangle.share > SHARE and (euclidean is None or euclidean.roots_are_euclidean):
        yield Finding("C-SQUARED", "warning", "these look like squared distances: "
                      f"{percent(triangle.share, 0)} of the triples break the triangle inequality, as they do for "
                      "squares", "if they are, give {input.squared=true}")


def _of_euclidean(report: Report) -> Iterator[Finding]:
    euclidean, corrections = report.euclidean, report.corrections
    if euclidean is not None and corrections is not None and not euclidean.is_euclidean:
        cailliez = ("; Cailliez' constant was not computed" if corrections.cailliez is None else
                    f"; Cailliez' constant is {corrections.cailliez:.6g}")
        yield Finding("C-NOT-EUCLIDEAN", "warning", f"no points of a Euclidean space have these distances: the "
                      f"smallest eigenvalue is {euclidean.smallest_eigenvalue:.6g}{cailliez}",
                      "mds ignores the negative eigenvalues; {method.correction=cailliez} or lingoes corrects them"
                      + ("" if report.cause is None else REMEDIES[report.cause.name]))


def _of_kernel(report: Report, table: Table) -> Iterator[Finding]:
    kernel = report.kernel
    if kernel is None:
        return
    if kernel.missing.cells:
        yield _of_unknown(kernel.missing)
    if kernel.symmetry.violations:
        yield Finding("C-ASYMMETRIC", "error", f"{counted(kernel.symmetry.violations, 'pair')} with two different "
                      f"numbers, most {_pair(kernel.symmetry.worst[0])}", "choose input.symmetrize: mean, min or max")
    if look_like_dissimilarities(table.values):
        yield Finding("C-DISSIMILARITIES", "warning", "these look like dissimilarities: symmetric, nowhere negative, "
                      "zero on the diagonal", "give {input.kind=dissimilarities}")
    elif kernel.is_positive_semidefinite is False:
        given = report.kind == "covariance"
        yield Finding("C-INDEFINITE", "error" if given else "warning", f"the matrix is not a {report.kind}: its "
                      f"smallest eigenvalue is {kernel.smallest_eigenvalue:.6g}",
                      "compute it from complete rows" if given else "kpca ignores the negative eigenvalues")


def _of_features(features: TableFacts | None, config: RunConfig, table: Table) -> Iterator[Finding]:
    if features is None:
        return
    missing = features.missing
    if missing.cells:
        yield Finding("C-MISSING", "error" if config.prepare.missing == "error" else "warning",
                      f"{counted(missing.cells, 'cell')} without a finite number, in {counted(missing.rows, 'row')}, "
                      f"most in {shown(missing.worst[0][0])}",
                      "give {prepare.missing=drop} or mean; or model, with ppca, fa, lgssm, mfa, famd or statis")
    if look_like_dissimilarities(table.values):
        yield Finding("C-DISSIMILARITIES", "warning", "these look like dissimilarities: as many rows as columns, "
                      "symmetric, nowhere negative, zero on the diagonal", "give {input.kind=dissimilarities}")
    if features.constant_columns:
        names = listed(features.constant_column_names, total=features.constant_columns)
        yield Finding("C-CONSTANT-COLUMNS", "warning", f"{counted(features.constant_columns, 'column')} without "
                      f"variation: {names}", "they carry no information; leave them out")
    amounts = config.method.distance.amounts
    if features.nearly_constant_columns and not amounts:  # rare species are no fault where presence counts
        names = listed([column.column for column in features.nearly_constant], total=features.nearly_constant_columns)
        yield Finding("C-NEARLY-CONSTANT", "warning", f"{counted(features.nearly_constant_columns, 'column')} with one "
                      f"value in all but a few rows: {names}", "scaled to unit variance, they make these few rows "
                      "outliers; leave the columns out, or use {prepare.top_variance}")
    if features.duplicate_columns:
        later, earlier = features.duplicate_column_names[0]
        yield Finding("C-DUPLICATE-COLUMNS", "warning", f"{counted(features.duplicate_columns, 'column')} equal to an "
                      f"earlier one, as {shown(later)} to {shown(earlier)}", "duplicate columns count twice; keep one "
                      "of each")
    if features.duplicate_rows:
        later, earlier = features.duplicate_row_ids[0]
        yield Finding("C-DUPLICATE-ROWS", "warning", f"{counted(features.duplicate_rows, 'row')} equal to an earlier "
                      f"one, as {shown(later)} to {shown(earlier)}", "keep one of each, unless they are separate "
                      "observations; duplicates fill the lists of nearest neighbors")
    scales = features.scales
    unscaled = config.prepare.scale in ("none", "center") and not config.prepare.transform  # which changes the scales
    if unscaled and scales and scales.dominant_share > DOMINANT and (features.scale_spread or 0) > SPREAD:
        yield Finding("C-SCALES", "warning", f"{shown(scales.largest_column)} holds {percent(scales.dominant_share)} "
                      f"of the variance; standard deviations run from {scales.smallest:.3g} to {scales.largest:.3g}",
                      "give {prepare.transform=sqrt} or wisconsin if that one should count less" if amounts else
                      remedy(scales.largest_column, table.source)
                      if features.columns > MANY_COLUMNS and scales.dominant_share > NEARLY_ALL else
                      "give {prepare.scale=standard} unless the columns share a unit")
    if features.codes:
        yield Finding("C-CODES", "warning", f"numbers far outside of a short scale: {texts(features.codes)}",
                      proposal(features.codes, table.source))


def _of_geometry(report: Report) -> Iterator[Finding]:
    graph, near, hubness = report.graph, report.concentration, report.hubness
    if any(skipped.reason == "all points are equal" for skipped in report.skipped):
        yield Finding("C-ALL-EQUAL", "warning", "all points are equal", "check that the right columns were read")
    if graph and graph.pieces > 1:
        enough = (f"-k {graph.connecting_k}" if graph.neighbors
                  else f"--radius {Context(prec=7, rounding=ROUND_UP).create_decimal(graph.connecting_radius):g}")
        otherwise = "{method.neighbors.pieces=largest} or connect"
        many = graph.neighbors and graph.connecting_k > MANY
        yield Finding("C-PIECES", "warning", f"the neighbor graph of {graph.rule} is in {graph.pieces} pieces; isomap "
                      "and lle would stop", f"give {otherwise}; only {enough} or more would connect it" if many else (
                          f"use {enough}, or {otherwise}"))
    if near and report.rows_compared >= FEWEST and near.nearest_over_farthest > NEAR_IS_FAR:
        yield Finding("C-CONCENTRATED", "warning", "the nearest neighbor is "
                      f"{percent(near.nearest_over_farthest, 0)} as far as the farthest point: distances hardly "
                      "distinguish near points from far ones", "before a method based on neighbors, reduce the number "
                      "of columns: {prepare.reduce} (PCA) or {input.columns}")
    if hubness and hubness.skewness > SKEWED:
        yield Finding("C-HUBS", "warning", f"neighbors are uneven: {shown(hubness.hub)} is among the "
                      f"{hubness.neighbors} nearest of {hubness.most_often:,} points, and "
                      f"{counted(hubness.never, 'point')} of none (skewness {hubness.skewness:.2f})",
                      "neighbor graphs may connect distant points through hubs; compare with {method.graph=mutual}")


def _of_outliers(outliers: Outliers | None) -> Iterator[Finding]:
    if outliers is None:
        return
    told = set[str]()
    for far, place in ((outliers.center, "from the center"), (outliers.neighbors, "from its nearest points")):
        if far and far.count and not (rows := {row for row, _, _ in far.worst}) <= told:
            told |= rows
            row, times, column = far.worst[0]
            most = f", most in {shown(column)}" if column else ""
            yield Finding("C-OUTLIERS", "warning", f"{counted(far.count, 'row')} far {place.replace('its', 'the')}: "
                          f"{shown(row)} is {times:.3g} times as far {place} as the median row{most}",
                          "look for wrong cells or units; such rows dominate the first axes, or are isolated in a "
                          "graph")


def _of_labels(labels: Sequence[LabelFacts] | None) -> Iterator[Finding]:
    for facts in labels or ():
        words = re.findall("[a-z]+", facts.label.lower())
        share, axis = max((share, -axis) for axis, share in enumerate(facts.shares, start=1))
        if share > SHOWN and any(word.removesuffix("s") in BATCHES for word in words):
            yield Finding("C-BATCH", "warning", f"the label {shown(facts.label)} explains {percent(share, 0)} of "
                          f"principal component {-axis}: rows may differ by how they were measured", "compare rows "
                          "that have the same value, or remove its effect first (docs/check.md)")


def _of_edges(edges: EdgeFacts | None) -> Iterator[Finding]:
    if edges is None:
        return
    if edges.pieces > 1:
        yield Finding("C-GRAPH-PIECES", "error", f"the graph is in {edges.pieces} pieces, the largest of "
                      f"{counted(edges.piece_sizes[0], 'point')}", "join them by edges, or give "
                      "{method.neighbors.pieces=largest}")
    if edges.detours:
        yield Finding("C-DETOURS", "warning", f"{counted(edges.detours, 'edge')} longer than a path between the two "
                      "ends", "isomap never uses these edges; sde preserves the lengths of all edges, and then has no "
                      "solution")


def _pair(offender: Offender) -> str:
    """Format two points with their numbers: 'a' and 'b' (1, 2)."""
    numbers = ", ".join(f"{value:.6g}" for value in offender.values)
    return f"{' and '.join(shown(point) for point in offender.points)} ({numbers})"


def _worst(offenders: Sequence[Offender]) -> str:
    """Describe the side that exceeds the way around by most; empty without offenders."""
    if not offenders:
        return ""
    (left, right, between), (side, first, second) = offenders[0].points, offenders[0].values
    return (f", most {shown(left)} to {shown(right)}: {side:.6g}, and {first + second:.6g} by way of {shown(between)}")
