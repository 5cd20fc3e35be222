"""A finished run used again: new points into its space, and coordinates back to features."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.similarities.projector import require_projector
from mlcli.data.options.input import Input
from mlcli.data.read.chosen_rows import require_all
from mlcli.data.read.for_run import read_coordinates
from mlcli.data.read.new_rows import MappedTable, blockwise
from mlcli.data.table.table import Table, axis_names
from mlcli.errors import ConfigError, DataError
from mlcli.findings.frame.contents import CONSTRAINED
from mlcli.findings.spectrum import TABLE as SPECTRUM
from mlcli.methods import methods_with_decoder
from mlcli.pipeline.read_run import config_of
from mlcli.report.drawing.figure import Figure
from mlcli.report.figures.new_points import new_points_over
from mlcli.rundir import names
from mlcli.rundir.embedding import intact_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.placement import FinishedModel, read_model
from mlcli.rundir.reduction import Reduction
from mlcli.runs.new_ids import with_own_ids
from mlcli.runs.placing import as_read, placed, read_rows


def project(folder: Path, new: Input, compute: Compute, views: Sequence[int] = ()) -> Table | MappedTable:
    """Coordinates of new points in the space of a finished run, by every step that its own points took.

    Those of a table that is read in blocks are computed when they are asked for. `views` are the numbers of the views
    that the table and its further views have rows of, from 1.
    """
    run, manifest = _model_for(folder, new)
    if new.views or tuple(views) not in ((), (1,)):
        from mlcli.runs.views import place_views

        return with_own_ids(folder, manifest, place_views(folder, manifest, run, new, compute, views=views))
    return blockwise(_rows_to_place(folder, manifest, run, new, compute), partial(placed, run))


def project_and_classify(folder: Path, new: Input, compute: Compute,
                         views: Sequence[int] = ()) -> tuple[Table | MappedTable, Table | MappedTable]:
    """Coordinates of new points, and their classes with posterior probabilities; ConfigError where there are none."""
    run, manifest = _model_for(folder, new)
    if new.views or tuple(views) not in ((), (1,)):
        raise ConfigError("NO-CLASSES", "rows of several views have no classes", hint="leave out --classes, or --view "
                          "and --as-view")
    rows = _rows_to_place(folder, manifest, run, new, compute)
    return blockwise(rows, partial(placed, run)), blockwise(rows, partial(classified, run))


def _model_for(folder: Path, new: Input) -> tuple[FinishedModel, dict[str, Any]]:
    """The model of a finished run, for all rows of an input, and its run.json, which is read once."""
    require_all(new)
    manifest = read_manifest(folder)
    return read_model(folder, manifest), manifest


def _rows_to_place(folder: Path, manifest: dict[str, Any], run: FinishedModel, new: Input, compute: Compute) -> Table:
    """The table of new points; raises ConfigError where the run places none."""
    for step in run.steps:
        step.projector.require_places()
    return with_own_ids(folder, manifest, read_rows(run, new, as_read(folder, manifest, run, new), compute))


def classified(run: FinishedModel, table: Table) -> Table:
    """The classes of new rows, by every step of the run; notes were made with their coordinates."""
    with no_listeners():
        for step in run.steps[:-1]:
            table = step.place(table)
        return run.steps[-1].classify(table)


def picture(folder: Path, new: Table | MappedTable) -> Figure:
    """New points, as `project` gives them, among those of a finished run."""
    new = new.whole() if isinstance(new, MappedTable) else new
    manifest = read_manifest(folder)
    _, embedding = intact_embedding(folder, manifest)
    return new_points_over(embedding.values, new.values, new.ids, new.labels, axes=axes_of(folder, manifest),
                           seed=int(manifest.get("seed") or 0))


def axes_of(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Return the labels of the first two axes of a finished run, for figures."""
    require_intact(folder, manifest, (names.CONFIG, *({SPECTRUM.name} & set(manifest["files"]))))
    rows = SPECTRUM.read(folder)
    marks = None if rows is None or CONSTRAINED not in rows.columns else rows.numbers(CONSTRAINED)[:2]
    return config_of(folder).method.axis_names((), 2, None if marks is None else int(sum(marks)))


def reconstruct(folder: Path, embedding: Input, compute: Compute) -> Table:
    """Features of coordinates in the space of a finished run, in the input's units where transforms have inverses.

    Raises ConfigError where the run cannot reconstruct features.
    """
    run = read_model(folder)
    require_decoders(str(folder), run.steps)
    table = _read_coordinates(run, require_projector(run.projector).axes.shape[1], embedding, compute)
    return replace(table, values=features_of(run, table.values), columns=run.steps[0].preparation.names)


def features_of(run: FinishedModel, coordinates: Array) -> Array:
    """The features (m x d) of coordinates (m x p), back through every step of the run."""
    for step in reversed(run.steps):
        coordinates = step.features(coordinates)
    return coordinates


def require_decoders(place: str, steps: tuple[Reduction, ...]) -> None:
    """Raises ConfigError where a step does not lead back to what it was given."""
    if any(step.projector.decoder is None for step in steps):
        raise ConfigError("NO-RECONSTRUCTION", "this run cannot reconstruct features from coordinates",
                          where=place, hint=f"only these methods can: {methods_with_decoder()}")
    if not all(step.preparation.invertible for step in steps[1:]):
        raise ConfigError("NO-RECONSTRUCTION", "the input of this run was another run, whose coordinates were "
                          "transformed or partly left out; this has no inverse", where=place,
                          hint="make the run again with transforms that have inverses, and without top_variance")


def variance(folder: Path, embedding: Input, compute: Compute) -> Table:
    """The variance of each prepared feature at coordinates in the space of a finished run, in one column.

    Raises ConfigError where the run knows none.
    """
    run = read_model(folder)
    projector = require_projector(run.projector)
    table = _read_coordinates(run, projector.axes.shape[1], embedding, compute)
    found = projector.variance(table.values)
    if found is None:
        raise ConfigError("NO-VARIANCE", "this run gives no variance of reconstructed features",
                          where="--variance", hint="leave it out: only methods with Gaussian processes give it")
    return replace(table, values=found[:, None], columns=("variance",))


def _read_coordinates(run: FinishedModel, count: int, embedding: Input, compute: Compute) -> Table:
    """The columns y1..yp of a table, whose id column is found by the name the run gave it."""
    require_all(embedding)
    axes = axis_names(count)
    table = read_coordinates(embedding, axes, run.id_name, compute)
    if len(table.columns) != len(axes):
        raise DataError("AXES", f"{len(table.columns)} columns, but the run has {len(axes)} axes",
                        where=embedding.path, hint="give the embedding that the run wrote, or rows of it")
    if not np.isfinite(table.values).all():
        row = int(np.flatnonzero(~np.isfinite(table.values).all(axis=1))[0])
        raise DataError("MISSING", "a coordinate is missing or not finite", where=f"{embedding.path}, row {row + 1}",
                        hint="coordinates must be numbers")
    return table
