"""The steps before a method: read a file or a finished run, prepare it, and reduce it by PCA.

A run that is the input, and PCA before the method, are the same kind of step, a `Reduction` (`rundir/model.py`):
a preparation and a projector. A model holds all steps in their order, and `project` and `reconstruct` take one after
the other.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from mlcli.base.context import set_context
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import mute_notes, no_listeners, note, running, stage
from mlcli.base.values.compute import Compute
from mlcli.config.run_config import RunConfig
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import Count, Share
from mlcli.core.similarities.off_manifold import LEAST
from mlcli.data.options.formats import HDF5
from mlcli.data.options.input import Input, require_bare
from mlcli.data.options.wording import counted, place
from mlcli.data.prepare.apply import prepare
from mlcli.data.prepare.categories import require_unchanged
from mlcli.data.prepare.missing import MODELS, REMEDY, WITH_CATEGORIES, Dropped, finite_rows, refuse
from mlcli.data.prepare.prepare import Prepared, no_preparation
from mlcli.data.read.table import read
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError, GeometryError, MlcliError, UnsafeFile, option, options_in
from mlcli.findings import FINDINGS
from mlcli.findings.frame.result import ReducedInput, Start
from mlcli.methods import methods_accepting, methods_with_metric
from mlcli.methods.principal.pca import PCA
from mlcli.pipeline.process import ALONE, Process, Reader, is_sketch, read_input
from mlcli.rundir import names
from mlcli.rundir.archive import read_model
from mlcli.rundir.embedding import intact_embedding
from mlcli.rundir.manifest import read_manifest
from mlcli.rundir.model import StoredModel
from mlcli.rundir.reading import is_run

LAYER = "prepare.variable_genes.layer"
CALIBRATION = FINDINGS["calibration"]
DRAW = 1  # of the draw of rows to hold out, beside the seed: another one than that of `input.rows`


def read_gene_layer(config: RunConfig, name: str, table: Table, *, from_file: bool) -> Table:
    """Return a layer by its name, of the rows and columns of `table`.

    Raises ConfigError for an input that has no layers, and what reading raises.
    """
    if not from_file or table.source is None or table.source.format != HDF5:
        raise ConfigError("LAYER", "layers are read from .h5ad files, and the input is none", where=LAYER,
                          hint="leave it out, or give the path of such a file")
    asked = config.input.replace(key=f"layers/{name}")
    try:
        with mute_notes(), set_context(sketch=False):
            found = read(asked, config.compute, "", config.streams)
    except ConfigError as error:
        raise (error.changed(where=LAYER) if error.where == "input.key" else error) from None
    if found.columns != table.columns or tuple(found.ids) != tuple(table.ids):
        raise ConfigError("LAYER", f"the layer {name} has other rows or columns than the table", where=LAYER,
                          hint="choose X or a layer as the table ({input.key})")
    return found


def begin(config: RunConfig, process: Process = ALONE, given: Table | None = None) -> Start:
    """Read the table, unless it is `given`, prepare it, and reduce it by PCA where `prepare.reduce` is set.

    Rows that are added to the map of a run are joined with its own.
    """
    if config.onto is not None:
        from mlcli.pipeline.onto import begin_onto

        return begin_onto(config, config.onto, begin, given)
    config.prepare.require_input(config.input, given)
    with _method_named(config):
        source, run = source_of(config, read, process) if given is None else (given, None)
    with _remedy_of_method(config):
        source, alone = with_joined_views(config, source)
    require_unchanged(config.prepare, source.columns if config.method.domain == "answers" else source.categories)
    layer, genes = None, config.prepare.variable_genes
    if genes is not None and genes.layer is not None and not is_sketch(source):
        layer = read_gene_layer(config, genes.layer, source, from_file=run is None and given is None)
    source, layer, held = hold_out(config, source, layer)
    with _remedy_of_method(config):
        prepared = prepare(config.prepare.replace(unmatched="error") if source.files else config.prepare, source, layer)
    prepared = replace(prepared, dropped=(*alone, *prepared.dropped))
    if config.prepare.reduce is None:
        return Start(source, run, prepared, held_out=held)
    first = reduce_by_pca(config.prepare.reduce, prepared, config.compute)
    scores = first.scores
    return Start(source, run, Prepared(scores, no_preparation(scores.columns), prepared.dropped), first, held)


def with_joined_views(config: RunConfig, source: Table) -> tuple[Table, tuple[Dropped, ...]]:
    """Return the table with the columns of its views beside its own where the method takes them so, and the rows that
    not all of them have, which are dropped.

    Raises DataError as `join_views` does, and for missing cells where they are refused, and ConfigError for transforms
    that take a row as a whole.
    """
    if not config.joins_views or (source.view is None and not source.files):
        return source, ()
    from mlcli.data.prepare.views import join_views, require_cellwise

    require_cellwise(config.prepare.transform)
    if source.files:  # which are read in blocks
        return source, ()
    if config.prepare.missing == "error":
        for part in source.views:  # so that the error names its file
            refuse(part)
    return join_views(source.views, config.prepare.unmatched)


def hold_out(config: RunConfig, source: Table, layer: Table | None) -> tuple[Table, Table | None, Table | None]:
    """Return the rows of a table to fit, the same ones of a layer of genes, and the rows of the table that
    `report.calibration` holds out, drawn with the seed.

    Where rows with gaps are dropped, complete ones are drawn. Raises ConfigError for a table that is read in
    blocks, and for a share that holds out none, or leaves too few.
    """
    asked = config.report.setting(CALIBRATION.name)
    if asked is None or is_sketch(source):
        return source, layer, None
    from mlcli.data.prepare.views import matched_rows, without_rows

    if is_run(config.input.path):
        raise ConfigError("CALIBRATION", "the rows of a finished run were all fitted by it, and none can be held out",
                          where="report.calibration", hint="make that run with {report.calibration.share}, or leave it "
                          "out here")
    if rows_of(source.values) is not None:
        CALIBRATION.refuse_blocks()
    with no_listeners():  # preparation tells of rows that not all views have
        places = matched_rows(source.views, config.prepare.unmatched)
    usable = np.arange(len(places[0]))
    if source.kind == "features" and config.prepare.missing == "drop":
        usable = np.flatnonzero(np.all([finite_rows(view.values[own]) for view, own in zip(
            source.views, places, strict=True)], axis=0))
    generator = np.random.default_rng((config.compute.seed, DRAW))
    count = round(asked.share * len(usable))
    if not count or count > len(usable) - LEAST:
        what = f"would be held out of the fit, and {LEAST} at least must be left" if count else "would be held out"
        raise ConfigError("CALIBRATION", f"of {counted(len(usable), 'row')} {count or 'none'} {what}",
                          where="report.calibration.share", hint="leave it out, or give a "
                          f"{'smaller' if count else 'larger'} share")
    chosen = np.sort(generator.choice(usable, count, replace=False))
    whole, held = without_rows(source.views, [own[chosen] for own in places])
    chosen = places[0][chosen]
    fitted = np.delete(np.arange(source.rows), chosen)
    if source.kind != "features":  # dissimilarities from the rows of the fit
        held = replace(held, values=source.values[np.ix_(chosen, fitted)], columns=whole.columns)
    note("N-HELD-OUT", f"{len(chosen):,} of {counted(source.rows, 'row')} held out of the fit, and placed by it: p of "
         "new rows is from their scores", rows=len(chosen))
    return whole, None if layer is None else layer.take(fitted), held


@contextmanager
def _remedy_of_method(config: RunConfig) -> Iterator[None]:
    """Propose for missing cells what this method can do about them, where that is not what others can.

    Some need the answers themselves (polychoric correlations), or model missing cells; rows of a sequence that are left
    out are missing in it.
    """
    method = config.method
    try:
        yield
    except DataError as error:
        if getattr(method, "correlations", "pearson") != "pearson":
            ways = {REMEDY: "{prepare.missing=drop}"}
        elif method.name in MODELS:
            ways = {REMEDY: "{prepare.missing=model} or mean" + ("" if method.ordered else ", or drop"),
                    WITH_CATEGORIES: "{prepare.missing=model} or drop"}
        elif method.ordered:
            ways = {REMEDY: "{prepare.missing=mean}; or model, with lgssm"}
        else:
            raise
        hint = error.hint
        for usual, way in ways.items():
            hint = hint.replace(usual, f"correct them, or give {way}")
        raise error.changed(hint=hint) from None


def source_of(config: RunConfig, reader: Reader, process: Process = ALONE) -> tuple[Table, StoredModel | None]:
    """Return the table of a file, or that of a finished run with the run."""
    if is_run(config.input.path):
        require_other(Path(config.input.path), config.output)
        return table_of(config.input)
    return read_input(config, reader, process.input), None


def require_other(folder: Path, output: str | None) -> None:
    """Refuses to replace a run by one that is made of it; raises ConfigError."""
    if output is not None and Path(output).is_dir() and folder.samefile(output):
        raise ConfigError("OUTPUT-INPUT", "the output would replace the run that is the input", where="output",
                          hint="choose another with -o")


@stage("read")
def table_of(input: Input) -> tuple[Table, StoredModel]:
    """The embedding of a finished run as a table of features, with its ids and labels, and the run's model.

    Raises ConfigError for options of files and for a run without points, and what `read_model` raises.
    """
    require_bare(input)
    folder = Path(input.path)
    manifest = read_manifest(folder)
    run = read_model(folder)
    if not manifest["embedding"]["rows"]:
        raise ConfigError("NO-ROWS", "the run was made from a covariance matrix and has no rows that could be the "
                          "input",
                          where=place(input.path), hint="give the run of a table")
    file, table = intact_embedding(folder, manifest)
    files = {name: manifest["files"][name] for name in (file, names.MODEL, names.ARRAYS)}
    read_now = table.source
    if read_now is None or read_now.sha256 != files[file]["sha256"]:
        raise UnsafeFile("HASH", f"{file} is not the file that the run wrote", where=str(folder / file),
                         hint="make the run again")
    if lost := manifest["embedding"].get("dropped"):
        note("N-RUN-DROPPED", f"the run left out {counted(lost, 'row')}, which {names.DROPPED} there names", rows=lost)
    source = Source(input.path, cache(lambda: str(files[file]["sha256"])), read_now.bytes, "run", files)
    return replace(table, source=source), run


def reduce_by_pca(kept: Count | Share, prepared: Prepared, compute: Compute) -> ReducedInput:
    """PCA of prepared rows, as the method pca makes it of them; raises ConfigError and GeometryError."""
    data = prepared.table.data()
    with _at_reduce():
        method = PCA(eigensolve=Eigensolve(components=kept)).resolve(data)
        with running("reduce"):
            return ReducedInput(prepared, method, method.fit(data, compute))


@contextmanager
def _method_named(config: RunConfig) -> Iterator[None]:
    """Name a method in errors of reading that ask for another kind of input, or for a metric, that this one lacks."""
    try:
        yield
    except MlcliError as error:
        for path, value in options_in(error.hint):
            methods = fitting_methods(config, path, value, error.kind)
            if methods and config.method.name not in methods:
                asked, method = option(path, value), option("method.name", methods[0])
                raise error.changed(hint=error.hint.replace(asked, f"{asked} {method}", 1)) from None
        raise


def fitting_methods(config: RunConfig, path: str, value: str, kind: str) -> Sequence[str]:
    """Return the methods that accept the input after an option of a hint is set; empty if the option does not decide
    the method."""
    if path == "input.kind" and kind and value == kind:
        return methods_accepting(config.input.replace(kind=kind).gives)
    return methods_with_metric() if (path, value) == ("method.metric.name", "gower") else ()


@contextmanager
def _at_reduce() -> Iterator[None]:
    """Errors of the number of axes name the option that asks for them here."""
    try:
        yield
    except (ConfigError, GeometryError) as error:
        raise (error.changed(where="prepare.reduce") if error.where.startswith("method.") else error) from error
