"""The checkup from top to bottom: read the file, examine the numbers, then the geometry."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import note, running
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Spatial, TextColumns
from mlcli.base.values.inputs import Features as Points
from mlcli.base.values.sample_size import sample_of
from mlcli.checkup.column_subsets import subsets_of
from mlcli.checkup.features import features_of, labels_of, missing_in_all, outliers_of
from mlcli.checkup.findings import findings_of
from mlcli.checkup.graph import concentration_of, edges_of, graph_facts, hubness_of, intrinsic_of
from mlcli.checkup.metric import CAILLIEZ, euclidean_of, kernel_of, metric_of
from mlcli.checkup.negative_eigenvalues import cause_of
from mlcli.checkup.report import Report, Skipped
from mlcli.config.run_config import RunConfig
from mlcli.core.graph.neighbors import Neighbors, nearest_lists
from mlcli.core.graph.search import Lists
from mlcli.core.kernels.forms import square_memory
from mlcli.core.metrics.distances import is_euclidean
from mlcli.core.metrics.distances import metric_of as comparison_of
from mlcli.data.options.input import Input
from mlcli.data.pairs.similarities import to_dissimilarities
from mlcli.data.pairs.square import look_like_similarities
from mlcli.data.pairs.symmetry import symmetrize
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.categories import require_unchanged
from mlcli.data.read.detect_pairs import resemblance
from mlcli.data.read.table import read_unchecked
from mlcli.data.table.table import Table
from mlcli.engine.threads import threads_of
from mlcli.pipeline.start import reduce_by_pca, source_of

LARGEST = 20_000  # points whose pairs are all examined; of more, those of a seeded sample
COPIES = 4  # n x n arrays at once


def check(config: RunConfig, most: int | None = None, given: Table | None = None, *, curves: bool = True) -> Report:
    """Examine a data set, or `given` if it is a table; of features at most `most` rows, a seeded sample.

    Without `curves` distances are not examined over the number of columns, which leads to no finding. Raises the errors
    of `read_table` if the file cannot be read at all.
    """
    neighbors: Neighbors = getattr(config.method, "neighbors", Neighbors())
    with threads_of(config.compute):
        config.prepare.require_input(config.input)
        config, table = resolve_kind(config, source_of(config, _as_found)[0] if given is None else given)
        report = Report(config.input.path, table.kind, len(table.ids), len(table.columns), len(table.ids))
        if (rows := rows_of(table.values)) is not None:
            note("N-CHECK-ROWS", f"{len(rows.at_hand):,} of {len(rows):,} rows are examined, as the table is read in "
                 "blocks; missing cells are counted in all of them", rows=len(rows.at_hand))
            table = table.take(rows.at_hand)
        if most is not None and table.kind == "features" and most < len(table.ids):
            table = table.take(sample_of(len(table.ids), most, config.compute.generator()))
        if table.graph is not None:
            prepare(config.prepare, table)  # raises for options that would have no effect
            report = replace(report, edges=edges_of(table.graph, LARGEST))
        elif table.kind == "features":
            report = _of_features(report, table, config, neighbors, curves=curves)
            if rows is not None and report.features is not None:
                exact = missing_in_all(rows.gaps, table.columns)
                report = replace(report, features=replace(report.features, missing=exact))
        else:
            prepare(config.prepare, table)  # raises for options that would have no effect
            square_memory(config.compute, report.rows, COPIES, "the checkup", "check some of the points")
            table = to_dissimilarities(table, config.input, strict=False)
            report = (_of_dissimilarities(report, table, config, neighbors) if table.kind == "dissimilarities"
                      else replace(report, kernel=kernel_of(table.values, table.ids)))
    return replace(report, findings=tuple(findings_of(report, config, table)))


def resolve_kind(config: RunConfig, table: Table) -> tuple[RunConfig, Table]:
    """Read the table as the matrix of pairs that it looks like, if no kind was chosen; return its options and it."""
    looks = None if config.input.chosen("kind") or config.input.transpose else resemblance(table)
    if looks is None:
        return config, table
    note("N-KIND", f"the table looks like {looks.what} and is examined as one; if its rows are points with features, "
         f"give {{input.kind=features}}", kind=looks.kind)
    config = config.replace(input=config.input.replace(kind=looks.kind))
    return config, source_of(config, _as_found)[0]


def _as_found(input: Input, compute: Compute, categories: TextColumns, streams: bool) -> Table:
    """Read the table without preparation or method; features that do not fit in memory are read in blocks."""
    return read_unchecked(input, compute, categories, input.kind == "features")


def _of_features(report: Report, table: Table, config: RunConfig, neighbors: Neighbors, *, curves: bool) -> Report:
    """Examine the table as it stands in the file; then, prepared and without incomplete rows, its geometry."""
    require_unchanged(config.prepare, table.categories)
    features = features_of(table)
    report = replace(report, features=features)
    if features.missing.rows == len(table.ids) and config.prepare.missing != "mean":
        return _without_geometry(report, "no row has a finite number in every column")
    options = config.prepare
    if features.missing.cells and options.missing in ("error", "model"):  # distances need whole rows, with no model
        options = options.replace(missing="drop")
    prepared = prepare(options, table)
    points = prepared.table
    if options.reduce is not None:
        points = reduce_by_pca(options.reduce, prepared, config.compute).scores
    with points.rows_named():
        data = config.method.with_metric(points.data())
    assert isinstance(data, Points)
    report = _geometry(report, data, config.compute, neighbors)
    if report.graph is None:
        return report
    if curves and is_euclidean(data):
        report = _by_columns(report, prepared.table, config.compute)
    return _rows_as_they_are(report, points, config.compute)


def _by_columns(report: Report, table: Table, compute: Compute) -> Report:
    """Add distances over the number of columns, as they are before a reduction, and say which labels have no curve."""
    values = Points(table.values, table.ids, table.columns).normalized().values
    found, skipped = subsets_of(values, table.labels, compute)
    return replace(report, column_subsets=found, skipped=(*report.skipped, *skipped))


def _rows_as_they_are(report: Report, table: Table, compute: Compute) -> Report:
    """Add rows far from the center, and the share of axes that labels explain, if all columns are numbers."""
    if table.categories:
        return report
    values = table.values
    found = outliers_of(values, table.columns, table.ids, None)
    known = report.outliers
    groups = labels_of(Points(values, table.ids, table.columns), table.labels, compute)
    return replace(report, labels=groups or None,
                   outliers=replace(found, neighbors=None if known is None else known.neighbors))


def _of_dissimilarities(report: Report, table: Table, config: RunConfig, neighbors: Neighbors) -> Report:
    """Check the conditions of a metric; then, on the symmetric matrix, all other checks that the numbers allow."""
    values, ids = table.values, table.ids
    with running("metric"):
        completed = _completed(values, config)
        report = replace(report, metric=metric_of(values, completed, ids))
    reason = _obstacle(report, values)
    if reason:
        return _without_geometry(report, reason, "euclidean", "corrections", "cause")
    euclidean, corrections = euclidean_of(completed)
    report = replace(report, euclidean=euclidean, corrections=corrections)
    if not euclidean.is_euclidean:
        report = replace(report, cause=cause_of(completed, config.compute.generator()))
    if corrections.cailliez is None:
        skipped = Skipped("corrections.cailliez", f"of more than {CAILLIEZ:,} points it takes minutes; mds finds it "
                          "where it is asked for: {method.name=mds} {method.correction=cailliez}")
        report = replace(report, skipped=(*report.skipped, skipped))
    return _geometry(report, Dissimilarities(completed, ids), config.compute, neighbors)


def _completed(given: Array, config: RunConfig) -> Array:
    """Return the matrix symmetric by the options (or by means), with a zero diagonal, and roots of squared numbers."""
    values = given.copy()
    symmetrize(values, "mean" if config.input.symmetrize == "error" else config.input.symmetrize)
    np.fill_diagonal(values, 0.0)
    if config.input.squared:
        values = np.copysign(np.sqrt(np.abs(values)), values)
    return values


def _obstacle(report: Report, values: Array) -> str:
    """Return why a matrix cannot be examined further; empty if it can."""
    assert report.metric is not None
    if report.metric.missing.cells:
        return "there are pairs without a number"
    if look_like_similarities(values):
        return "the numbers look like similarities"
    return "there are dissimilarities below zero" if report.metric.nonnegative.violations else ""


def _without_geometry(report: Report, reason: str, *others: str) -> Report:
    """Return the report with the checks that depend on distances skipped for `reason`."""
    own = ("concentration", "column_subsets") if report.kind == "features" else ()
    checks = (*others, *own, "hubness", "intrinsic_dimension", "graph")
    return replace(report, skipped=(*report.skipped, *(Skipped(check, reason) for check in checks)))


def _geometry(report: Report, data: Spatial, compute: Compute, neighbors: Neighbors) -> Report:
    """Add neighbors and the checks that depend on them; of many points, on a seeded sample."""
    size = len(data.values)
    if size > LARGEST:
        data = data.take(sample_of(size, LARGEST, compute.generator()))
        size = LARGEST
    report = replace(report, rows_compared=size)
    data = data.normalized()
    rows = comparison_of(data).represent(data.values)
    if size < 2 or (rows == rows[0]).all():
        return _without_geometry(report, "all points are equal" if size > 1 else "there is one point")
    neighbors = neighbors.resolved(size)
    with running("neighbors"):
        lists: Lists = nearest_lists(data, min(neighbors.neighborhood(data).usual, size - 1))
    sections: dict[str, Any] = {"intrinsic_dimension": intrinsic_of(data, lists), "hubness": hubness_of(data, lists),
                                "graph": graph_facts(data, neighbors, lists),
                                "outliers": outliers_of(None, (), data.ids, lists)}
    if is_euclidean(data):
        assert isinstance(data, Points)
        sections["concentration"] = concentration_of(data, sections["intrinsic_dimension"].two_nn, compute)
    elif isinstance(data, Points):
        reason = f"it compares Euclidean distances, not {comparison_of(data).name} ones"
        skips = (Skipped(check, reason) for check in ("concentration", "column_subsets"))
        report = replace(report, skipped=(*report.skipped, *skips))
    return replace(report, **sections)
