"""A finished run used again: new points into its space, and coordinates back to features."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.data.categories import Categories
from mlcli.data.input import Input
from mlcli.data.prepare import Preparation
from mlcli.data.read import read_coordinates, read_new
from mlcli.data.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.methods import Projector, decoding
from mlcli.methods.model import existing
from mlcli.pipeline import coordinates
from mlcli.rundir import archive, names
from mlcli.rundir.manifest import read_manifest, require_intact


@frozen
class Finished:
    """What a run directory holds for later use."""

    kind: str
    id_name: str  # as the run wrote it
    trained: tuple[str, ...]  # ids of the training points, where input is a square matrix
    preparation: Preparation
    categories: Categories  # texts that numbers of a column stand for
    transpose: bool  # whether the columns of the file are the points
    projector: Projector | None  # None where the run has no points


def finished(folder: Path) -> Finished:
    """Loads a run's model; raises InputMissing where there is none and UnsafeFile where it was changed."""
    require_intact(folder, read_manifest(folder), (names.MODEL, names.ARRAYS))
    stored = archive.load(folder)
    return Finished(**{part.name: stored[part.name] for part in fields(Finished)})


def project(folder: Path, new: Input, compute: Compute) -> Table:
    """Coordinates of new points in the space of a finished run."""
    run = finished(folder)
    projector = existing(run.projector)
    projector.require_places()
    table = read_new(new.replace(kind=run.kind, transpose=run.transpose), run.preparation.columns, run.trained, compute,
                     run.categories)
    prepared = run.preparation.apply(table) if run.kind == "features" else table
    projector.similarity.check(prepared.values, prepared.ids, prepared.columns)
    return coordinates(prepared, projector.project(prepared.values))


def reconstruct(folder: Path, embedding: Input, compute: Compute) -> Table:
    """Features of coordinates in the space of a finished run, in the input's units where transforms have inverses.

    Raises ConfigError where the run cannot reconstruct features.
    """
    run = finished(folder)
    projector = existing(run.projector)
    if projector.decoder is None:
        raise ConfigError("NO-RECONSTRUCTION", "this run cannot reconstruct features from coordinates",
                          where=str(folder), hint=f"only these methods can: {decoding()}")
    table = _read_coordinates(run, projector.axes.shape[1], embedding, compute)
    values = run.preparation.features(projector.reconstruct(table.values))
    return replace(table, values=values, columns=run.preparation.names)


def variance(folder: Path, embedding: Input, compute: Compute) -> Table:
    """The variance of each prepared feature at coordinates in the space of a finished run, in one column.

    Raises ConfigError where the run knows none.
    """
    run = finished(folder)
    projector = existing(run.projector)
    table = _read_coordinates(run, projector.axes.shape[1], embedding, compute)
    found = projector.variance(table.values)
    if found is None:
        raise ConfigError("NO-VARIANCE", "this run knows no variance of the features that it reconstructs",
                          where="--variance", hint="leave it out: only Gaussian processes know one")
    return replace(table, values=found[:, None], columns=("variance",))


def _read_coordinates(run: Finished, count: int, embedding: Input, compute: Compute) -> Table:
    """The columns y1..yp of a table, whose id column is found by the name the run gave it."""
    axes = tuple(f"y{i + 1}" for i in range(count))
    table = read_coordinates(embedding, axes, run.id_name, compute)
    if len(table.columns) != len(axes):
        raise DataError("AXES", f"{len(table.columns)} columns where the run has {len(axes)} axes",
                        where=embedding.path, hint="give the embedding that the run wrote, or rows of it")
    if not np.isfinite(table.values).all():
        row = int(np.flatnonzero(~np.isfinite(table.values).all(axis=1))[0])
        raise DataError("MISSING", "a coordinate is missing or not finite", where=f"{embedding.path}, row {row + 1}",
                        hint="coordinates must be numbers")
    return table
