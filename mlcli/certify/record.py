"""A run as it is certified, computed a moment ago or read back: its rows, its model, its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.check import Check, count
from mlcli.base.frozen import frozen
from mlcli.base.stage import stage, unheard
from mlcli.base.threads import single_threaded_blas
from mlcli.base.types import Array, Indices
from mlcli.certify.certificate import Certificate, facts_of, numbers
from mlcli.certify.plan import Plan
from mlcli.certify.subject import Subject
from mlcli.certify.transforms import transformed
from mlcli.config.run_config import RunConfig
from mlcli.data.prepare import Dropped, Preparation
from mlcli.data.table import Table
from mlcli.methods import Model
from mlcli.rundir import archive

ID = 1e-7  # seconds for the comparison of an id
NUMBER = 2e-8  # seconds for a number that is prepared back
LEAST = 1e-300  # numbers as small as this have few digits, or none
SAMPLE = 256  # rows that are checked in any case


@frozen
class Record:
    """A run: its input and its results."""

    config: RunConfig  # with defaults resolved for the data
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
        given = None if record.given is None else config.method.compared(record.given.data())
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
    if len(left) == len(record.embedding.ids) and record.source.kind == "features":
        rows = record.given.values if record.model.kept is None else record.given.values[record.model.kept]
        checks.append(prepared_rows(record.source, rows, record.preparation, left, plan))
    return checks


def same_rows(source: Table, embedding: Table, dropped: Sequence[Dropped], plan: Plan) -> Check:
    """The embedding's rows are the input's, under their ids and labels and in their order, but for those dropped."""
    left = rows_left(source, dropped)
    if len(left) != len(embedding.ids) or len(embedding.ids) != len(embedding.values):
        return count("rows", abs(len(left) - len(embedding.ids)) or 1,
                     "rows of the input that are neither in the embedding nor dropped")
    chosen = plan.sample(0.1, ID, len(left), least=SAMPLE)
    pairs = [(source.ids, embedding.ids), *((texts, embedding.labels[name]) for name, texts in source.labels.items())]
    differing = [(read, kept) for read, kept in pairs if read is not kept]  # rather than one object that is both
    places = list(zip(left[chosen].tolist(), chosen.tolist(), strict=True)) if differing else []
    wrong = sum(any(read[row] != kept[place] for read, kept in differing) for row, place in places)
    return count("rows", wrong, "ids and labels that are not the input's, in order", exact=len(chosen) == len(left))


def rows_left(source: Table, dropped: Sequence[Dropped]) -> Indices:
    """The rows of the input that were not dropped."""
    return np.delete(np.arange(len(source.ids)), np.array([d.row - 1 for d in dropped], dtype=np.int64))


def prepared_rows(source: Table, data: Array, preparation: Preparation, kept: Indices, plan: Plan) -> Check:
    """Prepared numbers lead back to the input's, transformed where a run transforms them."""
    chosen = plan.sample(0.1, NUMBER * max(data.shape[1], 1), len(kept), least=SAMPLE)
    original, exact = unscaled(source.values[kept[chosen]], preparation), len(chosen) == len(kept)
    stated = data[chosen]
    back, there = preparation.undo(stated), np.isfinite(original) & (preparation.spread != 0)
    origin = preparation.undo(np.zeros((1, data.shape[1])))  # the center, and the spread beside it
    size = np.abs(origin) + np.abs(preparation.undo(np.ones((1, data.shape[1]))) - origin) * (not preparation.unscaled)
    size = np.maximum(size, np.abs(np.where(there, original, 0.0)).max(axis=0, initial=0.0))
    allowed = 0.0 if preparation.unscaled and not preparation.transform else 1e-9
    wrong = int(np.sum(there & (np.abs(back - original) > allowed * (size + LEAST))))
    return count("prepared", wrong, "prepared numbers that do not lead back to the input's", exact=exact)


def unscaled(values: Array, preparation: Preparation) -> Array:
    """The input's numbers as the scale should find them; NaN where a cell is missing and nothing fills it."""
    values = np.where(np.isfinite(values), values, preparation.fill if preparation.fill.size else np.nan)
    values = transformed(values, preparation.transform)
    return values if preparation.chosen is None else values[:, preparation.chosen]


def same_model(stored: Mapping[str, object], trained: Sequence[str], preparation: Preparation) -> Check:
    """The model read back names the input's points and prepares rows as the run did."""
    read = stored["preparation"]
    wrong = int(tuple(stored["trained"]) != tuple(trained))  # type: ignore[arg-type]
    if not isinstance(read, Preparation):
        return count("model", 1, "the model does not say how rows are prepared")
    wrong += sum(not np.array_equal(getattr(read, name), getattr(preparation, name))
                 for name in ("columns", "missing", "fill", "exponent", "center", "spread", "transform",
                              "chosen"))
    return count("model", wrong, "parts of the model read back that are not the run's")
