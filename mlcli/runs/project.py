"""A finished run used again: new points into its space, of one view or several, and coordinates back to features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.stages.stage import no_listeners, note
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import listed
from mlcli.core.similarities.projector import Projector, require_projector
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted
from mlcli.data.prepare.views import match_views
from mlcli.data.read.chosen_rows import require_all
from mlcli.data.read.new_rows import MappedTable, blockwise, read_coordinates
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table, axis_names
from mlcli.errors import ConfigError, DataError
from mlcli.findings.frame.finished_run import CONSTRAINED
from mlcli.findings.spectrum import TABLE as SPECTRUM
from mlcli.methods import methods_with_decoder
from mlcli.pipeline.new_rows import read_rows
from mlcli.pipeline.read_run import config_of, require_further_views
from mlcli.report.drawing.figure import Figure
from mlcli.report.figures.overlays import new_points_over
from mlcli.rundir import names
from mlcli.rundir.archive import read_model
from mlcli.rundir.embedding import embedding_files, intact_embedding, intact_ids
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.model import Reduction, StoredModel

NEW = "new"  # before the numbers of new rows without ids


def with_own_ids(folder: Path, manifest: Mapping[str, Any], rows: Table) -> Table:
    """Return new rows with ids of their own: new1, new2, ... where the file has none; notes ids that the run has."""
    given = not isinstance(rows.ids, RowNumbers)
    if isinstance(rows.ids, RowNumbers):
        rows = replace(rows, ids=rows.ids.prefixed(NEW))
    known = [name for name in fitted_ids(folder, manifest) if given or name.startswith(NEW)]
    own = set(rows.ids) if known else set()
    if again := [name for name in known if name in own]:
        has = "has the id of a row" if len(again) == 1 else "have ids of rows"
        note("N-KNOWN-IDS", f"{len(again):,} of {counted(len(rows.ids), 'new row')} {has} that the run was fitted to: "
             f"{listed(again)}; where both are in one table, name the new ones apart", rows=len(again))
    return rows


def fitted_ids(folder: Path, manifest: Mapping[str, Any]) -> Sequence[str]:
    """Return the ids of a run's own rows as it wrote them; none where its file holds none, or is gone."""
    file = next(iter(embedding_files(manifest)), None)
    if file is None or file.endswith(".npy") or not (folder / file).exists():
        return ()
    return intact_ids(folder, manifest, file)


def placed(run: StoredModel, table: Table) -> Table:
    """The coordinates of new rows, by every step of the run, and beside them how far off the manifold they are."""
    return run.place(table).table


def place_views(folder: Path, manifest: Mapping[str, Any], run: StoredModel, new: Input, compute: Compute, *,
                views: Sequence[int]) -> Table:
    """Coordinates of new rows of one view or of several, matched by id; `views` are their numbers, from 1.

    Raises ConfigError for views that the run does not have, or whose rows together give no coordinates, and DataError
    for rows that not all files have.
    """
    inputs = new.files
    numbers = list(views) or list(range(1, len(inputs) + 1))
    require_views(run, numbers, len(inputs))
    tables = [rows_of_view(folder, manifest, run, given, number, compute)
              for given, number in zip(inputs, numbers, strict=True)]
    if len(tables) == 1:
        return tables[0]
    matched = match_views(tables, "error", "give those rows alone that all files have").table.views
    if run.joint is None:
        raise ConfigError("AS-VIEW", "the coordinates of this run are those of rows of one view", where="--view",
                          hint="leave it out, and project each file by itself (--as-view)")
    axes = axis_names(require_projector(run.projector).axes.shape[1])
    values = run.joint.combine([table.values[:, : len(axes)] for table in matched], [number - 1 for number in numbers],
                               len(run.views) + 1)
    return replace(matched[0], values=values, columns=axes)


def rows_of_view(folder: Path, manifest: Mapping[str, Any], run: StoredModel, given: Input, number: int,
                 compute: Compute) -> Table:
    """Coordinates of rows of one view alone, read as those of the fit were."""
    of_view, own = run.of_view(number), own_input(folder, manifest)
    if number > 1:
        own = own.of_view(own.views[number - 2])
    for step in of_view.steps:
        step.projector.require_places()
    return placed(of_view, read_rows(of_view, own, given, compute))


def own_input(folder: Path, manifest: Mapping[str, Any]) -> Input:
    """Return the options by which a run read its input; raises UnsafeFile."""
    require_intact(folder, manifest, (names.CONFIG,))
    return config_of(folder, manifest).input


def require_views(run: StoredModel, numbers: Sequence[int], files: int) -> None:
    """Raise ConfigError for files or numbers of views that the run lacks, that repeat, or are not one for each file."""
    if run.files:
        raise ConfigError("AS-VIEW", f"the {len(run.files)} files of the run are one table, and not views of its rows",
                          where="--as-view", hint="leave it out, and give a file for each, the others by --view, or "
                          "one table with all columns")
    count = len(run.views) + 1
    require_further_views(files - 1, count - 1)
    if wrong := [number for number in numbers if not 1 <= number <= count]:
        raise ConfigError("AS-VIEW", f"there is no view {wrong[0]}: the run has {count}", where="--as-view",
                          hint=f"give a number from 1 to {count}" if count > 1 else "leave it out")
    if len(set(numbers)) < len(numbers) or len(numbers) != files:
        raise ConfigError("AS-VIEW", f"{files} {'file' if files == 1 else 'files'} and views "
                          f"{', '.join(map(str, numbers))}", where="--as-view",
                          hint="give each file a view of its own: that of NEW first, then that of each --view")


def project(folder: Path, new: Input, compute: Compute, views: Sequence[int] = ()) -> Table | MappedTable:
    """Coordinates of new points in the space of a finished run, by every step that its own points took.

    Those of a table that is read in blocks are computed when they are asked for. `views` are the numbers of the views
    that the table and its further views have rows of, from 1.
    """
    run, manifest = _model_for(folder, new)
    if (new.views and not run.files) or tuple(views) not in ((), (1,)):
        return with_own_ids(folder, manifest, place_views(folder, manifest, run, new, compute, views=views))
    return blockwise(_rows_to_place(folder, manifest, run, new, compute), partial(placed, run), drops=run.drops)


def project_and_classify(folder: Path, new: Input, compute: Compute,
                         views: Sequence[int] = ()) -> tuple[Table | MappedTable, Table | MappedTable]:
    """Coordinates of new points, and their classes with posterior probabilities; ConfigError where there are none."""
    run, manifest = _model_for(folder, new)
    if new.views or tuple(views) not in ((), (1,)):
        raise ConfigError("NO-CLASSES", "rows of several views have no classes", hint="leave out --classes, or --view "
                          "and --as-view")
    rows = _rows_to_place(folder, manifest, run, new, compute)
    return (blockwise(rows, partial(placed, run), drops=run.drops),
            blockwise(rows, partial(classified, run), drops=run.drops))


def _model_for(folder: Path, new: Input) -> tuple[StoredModel, dict[str, Any]]:
    """The model of a finished run, for all rows of an input, and its run.json, which is read once."""
    require_all(new)
    manifest = read_manifest(folder)
    return read_model(folder, manifest), manifest


def _rows_to_place(folder: Path, manifest: dict[str, Any], run: StoredModel, new: Input, compute: Compute) -> Table:
    """The table of new points; raises ConfigError where the run places none."""
    for step in run.steps:
        step.projector.require_places()
    if run.score is None and run.kind in ("features", "dissimilarities") and not run.views:
        note("N-NO-SCORES", "the run does not tell how far new rows are off its manifold: an earlier version made it; "
             "made again, it does")
    return with_own_ids(folder, manifest, read_rows(run, own_input(folder, manifest), new, compute))


def classified(run: StoredModel, table: Table) -> Table:
    """The classes of new rows, by every step of the run; notes were made with their coordinates."""
    with no_listeners():
        for step in run.steps[:-1]:
            table = step.place(table)
        return run.steps[-1].classify(table)


def coordinates_alone(table: Table) -> Table:
    """Return a table of new rows without the columns beside their coordinates."""
    names = axis_names(len(table.columns))
    count = sum(name == axis for name, axis in zip(table.columns, names, strict=True))
    return replace(table, values=table.values[:, :count], columns=table.columns[:count])


def picture(folder: Path, new: Table | MappedTable) -> Figure:
    """New points, as `project` gives them, among those of a finished run."""
    new = coordinates_alone(new.whole() if isinstance(new, MappedTable) else new)
    manifest = read_manifest(folder)
    _, embedding = intact_embedding(folder, manifest)
    return new_points_over(embedding.values, new.values, new.ids, new.labels, axes=axes_of(folder, manifest),
                           seed=int(manifest.get("seed") or 0))


def axes_of(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Return the labels of the first two axes of a finished run, for figures."""
    require_intact(folder, manifest, (names.CONFIG, *({SPECTRUM.name} & set(manifest["files"]))))
    rows = SPECTRUM.read(folder)
    marks = None if rows is None or CONSTRAINED not in rows.columns else rows.numbers(CONSTRAINED)[:2]
    return config_of(folder, manifest).method.axis_names((), 2, None if marks is None else int(sum(marks)))


def reconstruct(folder: Path, embedding: Input, compute: Compute) -> Table:
    """Features of coordinates in the space of a finished run, in the input's units where transforms have inverses.

    Raises ConfigError where the run cannot reconstruct features.
    """
    run = read_model(folder)
    require_decoders(str(folder), run.way_back)
    beside = () if embedding.label_columns else require_projector(run.projector).beside
    try:
        table = _read_coordinates(run, embedding, compute, beside)
    except ConfigError as error:
        if not beside or error.code != "E-UNKNOWN-COLUMN":
            raise
        raise error.changed(hint=f"give what `mlcli project` writes, with style vectors in {', '.join(beside)}, or "
                            "name a column of the run's styles with {input.label_columns}") from None
    styles = next(iter(table.labels.values()), None)
    with table.rows_named():
        return replace(table, values=features_of(run, table.values, styles), columns=run.way_back[-1].preparation.names)


def features_of(run: StoredModel, coordinates: Array, styles: Sequence[str] | None = None) -> Array:
    """The features (m x d) of coordinates (m x p), back through every step of the run.

    `styles` (m) are those of the rows, of a run that has styles.
    """
    last, *before = run.way_back
    features = last.features(coordinates, styles)
    for step in before:
        features = step.features(features)
    return features


def require_decoders(place: str, steps: tuple[Reduction, ...]) -> None:
    """Raises ConfigError where a step does not lead back to what it was given."""
    if not all(isinstance(step.projector, Projector) and step.projector.leads_back for step in steps):
        raise ConfigError("NO-RECONSTRUCTION", "this run cannot reconstruct features from coordinates",
                          where=place, hint=f"only these methods can: {methods_with_decoder()}")
    if not all(step.preparation.invertible for step in steps[:-1]):
        raise ConfigError("NO-RECONSTRUCTION", "the input of this run was another run, whose coordinates were "
                          "transformed or partly left out; this has no inverse", where=place,
                          hint="make the run again with transforms that have inverses, and without top_variance")


def variance(folder: Path, embedding: Input, compute: Compute) -> Table:
    """The variance of each prepared feature at coordinates in the space of a finished run, in one column.

    Raises ConfigError where the run knows none.
    """
    run = read_model(folder)
    projector = require_projector(run.projector)
    table = _read_coordinates(run, embedding, compute)
    found = projector.variance(table.values)
    if found is None:
        raise ConfigError("NO-VARIANCE", "this run gives no variance of reconstructed features",
                          where="--variance", hint="leave it out: only methods with Gaussian processes give it")
    return replace(table, values=found[:, None], columns=("variance",))


def _read_coordinates(run: StoredModel, embedding: Input, compute: Compute, beside: Sequence[str] = ()) -> Table:
    """The columns y1..yp of a table and those `beside` them; its id column is found by the name the run gave it."""
    require_all(embedding)
    axes = (*axis_names(require_projector(run.projector).axes.shape[1]), *beside)
    table = read_coordinates(embedding, axes, run.id_name, compute)
    if len(table.columns) != len(axes):
        raise DataError("AXES", f"{len(table.columns)} columns, but the run has {len(axes)} axes",
                        where=embedding.path, hint="give the embedding that the run wrote, or rows of it")
    if not np.isfinite(table.values).all():
        row = int(np.flatnonzero(~np.isfinite(table.values).all(axis=1))[0])
        raise DataError("MISSING", "a coordinate is missing or not finite", where=f"{embedding.path}, row {row + 1}",
                        hint="coordinates must be numbers")
    return table
