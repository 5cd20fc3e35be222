"""A finished run related to variables of its rows: fitted vectors and factors, species, partition and dispersion."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.stages.stage import mute_notes, note, stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.config.layers import Layer
from mlcli.core.permutations import Permutations, permutations_of
from mlcli.core.relation.dispersion import Center, dispersion
from mlcli.core.relation.permanova import By, Factor, Term, inner_products, label_of, permanova, terms_of
from mlcli.core.relation.species import correlations, weighted_averages
from mlcli.core.relation.vectors import fit_centroids, fit_vector
from mlcli.data.options.input import NO_IDS, Input
from mlcli.data.options.wording import counted, listed, nearest, shown
from mlcli.data.read.environment import Environment, Variable, present, read_environment, some_rows
from mlcli.data.read.table import read
from mlcli.data.table.row_numbers import take_ids
from mlcli.data.write.table import warn_of_texts
from mlcli.errors import ConfigError, DataError, InputMissing, UnsafeFile
from mlcli.findings.frame.contents import Contents
from mlcli.pipeline.read_run import read_run
from mlcli.report.relation.contents import FittedFactor, FittedVector, Partition, Relation, Species, Spread
from mlcli.report.relation.tables import tables_of
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.journal import recording
from mlcli.runs.relate_rows import InputRows, kept_distances, read_input, row_masses, squared_distances

SpeciesKind = Literal["auto", "wa", "expanded", "correlations", "none"]


@frozen
class Asked:
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
class Rows:
    """The rows that the run and the file have in common, and how their tests are permuted."""

    run: Contents
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
def relate(folder: Path, asked: Asked, drawing: Layer) -> tuple[Relation, Contents]:
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
            weights=weights)
        warn_of_texts(([cell for cell in (*(table.keys or table.head), *chain(*table.rows)) if isinstance(cell, str)]
                       for table in tables_of(found).values()), "text", "the tables")
        notes = [said["message"] for said in (*journal.noted("W-"), *journal.noted("N-"))]
        return replace(found, notes=notes), run


def rows_of(folder: Path, run: Contents, asked: Asked) -> Rows:
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
    rows = Rows(run, folder, environment, asked.axes or tuple(range(1, count + 1)), permutations, None, asked.input, [])
    if asked.strata is None:
        return rows
    return Rows(run, folder, environment, rows.axes, permutations, factor_of(rows, asked.strata, "--strata"),
                asked.input, [])


def permutations_in(path: str) -> Permutations:
    """Read a matrix of permutations, a row for each, with or without row numbers before them."""
    with mute_notes():
        matrix = read(Input(path=path, id_column=NO_IDS)).values
    numbered = matrix.shape[1] > 1 and np.array_equal(matrix[:, 0], np.arange(1, len(matrix) + 1)) and (
        matrix[:, 1:].max(axis=1) == matrix.shape[1] - 1).all()
    return permutations_of(matrix[:, 1:] if numbered else matrix)


def factor_of(rows: Rows, name: str, where: str) -> Factor:
    """Return a variable as a factor: numbers are names of levels."""
    variable = rows.variable(name, where)
    if isinstance(variable, Factor):
        return variable
    there = present(variable)
    levels, codes = np.unique(variable[there], return_inverse=True)
    found = np.full(len(variable), -1, dtype=np.int64)
    found[there] = codes
    return Factor(found, tuple(f"{level:g}" for level in levels.tolist()))


def fitted(rows: Rows, asked: Asked) -> tuple[list[FittedVector], list[FittedFactor], str]:
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
    for names, why in ((flat, "do not vary"), (single, "have another text in every row")):
        if names:
            note("W-VARIABLES", f"left out of the fit, as they {why}: {listed(names)}", columns=names)
    return vectors, factors, "" if masses is None else "masses of the rows in the correspondence analysis"


def tested(rows: Rows, asked: Asked) -> tuple[Partition | None, Spread | None, str]:
    """Partition the dissimilarities by a formula, and compare the dispersion of groups, where these are asked for."""
    terms = () if asked.formula is None else terms_of(asked.formula)
    for name in dict.fromkeys(name for term in terms for name in term):
        rows.variable(name, "--formula")
    groups = None if asked.groups is None else factor_of(rows, asked.groups, "--dispersion")
    if not terms and groups is None:
        return None, None, ""
    kept = kept_distances(rows.folder, rows.run)
    squared, words = squared_distances(rows.input_rows()) if kept is None else (
        kept**2, "the dissimilarities that the run kept")
    chosen = squared[np.ix_(rows.environment.rows, rows.environment.rows)]
    return (partition_of(rows, asked, terms, chosen) if terms else None,
            None if groups is None else spread_of(rows, asked, groups, chosen), words)


def partition_of(rows: Rows, asked: Asked, terms: Sequence[Term], squared: Array) -> Partition:
    """Partition squared dissimilarities (m x m) of the rows that have all variables of a formula."""
    names = tuple(dict.fromkeys(name for term in terms for name in term))
    kept = rows.complete(names, "--formula")
    variables = {name: some_rows(rows.variable(name, "--formula"), kept) for name in names}
    table = permanova(inner_products(squared[np.ix_(kept, kept)]), terms, variables, asked.by, rows.permutations,
                      rows.strata_of(kept))
    return Partition(" + ".join(map(label_of, terms)), asked.by, int(kept.sum()), table)


def spread_of(rows: Rows, asked: Asked, groups: Factor, squared: Array) -> Spread:
    """Compare the dispersion of the groups of a factor, by squared dissimilarities (m x m)."""
    kept = rows.complete([str(asked.groups)], "--dispersion") & present(groups)
    own = some_rows(groups, kept)
    assert isinstance(own, Factor)
    found = dispersion(inner_products(squared[np.ix_(kept, kept)]), own.codes, len(own.levels), asked.center,
                       rows.permutations, rows.strata_of(kept))
    ids = take_ids(rows.run.embedding.ids, rows.environment.rows[kept])
    return Spread(name=str(asked.groups), center=asked.center, levels=own.levels,
                  counts=np.bincount(own.codes).tolist(), ids=list(ids),
                  groups=[own.levels[code] for code in own.codes.tolist()], found=found)


def species_of(rows: Rows, kind: SpeciesKind) -> Species | None:
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
    return scored(rows, np.asarray(amounts.values)[rows.environment.rows], amounts.columns,
                  "wa" if kind == "auto" else kind)


def scored(rows: Rows, amounts: Array, names: Sequence[str], kind: SpeciesKind) -> Species:
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
    found = (weighted_averages(rows.points, amounts[:, there], expand=True) if kind == "expanded" else
             scores(rows.points, amounts[:, there]))
    return Species(kind, [names[place] for place in np.flatnonzero(there).tolist()], found)


def colors_of(rows: Rows, asked: Asked) -> tuple[str, Sequence[str]] | None:
    """Return the factor that colors the points: that of the groups, else the first of the formula, else the first."""
    names = [asked.groups, *(name for term in (terms_of(asked.formula) if asked.formula else ()) for name in term),
             *rows.environment.variables]
    for name in names:
        variable = None if name is None else rows.environment.variables[name]
        if isinstance(variable, Factor) and len(variable.levels) < len(variable.codes):
            return str(name), [variable.levels[code] if code >= 0 else "" for code in variable.codes.tolist()]
    return None
