"""A finished run used again: new points into its space, and coordinates back to features."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.chosen_rows import require_all
from mlcli.data.read.for_run import read_coordinates
from mlcli.data.read.new_rows import MappedTable, blockwise
from mlcli.data.table.table import Table, axis_names
from mlcli.errors import ConfigError, DataError
from mlcli.methods import methods_with_decoder
from mlcli.pipeline.read_run import config_of
from mlcli.report.drawing.figure import Figure
from mlcli.report.figures.new_points import new_points_over
from mlcli.rundir import names
from mlcli.rundir.embedding import intact_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.placement import FinishedModel, read_model
from mlcli.rundir.reduction import Reduction
from mlcli.runs.placing import as_read, placed, read_rows
from mlcli.stages.similarities.projector import require_projector


def project(folder: Path, new: Input, compute: Compute, views: Sequence[int] = ()) -> Table | MappedTable:
    """Coordinates of new points in the space of a finished run, by every step that its own points took.

    Those of a table that is read in blocks are computed when they are asked for. `views` are the numbers of the views
    that the table and its further views have rows of, from 1.
    """
    require_all(new)
    run = read_model(folder)
    if new.views or tuple(views) not in ((), (1,)):
        from mlcli.runs.views import place_views

        return place_views(folder, run, new, compute, views)
    for step in run.steps:
        step.projector.require_places()
    return blockwise(read_rows(run, new, as_read(folder, run, new), compute), partial(placed, run))


def picture(folder: Path, new: Table | MappedTable) -> Figure:
    """New points, as `project` gives them, among those of a finished run."""
    new = new.whole() if isinstance(new, MappedTable) else new
    manifest = read_manifest(folder)
    _, embedding = intact_embedding(folder, manifest)
    return new_points_over(embedding.values, new.values, new.ids, new.labels, axes=axes_of(folder, manifest),
                           seed=int(manifest.get("seed") or 0))


def axes_of(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Return the labels of the first two axes of a finished run, for figures."""
    require_intact(folder, manifest, (names.CONFIG,))
    return config_of(folder).method.axis_names((), 2)


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
