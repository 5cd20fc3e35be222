"""A run as it is certified: computed a moment ago, or read back from its directory."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli import native
from mlcli.base.check import Check, count, skipped
from mlcli.base.frozen import frozen
from mlcli.base.stage import stage, unheard
from mlcli.base.threads import single_threaded_blas
from mlcli.certify.budget import Budget
from mlcli.certify.certificate import Certificate, facts_of, numbers
from mlcli.certify.files import LOADED, prepared_rows, same_model, same_rows, written_embedding, written_spectrum
from mlcli.certify.subject import Subject
from mlcli.config.run_config import RunConfig
from mlcli.data.prepare import Dropped, Preparation
from mlcli.data.table import Table
from mlcli.methods import Model
from mlcli.rundir import archive, names


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
    read: bool = False  # whether it was read back from its directory


@stage("certify")
def certify(record: Record, folder: Path | None, budget: Budget) -> Certificate:
    """The certificate of a run, and of its files where it has been written."""
    with unheard(), single_threaded_blas():  # the blocks of work are too small to be shared
        stored, checks = _read_back(record, folder, budget)
        projector = stored.get("projector", record.model.projector)
        model = replace(record.model, embedding=record.embedding.values, projector=projector,
                        unfolded=stored.get("unfolded", record.model.unfolded))
        given = None if record.given is None else record.given.data()
        subject = Subject.of(record.config.method, given, model, record.config.compute.seed)
        checks += _rows(record, budget)
        checks += _numbers(subject, budget)
        facts = {**facts_of(subject), "seed": record.config.compute.seed, "certify": record.config.report.certify,
                 "native_kernels": native.available(), "seconds": round(budget.spent, 4),
                 "seconds_allowed": round(budget.seconds, 4)}
    return Certificate(tuple(checks), facts)


def _numbers(subject: Subject, budget: Budget) -> list[Check]:
    """The checks of the numbers; those that a matrix of the result does not let finish count as failed."""
    checks: list[Check] = []
    try:
        for check in numbers(subject, budget):
            checks.append(check)  # noqa: PERF402 (those before an error are kept)
    except np.linalg.LinAlgError as error:
        checks.append(count("matrices", 1, f"matrices of the result without a decomposition ({str(error)[:80]})"))
    return checks


def _rows(record: Record, budget: Budget) -> list[Check]:
    """Rows and their preparation."""
    if record.source is None or record.given is None or not record.source.rows:
        return []
    gone = [d.row - 1 for d in record.dropped]
    checks = [same_rows(record.source, record.embedding, record.dropped, budget)]
    if len(record.source.ids) - len(gone) == len(record.embedding.ids):
        left = np.delete(np.arange(len(record.source.ids)), np.asarray(gone, dtype=np.int64))
        rows = record.given.values if record.model.kept is None else record.given.values[record.model.kept]
        checks.append(prepared_rows(record.source, rows, record.preparation, left, budget))
    return checks


def _read_back(record: Record, folder: Path | None, budget: Budget) -> tuple[Mapping[str, Any], list[Check]]:
    """The model as it lies in the folder, and whether all files hold what was computed."""
    if folder is None:
        return {}, []
    stored: Mapping[str, Any] = {}
    checks = list(_written(record, folder, budget))
    size = (folder / names.ARRAYS).stat().st_size
    if not budget.allows(0.2, LOADED * size):
        return stored, [*checks, skipped("model", f"no time to read {size:,} bytes")]
    stored = archive.load(folder, finite=False)  # what is not finite is for the checks to find
    trained = record.embedding.ids if record.config.input.kind != "features" else ()
    return stored, [*checks, same_model(stored, trained, record.preparation)]


def _written(record: Record, folder: Path, budget: Budget) -> Iterator[Check]:
    if record.model.projector is not None:
        yield from written_embedding(folder, record.embedding, record.config.report.formats, budget)
    if record.read:
        return  # the spectrum at hand is the file's
    text = (folder / names.SPECTRUM).read_text(encoding="utf-8")
    yield written_spectrum(text, record.model.spectrum.eigenvalues, record.config.method.kept.report)
