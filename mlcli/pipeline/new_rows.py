"""Rows that are new to a finished run, read as its own rows were."""

from mlcli.base.values.compute import Compute
from mlcli.core.similarities.projector import require_projector
from mlcli.data.options.input import Input
from mlcli.data.read.detect_pairs import refuse_resemblance
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.methods import methods_accepting
from mlcli.rundir.model import StoredModel


def read_rows(run: StoredModel, own: Input, new: Input, compute: Compute, *, whole: bool = False) -> Table:
    """The rows to place, read as the run's `own` were where nothing else is said; `whole` ones are read into memory.

    Raises DataError also for a matrix that has the names of the run's columns on both sides.
    """
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
        read = RunInput(tuple(run.steps[0].preparation.columns), run.trained, run.categories, coding=run.coding,
                        rule=run.rule, closed=run.closed, options=own)
        table = read_new(asked, read, compute, streams=alone and run.kind == "features" and run.coding is None)
        if run.kind == "features" and tuple(table.ids) == tuple(table.columns):
            refuse_resemblance(table, new)
        return table
    except (DataError, ConfigError) as error:
        if not error.kind:
            raise
        method = methods_accepting(new.replace(kind=error.kind).gives)[0]
        raise error.changed(hint=f"the run takes {run.kind}; a run of this file is made by "
                            f"mlcli embed --kind {error.kind} --method {method} {new.path}") from None
