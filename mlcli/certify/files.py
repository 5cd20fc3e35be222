"""Rows, ids, preparation and model of a run are the input's, and those that were written."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.check import Check, count
from mlcli.base.types import Array, Indices
from mlcli.certify.plan import Plan
from mlcli.data.prepare import Dropped, Preparation
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.table import Table

ID = 1e-7  # seconds for the comparison of an id
NUMBER = 2e-8  # seconds for a number that is prepared back
SAMPLE = 256  # rows that are looked at in any case


def same_rows(source: Table, embedding: Table, dropped: Sequence[Dropped], plan: Plan) -> Check:
    """The embedding's rows are the input's, under their ids and labels and in their order, but for those dropped."""
    left = rows_left(source, dropped)
    if len(left) != len(embedding.ids) or len(embedding.ids) != len(embedding.values):
        return count("rows", abs(len(left) - len(embedding.ids)) or 1,
                     "rows of the input that are neither in the embedding nor dropped")
    if isinstance(source.ids, RowNumbers) and isinstance(embedding.ids, RowNumbers):
        wrong = int(np.sum(source.ids.array()[left] != embedding.ids.array()))
        return count("rows", wrong, "ids that are not the input's, in order")
    chosen = plan.sample(0.1, ID, len(left), least=SAMPLE)
    wrong = sum(source.ids[row] != embedding.ids[place] or any(
        texts[row] != embedding.labels[name][place] for name, texts in source.labels.items())
        for place, row in zip(chosen.tolist(), left[chosen].tolist(), strict=True))
    return count("rows", wrong, "ids and labels that are not the input's, in order", exact=len(chosen) == len(left))


def rows_left(source: Table, dropped: Sequence[Dropped]) -> Indices:
    """The rows of the input that were not dropped."""
    return np.delete(np.arange(len(source.ids)), np.array([d.row - 1 for d in dropped], dtype=np.int64))


def prepared_rows(source: Table, data: Array, preparation: Preparation, kept: Indices, plan: Plan) -> Check:
    """Prepared numbers lead back to the input's."""
    if source.kind != "features" or data is source.values:
        return count("prepared", 0, "numbers that the preparation was not to change")
    chosen = plan.sample(0.1, NUMBER * max(data.shape[1], 1), len(kept), least=SAMPLE)
    original, found, exact = source.values[kept[chosen]], data[chosen], len(chosen) == len(kept)
    if preparation.unchanged:  # but for missing numbers, which were filled in
        wrong = int(np.sum((original != found) & np.isfinite(original)))
        return count("prepared", wrong, "numbers that the preparation was not to change", exact=exact)
    back, there = preparation.undo(found), np.isfinite(original) & (preparation.spread != 0)
    origin = preparation.undo(np.zeros((1, data.shape[1])))  # the center, and the spread beside it
    size = np.abs(origin) + np.abs(preparation.undo(np.ones((1, data.shape[1]))) - origin)
    size = np.maximum(size, np.abs(np.where(there, original, 0.0)).max(axis=0, initial=0.0))
    wrong = int(np.sum(there & (np.abs(back - original) > 1e-9 * size)))
    return count("prepared", wrong, "prepared numbers that do not lead back to the input's", exact=exact)


def same_model(stored: Mapping[str, object], trained: Sequence[str], preparation: Preparation) -> Check:
    """The model read back names the input's points and prepares rows as the run did."""
    read = stored["preparation"]
    wrong = int(tuple(stored["trained"]) != tuple(trained))  # type: ignore[arg-type]
    if not isinstance(read, Preparation):
        return count("model", 1, "the model does not say how rows are prepared")
    wrong += int(read.columns != preparation.columns or read.missing != preparation.missing)
    wrong += sum(not np.array_equal(getattr(read, name), getattr(preparation, name))
                 for name in ("fill", "exponent", "center", "spread"))
    return count("model", wrong, "parts of the model read back that are not the run's")
