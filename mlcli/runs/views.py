"""New rows of several views placed in the space of a run of these: of one view alone, or of several together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.options.second_files import View
from mlcli.data.table.table import Table
from mlcli.data.table.views import match_views
from mlcli.errors import ConfigError
from mlcli.pipeline.read_run import config_of
from mlcli.rundir.placement import FinishedModel
from mlcli.runs.placing import as_read, placed, read_rows


def place_views(folder: Path, manifest: Mapping[str, Any], run: FinishedModel, new: Input, compute: Compute, *,
                views: Sequence[int]) -> Table:
    """Coordinates of new rows of one view or of several, matched by id; `views` are their numbers, from 1.

    Raises ConfigError for views that the run does not have, or whose rows together give no coordinates, and DataError
    for rows that not all files have.
    """
    inputs = [new.replace(view=View()), *(new.of_view(view) for view in new.views)]
    numbers = list(views) or list(range(1, len(inputs) + 1))
    require_views(run, numbers, len(inputs))
    tables = [rows_of_view(folder, manifest, run, given, number, compute)
              for given, number in zip(inputs, numbers, strict=True)]
    if len(tables) == 1:
        return tables[0]
    matched = match_views(tables, "error").table.views
    if run.joint is None:
        raise ConfigError("AS-VIEW", "the coordinates of this run are those of rows of one view", where="--view",
                          hint="leave it out, and project each file by itself (--as-view)")
    values = run.joint.combine([table.values for table in matched], [number - 1 for number in numbers],
                               len(run.views) + 1)
    return replace(matched[0], values=values)


def rows_of_view(folder: Path, manifest: Mapping[str, Any], run: FinishedModel, given: Input, number: int,
                 compute: Compute) -> Table:
    """Coordinates of rows of one view alone, read as those of the fit were."""
    own = run.of_view(number)
    asked = as_read(folder, manifest, own, given)
    view = None if number == 1 else config_of(folder).input.views[number - 2]
    if view is not None and view.id_column is not None and not given.chosen("id_column") and given.path != "-":
        asked = asked.replace(id_column=view.id_column)
    for step in own.steps:
        step.projector.require_places()
    return placed(own, read_rows(own, given, asked, compute))


def require_views(run: FinishedModel, numbers: Sequence[int], files: int) -> None:
    """Raise ConfigError for numbers of views that the run does not have, that repeat, or are not one for each file."""
    count = len(run.views) + 1
    if count == 1:
        raise ConfigError("NO-VIEW", "the run places rows of one view only", where="--as-view", hint="leave it out")
    if wrong := [number for number in numbers if not 1 <= number <= count]:
        raise ConfigError("AS-VIEW", f"there is no view {wrong[0]}: the run has {count}", where="--as-view",
                          hint=f"give a number from 1 to {count}")
    if len(set(numbers)) < len(numbers) or len(numbers) != files:
        raise ConfigError("AS-VIEW", f"{files} {'file' if files == 1 else 'files'} and views "
                          f"{', '.join(map(str, numbers))}", where="--as-view",
                          hint="give each file a view of its own: that of NEW first, then that of each --view")
