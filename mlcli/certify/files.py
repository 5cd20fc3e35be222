"""What lies in the run directory is what was computed: rows, ids, numbers, model."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from mlcli.base.check import Check, count, skipped
from mlcli.base.types import Array, Indices
from mlcli.certify.budget import Budget
from mlcli.data.npy import read_header, require_size
from mlcli.data.prepare import Dropped, Preparation
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.table import Table
from mlcli.rundir import names
from mlcli.rundir.reading import own_file

READ = 2e-8  # seconds for a byte of CSV
ID = 1e-7  # seconds for the comparison of an id
LOADED = 2e-9  # seconds for a byte of a model
BLOCK = 2**18  # numbers compared at once
LINES = 2**14  # rows of text compared at once
SAMPLE = 256  # rows where there is no time for all


def same_rows(source: Table, embedding: Table, dropped: Sequence[Dropped], budget: Budget) -> Check:
    """The embedding's rows are the input's, under their ids and labels and in their order, but for those dropped."""
    gone = np.array(sorted(d.row - 1 for d in dropped), dtype=np.int64)
    left = np.setdiff1d(np.arange(len(source.ids)), gone) if len(gone) else None
    if len(source.ids) - len(gone) != len(embedding.ids) or len(embedding.ids) != len(embedding.values):
        return count("rows", abs(len(source.ids) - len(gone) - len(embedding.ids)) or 1,
                     "rows of the input that are neither in the embedding nor dropped")
    if isinstance(source.ids, RowNumbers) and isinstance(embedding.ids, RowNumbers):
        expected = source.ids.array() if left is None else source.ids.array()[left]
        return count("rows", int(np.sum(expected != embedding.ids.array())), "ids that are not the input's, in order")
    size = len(embedding.ids)
    few = budget.affordable(0.1, ID, size, least=SAMPLE)
    chosen = range(size) if few == size else np.sort(np.random.default_rng(0).choice(size, few, replace=False)).tolist()
    wrong = 0
    for place in chosen:
        row = place if left is None else int(left[place])
        same = source.ids[row] == embedding.ids[place] and all(
            texts[row] == embedding.labels[name][place] for name, texts in source.labels.items())
        wrong += not same
    return count("rows", wrong, "ids and labels that are not the input's, in order", exact=few == size)


def prepared_rows(source: Table, data: Array, preparation: Preparation, kept: Indices, budget: Budget) -> Check:
    """Prepared numbers lead back to the input's."""
    if preparation.unchanged or source.kind != "features":
        same = data is source.values or source.kind != "features"
        few = len(kept) if same else budget.affordable(0.1, 2e-9 * max(data.shape[1], 1), len(kept), least=SAMPLE)
        step = max(1, BLOCK // max(data.shape[1], 1))
        wrong = 0 if same else sum(
            _changed(source.values[kept[i : i + step]], data[i : i + step]) for i in range(0, few, step))
        return count("prepared", wrong, "numbers that the preparation was not to change", exact=few == len(kept))
    few = budget.affordable(0.1, 2e-8 * max(data.shape[1], 1), len(kept), least=SAMPLE)
    back, original = preparation.undo(data[:few]), source.values[kept[:few]]
    there = np.isfinite(original) & (preparation.spread != 0)
    origin = preparation.undo(np.zeros((1, data.shape[1])))  # the center, and the spread beside it
    size = np.abs(origin) + np.abs(preparation.undo(np.ones((1, data.shape[1]))) - origin)
    size = np.maximum(size, np.abs(np.where(there, original, 0.0)).max(axis=0, initial=0.0))
    wrong = int(np.sum(there & (np.abs(back - original) > 1e-9 * size)))
    return count("prepared", wrong, "prepared numbers that do not lead back to the input's", exact=few == len(kept))


def _changed(original: Array, data: Array) -> int:
    """Numbers that are not the original's, but for those filled in."""
    data = data[: len(original)]
    return int(np.sum((original != data) & np.isfinite(original))) if (original != data).any() else 0


def written_embedding(folder: Path, embedding: Table, formats: Sequence[str], budget: Budget) -> Iterator[Check]:
    """The embedding's files read back to the numbers that were computed."""
    looks = {"csv": _csv, "npy": _npy, "parquet": _parquet}
    for format in formats:
        path = folder / names.embedding(format)
        with own_file(path):
            check = looks[format](path, embedding, budget)
        yield check


def _npy(path: Path, embedding: Table, budget: Budget) -> Check:
    with path.open("rb") as stream:
        require_size(read_header(stream, str(path)), path.stat().st_size, str(path))
    found = np.load(path, mmap_mode="r", allow_pickle=False)
    if found.dtype != np.float64:
        raise ValueError(f"its numbers are of type {found.dtype}")
    return _numbers("embedding.npy", np.asarray(found), embedding.values, True)


def _numbers(name: str, found: Array, expected: Array, exact: bool) -> Check:
    wrong = max(found.size, 1) if found.shape != expected.shape else int(
        np.sum((found != expected) & ~(np.isnan(found) & np.isnan(expected))))
    return count(name, wrong, "numbers in the file that are not those computed", exact=exact)


def _csv(path: Path, embedding: Table, budget: Budget) -> Check:
    """All rows, or the first where there is no time; piece by piece, as texts take many times the room of numbers."""
    size = len(embedding.ids)
    whole = budget.allows(0.2, READ * path.stat().st_size)
    looked = size if whole else min(SAMPLE, size)
    with path.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream)
        wrong = int(next(lines, [])[-len(embedding.columns) :] != list(embedding.columns))
        try:
            for start in range(0, looked, LINES):
                part = slice(start, min(start + LINES, looked))
                wrong += _wrong_cells(list(islice(lines, part.stop - part.start)), embedding, part)
        except ValueError:
            return count("embedding.csv", max(wrong, 1), "the file's rows are not whole")
        wrong += sum(1 for _ in lines) if whole else 0
    return count("embedding.csv", wrong, "ids, labels and numbers in the file that are not those computed", exact=whole)


def _wrong_cells(rows: list[list[str]], embedding: Table, part: slice) -> int:
    """Cells that are not the embedding's in these places; raises ValueError where rows are not whole."""
    texts = [tuple(column[part]) for column in (embedding.ids, *embedding.labels.values())]
    if len(rows) != len(texts[0]):
        return abs(len(rows) - len(texts[0]))
    columns = list(zip(*rows, strict=True))
    if len(columns) != len(texts) + len(embedding.columns):
        raise ValueError
    wrong = sum(a != b for ours, read in zip(texts, columns, strict=False) if ours != read
                for a, b in zip(ours, read, strict=True))
    found = [np.fromiter(map(float, column), np.float64, len(rows)) for column in columns[len(texts) :]]
    return wrong + sum(int(np.sum(own != values)) for own, values in zip(found, embedding.values[part].T, strict=True))


def _parquet(path: Path, embedding: Table, budget: Budget) -> Check:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    whole = budget.allows(0.2, LOADED * path.stat().st_size * 4)
    columns = list(embedding.columns)
    if file.metadata.num_rows != len(embedding.ids) or file.schema_arrow.names[-len(columns):] != columns:
        return count("embedding.parquet", 1, "rows and columns that are not those of the embedding")
    table = file.read(columns) if whole else file.read_row_group(0, columns)
    found = np.column_stack([np.asarray(table.column(name), dtype=np.float64) for name in columns])
    first = next(file.iter_batches(SAMPLE, columns=file.schema_arrow.names[:1]), None)
    ids = [] if first is None else first.column(0).to_pylist()
    wrong = 0
    wrong += sum(a != b for a, b in zip(ids, embedding.ids, strict=False))
    check = _numbers("embedding.parquet", found, embedding.values[: len(found)], whole)
    return count(check.name, wrong + int(check.value), check.how, exact=whole)


def written_spectrum(text: str, eigenvalues: Array, reported: int | None) -> Check:
    """spectrum.csv reads back to the eigenvalues that were computed."""
    found = spectrum_of(text)
    expected = eigenvalues[:reported]
    wrong = max(len(found), 1) if len(found) != len(expected) else int(np.sum(found != expected))
    return count("spectrum.csv", wrong, "eigenvalues in the file that are not those computed")


def spectrum_of(text: str) -> Array:
    """The eigenvalues in the text of a spectrum.csv."""
    return np.array([float(line.split(",")[1] or "nan") for line in text.splitlines()[1:]], dtype=float)


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


def unread(why: str) -> Check:
    """The model was not read back."""
    return skipped("model", why)
