"""The input of a finished run read again, for dissimilarities of its rows and amounts of its species."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import mute_notes
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.config.run_config import RunConfig
from mlcli.core.metrics import AMOUNTS
from mlcli.core.metrics.points import metric_of, squares
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.findings.frame.contents import Contents
from mlcli.pipeline.start import Start, begin, is_run
from mlcli.rundir import names
from mlcli.rundir.manifest import require_intact
from mlcli.rundir.reading import damaged, own_file
from mlcli.runs.unchanged_input import unchanged_input
from mlcli.runs.verify import dropped_rows, remaining_rows

OF_AMOUNTS = ("total", "hellinger", "cpm", "presence", "clr", "rclr", "alr", "log", "wisconsin", "chisquare",
              "max", "frequency")  # transforms


@frozen
class InputRows:
    """The input of a run, read and prepared again, in the order of the run's rows."""

    config: RunConfig
    start: Start
    places: Indices | None  # of the prepared rows; None: all

    @property
    def table(self) -> Table:
        """The rows as the method got them."""
        table = self.start.prepared.table
        return table if self.places is None else table.take(self.places)

    def amounts(self) -> Table | None:
        """Return the columns of a table after the run's transforms, before its scale; None of other inputs."""
        start, prepare = self.start, self.config.prepare
        if start.source.kind != "features" or start.run is not None or start.source.categories:
            return None
        table, _, _ = prepare.completed(replace(start.source, view=None, labels={}))
        table, _, _ = prepare.transformed(table)
        if len(table.ids) != len(self.start.prepared.table.ids):
            return None
        return table if self.places is None else table.take(self.places)

    def counts(self) -> bool:
        """Whether the run is an ordination of amounts: by its method, metric or transform, or whole numbers."""
        method, prepare = self.config.method, self.config.prepare
        if self.start.source.kind != "features":
            return False
        values = self.start.source.values
        return bool(values.min(initial=0.0) >= 0) and (
            method.domain == "amounts" or method.distance.name in AMOUNTS
            or not set(OF_AMOUNTS).isdisjoint(prepare.transform) or bool(np.all(values == np.round(values))))


def read_input(folder: Path, run: Contents, given: str | None) -> InputRows:
    """Read the input of a run again from its path, or from where it is `given` to be now.

    Raises InputMissing where it is gone, and UnsafeFile where it is not what the run read.
    """
    config = unchanged_input(run, given, "the run kept no dissimilarities")
    if not is_run(config.input.path):
        config = config.replace(input=config.input.replace(stream="never"))
    with own_file(folder / names.CONFIG), mute_notes():
        start = begin(config)
    chosen = remaining_rows(start.source, start.prepared, dropped_rows(folder))
    rows = len(start.prepared.table.ids) if chosen is None else len(chosen)
    if rows != len(run.embedding.ids):
        raise damaged(folder / names.embedding("csv"), f"{len(run.embedding.ids):,} rows, and the input gives {rows:,}")
    return InputRows(config, start, chosen)


def kept_distances(folder: Path, run: Contents) -> Array | None:
    """Return the dissimilarities (n x n) that a run kept, where these are of the rows themselves; None without any."""
    name, method = names.KEPT["distances"], run.config.method
    plain = method.name in ("mds", "kpca") and getattr(method, "correction", "none") == "none"
    if name not in run.manifest["files"] or not plain:
        return None
    require_intact(folder, dict(run.manifest), (name,))
    path = folder / name
    with own_file(path):
        values = read(Input(path=str(path), kind="dissimilarities", format="npy")).values
    if len(values) != len(run.embedding.ids):
        raise damaged(path, f"it is of {len(values):,} rows, not {len(run.embedding.ids):,}")
    return values


def squared_distances(rows: InputRows) -> tuple[Array, str]:
    """Return the squared dissimilarities (n x n) that a run's method starts from, and what they are in words."""
    table, method = rows.table, rows.config.method
    Compute().require(32.0 * len(table.ids) ** 2, f"dissimilarities of {len(table.ids):,} rows", "use fewer rows")
    data = method.with_metric(table.data())
    if isinstance(data, Dissimilarities):
        return squares(data), "the dissimilarities of the run's input"
    if isinstance(data, Features):
        return squares(data), f"{metric_of(data).name} distances of the run's input, as it was prepared"
    raise ConfigError("NO-DISSIMILARITIES", f"the run was made from a {table.kind}, which has no dissimilarities",
                      where="--formula", hint="leave out --formula and --dispersion, or make a run of dissimilarities")


def row_masses(rows: InputRows) -> Array:
    """Return the masses (n) of the rows of a correspondence analysis: their shares of the total."""
    sums = np.asarray(rows.table.values).sum(axis=1)
    if not sums.all():
        raise DataError("COUNTS", "a row of the run's input sums to zero", where=place(rows.config.input.path),
                        hint="make the run again without it")
    return np.asarray(sums / sums.sum())
