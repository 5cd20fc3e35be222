"""Rows that are added to the map of a finished run: its rows and options, and which of the new rows it has already.

The rows of that run come first, in their order; then those that are new. A run holds the prepared rows of all of them,
in the similarity of its model or beside it (`rundir/onto.py`), so that a later one needs no run but the last.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import mute_notes, no_listeners, note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.naming import listed, shown
from mlcli.base.values.options import Options
from mlcli.config.onto import Onto
from mlcli.config.run_config import RunConfig
from mlcli.core.model import Model
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.prepare.categories import recode
from mlcli.data.prepare.missing import NEW, complete
from mlcli.data.prepare.prepare import Prepared, remaining_rows
from mlcli.data.prepare.views import files_of
from mlcli.data.table.row_numbers import RowNumbers, join_ids
from mlcli.data.table.sheet import numbered_names
from mlcli.data.table.table import HERE, Table
from mlcli.errors import ConfigError, DataError, InputMissing, UnsafeFile
from mlcli.findings.frame.onto import OntoRows
from mlcli.findings.frame.result import Start
from mlcli.pipeline.new_rows import read_rows, require_files, rows_in_one_table
from mlcli.pipeline.read_parts import loadings_of, stated_spectrum
from mlcli.pipeline.read_run import config_of, facts_of_views, moved
from mlcli.rundir import names
from mlcli.rundir.archive import read_model
from mlcli.rundir.embedding import dropped_rows, intact_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.model import StoredModel
from mlcli.rundir.reading import is_run, is_there, sha256_of

PLACE = "onto.run"
CLOSE = 1e-9  # of the largest number of a column: rounding of scores of PCA ahead of the method


@frozen
class Parent:
    """The finished run that rows are added to."""

    folder: Path
    manifest: Mapping[str, Any]
    config: RunConfig

    @classmethod
    def of(cls, onto: Onto) -> "Parent":
        """Read run.json and config.yaml; raises InputMissing, UnsafeFile, and NumericalError of a failed run."""
        folder = Path(onto.run)
        manifest = read_manifest(folder)
        require_intact(folder, manifest, (names.CONFIG,))
        return cls(folder, manifest, config_of(folder, manifest))

    def model(self) -> StoredModel:
        """Return the model that places rows; raises ConfigError for one to which no rows of features can be added."""
        found = read_model(self.folder, self.manifest)
        wrong = ("its input is no table of features" if found.kind != "features" else
                 "it has several views" if found.views else
                 "it has no rows" if not self.manifest["embedding"]["rows"] else
                 "its input names the points in columns" if found.transpose else
                 "its columns are answers in words" if found.coding is not None else "")
        if wrong:
            raise ConfigError("ONTO-RUN", f"no rows can be added to this run: {wrong}", where=place(str(self.folder)),
                              hint="fit all rows in one run, without {onto.run}")
        return found

    def embedding(self) -> Table:
        """Return coordinates, ids and labels as the run wrote them; raises UnsafeFile where they were changed."""
        return intact_embedding(self.folder, dict(self.manifest))[1]

    def fitted(self, model: StoredModel, coordinates: Array) -> Model:
        """Return the model of the run as its files state it: spectrum, loadings and figures of its fit."""
        stated = self.manifest.get("spectrum")
        spectrum = stated and stated_spectrum(self.folder, stated, self.config.method.axes_options.written(
            coordinates.shape[1]))
        return Model(embedding=coordinates, spectrum=spectrum and replace(spectrum, vectors=coordinates),
                     projector=model.projector, loadings=loadings_of(self.folder), fit=dict(self.manifest["fit"]))

    def rows(self, model: StoredModel, count: int, begin: Callable[[RunConfig], Start]) -> Array:
        """Return the prepared rows of the run (n x d), from its model or else from its input.

        Raises InputMissing where the input is gone, UnsafeFile where it was changed, and ConfigError where it does not
        fit in memory.
        """
        held = model.points(count)
        return self._read_again(begin) if held is None else held

    def _read_again(self, begin: Callable[[RunConfig], Start]) -> Array:
        config, lack = moved(self.config, self.manifest, None, ()), "the model of the run holds no features of its rows"
        paths = [config.input.path, *(str(view.path) for view in config.input.views)]
        if gone := [path for path in paths if path == "-" or not is_there(Path(path))]:
            raise InputMissing("ONTO-FEATURES", f"the input of the run is gone, and {lack}", where=place(gone[0]),
                               hint="put it back there, or fit all rows in one run")
        with mute_notes():
            start = begin(config.replace(output=None))
        known, table = self.manifest["input"], start.prepared.table
        for path, part, facts in zip(paths, start.source.parts, (known, *facts_of_views(known, len(paths) - 1)),
                                     strict=True):
            if part.source is None or part.source.sha256 != facts.get("sha256"):
                raise UnsafeFile("ONTO-FEATURES", f"this is not the file that the run was made from, and {lack}",
                                 where=place(path), hint="put the former file back, or fit all rows in one run")
        if rows_of(table.values) is not None:
            raise ConfigError("ONTO-INPUT", f"the input of the run is larger than memory, and {lack}",
                              where=place(path), hint="give more memory, or place the new rows by mlcli project")
        kept = remaining_rows(start.source, start.prepared, dropped_rows(self.folder))
        return np.asarray(table.values if kept is None else table.values[kept])

    def input_with_ids(self, model: StoredModel) -> Input:
        """Return the options by which the run read its input, with its column of ids named, where it has one."""
        own = self.config.input
        return own if model.invented or own.chosen("id_column") else own.replace(id_column=model.id_name)

    @property
    def fit_rows(self) -> int:
        """The number of rows of the fit that places new rows: those of the run, unless it placed some itself."""
        return int((self.manifest.get("onto") or {}).get("fit_rows") or self.manifest["embedding"]["rows"])

    def facts(self) -> dict[str, Any]:
        """Return the run in run.json of its children: its place, and the hash of its run.json."""
        return {"run": str(self.folder), "absolute": str(self.folder.absolute()),
                "sha256": sha256_of(self.folder / names.MANIFEST), "finished": self.manifest.get("finished", ""),
                "rows": self.manifest["embedding"]["rows"]}


def require_other(folder: Path, output: str | None) -> None:
    """Raise ConfigError where a run would replace the one whose map it adds rows to."""
    if output is not None and Path(output).is_dir() and folder.is_dir() and folder.samefile(output):
        raise ConfigError("OUTPUT-ONTO", "the output would replace the run whose map the rows are added to",
                          where="output", hint="choose another with -o")


def with_parents_options(config: RunConfig) -> RunConfig:
    """Return the configuration of a run with the method, preparation and seed of the run that it adds rows to.

    Raises ConfigError for options that are not those of that run, and what `Parent.of` raises.
    """
    assert config.onto is not None
    require_other(Path(config.onto.run), config.output)
    if config.input.path != HERE and is_run(config.input.path):
        raise ConfigError("ONTO-INPUT", "rows of a file are added to a map, and the input is a finished run",
                          where=place(config.input.path), hint="give the file that the run was made from")
    parent = Parent.of(config.onto).config
    if config.chosen("method") and config.method.name != parent.method.name:
        raise ConfigError("ONTO-METHOD", f"the run was made by {parent.method.name}, not by {config.method.name}",
                          where="method.name", hint="leave the method out: it is that of the run")
    for section in ("method", "prepare"):
        if config.chosen(section):
            require_same(getattr(config, section), getattr(parent, section), section)
    if config.compute.chosen("seed") and config.compute.seed != parent.compute.seed:
        require_same(config.compute.replace(), parent.compute, "compute", only=("seed",))
    report = config.report
    if config.onto.way == "fixed" and not report.chosen("dimension"):
        report = report.replace(dimension=False)  # its rules examine the spectrum of a fit
    return config.replace(method=parent.method, prepare=parent.prepare, report=report,
                          compute=config.compute.replace(seed=parent.compute.seed))


def require_same(options: Options, others: Options, path: str, only: Sequence[str] = ()) -> None:
    """Raise ConfigError for the first chosen option that has another value than in the options of the run."""
    for name in only or sorted(options.model_fields_set):
        value, known, here = getattr(options, name), getattr(others, name, None), f"{path}.{name}"
        if isinstance(value, Options) and isinstance(known, type(value)):
            require_same(value, known, here)
        elif value != known:
            raise ConfigError("ONTO-OPTION", f"{here} is {known} in the run whose map the rows are added to, not "
                              f"{value}", where=here, hint="leave it out: it is that of the run")


def begin_onto(config: RunConfig, onto: Onto, begin: Callable[[RunConfig], Start], given: Table | None = None) -> Start:
    """Read new rows, unless they are `given`, prepare them, and join them with those of the run whose map they grow.

    `begin` reads those again where the model does not hold them. Ids are in the column that the run has them in.
    Raises what reading new rows raises, DataError for rows that come again with other numbers, and the errors of
    `Parent`.
    """
    parent = Parent.of(onto)
    model = parent.model()
    if onto.way == "tied" and not parent.config.method.takes_anchors:
        raise ConfigError("ONTO-WAY", f"rows of {parent.config.method.name} cannot be tied to their places, as it has "
                          "no objective that a penalty could be added to", where="onto.way",
                          hint="give {onto.way=fixed} or {onto.way=refit}")
    if onto.way != "refit":
        model.projector.require_places()
    known = parent.embedding()
    rows = parent.rows(model, len(known.ids), begin)
    source = in_order_of(given, model) if given is not None else read_rows(
        model, parent.input_with_ids(model), config.input, config.compute, closed=True)
    prepared, dropped = prepared_rows(source, model)
    if rows.shape[1] != prepared.values.shape[1]:
        raise UnsafeFile("ONTO-FEATURES", f"the run has rows of {rows.shape[1]} prepared columns, and its preparation "
                         f"makes {prepared.values.shape[1]}", where=place(str(parent.folder)),
                         hint="make the run again")
    again = Again.of(known.ids, prepared.ids)
    changed = again.changed(rows, prepared, exact=not model.reductions)
    refuse_changed(changed, again, rows, prepared, onto)
    joined = rows.copy() if len(changed) and onto.changed == "place" else rows
    if onto.changed == "place":
        joined[again.old[changed]] = prepared.values[again.new[changed]]
    fresh = np.setdiff1d(np.arange(len(prepared.ids)), again.new)
    anew = again.old[changed] if onto.changed == "place" else np.zeros(0, dtype=np.int64)
    table = replace(
        prepared, values=np.vstack([joined, prepared.values[fresh]]), ids=joined_ids(known, prepared, fresh),
        id_name=known.id_name, labels=joined_labels(known, prepared, fresh), places=None,
        files=files_of([source] * len(model.files), model.columns_of_files))
    if not len(fresh) and not len(anew):
        note("N-ONTO-NOTHING", "the run has all of these rows already: its map is kept as it is")
    if len(again.new) > len(changed) or (len(changed) and onto.changed == "keep"):
        note("N-ONTO-AGAIN", f"{counted(len(again.new) - len(anew), 'row')} of the run came again and stayed in place",
             rows=len(again.new) - len(anew))
    if onto.way == "tied" and len(anew) == len(rows):
        raise ConfigError("ONTO-WAY", "all rows of the run came again with other numbers, so that none is tied to its "
                          "place", where="onto.way", hint="give {onto.way=refit}")
    added = OntoRows(
        parent=model, coordinates=known.values, moving=np.append(anew, np.arange(len(rows), len(table.ids))),
        fresh=fresh if prepared.places is None else prepared.places[fresh], way=onto.way,
        model=None if onto.way == "refit" else parent.fitted(model, known.values),
        weight=onto.weight if onto.way == "tied" else None, fit_rows=parent.fit_rows,
        facts={**parent.facts(), "way": onto.way, **({"weight": onto.weight} if onto.way == "tied" else {}),
               "old": len(rows), "new": len(fresh),
               "again": len(again.new), "changed": len(changed), "placed": len(anew),
               "ancestors": [*parent.manifest.get("onto", {}).get("ancestors", ()), parent.facts()]})
    return Start(source, None, Prepared(table, model.preparation, dropped), onto=added)


def in_order_of(given: Table, model: StoredModel) -> Table:
    """Return rows in memory as one table with the columns of a run in its order, and the numbers of its categories.

    Raises ConfigError for another number of tables, and DataError for other columns and unknown categories.
    """
    if given.view is None:
        return recode(columns_in_order(given, tuple(model.steps[0].preparation.columns)), model.categories)
    require_files(model, len(given.views))
    return recode(rows_in_one_table(model, [columns_in_order(view, columns) for view, columns in zip(
        given.views, model.files.values(), strict=True)]), model.categories)


def columns_in_order(given: Table, wanted: tuple[str, ...]) -> Table:
    """Return rows with the `wanted` columns in their order: by name where they have these names, else as given.

    Raises DataError for other columns.
    """
    if tuple(given.columns) == wanted:
        return given
    if {*wanted} <= {*given.columns}:
        places = {name: place for place, name in enumerate(given.columns)}
        return replace(given, values=np.asarray(given.values)[:, [places[name] for name in wanted]], columns=wanted)
    if len(given.columns) != len(wanted) or tuple(given.columns) != numbered_names("x", len(wanted)):
        lost = [name for name in wanted if name not in given.columns]
        raise DataError("COLUMNS-DIFFER", f"{counted(len(given.columns), 'column')}, and the run has {len(wanted):,} "
                        f"columns: {listed(lost)}", where=HERE, hint="give the columns of the run by name, or an array "
                        "with as many in their order")
    return replace(given, columns=wanted)


def prepared_rows(source: Table, model: StoredModel) -> tuple[Table, Any]:
    """Return new rows as the method gets them, and those that were dropped: by every step ahead of it."""
    table = source
    for step in model.reductions:
        with no_listeners():
            table = step.place(table)
    whole, dropped = complete(table, model.preparation.missing, model.preparation.fill, NEW)
    return model.preparation.scaled(model.preparation.transformed(whole)), dropped


@frozen
class Again:
    """Rows of a run that come again: their places among its rows, and among the new ones (r each)."""

    old: Indices
    new: Indices

    @classmethod
    def of(cls, known: Sequence[str], ids: Sequence[str]) -> "Again":
        """Match rows by ids; numbers that no file gave are no ids."""
        if isinstance(known, RowNumbers) or isinstance(ids, RowNumbers):
            return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        places = {name: row for row, name in enumerate(known)}
        new = [row for row, name in enumerate(ids) if name in places]
        return cls(np.array([places[ids[row]] for row in new], dtype=np.int64), np.array(new, dtype=np.int64))

    def changed(self, rows: Array, prepared: Table, *, exact: bool) -> Indices:
        """Return which of them (c) have other numbers than the rows of the run (n x d), but for rounding."""
        return np.flatnonzero(self.differing(rows, prepared, exact=exact).any(axis=1))

    def differing(self, rows: Array, prepared: Table, *, exact: bool) -> AnyArray:
        """Return a mask (r x d) of the numbers that differ."""
        before, now = rows[self.old], np.asarray(prepared.values)[self.new]
        allowed = 0.0 if exact else CLOSE * np.abs(rows).max(axis=0, initial=0.0)
        return np.asarray(~((np.abs(now - before) <= allowed) | (np.isnan(now) & np.isnan(before))))


def refuse_changed(changed: Indices, again: Again, rows: Array, prepared: Table, onto: Onto) -> None:
    """Raise DataError for rows whose numbers changed, with the first of them and its column, unless that is allowed."""
    if not len(changed):
        return
    some = [prepared.ids[row] for row in again.new[changed].tolist()]
    if onto.changed == "error":
        differing = again.differing(rows, prepared, exact=True)[changed[0]]
        column = prepared.columns[int(np.flatnonzero(differing)[0])]
        raise DataError("ONTO-CHANGED", f"{counted(len(some), 'row')} of the run came again with other numbers: "
                        f"{listed(some)}; {shown(some[0])} first differs in column {shown(column)}",
                        where=place(prepared.source.path) if prepared.source else "",
                        hint="give {onto.changed=keep} to keep the former numbers, or {onto.changed=place} to place "
                        "such rows anew")
    what = "the former numbers and places are kept" if onto.changed == "keep" else "the new ones decide on the place"
    note("W-ONTO-CHANGED", f"{counted(len(some), 'row')} of the run came again with other numbers; {what}: "
         f"{listed(some)}", rows=len(some))


def joined_ids(known: Table, new: Table, fresh: Indices) -> Sequence[str]:
    """Return the ids of all rows: those of the run, then those of rows that are new.

    Numbers that no file gave continue the numbers of the run. Raises ConfigError where they would be ids of its rows,
    or where the run has numbers and the file has ids.
    """
    count = len(known.ids)
    if isinstance(known.ids, RowNumbers) and not isinstance(new.ids, RowNumbers):
        raise ConfigError("ONTO-IDS", "the rows of the run have no ids but their numbers, and these rows have ids",
                          where="input.id_column", hint="give {input.id_column=none}, so that they are numbered on")
    if not isinstance(new.ids, RowNumbers):
        return join_ids([known.ids, tuple(new.ids[row] for row in fresh.tolist())])
    last = int(known.ids.array().max(initial=0)) if isinstance(known.ids, RowNumbers) else count
    numbers = RowNumbers(np.arange(last + 1, last + 1 + len(fresh)))
    if len(fresh):
        note("N-ONTO-IDS", f"the rows have no ids: the new ones are numbered {last + 1:,} to {last + len(fresh):,}, "
             "after those of the run, and none is taken for a row of it")
    if isinstance(known.ids, RowNumbers):
        return RowNumbers(np.concatenate([known.ids.array(), numbers.array()]))
    if taken := sorted({*known.ids} & {*numbers}):
        raise ConfigError("ONTO-IDS", f"the rows have no ids, and their numbers are ids of rows of the run: "
                          f"{listed(taken)}", where="input.id_column", hint="give the rows ids in a column of the file")
    return join_ids([known.ids, tuple(numbers)])


def joined_labels(known: Table, new: Table, fresh: Indices) -> dict[str, tuple[str, ...]]:
    """Return the label columns of the run with those of new rows below; empty where the file lacks a column."""
    if lost := [name for name in new.labels if name not in known.labels]:
        note("N-ONTO-LABELS", f"label columns that the run has not are left out: {listed(lost)}", columns=lost)
    if lacking := [name for name in known.labels if name not in new.labels]:
        note("N-ONTO-LABELS", f"label columns that the new rows have not are empty there: {listed(lacking)}",
             columns=lacking)
    chosen = fresh.tolist()
    return {name: (*texts, *_texts(new.labels.get(name), chosen)) for name, texts in known.labels.items()}


def _texts(texts: Sequence[str] | None, rows: Sequence[int]) -> Iterator[str]:
    return iter([""] * len(rows)) if texts is None else (texts[row] for row in rows)
