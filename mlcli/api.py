"""The Python door: a finished run opened, and a run of an array without files. `mlcli` exports what is public."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from mlcli.base.context import context, set_context
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.units import percent
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.config.build import build
from mlcli.config.explain import suggestion
from mlcli.config.flags import FLAGS
from mlcli.config.layers import Layer, assignment, value_of
from mlcli.config.other_names import FLAGS_ELSEWHERE, paths_for
from mlcli.config.run_config import RunConfig
from mlcli.core.similarities.projector import Affine, NoProjection, Projector
from mlcli.data.read.in_memory import is_annotated, new_rows, table_of
from mlcli.data.table.table import HERE, Table, axis_names
from mlcli.errors import ConfigError, MlcliError, Spelling, UsageError, as_assignment
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.loadings import TABLE as LOADINGS
from mlcli.findings.spectrum import TABLE as SPECTRUM
from mlcli.report.drawing.text import visible
from mlcli.rundir.archive import model_from_bytes, model_to_bytes, read_model
from mlcli.rundir.embedding import intact_embedding
from mlcli.rundir.manifest import read_manifest, require_intact
from mlcli.rundir.model import PlacedRows, StoredModel
from mlcli.rundir.reading import csv_of

OPTIONS = (  # flags of `mlcli embed` that are keywords of `embed`
    "components", "neighbors", "radius", "paths", "metric", "kernel", "transform", "top_variance", "scale", "reduce",
    "calibrate", "onto_way", "onto_weight", "changed", "seed", "threads", "portable", "memory_limit")
KEYWORDS = {"method.name": "method", "input.kind": "kind", "input.view.path": "view", "onto.run": "onto",
            **{path: name for name in OPTIONS for path in (FLAGS[name].path, FLAGS[name].also) if path}}

PARTS_OF_ARRAYS = {  # that options of reading choose from files
    "input.columns": "array[:, columns]", "input.rows": "array[rows]", "input.where": "array[rows]",
    "input.label_columns": "labels", "input.view.columns": "view[:, columns]"}


# Calls from several threads take turns: how many threads linear algebra has holds for the whole process, and decides
# how products are rounded.
TURN = RLock()
LEADING = 5  # eigenvalues that a result shows of itself
WARNING = 160  # characters of a warning that it shows


@contextmanager
def call(spelling: Spelling | None = None) -> Iterator[None]:
    """Carry out one call at a time, with options in its messages as keywords: those of `embed`, or by `spelling`.

    A call inside of another one has the spelling of that.
    """
    outer = context().spelling
    spelling = spelling or (as_keyword if outer is as_assignment else outer)
    with TURN, set_context(spelling=spelling):
        try:
            yield
        except MlcliError as error:
            place = KEYWORDS.get(error.where, error.where)
            raise error.spelled(spelling).changed(where=place) from error.__cause__


def as_keyword(path: str, value: str) -> str:
    """Spell an option as a keyword of `embed`, or as an item of its `set`."""
    if path in KEYWORDS:
        return f"{KEYWORDS[path]}={value_of(value, path)!r}" if value else KEYWORDS[path]
    return f"set={{{path!r}: {value_of(value, path)!r}}}" if value else path


def of_arrays(path: str, value: str) -> str:
    """Spell an option beside an array, of which parts are given where options of reading choose from a file."""
    return PARTS_OF_ARRAYS.get(path) or as_keyword(path, value)


@frozen
class Spectrum:
    """Eigenvalues and their shares, as in `spectrum.csv`."""

    eigenvalues: Array  # all that were computed, with their signs
    proportions: Array  # of the trace; NaN where that is unknown
    divisor: float = float("nan")  # of the kernel's eigenvalues, as the number of rows
    frobenius: float = float("nan")  # root of the sum of all squared eigenvalues; NaN where unknown

    def __repr__(self) -> str:
        """The leading eigenvalues, each with its share of the trace where that is known."""
        pairs = zip(self.eigenvalues[:LEADING], self.proportions[:LEADING], strict=True)
        shown = [f"{value:.4g}" + (f" ({percent(share)})" if np.isfinite(share) else "") for value, share in pairs]
        count = len(self.eigenvalues)
        return f"eigenvalues: {', '.join(shown)}" + (f", ... ({count} in all)" if count > LEADING else "")


@frozen
class Loadings:
    """The weights of the data's columns on each axis, as in `loadings.csv`."""

    values: Array  # d x p
    columns: tuple[str, ...]  # d


@frozen
class OffManifold:
    """How far rows lie off the manifold of a fit, as in the columns of `mlcli project`."""

    coordinates: Array  # m x p
    scores: Array  # m; larger is farther, and a usual training row has about one
    p: Array  # m: (1 + #{sᵢ >= s}) / (n + 1) over n calibration scores
    exact: bool  # whether these are of rows that were held out of the fit; else p is approximate
    hotelling_t2: Array | None = None  # m, of pca, ppca and fa
    q: Array | None = None  # m
    beside: Mapping[str, Array] = field(default_factory=dict)  # further numbers, as style vectors, by name (m each)


@frozen
class Run:
    """A run: its coordinates, what ranks its axes, its fit, and the way of new rows to coordinates and back.

    `project` and `reconstruct` need the run's model, and read it when they are first called.
    """

    method: str
    embedding: Array  # n x p
    ids: tuple[str, ...]  # n
    labels: Mapping[str, tuple[str, ...]]  # by the name of the column, n each
    spectrum: Spectrum | None  # None where the method has none
    warnings: tuple[str, ...] = ()  # of the run
    loadings: Loadings | None = None  # where axes are combinations of columns
    fit: Mapping[str, Any] = field(default_factory=dict)  # figures of the fit, as in `run.json`
    squared: bool = field(default=False, kw_only=True)  # whether dissimilarities were given squared, as new ones are
    source: Path | StoredModel = field(kw_only=True)

    def __repr__(self) -> str:
        """In a few lines: the method, the sizes, the leading eigenvalues and the warnings."""
        rows, axes = self.embedding.shape
        labels = [f"labels: {visible(', '.join(self.labels))}"] if self.labels else []
        spectrum = [] if self.spectrum is None else [repr(self.spectrum)]
        warned = [visible(text, WARNING) for text in self.warnings]
        head = f"{self.method}: {rows:,} rows x {axes} {'axis' if axes == 1 else 'axes'}"
        return "\n".join([head, *labels, *spectrum, *warned])

    def _repr_html_(self) -> str:
        """Return HTML: the scatter plot of the first two axes, in the colors of the first label, over those lines."""
        from mlcli.report.drawing.svg import document
        from mlcli.report.figures.coloring import coloring, single_color
        from mlcli.report.figures.scatter import Points, scatter

        said, count = f"<pre>{escape(repr(self))}</pre>", len(self.embedding)
        if not self.embedding.size:
            return said
        colors = next((coloring(name, texts) for name, texts in self.labels.items()), single_color(count))
        drawn = document(scatter(Points(self.embedding, self.ids, colors, count), self.method))
        source = b64encode(drawn.encode("utf-8", "replace")).decode()  # an image: no part of it can be a script
        return f'<img alt="Scatter plot of the first two axes" src="data:image/svg+xml;base64,{source}">\n{said}'

    def project(self, array: Any, labels: Any = None) -> Array:
        """Coordinates (m x p) of new rows (m x d): the run's columns in their order, before any preparation.

        Answers in words are texts of a data frame or their numbers from 1; reverse-keyed items are turned here.
        Of a run of dissimilarities or of a kernel a row holds the numbers to each of the run's points; where those of
        the run were squared (`input.squared`), so are these. `labels`, one column or several by their names, are the
        styles of the rows, and then their contents, of bilinear. Raises DataError for rows that do not fit, and
        ConfigError where the method places no new points.
        """
        return np.array(self._placed(array, labels).coordinates.values)  # a copy, as tables are read-only

    def off_manifold(self, array: Any, labels: Any = None) -> "OffManifold":
        """How far new rows (m x d), given as to `project`, lie off the manifold of the fit, with p and coordinates.

        Raises what `project` does, and ConfigError where the run has no scores of rows.
        """
        found = self._placed(array, labels)
        if found.scores is None or found.p is None:
            raise ConfigError("NO-SCORES", "this run does not tell how far new rows are off its manifold",
                              hint="fit features or dissimilarities by a method that places new points; a run of an "
                              "earlier version has to be made again")
        score = self._model.score
        return OffManifold(np.array(found.coordinates.values), found.scores, found.p,
                           score is not None and score.exact, **found.linear, beside=found.beside)

    def _placed(self, array: Any, labels: Any) -> PlacedRows:
        """Place new rows (m x d) by every step."""
        model = self._model
        with call(), limit_threads(Compute().thread_count()):
            return model.place(new_rows(array, model.steps[0].preparation.columns, model.trained, model.kind,
                                        coding=model.coding, rule=model.rule, categories=model.categories,
                                        closed=model.closed, squared=self.squared, labels=labels))

    def reconstruct(self, coordinates: Any, labels: Any = None) -> Array:
        """Features (m x d), in the units of the data, of coordinates (m x p).

        Of bilinear `labels` are styles of the run; without them style vectors follow the coordinates (m x (p + q)), as
        `off_manifold` has them `beside`. Raises DataError for coordinates that do not fit, and ConfigError where no way
        leads back to features.
        """
        from mlcli.core.similarities.projector import require_projector
        from mlcli.runs.project import features_of, require_decoders

        model = self._model
        require_decoders(HERE if isinstance(self.source, StoredModel) else str(self.source), model.way_back)
        projector = require_projector(model.projector)
        names = (*axis_names(projector.axes.shape[1]), *(projector.beside if labels is None else ()))
        with call(), limit_threads(Compute().thread_count()):
            table = new_rows(coordinates, names, (), "features", labels=labels)
            return features_of(model, table.values, next(iter(table.labels.values()), None))

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the model in its own format (model.json and model.npz), or the run directory's path."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "source"}
        stored = self.source if isinstance(self.source, Path) else model_to_bytes(self.source)
        return _of_pickle, (parts, stored)

    @property
    def affine(self) -> Affine | None:
        """The mean (d) and the directions (d x p) by which coordinates lead back to prepared features, if any do.

        Raises InputMissing for a finished run without its model.
        """
        projector = self.projector
        affine = None if projector is None else projector.affine
        if projector is None or affine is None:
            return None
        plain, unit = projector.input_unit.plain, projector.output_unit.measured(np.ones(1))
        return Affine(plain(affine.mean), plain(affine.directions * unit))

    @property
    def projector(self) -> Projector | None:
        """The map of new points to coordinates, in the computation's units; None where the method has none.

        Raises InputMissing for a finished run without its model.
        """
        found = self._model.projector
        return None if isinstance(found, NoProjection) else found

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that new rows have in their order: those of the columns (d), or of the run's points (n).

        Raises InputMissing for a finished run without its model.
        """
        model = self._model
        return tuple(model.steps[0].preparation.columns if model.kind == Features.kind else model.trained)

    @cached_property
    def _model(self) -> StoredModel:
        """The model that places rows."""
        return self.source if isinstance(self.source, StoredModel) else read_model(self.source)


def _of_pickle(parts: Mapping[str, Any], stored: Path | Sequence[bytes]) -> Run:
    """The run of a pickle; raises UnsafeFile where its model was changed."""
    return Run(**parts, source=stored if isinstance(stored, Path) else model_from_bytes(stored))


def open_run(path: str | PathLike[str]) -> Run:
    """A finished run by its directory; raises InputMissing where there is none, UnsafeFile where files were changed."""
    from mlcli.runs.project import own_input

    folder = Path(path)
    manifest = read_manifest(folder)
    count = manifest["embedding"]["components"]
    table = (intact_embedding(folder, manifest)[1] if manifest["embedding"]["rows"] else
             Table(np.zeros((0, count)), axis_names(count), ()))  # of a covariance matrix
    return _run(manifest["method"], table, _spectrum_of(folder, manifest), manifest.get("warnings", ()), folder,
                loadings=_loadings_of(folder, manifest), fit=manifest.get("fit") or {},
                squared=manifest["input"]["kind"] == "dissimilarities" and own_input(folder, manifest).squared)


def embed(array: Any, method: str | None = None, *, kind: str | None = None, ids: Sequence[Any] | None = None,
          columns: Sequence[str] | None = None, labels: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
          view: Any = None, onto: "str | PathLike[str] | Run | None" = None, set: Mapping[str, Any] | None = None,
          **options: Any) -> Run:
    """Runs a method on an array (n x d), or on a matrix of pairs (n x n) of a `kind`, as `mlcli embed` does.

    The array may be a data frame of pandas or Polars or a table of Arrow (the index gives ids, column names the
    columns, text columns the labels), a sparse array of SciPy, an AnnData object, or the path of a file, of a
    directory or of a finished run, which is read as the command reads it. An array or a data frame of Dask is computed
    as a whole, or in blocks of rows where it is large and the method reads blocks (`input.stream`). The method is pca
    unless another is given, or that of `onto`, the folder of a finished run, or that run as `open_run` gives it, to
    whose map the rows are added (onto_way, onto_weight and changed are the flags' values). `ids` name the rows and
    `columns` the columns; `labels`, one column or several by their names, go with the rows, the first ones are the
    classes of lda. `view` is a second array of the same rows, or a list of arrays, for methods of several views.
    `options` are flags of the command by their names: components=3, neighbors, radius, paths, metric, kernel,
    transform, top_variance, scale="standard", reduce, calibrate (the share of the rows to hold out of the fit, for
    exact p of `Run.off_manifold`), seed, threads, portable, memory_limit. `set` has all others by their config paths:
    {"method.graph": "mutual"}.
    Numbers are certified as those of a command. Raises UsageError and ConfigError for unsuitable options, DataError
    and GeometryError for unsuitable data, NumericalError if the result is wrong, and RefusedByPlan if it would need
    too much memory.
    """
    names: dict[str, Any] = {"ids": ids, "columns": columns, "labels": labels}
    view = None if isinstance(view, list | tuple) and not view else view
    with call():
        _require_alike(array, view)
        if isinstance(array, str | PathLike):
            _require_unnamed(names)
            return fit_run(build(_layer(str(array), method, kind, set or {}, options, view, onto)))
        from mlcli.pipeline.run import as_parent

        config = as_parent(build(_layer(HERE, method, kind, set or {}, options, onto=onto)))
        given = config.input_of_method
        with call(as_keyword if is_annotated(array) else of_arrays):
            return fit_run(config, lambda: table_of(array, given, config.compute, **names, view=view,
                                                categories=config.method.distance.categories,
                                                streams=config.streams))


def fit_run(config: RunConfig, read: Callable[[], Table] | None = None) -> Run:
    """Return the certified run of a configuration, of the table that `read` gives instead of the input's path."""
    from mlcli.findings.frame.off_manifold import score_model
    from mlcli.pipeline.certify import certificate_of, require_passed
    from mlcli.pipeline.run import as_parent, compute
    from mlcli.pipeline.session import Session

    with Session.open(as_parent(config)) as session:
        result = compute(session, None if read is None else read())
        require_passed(certificate_of(result, None))
    model = result.model
    given = result.config.input
    rows = result.config.method.axes_options.written(model.embedding.shape[1])
    found = model.spectrum
    spectrum = None if found is None else Spectrum(found.eigenvalues[:rows], found.proportions[:rows],
                                                   found.divisor, found.frobenius / found.divisor)
    weights = model.loadings
    loadings = None if weights is None else Loadings(weights.values, tuple(weights.columns))
    return _run(result.config.method.name, result.embedding, spectrum, session.journal.noted("W-"),
                score_model(result).model, loadings=loadings, fit=dict(model.fit), squared=given.squared)


def layer_in_memory(path: str, method: str | None = None) -> Layer:
    """Return the layer of a run that writes nothing, of a file or of an array in memory (`HERE`), by a method."""
    layer = assignment("input.path", path, "array")
    if method is not None:
        layer = layer.over(assignment("method.name", method, "method"))
    return assignment("output", "-", "output").over(layer)


def _require_alike(array: Any, view: Any) -> None:
    """Raise UsageError where the table is a file and a view is in memory, or the other way round."""
    views = [] if view is None else [*view] if isinstance(view, list | tuple) else [view]
    file = isinstance(array, str | PathLike)
    if any(isinstance(one, str | PathLike) != file for one in views):
        raise UsageError("VIEW-SOURCE", "the table is a file and a view is not" if file else
                         "the table is an array and a view is a file", where="view",
                         hint="give all of them as files, or read them first and give all as arrays")


def _require_unnamed(names: Mapping[str, Any]) -> None:
    """Raise UsageError for names that are given beside a file, which has its own."""
    for name, value in names.items():
        if value is not None:
            raise UsageError("NAMES-OF-FILE", f"{name} cannot be given with a file, which has its own", where="embed",
                             hint="leave it out; options of reading are given as set={'input.id_column': ...}, "
                             "'input.columns' and 'input.label_columns'")


def _run(method: str, table: Table, spectrum: Spectrum | None, warnings: Iterable[Mapping[str, Any]],
         source: Path | StoredModel, *, loadings: Loadings | None, fit: Mapping[str, Any], squared: bool) -> Run:
    said = tuple(f"{item['code']}: {item['message']}" for item in warnings)
    return Run(method, np.array(table.values), tuple(table.ids), dict(table.labels), spectrum, said, loadings, fit,
               squared=squared, source=source)


def _spectrum_of(folder: Path, manifest: Mapping[str, Any]) -> Spectrum | None:
    """The spectrum that a run wrote."""
    if SPECTRUM.name not in manifest["files"]:
        return None
    require_intact(folder, dict(manifest), (SPECTRUM.name,))
    rows = CsvColumns(csv_of(folder / SPECTRUM.name, ("eigenvalue", "proportion")))
    facts = {name: value for name, value in (manifest.get("spectrum") or {}).items()
             if name in ("divisor", "frobenius") and value is not None}
    return Spectrum(np.array(rows.numbers("eigenvalue")), np.array(rows.numbers("proportion")), **facts)


def _loadings_of(folder: Path, manifest: Mapping[str, Any]) -> Loadings | None:
    """The loadings that a run wrote."""
    if LOADINGS.name not in manifest["files"]:
        return None
    require_intact(folder, dict(manifest), (LOADINGS.name,))
    rows = LOADINGS.read(folder)
    head, *axes = rows.columns
    return Loadings(np.column_stack([rows.array(axis) for axis in axes]), tuple(rows.texts(head)))


def _right_name(name: str) -> str:
    """Return how an option is given that has another name here, or that `set` takes; else the names there are."""
    if name in FLAGS_ELSEWHERE:
        return f"it is {FLAGS_ELSEWHERE[name]} here"
    paths = [path for path, value in paths_for(name).items() if value == "VALUE"]
    if paths:
        return " or ".join(f"set={{{path!r}: ...}}" for path in paths[:3]) + " sets this option"
    return suggestion(name, OPTIONS) or f"there are {', '.join(OPTIONS)}; give others in `set`, by their config path"


def _folder_of(onto: "str | PathLike[str] | Run") -> Path:
    """Return the folder of a finished run; raises UsageError for a run in memory, which has none."""
    if not isinstance(onto, Run):
        return Path(onto)
    if isinstance(onto.source, Path):
        return onto.source
    raise UsageError("ONTO", "rows are added to the map of a run that has a folder, and this one is in memory alone",
                     where="onto", hint="make it by the command mlcli embed, and give its folder")


def _layer(path: str, method: str | None, kind: str | None, others: Mapping[str, Any], options: Mapping[str, Any],
           view: Any = None, onto: "str | PathLike[str] | Run | None" = None) -> Layer:
    """Return the arguments as a layer of options, as flags would set them; raises UsageError for an unknown name."""
    layer = layer_in_memory(path, method)
    if onto is not None:
        layer = assignment("onto.run", str(_folder_of(onto)), "onto").over(layer)
    if view is not None:
        first, *more = map(str, view if isinstance(view, list | tuple) and view else (view,))
        layer = assignment("input.view.path", first, "view").over(layer)
        if more:
            layer = assignment("input.view.further", [{"path": path} for path in more], "view").over(layer)
    if kind is not None:
        layer = assignment("input.kind", kind, "kind").over(layer)
    for path, value in others.items():
        layer = assignment(path, value, f"set[{path!r}]").over(layer)
    for name, value in options.items():
        if name not in OPTIONS:
            raise UsageError("OPTION", f"no option is called {name[:80]!r}", where="embed", hint=_right_name(name))
        flag = FLAGS[name]
        path = flag.path.removesuffix(".name") if isinstance(value, Mapping) else flag.path
        layer = assignment(path, value, name, other=flag.also).over(layer)
    return layer
