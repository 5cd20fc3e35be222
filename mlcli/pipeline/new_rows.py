"""Rows that are new to a finished run, read as its own rows were."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from shlex import quote

from mlcli.base.values.compute import Compute
from mlcli.core.similarities.projector import require_projector
from mlcli.data.options.input import Input
from mlcli.data.prepare.missing import NEW, refuse
from mlcli.data.prepare.views import errors_for_view, join_columns, match_views
from mlcli.data.read.detect_pairs import refuse_resemblance
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.methods import methods_accepting
from mlcli.rundir.model import StoredModel


def read_rows(run: StoredModel, own: Input, new: Input, compute: Compute, *, whole: bool = False,
              closed: bool = False) -> Table:
    """The rows to place, read as the run's `own` were where nothing else is said; `whole` ones are read into memory.

    Those of a run of several files are in as many, matched by id, or in one table. Texts that the columns of the fit do
    not have are refused where they are `closed`, or the method does. Raises DataError also for a matrix
    that has the names of the run's columns on both sides.
    """
    if new.views:
        return _rows_of_files(run, own, new, compute, closed=closed or run.closed)
    like = RunInput(tuple(run.steps[0].preparation.columns), run.trained, run.categories, coding=run.coding,
                    rule=run.rule, closed=closed or run.closed, options=own)
    try:
        return _rows_of(run, like, new, compute, whole=whole)
    except (DataError, ConfigError) as error:
        if not run.files or error.code not in ("E-COLUMNS-DIFFER", "E-UNKNOWN-COLUMN"):
            raise
        raise error.changed(hint=f"give a table with all columns of the run, or each of its {len(run.files)} files: "
                            "the others by {input.view.path}") from error


def _rows_of_files(run: StoredModel, own: Input, new: Input, compute: Compute, *, closed: bool) -> Table:
    """The rows to place of a run of several files, from as many, matched by id."""
    files = new.files
    require_files(run, len(files))
    olds = own.files if own.views else [own] * len(files)
    tables = list[Table]()
    for number, (file, old, (name, held)) in enumerate(zip(files, olds, run.files.items(), strict=True)):
        known = {column: run.categories[called] for column, called in zip(
            held, run.columns_of_files[name], strict=True) if called in run.categories}
        like = RunInput(held, categories=known, closed=closed, options=old)
        with errors_for_view(number - 1, file.path) if number else nullcontext():
            tables.append(_rows_of(run, like, file, compute, whole=True))
    return rows_in_one_table(run, tables)


def roles_of(table: Table, own: Input, new: Input) -> tuple[str, ...] | None:
    """Return the labels of new rows that say what they are to the method, as styles and contents do.

    Those that the new rows name, else those that the run named; a further column of texts that was found beside these
    is a label and no more. Where there are none of these it is the first label. None where labels are of a file.
    """
    named = new.label_columns or own.label_columns
    if new.labels.path is not None and not new.label_columns:
        return None
    return named if any(name in table.labels for name in named) else tuple(table.labels)[:1]


def require_files(run: StoredModel, count: int) -> None:
    """Raise ConfigError for another number of files than those of the run."""
    if count != len(run.files):
        was = f"{len(run.files)} files, and these are {count}" if run.files else "one table"
        raise ConfigError("NO-VIEW", f"the run was made from {was}", where="input.view.path", hint="give a file for "
                          "each, in their order, or one table with all columns" if run.files else "leave it out")


def rows_in_one_table(run: StoredModel, tables: Sequence[Table]) -> Table:
    """New rows of each file of a run of several, matched by id, as one table.

    Raises DataError, also for missing cells where the run refuses them: here their file is known.
    """
    if run.steps[0].preparation.missing == "error":
        for table in tables:
            refuse(table, NEW)
    matched = match_views(tables, "error", "give those rows alone that all files have").table
    return join_columns(matched.views, run.columns_of_files, tables)


def _rows_of(run: StoredModel, like: RunInput, new: Input, compute: Compute, *, whole: bool) -> Table:
    """The rows of one file, read as `like` says."""
    own = like.options or new
    marks = own.missing_markers if own.chosen("missing_markers") and not new.chosen("missing_markers") else None
    rule = None if run.rule is None else run.rule.name
    if new.similarities not in (None, rule):
        raise ConfigError("INPUT-OPTION", f"the run was made from {run.kind if rule is None else 'similarities'}"
                          + (f" by the rule {rule}" if rule else ""), where="input.similarities",
                          hint="leave it out: new rows are read as those of the run were")
    squared = own.squared and own.kind == run.kind and not new.chosen("squared")
    asked = new.replace(kind=run.kind, transpose=run.transpose, **({} if marks is None else {"missing_markers": marks}),
                        **({} if rule is None else {"similarities": rule}), **({"squared": True} if squared else {}))
    alone = not whole and all(require_projector(step.projector).rowwise for step in run.steps)
    try:
        table = read_new(asked, like, compute, streams=alone and run.kind == "features" and run.coding is None)
        if run.kind == "features" and tuple(table.ids) == tuple(table.columns):
            refuse_resemblance(table, new)
        return replace(table, roles=roles_of(table, own, new))
    except (DataError, ConfigError) as error:
        if not error.kind:
            raise
        method = methods_accepting(new.replace(kind=error.kind).gives)[0]
        raise error.changed(hint=f"the run takes {run.kind}; a run of this file is made by "
                            f"mlcli embed --kind {error.kind} --method {method} {quote(new.path)}") from None
