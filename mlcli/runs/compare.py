"""Finished runs side by side: read back, their rows matched by id, compared."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.config.describe import differences
from mlcli.core.permutations import Permutations
from mlcli.data.table.row_numbers import RowNumbers, take_ids
from mlcli.errors import ConfigError, DataError
from mlcli.findings.frame.finished_run import FinishedRun, files_in
from mlcli.findings.quality import QualityFinding
from mlcli.findings.quality.measure import relevant_measures
from mlcli.findings.quality.section import MEASURES
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.pipeline.read_run import read_run, with_labels
from mlcli.report.comparison.side_by_side import Comparison, Side, align_runs, side_by_side
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.runs.colors import with_colors

COMPARED = ("input.", "prepare.", "method.", "compute.seed")  # options that decide on results
FEWEST = 2  # rows that a comparison needs


@frozen
class PageOptions:
    """Options for the embeddings on the page of a comparison."""

    colors: Sequence[str] = ()  # labels of the first run or columns of its input; none: its first label
    labels: str | None = None  # a file with labels, before the first run's own
    input: str | None = None  # where the first run's input lies now
    own: bool = False  # whether each embedding has its own orientation


def compare(folders: Sequence[str], *, neighbors: int, seed: int, options: PageOptions,
            permutations: int = 0) -> Comparison:
    """Compare finished runs over the rows that all of them have; raises what `read_run` does, and DataError."""
    with limit_threads(Compute().thread_count()), in_temporary_files():
        first, *others = [read_run(Path(folder)) for folder in folders]
        first = with_colors(with_labels(first, options.labels), Path(folders[0]), options.colors, options.input)
        sides, ids, labels = sides_of([first, *others], folders, folders)
        _note_shared(sides)
        compared = side_by_side(sides, ids, labels, neighbors, np.random.default_rng(seed),
                                permutations=Permutations(permutations, seed) if permutations else None)
        return color_comparison(compared.in_own_orientation() if options.own else compared, first)


def _note_shared(sides: Sequence[Side]) -> None:
    """Warn of runs of whose axes only a plane or space is determined."""
    for side in sides:
        for first, stop in side.shared:
            names = f"{first + 1} {'and' if stop - first == 2 else 'to'} {stop}"
            axes = f"{side.name[-60:]} has axes {names} of one eigenvalue"
            if stop <= side.values.shape[1]:
                note("W-UNDETERMINED", f"{axes}: the plane or space that they span is compared, not each of them")
            else:
                note("W-UNDETERMINED", f"{axes}, but {side.values.shape[1]} are kept: how alike runs are depends on an "
                     f"arbitrary choice; keep {f'{first} or ' if first else ''}{stop} axes")


def align(runs: Sequence[FinishedRun], folders: Sequence[str], names: Sequence[str], label: str | None) -> Comparison:
    """Return finished runs in one orientation, under some names; raises ConfigError and DataError."""
    first, *others = runs
    if label is not None:
        if label not in first.embedding.labels:
            raise ConfigError("COMPARE-LABEL", f"the first run has no label column {label[:80]!r}",
                              where="--label-column",
                              hint=f"it has: {', '.join(first.embedding.labels)[:200] or 'none'}")
        first = replace(first, colors=(label,))
    with limit_threads(Compute().thread_count()), in_temporary_files():
        return color_comparison(align_runs(*sides_of([first, *others], folders, names)), first)


def color_comparison(comparison: Comparison, first: FinishedRun) -> Comparison:
    """Return a comparison in the colors of its first run."""
    return replace(comparison, colors=first.colors, measured=first.embedding.measured)


def sides_of(runs: Sequence[FinishedRun], folders: Sequence[str],
             names: Sequence[str]) -> tuple[list[Side], Sequence[str], dict[str, Sequence[str]]]:
    """Return runs over the rows that all have: each under its name, the rows' ids, and the first run's labels."""
    first = runs[0].embedding
    for folder, run in zip(folders, runs, strict=True):
        if not run.manifest["input"]["rows"]:
            raise ConfigError("NO-ROWS-COMPARED", "this run was made from a covariance matrix and has no rows",
                              where=folder, hint="compare loadings.csv of such runs; compare runs of points here")
    rows = common_rows([run.embedding.ids for run in runs], folders)
    sides = [_side(name, run, chosen) for name, run, chosen in zip(names, runs, rows, strict=True)]
    inputs = {side.sha256 for side in sides if side.sha256}
    if len(inputs) > 1:
        note("W-INPUTS-DIFFER", f"the runs were made from {len(inputs)} different inputs", inputs=len(inputs))
    whole = len(rows[0]) == len(first.ids)  # then in their order, so that millions need no other list
    ids = first.ids if whole else take_ids(first.ids, rows[0])
    return sides, ids, {name: texts if whole else take_ids(texts, rows[0]) for name, texts in first.labels.items()}


def common_rows(ids: Sequence[Sequence[str]], names: Sequence[str]) -> list[Indices]:
    """The rows of each run whose ids all runs have, in the order of the first run."""
    if all(part == ids[0] for part in ids):
        return [np.arange(len(ids[0]))] * len(ids)
    if all(isinstance(part, RowNumbers) and part == RowNumbers.up_to(len(part)) for part in ids):
        rows = [np.arange(min(map(len, ids)))] * len(ids)
    else:
        places = [{name: row for row, name in enumerate(part)} for part in ids]
        common = [name for name in ids[0] if all(name in place for place in places[1:])]
        rows = [np.array([place[name] for name in common], dtype=np.int64) for place in places]
    if (there := len(rows[0])) < FEWEST:
        raise DataError("NO-COMMON-ROWS", f"the runs have {there} ids in common", where=", ".join(names)[:200],
                        hint="compare runs of the same rows; embedding.npy holds no ids, so write csv as well")
    left = [len(part) - there for part in ids]
    if any(left):
        counts = ", ".join(f"{count:,} of {name[-40:]}" for count, name in zip(left, names, strict=True) if count)
        note("W-COMMON-ROWS", f"the {there:,} rows that all runs have are compared; left out are {counts}", rows=there)
    return rows


def _rows_of(run: FinishedRun, rows: Indices) -> Array:
    """Some of a run's coordinates; all in their order where they lie."""
    values = run.embedding.values
    whole = len(rows) == len(values) and bool(np.all(rows[1:] > rows[:-1]))
    return values if whole else take_rows(values, rows)


def _side(name: str, run: FinishedRun, rows: Indices) -> Side:
    """A run as one side of the comparison."""
    spectrum = SpectrumFinding.of(run)
    eigenvalues = [] if spectrum is None else spectrum.numbers("eigenvalue")
    measures = {key: value for key, value in relevant_measures(QualityFinding.measures_of(run)).items()
                if key in MEASURES and isinstance(value, float)}
    options = {item.path: (item.value, item.default) for item in differences(run.config)
               if item.path.startswith(COMPARED)}
    source = run.manifest["input"]
    views = [(str(view["path"]), view.get("sha256")) for view in files_in(source)[1:]]
    return Side(name=name, method=str(run.manifest["method"]), input=str(source["path"]), sha256=source.get("sha256"),
                views=views, rows=len(run.embedding.ids), values=_rows_of(run, rows), eigenvalues=eigenvalues,
                proportions=run.proportions, quality=measures, seconds=run.manifest.get("seconds"), options=options,
                named=run.config.report.point_labels != "none", axes=run.axis_names(2), shared=run.shared_axes)
