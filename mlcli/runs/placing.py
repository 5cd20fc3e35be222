"""New rows placed in the space of a finished run: read as its own were, through every step of it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mlcli.base.values.compute import Compute
from mlcli.core.similarities.projector import require_projector
from mlcli.data.options.input import Input
from mlcli.data.read.for_run import read_new
from mlcli.data.read.resemblance import refuse_resemblance
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.methods import methods_accepting
from mlcli.pipeline.read_run import config_of
from mlcli.rundir import names
from mlcli.rundir.manifest import require_intact
from mlcli.rundir.placement import FinishedModel

REPEATED = ("id_column", "missing_markers")  # options of a run's input that hold for new rows as well


def as_read(folder: Path, manifest: Mapping[str, Any], run: FinishedModel, new: Input) -> Input:
    """How new rows are read: as the run's own were, where nothing else is said."""
    require_intact(folder, manifest, (names.CONFIG,))
    own = config_of(folder).input
    said = {name: getattr(own, name) for name in REPEATED if own.chosen(name) and not new.chosen(name)}
    if own.columns and not new.chosen("columns"):  # as the run, which read no other column
        said["columns"] = run.steps[0].preparation.columns
    if new.path == "-":  # which cannot be read again where it has no such column
        said.pop("id_column", None)
        said.pop("columns", None)
    return new.replace(kind=run.kind, transpose=run.transpose, **said)


def read_rows(run: FinishedModel, new: Input, asked: Input, compute: Compute) -> Table:
    """The rows to place; raises DataError also for a matrix that has the names of the run's columns on both sides."""
    alone = all(require_projector(step.projector).similarity.rowwise for step in run.steps)
    closed = require_projector(run.steps[0].projector).similarity.comparison.closed
    read = partial(read_new, columns=run.steps[0].preparation.columns, ids=run.trained, compute=compute,
                   categories=run.categories, coding=run.coding, closed=closed,
                   streams=alone and run.kind == "features" and not run.categories and run.coding is None)
    try:
        table = None
        while table is None:  # what the run's own input had, and this file lacks, is left out
            try:
                table = read(asked)
            except ConfigError as error:
                option = error.where.removeprefix("input.")
                if option not in ("id_column", "columns") or new.chosen(option) or not asked.chosen(option):
                    raise
                asked = asked.replace(**{option: type(asked).model_fields[option].default})
        if run.kind == "features" and tuple(table.ids) == tuple(table.columns):
            refuse_resemblance(table, new)
        return table
    except (DataError, ConfigError) as error:
        if not error.kind:
            raise
        method = methods_accepting(new.replace(kind=error.kind).gives)[0]
        raise error.changed(hint=f"the run takes {run.kind}; a run of this file is made by "
                            f"mlcli embed --kind {error.kind} --method {method} {new.path}") from None


def placed(run: FinishedModel, table: Table) -> Table:
    """The coordinates of new rows, by every step of the run."""
    for step in run.steps:
        step.projector.require_places()
        table = step.place(table)
    return table
