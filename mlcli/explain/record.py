"""A listener that copies what a fit computes, and makes the steps of an explanation of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import Watcher
from mlcli.base.values.inputs import Viewed, WeightedGraph
from mlcli.core.chain.stages import Stages
from mlcli.core.chain.sums import SumKernel
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import NoProjection
from mlcli.explain.formulas import AXES, COLUMNS, GROUPS, POINTS, TABLE, Entry, Units, Values, sparse, weights_key
from mlcli.explain.steps import ExplainedStep, Matrix
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import Result
from mlcli.methods import Method
from mlcli.methods.tables.combine import TablesMethod

STATES = 10  # of an iteration that are shown
PAIRS = 12  # of rows in a diagram of dissimilarities and distances
SOLVED = {"Inverse": ":inverse", "LinearInverse": ":linear", "Factored": ":columns"}  # by the form of a kernel
LAYOUT = "Y after "  # before the name of a step
FLAT = 2  # dimensions of an array that is shown without being in the table


@frozen
class Draft:
    """A step before its rows and columns have names."""

    key: str
    entry: Entry
    arrays: Sequence[Values]

    def also(self, sentence: str) -> "Draft":
        """Return the step with one more sentence, or none."""
        return replace(self, entry=replace(self.entry, sentence=f"{self.entry.sentence} {sentence}".strip()))


class Recorder(Watcher):
    """The values of a fit, copied as they are computed: what follows overwrites some of them."""

    def __init__(self, plan: FitPlan) -> None:
        data = plan.normalized
        powers = plan.method.powers_of(data)
        chain = plan.method.chain_of(data.kind)
        self.units = Units(values=data.value_unit, lengths=data.number_unit, kernel=data.unit**powers.spectrum,
                           coordinates=data.unit**powers.coordinates)
        centered = chain is None or chain.centering != "none" or chain.kernel.centered
        self.contexts = [plan.method.name, *([] if chain is None else [chain.kernel.name]),
                         *([] if centered else ["uncentered"]), *_weighing(plan.method, chain)]
        self.solves = ""  # the kind of the eigenproblem, as the table has it
        self.drafts: list[Draft] = []
        self.runs: list[list[Any]] = []  # the states of each iteration
        self.iterated: int | None = None  # the number of steps before the last iteration
        self.solved: Any = None

    def computed(self, name: str, value: Any, says: str) -> None:
        """Copy a value that the table names, or an array of a composition."""
        if name == "start":
            self.runs.append([value])
            self.iterated = len(self.drafts)
        elif name == "state":
            self.runs[-1].append(value)
        elif name == "solved":
            self.solved = value
        elif name == "Eigensolve.__call__":
            self._decompose(value)
        else:
            if name == "Minimize.__call__":
                self.iterated = len(self.drafts)
            if name == "kernel":
                form = type(value).__name__
                if "unfolding" not in self.contexts:  # whose factor has no columns of the table
                    form = form if getattr(value, "by_columns", True) else "Dual"
                    self.solves = SOLVED.get(form, "")
                name = f"kernel:{form}"
            self._record(name, value, says)

    def entry(self, key: str) -> Entry | None:
        """Return what the table says of a value in this method, or for its kernel, or of all."""
        keys = (*(f"{key}/{context}" for context in self.contexts), key)
        return next((TABLE[each] for each in keys if each in TABLE), None)

    def _record(self, key: str, value: Any, says: str) -> None:
        entry = self.entry(key)
        if entry is None:
            if "." in key and isinstance(value, np.ndarray) and value.ndim == FLAT:
                name = key.rpartition(".")[2].replace("_", " ")
                unit = self.units.values.exponent
                more = f" Numbers are in the computation's unit: the table is divided by 2^{unit}." if unit else ""
                self.drafts.append(Draft(key, Entry(name.capitalize(), "", " ".join(says.split()) + more),
                                         [Values(name, np.array(value), "", "")]))
            return
        arrays = entry.arrays(value, self.units)
        if arrays:
            self.drafts.append(Draft(key, entry, arrays))

    def _decompose(self, spectrum: Any) -> None:
        """Add the eigenvalues and unit eigenvectors: those of the axes as they are kept, and the further ones."""
        values, kept = spectrum.solved, spectrum.vectors
        vectors = np.array(self.solved.take(min(len(values), len(kept)))[0])
        vectors[:, : kept.shape[1]] = kept
        arrays = [Values("λ", self.units.kernel.plain(np.array(values))[None, :] + 0.0, ("λ",), AXES),
                  Values("V", vectors, POINTS, AXES)]
        kind = self.solves
        if self.solves == ":columns":
            arrays.append(Values("u", np.array(spectrum.directions), COLUMNS, AXES))
        self.drafts.append(self._draft("spectrum", arrays, kind))

    def _draft(self, key: str, arrays: Sequence[Values], kind: str = "") -> Draft:
        """Return a step in the words of the table, of a kind of it where the table has that."""
        entry = self.entry(key + kind) or self.entry(key)
        assert entry is not None, key
        return Draft(key, entry, arrays)

    def steps(self, plan: FitPlan, result: Result) -> list[ExplainedStep]:
        """Return all steps: the rows, what was copied, and what the model says of the end."""
        before, after = self.drafts[: self.iterated], [] if self.iterated is None else self.drafts[self.iterated :]
        drafts = [self._rows(plan), *before, *self._iteration(result), *after, *self._ends(plan, result)]
        return [ExplainedStep(key=draft.key, name=draft.entry.name, formula=draft.entry.formula,
                              sentence=draft.entry.sentence, arrays=[_named(values, plan, result)
                                                                     for values in draft.arrays]) for draft in drafts]

    def _rows(self, plan: FitPlan) -> Draft:
        """Return the input: the rows of all views, or the matrix."""
        data = plan.data
        if data.kind == "features":
            views = data.views if isinstance(data, Viewed) else (data,)
            found = self._draft("rows", [Values("X" if number == 1 else f"X{number}", np.array(view.values), POINTS,
                                                list(view.columns)) for number, view in enumerate(views, start=1)])
            labels = ", ".join(plan.table.labels)
            return found.also(f"The label stands beside the name of each row: {labels}." if labels else "")
        if data.kind == "covariance":
            return self._draft("rows", [Values("C", np.array(data.values), COLUMNS, COLUMNS)], ":covariance")
        values = sparse(data.starts, data.indices, data.weights) if isinstance(data, WeightedGraph) else np.array(
            data.values)
        symbol = {"graph": "G", "kernel": "A"}.get(data.kind, "D")
        return self._draft("rows", [Values(symbol, values)], f":{data.kind}")

    def _iteration(self, result: Result) -> list[Draft]:
        """Return the course of the iteration that gave the result: its objective, and the layout, at ten of its states.
        """
        trace = result.model.trace
        if trace is None or not len(trace):
            return []
        count = len(trace)
        shown = np.arange(1, count + 1) if count <= STATES else np.unique(np.round(np.geomspace(1, count, STATES)))
        shown = shown.astype(np.int64)
        names = [f"step {number}" for number in shown.tolist()]
        arrays = [Values("objective", trace[shown - 1][None, :], ("objective",), names)]
        run = next((run for run in self.runs if len(run) == count + 1 and hasattr(run[-1], "points")), None)
        if run is not None:
            unit = self.units.coordinates
            arrays += [Values(f"{LAYOUT}{name}", unit.plain(np.array(run[number].points)), POINTS, AXES)
                       for name, number in zip(names, shown.tolist(), strict=True)]
        some = f"{len(names)} of {count} steps are shown." if count > len(names) else ""
        return [self._draft("iteration", arrays).also(some)]

    def _ends(self, plan: FitPlan, result: Result) -> list[Draft]:
        """Return what the model says: the spectrum where no kernel was solved, loadings or the map, and coordinates."""
        model, found = result.model, list[Draft]()
        spectrum, projector = model.spectrum, model.projector
        if spectrum is not None and len(spectrum.eigenvalues):
            known = bool(np.isfinite(spectrum.proportions).all())
            ranks = self._draft("ranks", [Values("λ", np.vstack([spectrum.eigenvalues, *(
                [spectrum.proportions] if known else [])]), ("λ", *(["share"] if known else [])), AXES)])
            found.append(ranks.also(f"Here they are {result.config.method.ranks_by()}."))
        goodness = model.goodness
        if goodness is not None and len(goodness.pairs):
            some = np.unique(np.linspace(0, len(goodness.pairs) - 1, PAIRS).round().astype(np.int64))
            found.append(self._draft("shepard", [Values("pairs", goodness.pairs[some].T, ("δ", "d", "d̂"),
                                                        [str(place + 1) for place in some.tolist()])]))
        if model.loadings is not None:
            found.append(self._draft("loadings", [Values("L", np.array(model.loadings.values),
                                                         list(model.loadings.columns), AXES)]))
        elif plan.data.kind == "features" and not isinstance(projector, NoProjection) and isinstance(
                projector.similarity, Columns):
            found.append(self._draft("map", [Values("A", np.array(projector.axes), COLUMNS, AXES)]))
        if not isinstance(projector, NoProjection) and (network := getattr(projector.similarity, "network", None)):
            found.append(self._draft("network", [
                Values(f"W{number}", np.array(layer.weights), COLUMNS if number == 1 else AXES, AXES)
                for number, layer in enumerate(network.layers, start=1)]))
        roots = any(draft.key == "spectrum" for draft in self.drafts) and not result.config.method.scaleless
        found.append(self._draft("coordinates", [Values("Y", np.array(result.embedding.values), POINTS,
                                                        list(result.embedding.columns))], ":roots" if roots else ""))
        return found


def _weighing(method: Method, chain: Stages | None) -> list[str]:
    """Return how a method divides and weighs the kernels of its tables, as the table of formulas names it."""
    if isinstance(method, TablesMethod):
        return [weights_key(method.norm, averaged=method.averaged)]
    if chain is not None and isinstance(chain.kernel, SumKernel):
        return [weights_key(chain.kernel.normalization, averaged=chain.kernel.weights == "rv")]
    return []


def _named(values: Values, plan: FitPlan, result: Result) -> Matrix:
    """Return an array with the names of its rows and columns."""
    height, width = values.values.shape
    return Matrix(values.symbol, values.values, _names(values.rows, height, plan, result, beside=True),
                  _names(values.columns, width, plan, result))


def _names(kind: str | Sequence[str], count: int, plan: FitPlan, result: Result, *, beside: bool = False,
           ) -> Sequence[str]:
    """Return the names of points, columns, axes or groups, or those that are given; numbers where they are others.

    Labels of points stand `beside` their names.
    """
    if not isinstance(kind, str):
        return [*map(str, kind)]
    table = plan.table
    if kind in (POINTS, ""):
        named = [*table.ids]
        if table.labels and beside:
            named = [f"{name} ({', '.join(texts[row] for texts in table.labels.values())})"
                     for row, name in enumerate(named)]
        kept = named if result.model.kept is None else [named[row] for row in result.model.kept.tolist()]
        for names in (kept, named):
            if count == len(names):
                return names
    loadings = result.model.loadings
    for columns in (table.columns, () if loadings is None else loadings.columns) if kind == COLUMNS else ():
        if count == len(columns):  # of categories, loadings name each answer
            return [*columns]
    groups = result.model.groups
    if kind == GROUPS and groups is not None and count == len(groups.names):
        return groups.names
    return [f"group {number}" if kind == GROUPS else str(number) for number in range(1, count + 1)]
