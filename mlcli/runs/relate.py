"""A finished run related to variables of its rows: fitted vectors and factors, species, partition and dispersion."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from mlcli import __version__
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.stages.stage import mute_notes, note, stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, ViewedDissimilarities
from mlcli.base.values.naming import listed, shown
from mlcli.config.layers import Layer
from mlcli.config.run_config import RunConfig
from mlcli.core.metrics.distances import metric_of, squared
from mlcli.core.permutations import Permutations, permutations_of
from mlcli.core.relation.dispersion import Center, dispersion
from mlcli.core.relation.permanova import By, Factor, Term, inner_products, label_of, permanova, terms_of
from mlcli.core.relation.traces import Tile
from mlcli.core.relation.vectors import correlations, fit_centroids, fit_vector, weighted_averages
from mlcli.core.similarities.projector import require_projector
from mlcli.data.options.input import NO_IDS, Input
from mlcli.data.options.wording import counted, nearest, place
from mlcli.data.prepare.prepare import remaining_rows
from mlcli.data.read.row_variables import Environment, Variable, present, read_environment, some_rows
from mlcli.data.read.table import read
from mlcli.data.table.row_numbers import take_ids
from mlcli.data.table.table import Table
from mlcli.data.write.table import warn_of_texts
from mlcli.errors import ConfigError, DataError, InputMissing, UnsafeFile
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.frame.result import Start
from mlcli.methods.tables.combine import TablesMethod
from mlcli.methods.tables.statis import STATIS
from mlcli.pipeline.read_run import encoded, read_run
from mlcli.pipeline.start import begin
from mlcli.publication.publish import publishing, refuse_existing
from mlcli.publication.replaceable import FORMAT, RELATION
from mlcli.report.paper.needs import stress_note
from mlcli.report.relation.contents import FittedFactor, FittedVector, Partition, Relation, Species, Spread, tables_of
from mlcli.report.relation.page import drawings, page
from mlcli.report.tables.table import as_csv
from mlcli.rundir import names
from mlcli.rundir.archive import read_model
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.embedding import dropped_rows
from mlcli.rundir.journal import recording
from mlcli.rundir.json_values import json_text
from mlcli.rundir.manifest import hashed, require_intact
from mlcli.rundir.reading import damaged, is_run, own_file
from mlcli.runs.input import unchanged_input

OF_AMOUNTS = ("total", "hellinger", "cpm", "presence", "clr", "rclr", "alr", "log", "wisconsin", "chisquare",
              "max", "frequency")  # transforms


@frozen
class InputRows:
    """The input of a run, read and prepared again, in the order of the run's rows."""

    config: RunConfig
    start: Start
    places: Indices | None  # of the prepared rows; None: all

    @property
    def table(self) -> Table:
        """The rows as the method got them."""
        table = self.start.prepared.table
        return table if self.places is None else table.take(self.places)

    def amounts(self) -> Table | None:
        """Return the columns of a table after the run's transforms, before its scale; None of other inputs."""
        start, prepare = self.start, self.config.prepare
        if start.source.kind != "features" or start.run is not None or start.source.categories:
            return None
        table, _, _ = prepare.completed(replace(start.source, view=None, labels={}))
        table, _, _ = prepare.transformed(table)
        if len(table.ids) != len(self.start.prepared.table.ids):
            return None
        return table if self.places is None else table.take(self.places)

    def counts(self) -> bool:
        """Whether the run is an ordination of amounts: by its method, metric or transform, or whole numbers."""
        method, prepare = self.config.method, self.config.prepare
        if self.start.source.kind != "features":
            return False
        values = self.start.source.values
        return bool(values.min(initial=0.0) >= 0) and (
            method.domain == "amounts" or method.distance.amounts
            or not set(OF_AMOUNTS).isdisjoint(prepare.transform) or bool(np.all(values == np.round(values))))


def read_input(folder: Path, run: FinishedRun, given: str | None,
               lack: str = "the run kept no dissimilarities") -> InputRows:
    """Read the input of a run again from its path, or from where it is `given` to be now.

    Raises InputMissing where it is gone, which says what is lacking then, and UnsafeFile where it is not what the run
    read.
    """
    config = unchanged_input(run, given, lack)
    if not is_run(config.input.path):
        config = config.replace(input=config.input.replace(stream="never"))
    with own_file(folder / names.CONFIG), mute_notes():
        start = begin(config)
    chosen = remaining_rows(start.source, start.prepared, dropped_rows(folder))
    rows = len(start.prepared.table.ids) if chosen is None else len(chosen)
    if rows != len(run.embedding.ids):
        raise damaged(folder / names.embedding("csv"), f"{len(run.embedding.ids):,} rows, and the input gives {rows:,}")
    return InputRows(config, start, chosen)


def kept_distances(folder: Path, run: FinishedRun) -> Array | None:
    """Return the dissimilarities (n x n) that a run kept, where these are of the rows themselves; None without any."""
    name, method = names.KEPT["distances"], run.config.method
    plain = method.name in ("mds", "kpca") and getattr(method, "correction", "none") == "none"
    if name not in run.manifest["files"] or not plain:
        return None
    require_intact(folder, dict(run.manifest), (name,))
    path = folder / name
    with own_file(path):
        values = read(Input(path=str(path), kind="dissimilarities", format="npy")).values
    if len(values) != len(run.embedding.ids):
        raise damaged(path, f"it is of {len(values):,} rows, not {len(run.embedding.ids):,}")
    return values


@frozen
class SquaredDistances:
    """The squared dissimilarities that a run's method starts from, some rows at a time, and what they are in words."""

    between: Callable[[Indices, Indices], Array]  # of two lists of the run's rows (m x n), on one thread
    among: Callable[[Indices], Array]  # of all pairs of some rows (m x m), on all threads
    words: str

    @classmethod
    def given(cls, values: Array, words: str) -> "SquaredDistances":
        """Return those of a matrix (n x n) of dissimilarities."""
        def between(left: Indices, right: Indices) -> Array:
            return np.asarray(np.square(values[np.ix_(left, right)]))

        return cls(between, lambda chosen: between(chosen, chosen), words)

    @classmethod
    def of(cls, data: Features) -> "SquaredDistances":
        """Return those of rows under their metric, computed when they are needed."""
        metric = metric_of(data)
        points = metric.represent(data.values - data.values.mean(axis=0) if metric.plain else data.values)

        def between(left: Indices, right: Indices) -> Array:
            found = metric.in_bulk(points[left], points[right])
            return np.square(found, out=found)

        return cls(between, lambda chosen: squared(metric, data.values[chosen], data.values[chosen]),
                   f"{metric.name} distances of the run's input, as it was prepared")

    def matrix(self, chosen: Indices) -> Array:
        """Return those of all pairs of some rows (m x m); raises RefusedByPlan where memory does not hold them."""
        Compute().require(32.0 * len(chosen) ** 2, f"dispersion of the dissimilarities of {len(chosen):,} rows",
                          "leave out --dispersion, or use fewer rows")
        return self.among(chosen)

    def tile(self, chosen: Indices) -> Tile:
        """Return the function of tiles of some rows, each of two ranges of these."""
        return lambda rows, columns: self.between(chosen[rows], chosen[columns])


def squared_distances(rows: InputRows, folder: Path) -> SquaredDistances:
    """Return the squared dissimilarities that a run's method starts from; raises what `read_model` does."""
    table, method = rows.table, rows.config.method
    data = method.with_metric(table.data())
    chain, tables = method.chain_of(table.kind), isinstance(method, TablesMethod)
    if isinstance(data, Features) and (tables or (chain is not None and chain.kernel.name == "sum")):
        # a fit finds the weights of the tables
        metric = require_projector(read_model(folder).projector).similarity.comparison
        return replace(SquaredDistances.of(replace(data, metric=metric)),
                       words=f"distances in the weighted sum of the tables of {method.name}")
    if isinstance(method, STATIS) and isinstance(data, ViewedDissimilarities):
        return SquaredDistances.given(method.compromise(data), "the compromise of all matrices of dissimilarities")
    if isinstance(data, Dissimilarities):
        return SquaredDistances.given(data.values, "the dissimilarities of the run's input")
    if isinstance(data, Features):
        return SquaredDistances.of(data)
    raise ConfigError("NO-DISSIMILARITIES", f"the run was made from a {table.kind}, which has no dissimilarities",
                      where="--formula", hint="leave out --formula and --dispersion, or make a run of dissimilarities")


def row_masses(rows: InputRows) -> Array:
    """Return the masses (n) of the rows of a correspondence analysis: their shares of the total."""
    sums = np.asarray(rows.table.values).sum(axis=1)
    if not sums.all():
        raise DataError("COUNTS", "a row of the run's input sums to zero", where=place(rows.config.input.path),
                        hint="make the run again without it")
    return np.asarray(sums / sums.sum())


PAGE = "relate.html"


def require_output(output: Path, *, force: bool) -> None:
    """Refuse, before anything is computed, a directory that could not be written; raises OutputRefused."""
    refuse_existing(output, RELATION, force=force)


def write_relation(found: Relation, run: FinishedRun, output: Path, *, force: bool) -> None:
    """Write all files of a relation; raises OutputRefused and StorageError."""
    title, report = run.config.report.title or f"{run.name}: environment", run.config.report
    drawn = drawings(found, report, title)
    files = {PAGE: encoded(page(found, report, title, drawn["svg"]))}
    files |= {name: encoded_cells(as_csv(table)) for name, table in tables_of(found).items()}
    files |= {f"relate.{format}": content for format, content in drawn.items() if format in report.figures}
    with publishing(Path.cwd() / output, RELATION, force=force) as draft:
        for name, content in files.items():
            (draft.path / name).write_bytes(content)
        document = {"format": FORMAT, "mlcli": __version__, **found.document(), "notes": list(found.notes),
                    "files": hashed(draft.path)}
        (draft.path / RELATION.name).write_text(json_text(document), encoding="utf-8")


def encoded_cells(text: str) -> bytes:
    """Return a CSV file in bytes, with ids as the files of the user have them."""
    return text.encode("utf-8", "surrogateescape")


SpeciesKind = Literal["auto", "wa", "expanded", "correlations", "none"]


@frozen
class RelationRequest:
    """What is asked of a relation: the file, and the options of the tests."""

    path: str
    id_column: str | None = None
    columns: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    axes: tuple[int, ...] = ()  # from 1; none: all
    formula: str | None = None
    by: By = "none"
    groups: str | None = None
    center: Center = "median"
    strata: str | None = None
    species: SpeciesKind = "auto"
    permutations: str = "999"  # their number, or a file
    seed: int = 0
    input: str | None = None

    def tests(self) -> dict[str, Sequence[str]]:
        """Return the variables that each option of a test names."""
        terms = () if self.formula is None else terms_of(self.formula)
        return {"--formula": [name for term in terms for name in term],
                "--dispersion": [] if self.groups is None else [self.groups],
                "--strata": [] if self.strata is None else [self.strata]}


@frozen
class CommonRows:
    """The rows that the run and the file have in common, and how their tests are permuted."""

    run: FinishedRun
    folder: Path
    environment: Environment
    axes: tuple[int, ...]
    permutations: Permutations
    strata: Factor | None
    given: str | None  # where the input of the run is now
    read: list[InputRows]  # the input, after it was read again

    def input_rows(self) -> InputRows:
        """Return the input of the run, read once; raises what `read_input` does."""
        if not self.read:
            self.read.append(read_input(self.folder, self.run, self.given))
        return self.read[0]

    @property
    def points(self) -> Array:
        """The coordinates of the common rows (m x p)."""
        values = np.asarray(self.run.embedding.values)[self.environment.rows]
        return np.ascontiguousarray(values[:, [axis - 1 for axis in self.axes]])

    def variable(self, name: str, where: str) -> Variable:
        """Return a variable by its name; raises ConfigError for an unknown one."""
        if name not in self.environment.variables:
            raise ConfigError("UNKNOWN-COLUMN", f"there is no variable {shown(name)}", where=where,
                              hint=nearest(name, list(self.environment.variables)))
        return self.environment.variables[name]

    def complete(self, names: Sequence[str], where: str) -> AnyArray:
        """Return whether each row (m) has the variables, and its stratum; says how many have not."""
        kept = np.ones(len(self.environment.rows), dtype=bool)
        for name in names:
            kept &= present(self.variable(name, where))
        if self.strata is not None:
            kept &= present(self.strata)
        if not kept.all():
            lost, of = int(np.sum(~kept)), "its test" if len(names) == 1 else "the test"
            note("N-ROWS-WITHOUT-VALUE", f"{counted(lost, 'row')} without a value of {listed(names)}, left out of {of}",
                 rows=lost)
        if kept.sum() < 3:
            raise DataError("TOO-FEW-ROWS", f"{counted(int(kept.sum()), 'row')} with values of {listed(names)}",
                            where=self.environment.path, hint="a test needs at least three")
        return kept

    def strata_of(self, kept: AnyArray) -> Indices | None:
        """Return the strata of some rows."""
        return None if self.strata is None else self.strata.codes[kept]


@stage("relate")
def relate(folder: Path, asked: RelationRequest, drawing: Layer) -> tuple[Relation, FinishedRun]:
    """Relate a run to the variables of a file; raises what `read_run`, `read_environment` and the tests do."""
    with limit_threads(Compute().thread_count()), in_temporary_files(), recording() as journal:
        run = read_run(folder, drawing)
        rows = rows_of(folder, run, asked)
        vectors, factors, weights = fitted(rows, asked)
        partition, spread, words = tested(rows, asked)
        species = species_of(rows, asked.species)
        environment, given = rows.environment, rows.permutations.given is not None
        names = run.axis_names(max(rows.axes), shares=True)
        ids = take_ids(run.embedding.ids, environment.rows)
        found = Relation(
            run=str(folder), environment=asked.path, sha256=environment.sha256, rows=len(environment.rows),
            alone=environment.alone, axes=rows.axes, axis_names=[names[axis - 1] for axis in rows.axes],
            points=rows.points, ids=ids, colors=colors_of(rows, asked), vectors=vectors, factors=factors,
            partition=partition, spread=spread, species=species, distances=words,
            permutations=rows.permutations.count, seed=None if given else asked.seed, strata=asked.strata,
            stress=stress_note(run), weights=weights)
        warn_of_texts(([cell for cell in (*(table.keys or table.head), *chain(*table.rows)) if isinstance(cell, str)]
                       for table in tables_of(found).values()), "text", "the tables")
        notes = [said["message"] for said in (*journal.noted("W-"), *journal.noted("N-"))]
        return replace(found, notes=notes), run


def rows_of(folder: Path, run: FinishedRun, asked: RelationRequest) -> CommonRows:
    """Match the run with the file; raises ConfigError for axes, strata or a run without rows."""
    table = run.embedding
    if not run.manifest["input"]["rows"] or not table.values.size:
        raise ConfigError("NO-ROWS", "the run has no rows that could have variables", where=str(folder),
                          hint="give the run of a table or of dissimilarities")
    count = table.values.shape[1]
    if wrong := [axis for axis in asked.axes if not 1 <= axis <= count]:
        raise ConfigError("AXES", f"there is no axis {wrong[0]}: the run kept {count}", where="--axes",
                          hint=f"give numbers from 1 to {count}")
    environment = read_environment(asked.path, table.ids, "id", id_column=asked.id_column, columns=asked.columns,
                                   factors=asked.factors, tests=asked.tests())
    permutations = (Permutations(int(asked.permutations), asked.seed) if asked.permutations.isdecimal() else
                    permutations_in(asked.permutations))
    rows = CommonRows(run, folder, environment, asked.axes or tuple(range(1, count + 1)), permutations, None,
                      asked.input, [])
    if asked.strata is None:
        return rows
    return CommonRows(run, folder, environment, rows.axes, permutations, factor_of(rows, asked.strata, "--strata"),
                      asked.input, [])


def permutations_in(path: str) -> Permutations:
    """Read a matrix of permutations, a row for each, with or without row numbers before them."""
    with mute_notes():
        matrix = read(Input(path=path, id_column=NO_IDS)).values
    numbered = matrix.shape[1] > 1 and np.array_equal(matrix[:, 0], np.arange(1, len(matrix) + 1)) and (
        matrix[:, 1:].max(axis=1) == matrix.shape[1] - 1).all()
    return permutations_of(matrix[:, 1:] if numbered else matrix)


def factor_of(rows: CommonRows, name: str, where: str) -> Factor:
    """Return a variable as a factor: numbers are names of levels."""
    variable = rows.variable(name, where)
    if isinstance(variable, Factor):
        return variable
    there = present(variable)
    levels, codes = np.unique(variable[there], return_inverse=True)
    found = np.full(len(variable), -1, dtype=np.int64)
    found[there] = codes
    return Factor(found, tuple(f"{level:g}" for level in levels.tolist()))


def fitted(rows: CommonRows, asked: RelationRequest) -> tuple[list[FittedVector], list[FittedFactor], str]:
    """Fit each variable to the axes; those that do not vary, and factors of single rows, are left out with a note."""
    masses = None
    if rows.run.config.method.name == "ca":
        masses = row_masses(rows.input_rows())[rows.environment.rows]
    vectors, factors, flat, single = list[FittedVector](), list[FittedFactor](), list[str](), list[str]()
    variables = rows.environment.variables
    for name in asked.columns or variables:
        if name not in variables:  # the ids
            continue
        variable = variables[name]
        kept = rows.complete([name], "--columns") if present(variable).any() else present(variable)
        own, points, strata = some_rows(variable, kept), rows.points[kept], rows.strata_of(kept)
        weights = None if masses is None else masses[kept]
        if (len(own.levels) < 2) if isinstance(own, Factor) else (not len(own) or np.ptp(own) == 0):
            flat.append(name)
        elif isinstance(own, Factor) and len(own.levels) == len(own.codes):
            single.append(name)
        elif isinstance(own, Factor):
            fit = fit_centroids(points, own.codes, len(own.levels), rows.permutations, strata, weights)
            factors.append(FittedFactor(name, len(points), own.levels, np.bincount(own.codes).tolist(), fit))
        else:
            vectors.append(FittedVector(name, len(points), fit_vector(points, own, rows.permutations, strata, weights)))
    for columns, why in ((flat, "do not vary"), (single, "have another text in every row")):
        if columns:
            note("W-VARIABLES", f"left out of the fit, as they {why}: {listed(columns)}", columns=columns)
    return vectors, factors, "" if masses is None else "masses of the rows in the correspondence analysis"


def tested(rows: CommonRows, asked: RelationRequest) -> tuple[Partition | None, Spread | None, str]:
    """Partition the dissimilarities by a formula, and compare the dispersion of groups, where these are asked for."""
    terms = () if asked.formula is None else terms_of(asked.formula)
    for name in dict.fromkeys(name for term in terms for name in term):
        rows.variable(name, "--formula")
    groups = None if asked.groups is None else factor_of(rows, asked.groups, "--dispersion")
    if not terms and groups is None:
        return None, None, ""
    kept = kept_distances(rows.folder, rows.run)
    found = squared_distances(rows.input_rows(), rows.folder) if kept is None else SquaredDistances.given(
        kept, "the dissimilarities that the run kept")
    return (partition_of(rows, asked, terms, found) if terms else None,
            None if groups is None else spread_of(rows, asked, groups, found), found.words)


def partition_of(rows: CommonRows, asked: RelationRequest, terms: Sequence[Term], found: SquaredDistances) -> Partition:
    """Partition squared dissimilarities of the rows that have all variables of a formula."""
    names = tuple(dict.fromkeys(name for term in terms for name in term))
    kept = rows.complete(names, "--formula")
    variables = {name: some_rows(rows.variable(name, "--formula"), kept) for name in names}
    table = permanova(found.tile(rows.environment.rows[kept]), terms, variables, asked.by, rows.permutations,
                      rows.strata_of(kept))
    return Partition(" + ".join(map(label_of, terms)), asked.by, int(kept.sum()), table)


def spread_of(rows: CommonRows, asked: RelationRequest, groups: Factor, squares: SquaredDistances) -> Spread:
    """Compare the dispersion of the groups of a factor, by squared dissimilarities."""
    kept = rows.complete([str(asked.groups)], "--dispersion") & present(groups)
    own = some_rows(groups, kept)
    assert isinstance(own, Factor)
    found = dispersion(inner_products(squares.matrix(rows.environment.rows[kept])), own.codes, len(own.levels),
                       asked.center, rows.permutations, rows.strata_of(kept))
    ids = take_ids(rows.run.embedding.ids, rows.environment.rows[kept])
    return Spread(name=str(asked.groups), center=asked.center, levels=own.levels,
                  counts=np.bincount(own.codes).tolist(), ids=list(ids),
                  groups=[own.levels[code] for code in own.codes.tolist()], found=found)


def species_of(rows: CommonRows, kind: SpeciesKind) -> Species | None:
    """Return scores of the columns of the run's input; by default of an ordination of amounts whose input is there."""
    if kind == "none":
        return None
    amounts = None
    try:
        found = rows.input_rows()
        if kind != "auto" or found.counts():
            amounts = found.amounts()
    except (InputMissing, UnsafeFile) as error:
        if kind != "auto":
            raise
        note("N-NO-SPECIES", f"species have no scores: {error.what}")
        return None
    if amounts is None:
        if kind == "auto":
            return None
        raise ConfigError("SPECIES", "the run was not made from a table of amounts", where="--species",
                          hint="leave it out, or make a run of the table of species itself")
    values, chosen = np.asarray(amounts.values), rows.environment.rows
    every = np.array_equal(chosen, np.arange(len(values)))  # of all rows no copy is made
    return scored(rows, values if every else values[chosen], amounts.columns, "wa" if kind == "auto" else kind)


def scored(rows: CommonRows, amounts: Array, names: Sequence[str], kind: SpeciesKind) -> Species:
    """Return the scores of species by their amounts (m x s) in the common rows; those without any are left out."""
    there = np.ptp(amounts, axis=0) > 0 if kind == "correlations" else amounts.sum(axis=0) > 0
    if kind != "correlations" and amounts.min(initial=0.0) < 0:
        raise DataError("SPECIES", "an amount is below zero, and weighted averages need weights of zero or more",
                        where="--species", hint="choose --species correlations")
    lost = [names[place] for place in np.flatnonzero(~there).tolist()]
    if lost:
        note("N-SPECIES", f"without a score, as they are in none of the rows or do not vary: {listed(lost)}",
             columns=lost)
    scores: Callable[[Array, Array], Array] = correlations if kind == "correlations" else weighted_averages
    scored = amounts if there.all() else amounts[:, there]
    found = (weighted_averages(rows.points, scored, expand=True) if kind == "expanded" else
             scores(rows.points, scored))
    return Species(kind, [names[place] for place in np.flatnonzero(there).tolist()], found)


def colors_of(rows: CommonRows, asked: RelationRequest) -> tuple[str, Sequence[str]] | None:
    """Return the factor that colors the points: that of the groups, else the first of the formula, else the first."""
    names = [asked.groups, *(name for term in (terms_of(asked.formula) if asked.formula else ()) for name in term),
             *rows.environment.variables]
    for name in names:
        variable = None if name is None else rows.environment.variables[name]
        if isinstance(variable, Factor) and len(variable.levels) < len(variable.codes):
            return str(name), [variable.levels[code] if code >= 0 else "" for code in variable.codes.tolist()]
    return None
