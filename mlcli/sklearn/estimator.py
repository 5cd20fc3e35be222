"""The estimator of a method: fit, transform and back, by the same code as the command; and its classes, made from the
declarations of the methods.
"""

import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import coo_array, issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import Tags, check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from mlcli.api import as_keyword, call, fit_run, open_run
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Features, Labeled, LengthGraph, Similarities, Viewed
from mlcli.config.build import build
from mlcli.config.other_names import FLAGS_ELSEWHERE
from mlcli.config.run_config import RunConfig
from mlcli.data.read.in_memory import is_frame, table_of
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.sheet import numbered_names
from mlcli.errors import PARTS, ConfigError, DataError, GeometryError, MlcliError, NumericalError
from mlcli.methods import METHODS, Method
from mlcli.methods.layouts import LayoutMethod
from mlcli.methods.tables.combine import TablesMethod
from mlcli.pipeline.read_run import config_of
from mlcli.rundir.journal import recording
from mlcli.rundir.manifest import read_manifest
from mlcli.sklearn.attributes import (
    ATTRIBUTES,
    EIGENVALUES,
    column_distribution,
    error_of_rank,
    log_likelihoods,
    of_classes,
)
from mlcli.sklearn.parameters import (
    EDGES,
    GRAPHS,
    KIND,
    START,
    Parameter,
    along_graph,
    chosen_in,
    config_layer,
    keyword_of,
    parameters_of,
    python_value,
    takes_start,
)


class InvalidData(DataError, ValueError):
    """The input's content is wrong."""


class InvalidType(DataError, TypeError):
    """The input holds something other than numbers."""


class InvalidOption(ConfigError, ValueError):
    """A parameter has a wrong value."""


class InvalidGeometry(GeometryError, ValueError):
    """The data has no such geometry."""


class FailedComputation(NumericalError, ValueError):
    """A computation failed or did not converge."""


class NotFitted(ConfigError, NotFittedError):  # type: ignore[misc]  # untyped
    """The estimator has no model yet."""


UNFITTED = "E-NOT-FITTED"
KINDS: Mapping[type[MlcliError], type[MlcliError]] = {
    DataError: InvalidData, ConfigError: InvalidOption, GeometryError: InvalidGeometry,
    NumericalError: FailedComputation}


def for_sklearn(error: MlcliError) -> MlcliError:
    """Return an error as one that is also a ValueError or NotFittedError; others, as of memory, as they are."""
    kind = NotFitted if error.code == UNFITTED else KINDS.get(type(error))
    return error if kind is None else kind(error.code.removeprefix("E-"), error.found,
                                           **{name: getattr(error, name) for name in PARTS})


def check_error(error: Exception, where: str = "") -> MlcliError:
    """Return an error of scikit-learn's own checks of arrays, in its words, with the array's place."""
    return (InvalidType if isinstance(error, TypeError) else InvalidData)("ARRAY", str(error), where=where)


FEWEST = 4  # rows that allow some perplexity
NOISES = ("equal noise", "own noise")  # of methods that fit a normal distribution; of a chain the stages decide
UNCONVERGED = "W-UNCONVERGED"
ROWS = ("array", "input", "method", "")  # places of errors that are about the rows or the method as a whole
PARTS_OF_ROWS = {"input.rows": "X[rows]", "input.where": "X[rows]", "input.columns": "X[:, columns]",
                 "input.label_columns": "y", "input.view.path": "y"}  # that options of reading choose from files


def of_rank(estimator: "Estimator") -> bool:
    """Whether axes are those of a kernel's eigenvalues, whose others are an error."""
    return estimator.method.ranked_by == EIGENVALUES


def leads_back(estimator: "Estimator") -> bool:
    """Whether coordinates lead back to features with these parameters; not with wrong ones, which a fit refuses."""
    with suppress(MlcliError):
        return estimator.configuration().method.leads_back(estimator.kind_of_rows)
    return False


def scores_rows(estimator: "Estimator") -> bool:
    """Whether new rows have scores: those of a given kernel lack k(x, x)."""
    return estimator.kind_of_rows != Similarities.kind


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """The base of all estimators: a subclass has a method and its parameters."""

    method: ClassVar[type[Method]]
    parameters: ClassVar[Mapping[str, Parameter]]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the method to rows `X`, (n, d), or to a matrix of pairs, (n, n), by `kind`.

        `y` holds the classes (n) for a method of classes, and the second view (n, e) for a method of two; others
        ignore it. Raises DataError, ConfigError and GeometryError, which are also ValueError or TypeError.
        """
        with self.estimator_call() as sizes:
            values, labels, view = self._given(X, y)
            sizes |= {"n_samples": values.shape[0], "n_features": values.shape[1]}
            config = self.configuration(**self._graph_of(values), **self._clipped(values.shape[0]))
            config = self._with_start(config, values.shape[0])
            values = both_ways(values) if config.input.kind == LengthGraph.kind else values
            named = {"ids": range(1, len(values) + 1)} if is_frame(values) else {"columns": self._names()}
            self.run_ = fit_run(config, lambda: table_of(
                values, config.input, config.compute, labels=labels, view=view, streams=config.streams,
                categories=config.method.distance.categories, **named))
            self._of_classes = {} if labels is None else of_classes(self.run_, values, y)
            for text in self.run_.warnings:
                warn(text, 3)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Return the coordinates (n, p) of the rows that the method is fitted to; a row left out has NaN."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Array:
        """Return coordinates (m, p) of new rows (m, d); of pairs, a row holds the numbers to the points of the fit."""
        with self.estimator_call(), recording() as journal:
            self._require_fitted()
            with refusals():
                values = self._checked(X, reset=False)
            placed = self.run_.project(values)
            for item in journal.noted("W-"):
                warn(f"{item['code']}: {item['message']}", 4)  # set_output wraps transform
        return self._in_precision(placed, X)

    @available_if(leads_back)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Array:
        """Return features (m, d) of coordinates (m, p)."""
        with self.estimator_call(), recording():
            self._require_fitted()
            with refusals():
                values = check_array(X, dtype=np.float64, estimator=self)
            return self._in_precision(self.run_.reconstruct(values), X)

    @available_if(scores_rows)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Array:
        """Return how usual rows (m, d) are, larger is more usual (m): for PCA, PPCA and FA the log-likelihood, as in
        scikit-learn; for others the negative score off the manifold, about -1 for a usual row.

        Raises ConfigError where the distribution that was fitted is singular, or the run has no scores.
        """
        with self.estimator_call(), recording():
            self._require_fitted()
            with refusals():
                values = self._checked(X, reset=False)
            if self.method.columns_model not in NOISES:
                return self._in_precision(-self.run_.off_manifold(values).scores, X)
            known = column_distribution(self.run_)
            if known is None:
                raise ConfigError("LIKELIHOOD", "the fit leaves no noise, so that rows have no density",
                                  hint="ask for fewer axes (components)")
            return self._in_precision(log_likelihoods(known, values.toarray() if issparse(values) else values), X)

    @available_if(of_rank)  # type: ignore[untyped-decorator]
    def reconstruction_error(self) -> float:
        """Return √(Σ λ² - Σ over the axes λ²) / n for eigenvalues λ of the centered kernel, as Isomap's is defined."""
        with self.estimator_call():
            self._require_fitted()
            found = error_of_rank(self.run_)
            if found is None:
                raise ConfigError("SPECTRUM", "the sum of all squared eigenvalues is not known",
                                  hint="fit with eigensolve_solver='dense', and without landmarks")
            return found

    @classmethod
    def from_run(cls, path: str | PathLike[str]) -> Self:
        """Return the estimator of a finished run, as it was after its fit, with the run's options as parameters.

        Options of a run that are no parameters, as those of preparation, hold in `transform`. Raises InputMissing where
        there is no run, UnsafeFile where it was changed, and ConfigError for a run of another method.
        """
        run = open_run(path)
        if run.method != (name := cls.method.model_fields["name"].default):
            raise for_sklearn(ConfigError("METHOD", f"the run is one of {run.method}, not of {name}", where=str(path),
                                          hint=f"use the estimator {METHODS[run.method].__name__}"))
        estimator = cls(**chosen_in(config_of(Path(path), read_manifest(Path(path))), cls.parameters))
        estimator.run_, estimator.n_samples_fit_ = run, len(run.embedding)
        names = run.columns
        estimator.n_features_in_ = len(names)
        if names != numbered_names("x", len(names)) and estimator.kind_of_rows == Features.kind:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return estimator

    def __getattr__(self, name: str) -> Any:
        """An attribute of the fit (`mlcli.sklearn.attributes`); raises AttributeError where it has no such thing."""
        known, run = ATTRIBUTES.get(name), vars(self).get("run_")
        value = vars(self).get("_of_classes", {}).get(name)
        if value is None:
            value = None if known is None or run is None else known.value(run)
        if value is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if isinstance(value, np.ndarray) and value.dtype == np.float64:  # a copy: those of a model cannot be written to
            return np.array(value, dtype=np.float32 if vars(self).get("_single") else np.float64)
        return value

    @property
    def embedding_(self) -> Array:
        """The coordinates (n, p) of the rows of the fit; a row that the fit left out has NaN."""
        if isinstance(self.run_.source, Path):
            return self.run_.embedding
        dtype = np.float32 if vars(self).get("_single") else np.float64
        placed: Array = np.full((self.n_samples_fit_, self.run_.embedding.shape[1]), np.nan, dtype=dtype)
        placed[np.array(self.run_.ids, dtype=np.int64) - 1] = self.run_.embedding
        return placed

    @property
    def kind_of_rows(self) -> str:
        """The kind of input: features, dissimilarities or a kernel."""
        known = self.parameters.get("kind")
        return str(self.kind) if known and known.path == KIND else Features.kind

    def configuration(self, **changes: Any) -> RunConfig:
        """Return the configuration of a fit with these parameters, some changed; raises ConfigError for wrong ones."""
        name = self.method.model_fields["name"].default
        if self._start() is not None:
            changes[START] = self.parameters[START].default
        return along_graph(build(config_layer(name, self.parameters, {**vars(self), **changes})))

    def _graph_of(self, rows: Any) -> dict[str, str]:
        """Return the kind of sparse distances: they are the lengths of a graph, where the method takes one."""
        sparse = issparse(rows) and self.kind_of_rows == Dissimilarities.kind and LengthGraph in self.method.accepts
        return {"kind": LengthGraph.kind} if sparse else {}

    def _start(self) -> Any:
        """Return the coordinates to start from; None where there are none, or a name of an option is given."""
        value = getattr(self, START, None) if takes_start(self.method) else None
        named = isinstance(value, str) and self.parameters[START].path != START
        return None if named else value

    def _with_start(self, config: RunConfig, rows: int) -> RunConfig:
        """Return the configuration whose method starts from given coordinates, if any are; raises DataError."""
        start, method = self._start(), config.method
        if start is None or not isinstance(method, LayoutMethod):
            return config
        with refusals(START):
            points: Array = check_array(start, dtype=np.float64, input_name=START)
        if len(points) != rows:
            raise DataError("START", f"the start has {len(points):,} rows, and X has {rows:,}", where=START,
                            hint="give a row of coordinates for each row of X")
        if not np.ptp(points, axis=0).any():
            raise DataError("START", "all points of the start are equal, so no step parts them", where=START,
                            hint="give coordinates that differ, or leave start out")
        return config.replace(method=method.starting_at(points, RowNumbers.up_to(rows)))

    def _clipped(self, rows: int) -> dict[str, Any]:
        """Return a perplexity that the rows allow, with a warning, if the chosen one is too large for them."""
        known, sizes = self.parameters.get("perplexity"), getattr(self, "perplexity", None)
        if known is None or not known.chosen(sizes) or rows < FEWEST:
            return {}
        given, most = np.atleast_1d(np.asarray(python_value(sizes))), (rows - 1.5) / 3
        if given.dtype.kind not in "iuf" or given.max(initial=0.0) < (rows - 1) / 3:
            return {}
        warn(f"W-PERPLEXITY: perplexity={sizes!r} was reduced to {most:.4g}: it must be below a third of the other "
             f"{rows - 1:,} rows", 4)
        clipped = np.minimum(given, most).tolist()
        return {"perplexity": clipped if np.ndim(python_value(sizes)) else clipped[0]}

    def _in_precision(self, found: Array, X: Any) -> Array:
        """Return numbers in single precision if both these rows and those of the fit are."""
        return found.astype(np.float32) if vars(self).get("_single") and is_single(X) else found

    @contextmanager
    def estimator_call(self) -> Iterator[dict[str, int]]:
        """Carry out a call, with parameters in its messages, and errors that are also those of scikit-learn.

        The sizes that the call puts into the yielded dictionary stand in errors about the rows.
        """
        sizes = dict[str, int]()
        try:
            with call(self._keyword):
                yield sizes
        except MlcliError as error:
            where = keyword_of(self.parameters, error.where, "") or error.where
            if where in ROWS:
                size = ", ".join(f"{name}={count}" for name, count in sizes.items())
                where = f"X ({size})" if size else "X"
            raise for_sklearn(error.changed(where=where)) from error.__cause__

    def _keyword(self, path: str, value: str) -> str:
        """Return an option as a keyword of this estimator, or of `mlcli.embed` where it has none."""
        if path == EDGES:
            return f"kind={(LengthGraph.kind if value == 'lengths' else value)!r}"
        return keyword_of(self.parameters, path, value) or PARTS_OF_ROWS.get(path) or (
            f"{as_keyword(path, value)} of mlcli.embed")

    def _given(self, X: Any, y: Any) -> tuple[Any, Any, Any]:
        """Return the rows, their labels and their second view, checked; raises DataError."""
        wants_classes, wants_view = self._takes(Labeled), self._takes(Viewed)
        labels, view = None, None
        with refusals():
            if not (wants_classes or wants_view or self._supervised()):
                values = self._checked(X, ensure_min_samples=2)
            else:
                rules = {**self._rules(), "ensure_min_samples": 2}
                rules.pop("ensure_non_negative", None)  # not checked beside y; the reading of pairs refuses them
                values, y = validate_data(self, X, y, multi_output=wants_view, y_numeric=wants_view, **rules)
                if wants_view:
                    view = np.reshape(y, (len(y), -1)).astype(np.float64)
                else:
                    check_classification_targets(y)
                    labels = [str(name) for name in y.tolist()]
        self.n_samples_fit_, self._single, self._of_texts = values.shape[0], is_single(X), is_frame(values)
        return values, labels, view

    def _checked(self, X: Any, **rules: Any) -> Any:
        """Return rows of numbers as scikit-learn checks them, or columns of Arrow where some are texts (m x d).

        Texts are categories of methods of several tables; another method refuses them. The run has its columns of
        texts after the others, so that new rows are given by name where there are any.
        """
        fitted, rules = rules.get("reset") is False, {**self._rules(), **rules}
        if not issubclass(self.method, TablesMethod) or not (
                holds_texts(X) or (fitted and vars(self).get("_of_texts", False))):
            return validate_data(self, X, **rules)
        rows = validate_data(self, X if hasattr(X, "shape") else np.array(X, dtype=object), **{**rules, "dtype": None})
        return table_of_texts(rows, self._names() or numbered_names("x", rows.shape[1]))

    def _rules(self) -> dict[str, Any]:
        """Return the rules by which scikit-learn checks rows."""
        tags = self.__sklearn_tags__().input_tags
        amounts = {"ensure_non_negative": True} if tags.positive_only else {}
        return {"accept_sparse": "csr" if tags.sparse else False, "dtype": np.float64,
                "ensure_all_finite": "allow-nan" if tags.allow_nan else True, **amounts}

    def _takes(self, kind: type) -> bool:
        """Whether the method takes only inputs of this kind beside the rows."""
        return all(issubclass(accepted, kind) for accepted in self.method.accepts)

    def _supervised(self) -> bool:
        """Whether classes of the rows take part, where that is an option of the method."""
        return getattr(self, "target_weight", None) is not None

    def _names(self) -> list[str] | None:
        """Return the names of the columns, where a frame had names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None or self.kind_of_rows != Features.kind else list(names)

    def _require_fitted(self) -> None:
        if not hasattr(self, "run_"):
            raise ConfigError("NOT-FITTED", f"this {type(self).__name__} instance is not fitted yet",
                              hint="call fit with the rows first")

    @property
    def _n_features_out(self) -> int:
        """The number of axes, for `get_feature_names_out`."""
        return int(self.run_.embedding.shape[1])

    def __sklearn_tags__(self) -> Tags:
        """The tags that tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        features = self.kind_of_rows == Features.kind
        tags.input_tags.pairwise = not features
        graph = any(accepted in self.method.accepts for accepted in GRAPHS) and self.kind_of_rows != Similarities.kind
        tags.input_tags.sparse = not self._takes(Viewed) if features else graph
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.positive_only = self.method.domain == "amounts" or self.kind_of_rows == Dissimilarities.kind
        tags.input_tags.categorical = self.method.domain == "answers"
        tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
        tags.target_tags.required = self._takes(Labeled) or self._takes(Viewed)
        tags.target_tags.multi_output = self._takes(Viewed)
        return tags


def holds_texts(X: Any) -> bool:
    """Whether any cell of rows is a text."""
    cells = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    return cells.dtype.kind in "OUT" and any(isinstance(cell, str) for cell in cells.flat)


def table_of_texts(rows: Array, names: Sequence[str]) -> Any:
    """Return rows (m x d) of numbers and texts as columns of Arrow; raises ValueError for a column that has both."""
    import pyarrow as pa

    columns = []
    for name, column in zip(names, rows.T, strict=True):
        try:
            columns.append(pa.array(column.tolist(), from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise ValueError(f"the column {name!r} holds neither numbers alone nor texts alone") from None
    return pa.table(columns, names=list(names))


def is_single(X: Any) -> bool:
    """Whether rows are an array of single precision."""
    return getattr(X, "dtype", None) == np.float32


def both_ways(rows: Any) -> Any:
    """Return a graph's edges (n x n) with both directions where one is given alone, as of nearest neighbors.

    What a point is to itself is left out.
    """
    edges = coo_array(rows)
    size, apart = edges.shape[0], edges.coords[0] != edges.coords[1]
    left, right, numbers = edges.coords[0][apart], edges.coords[1][apart], edges.data[apart]
    alone = ~np.isin(right.astype(np.int64) * size + left, left.astype(np.int64) * size + right)
    return coo_array((np.concatenate([numbers, numbers[alone]]),
                      (np.concatenate([left, right[alone]]), np.concatenate([right, left[alone]]))), shape=edges.shape)


@contextmanager
def refusals(where: str = "") -> Iterator[None]:
    """Raise what scikit-learn's own checks find as errors of mlcli, in the same words, with their place."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, MlcliError):
            raise
        raise check_error(error, where) from None


def warn(text: str, level: int) -> None:
    """Warn of what a run warned of; a ConvergenceWarning where an iteration stopped at its limit.

    `level` counts the calls up to that of the user, this one included.
    """
    warnings.warn(text, ConvergenceWarning if text.startswith(UNCONVERGED) else UserWarning, stacklevel=level)


WIDTH = 88
ELSEWHERE = {**FLAGS_ELSEWHERE, "init": START}  # names of scikit-learn's, and the parameter of the same meaning


def declare(method: type[Method]) -> type[Estimator]:
    """Return the estimator of a method, a class with the method's name, parameters and documentation."""
    parameters = parameters_of(method)
    return type(method.__name__, (Estimator,), {
        "__init__": constructor(parameters), "__doc__": documentation(method, parameters),
        "__module__": "mlcli.sklearn", "method": method, "parameters": parameters})


def constructor(parameters: Mapping[str, Parameter]) -> Callable[..., None]:
    """Return an `__init__` with these parameters as keywords, which it stores as they are."""
    signature = inspect.Signature([
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
          for name, parameter in parameters.items())])

    def __init__(self: Any, *args: Any, **values: Any) -> None:
        for name in set(values) - set(parameters):
            near = ELSEWHERE.get(name) or next(iter(get_close_matches(name, parameters, 1)), "")
            raise TypeError(f"got an unexpected keyword argument {name!r}"
                            + (f"; it is {near!r} here" if near in parameters else ""))
        given = signature.bind(self, *args, **values)
        given.apply_defaults()
        for name in parameters:
            setattr(self, name, given.arguments[name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def documentation(method: type[Method], parameters: Mapping[str, Parameter]) -> str:
    """Return the method's own text with its parameters, as scikit-learn lists them."""
    lines = [inspect.cleandoc(method.__doc__ or ""), "", "Parameters", "----------"]
    for name, parameter in parameters.items():
        own = "" if parameter.usual is None else f", which is {parameter.usual!r}, or what the data allows"
        lines += [f"{name} : {parameter.words}, default={parameter.default!r}{own}",
                  textwrap.fill(parameter.sentence, WIDTH, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)
