"""A run as it is certified: computed a moment ago, or read back from its directory."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.check import Check, count
from mlcli.base.frozen import frozen
from mlcli.base.stage import stage, unheard
from mlcli.base.threads import single_threaded_blas
from mlcli.certify.certificate import Certificate, facts_of, numbers
from mlcli.certify.files import prepared_rows, rows_left, same_model, same_rows
from mlcli.certify.plan import Plan
from mlcli.certify.subject import Subject
from mlcli.config.run_config import RunConfig
from mlcli.data.prepare import Dropped, Preparation
from mlcli.data.table import Table
from mlcli.methods import Model
from mlcli.rundir import archive


@frozen
class Record:
    """A run: what it was given and what it made of it."""

    config: RunConfig  # with defaults settled to the data
    source: Table | None  # the input as read; None where it is gone
    given: Table | None  # all prepared rows
    embedding: Table
    model: Model
    preparation: Preparation
    dropped: tuple[Dropped, ...]
    stored: Mapping[str, Any] | None = None  # the model as it lies in its folder, where it has been read already


@stage("certify")
def certify(record: Record, folder: Path | None, *, full: bool = False) -> Certificate:
    """The certificate of a run, by the model that lies in its folder where it has been written."""
    config, plan = record.config, Plan(full or record.config.report.certify == "full", record.config.compute.seed)
    with unheard(), single_threaded_blas():  # the pieces of work are too small to be shared
        stored = record.stored or ({} if folder is None else archive.load(folder, finite=False))
        model = replace(record.model, embedding=record.embedding.values,
                        projector=stored.get("projector", record.model.projector),
                        unfolded=stored.get("unfolded", record.model.unfolded))
        given = None if record.given is None else record.given.data()
        subject = Subject.of(config.method, given, model, plan)
        checks = [] if not stored else [
            same_model(stored, record.embedding.ids if config.input.kind != "features" else (), record.preparation)]
        checks += [*_rows(record, plan), *_numbers(subject)]
        facts = {**facts_of(subject), "seed": plan.seed, "certify": "full" if plan.full else "auto"}
    return Certificate(tuple(checks), facts)


def _numbers(subject: Subject) -> list[Check]:
    """The checks of the numbers; those that a matrix of the result does not let finish count as failed."""
    checks: list[Check] = []
    try:
        for check in numbers(subject):
            checks.append(check)  # noqa: PERF402 (those before an error are kept)
    except np.linalg.LinAlgError as error:
        checks.append(count("matrices", 1, f"matrices of the result without a decomposition ({str(error)[:80]})"))
    return checks


def _rows(record: Record, plan: Plan) -> list[Check]:
    """Rows and their preparation."""
    if record.source is None or record.given is None or not record.source.rows:
        return []
    checks, left = [same_rows(record.source, record.embedding, record.dropped, plan)], rows_left(
        record.source, record.dropped)
    if len(left) == len(record.embedding.ids):
        rows = record.given.values if record.model.kept is None else record.given.values[record.model.kept]
        checks.append(prepared_rows(record.source, rows, record.preparation, left, plan))
    return checks
