"""Finished runs side by side: read back, their rows matched by id, compared."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.stage import note
from mlcli.base.threads import threads_limited
from mlcli.base.types import Indices
from mlcli.config.differences import differences
from mlcli.errors import ConfigError, DataError
from mlcli.readback import finished, with_labels
from mlcli.report.comparison.side_by_side import Comparison, Side, aligned, side_by_side
from mlcli.report.contents import Contents
from mlcli.report.measured import MEASURES
from mlcli.report.quality.scale import counting

COMPARED = ("input.", "prepare.", "method.", "compute.seed")  # options that decide on results
FEWEST = 2  # rows that a comparison needs


def compare(folders: Sequence[str], *, neighbors: int, label: str | None, seed: int,
            labels: str | None = None) -> Comparison:
    """Compares finished runs over the rows that all of them have; raises what `finished` does, and DataError.

    With `labels`, those of a file stand before the first run's own.
    """
    with threads_limited(Compute().thread_count()):
        return side_by_side(*sides_of(folders, folders, label, labels), neighbors, np.random.default_rng(seed))


def align(folders: Sequence[str], names: Sequence[str], label: str | None) -> Comparison:
    """Finished runs in one orientation, under some names; raises what `compare` does."""
    with threads_limited(Compute().thread_count()):
        return aligned(*sides_of(folders, names, label))


def sides_of(folders: Sequence[str], names: Sequence[str], label: str | None,
             labels: str | None = None) -> tuple[list[Side], list[str], dict[str, list[str]]]:
    """Finished runs over the rows that all have: each under its name, the rows' ids, and the first run's labels."""
    runs = [finished(Path(folder)) for folder in folders]
    runs[0] = with_labels(runs[0], labels)
    first = runs[0].embedding
    if label is not None and label not in first.labels:
        raise ConfigError("COMPARE-LABEL", f"the first run has no label column {label[:80]!r}",
                          where="--label-column", hint=f"it has: {', '.join(first.labels)[:200] or 'none'}")
    for folder, run in zip(folders, runs, strict=True):
        if not run.manifest["input"]["rows"]:
            raise ConfigError("NO-ROWS-COMPARED", "this run was made of a covariance matrix and has no rows",
                              where=folder, hint="compare loadings.csv of such runs; compare runs of points here")
    rows = common_rows([run.embedding.ids for run in runs], folders)
    sides = [_side(name, run, chosen) for name, run, chosen in zip(names, runs, rows, strict=True)]
    inputs = {side.sha256 for side in sides if side.sha256}
    if len(inputs) > 1:
        note("W-INPUTS-DIFFER", f"the runs were made from {len(inputs)} different inputs", inputs=len(inputs))
    ids = [first.ids[row] for row in rows[0].tolist()]
    return sides, ids, {name: [texts[row] for row in rows[0].tolist()] for name, texts in first.labels.items()}


def common_rows(ids: Sequence[Sequence[str]], names: Sequence[str]) -> list[Indices]:
    """The rows of each run whose ids all runs have, in the order of the first run."""
    if all(part == ids[0] for part in ids):
        return [np.arange(len(ids[0]))] * len(ids)
    places = [{name: row for row, name in enumerate(part)} for part in ids]
    common = [name for name in ids[0] if all(name in place for place in places[1:])]
    if len(common) < FEWEST:
        raise DataError("NO-COMMON-ROWS", f"the runs have {len(common)} ids in common", where=", ".join(names)[:200],
                        hint="compare runs of the same rows; embedding.npy holds no ids, so write csv as well")
    left = [len(part) - len(common) for part in ids]
    if any(left):
        counts = ", ".join(f"{count:,} of {name[-40:]}" for count, name in zip(left, names, strict=True) if count)
        note("W-COMMON-ROWS", f"the {len(common):,} rows that all runs have are compared; left out are {counts}",
             rows=len(common))
    return [np.array([place[name] for name in common], dtype=np.int64) for place in places]


def _side(name: str, run: Contents, rows: Indices) -> Side:
    """A run as one side of the comparison."""
    eigenvalues = [] if run.spectrum is None else run.spectrum.numbers("eigenvalue")
    measures = {key: value for key, value in counting(run.quality or {}).items()
                if key in MEASURES and isinstance(value, float)}
    options = {item.path: (item.value, item.default) for item in differences(run.config)
               if item.path.startswith(COMPARED)}
    source = run.manifest["input"]
    return Side(name=name, method=str(run.manifest["method"]), input=str(source["path"]), sha256=source.get("sha256"),
                rows=len(run.embedding.ids), values=run.embedding.values[rows], eigenvalues=eigenvalues,
                proportions=run.proportions, quality=measures, seconds=run.manifest.get("seconds"), options=options,
                named=run.config.report.point_labels != "none", axes=run.config.method.axis_names((), 2))
