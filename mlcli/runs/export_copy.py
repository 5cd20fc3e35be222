"""A copy of a run's input (.h5ad) with the run's results, and those of the runs that it was made from."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.stages.stage import note, running
from mlcli.base.units import memory
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Sparse
from mlcli.core.similarities.projector import require_projector
from mlcli.data.files.remote import is_remote
from mlcli.data.files.source import Opened, open_input
from mlcli.data.formats.h5ad import GENES, OF_GENES, Annotations, is_anndata, split_key
from mlcli.data.formats.hdf5_file import open_hdf5
from mlcli.data.options.formats import HDF5
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.read.table import read as read_table
from mlcli.data.table.row_numbers import places_of
from mlcli.data.write.h5ad import copy_h5ad
from mlcli.errors import ConfigError, DataError, OutputRefused, RefusedByPlan
from mlcli.pipeline.read_run import moved
from mlcli.publication.publish import refuse_existing, write_whole
from mlcli.rundir import names
from mlcli.rundir.archive import read_model
from mlcli.rundir.disk_space import free_bytes, in_temporary_files
from mlcli.rundir.manifest import require_intact
from mlcli.rundir.reading import is_there, own_file
from mlcli.runs import scanpy_members as scanpy
from mlcli.runs.export import Exported, exported
from mlcli.runs.input import REMOTE, require_input, run_before
from mlcli.runs.neighbor_graph import neighbor_graph
from mlcli.runs.relate import InputRows, read_input
from mlcli.runs.scanpy_members import Places


@frozen
class FileCells:
    """The names of a file's cells, as a run read them, and of its genes."""

    ids: Sequence[str]
    genes: Sequence[str]
    key: str | None  # of the matrix that the run read

    @property
    def have_genes(self) -> bool:
        """Whether the columns of the matrix are genes."""
        return split_key(self.key)[0] in GENES


def export_copy(folder: Path, output: Path, given: str | None, *, force: bool = False) -> None:
    """Write a copy of the input of a run, or of the first run that it was made from, with the results of all of them.

    `given` is where the input lies now. Raises DataError for an input that is not AnnData, UnsafeFile for another one
    than the run read, InputMissing without one, OutputRefused where the output is the input, and ConfigError for runs
    of genes.
    """
    with limit_threads(Compute().thread_count()), in_temporary_files():
        runs = lineage(folder)
        input = origin_of(runs[0], output, given)
        refuse_existing(output, None, force=force, flag="--into")
        with open_input(input.path, Compute()) as opened:
            require_input(input.path, "unchanged" if opened.sha256 == runs[0].run.manifest["input"]["sha256"]
                          else "changed")
            members = members_of(runs, cells_of(opened, input, folder), given)
            require_room(opened.size, members, output)
            with running("write"):
                write_whole(output, partial(copy_h5ad, opened, members), force=force)


def lineage(folder: Path) -> tuple[Exported, ...]:
    """Return the runs from the one that read a file to this one; raises what `exported` and `run_before` do."""
    runs = [exported(folder)]
    while (before := run_before(runs[0].run)) is not None:
        runs.insert(0, exported(before))
    return tuple(runs)


def origin_of(first: Exported, output: Path, given: str | None) -> Input:
    """Return the options by which a run read its input, where it lies now; raises as `export_copy` does."""
    facts = first.run.manifest["input"]
    input = moved(first.run.config, first.run.manifest, given, ()).input
    if facts.get("format") != HDF5 or input.path == "-":
        raise not_anndata(input.path)
    if is_remote(input.path):
        require_input(input.path, "unchanged" if given is not None or context().network else REMOTE)
    else:
        require_input(input.path, "unchanged" if is_there(Path(input.path)) else "missing")
    with suppress(OSError):
        if Path(input.path).samefile(output):
            raise OutputRefused("OUTPUT-IS-INPUT", "the copy would replace the run's input", where=place(str(output)),
                                hint="choose another name with --into")
    return input


def cells_of(opened: Opened, input: Input, folder: Path) -> FileCells:
    """Return the names in an input; raises DataError where it is not AnnData, and ConfigError for rows of genes."""
    with open_hdf5(opened, input, Compute()) as file:
        if not is_anndata(file):
            raise not_anndata(input.path)
        if input.transpose or split_key(input.key)[0] in OF_GENES:
            raise ConfigError("ROWS-OF-GENES", "the rows of the run are genes, and its results have no place among the "
                              "cells", where=str(folder), hint="leave out --into, and name a new file with -o")
        frame = Annotations(file, "obs")
        ids = frame.ids() if input.ids_from is None else frame.column(input.ids_from)
        return FileCells(ids, Annotations(file, "var").ids(), input.key)


def not_anndata(path: str) -> DataError:
    """Return the error for an input of which no copy can hold results."""
    return DataError("NOT-H5AD", "the run's input is not AnnData in HDF5 (.h5ad): no copy of it can hold the results",
                     where=place(path), hint="leave out --into, and name a new file with -o")


def members_of(runs: Sequence[Exported], cells: FileCells, given: str | None) -> dict[str, Any]:
    """Return the results of runs, each made from the one before, by their paths in the file; later ones replace."""
    members: dict[str, Any] = {}
    basis, known, rows = scanpy.basis_of(cells.key), cells.ids, np.arange(len(cells.ids))
    for number, found in enumerate(runs):
        run = found.run
        again = partial(read_input, found.folder, run, None if number else given)
        own = places_of(run.embedding.ids, known)
        rows = rows[again().table.numbers - 1 if own is None else own]
        places = Places(rows, len(cells.ids), cells.genes)
        if not number and names.SCORES in run.manifest["files"]:
            members |= members_of_reduction(found, places, again)
            basis = f"X_{scanpy.name_of('pca')}"
        members |= {**scanpy.coordinates(run, places), **scanpy.facts(run),
                    **scanpy.neighbors(run, neighbor_graph(found.folder, run, again), basis, places)}
        if not number and cells.have_genes:
            members |= scanpy.variable_genes(run, places)
            note_loadings(found, places)
            members |= scanpy.loadings(run, found.directions, found.features, places)
        basis, known = f"X_{scanpy.name_of(str(run.manifest['method']))}", run.embedding.ids
    return members


def members_of_reduction(found: Exported, places: Places, read: Callable[[], InputRows]) -> dict[str, Any]:
    """Return the principal components that a method was given (`prepare.reduce`), with variances and directions."""
    path, facts = found.folder / names.SCORES, found.run.manifest
    require_intact(found.folder, dict(facts), (names.SCORES,))
    with own_file(path):
        scores = read_table(Input(path=str(path), format="npy")).values
    if len(scores) != len(places.rows):  # the method left rows out afterwards
        places = replace(places, rows=read().start.prepared.table.numbers - 1)
    members = scanpy.principal_components(found.run, scores, places)
    if names.MODEL in facts["files"]:
        step = read_model(found.folder).reductions[-1]
        affine = require_projector(step.projector).affine
        assert affine is not None  # of principal components
        members[f"varm/{scanpy.known('pca').loadings}"] = places.of_genes(affine.directions, step.preparation.names)
    return members


def note_loadings(found: Exported, places: Places) -> None:
    """Say that a run wrote no model, or how many of its features have no row in `var`, as genes that only `raw` has."""
    if names.MODEL not in found.run.manifest["files"]:
        note("N-NO-DIRECTIONS", "the run wrote no model, so the copy has no loadings of it, and varm is unchanged")
    if lost := set(found.features) - set(places.genes):
        note("N-GENES-NOT-IN-VAR", f"{counted(len(lost), 'column')} of the run, not among the genes of var, "
             f"{'has' if len(lost) == 1 else 'have'} no loadings in the copy", genes=len(lost))


def require_room(size: int, members: Mapping[str, Any], output: Path) -> None:
    """Raise RefusedByPlan where a copy of so many bytes, with its members, does not fit on the disk."""
    needed = size + sum(bytes_of(element) for element in members.values())
    if needed > (free := free_bytes(output)):
        raise RefusedByPlan("DISK", f"the copy needs about {memory(needed)} on disk, and {memory(free)} are free",
                            where=str(output), hint="name a file on a larger disk with --into")


def bytes_of(element: Any) -> int:
    """Return the bytes of an array, or of the arrays of a sparse matrix; zero of others, which are small."""
    if isinstance(element, Sparse):
        return 12 * len(element.indices)
    return int(element.nbytes) if isinstance(element, np.ndarray) else 0
