"""Numerical faults, each put into a run at a named place; the checks that see it, and at which depth."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.centering import Centering
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.search import Lists
from mlcli.core.kernels.factored import Factored
from mlcli.core.kernels.forms import Dense
from mlcli.core.kernels.streamed import BlockSums
from mlcli.core.metrics import EUCLIDEAN
from mlcli.core.metrics.angles import Cosine
from mlcli.methods import METHODS, Model
from mlcli.runs.verify import verify
from tests.faults.certificate.support import POINTS, configured, judged

Patch = pytest.MonkeyPatch
Inject = Callable[[Patch], None]
GAUSSIAN = {"name": "kpca", "kernel": {"name": "gaussian", "rate": 0.05}}
POLYNOMIAL = {"name": "kpca", "kernel": {"name": "polynomial", "degree": 2, "gamma": 0.1}}
ISOMAP: dict[str, Any] = {"name": "isomap", "neighbors": {"count": 9}}
STREAMED = {**ISOMAP, "paths": {"store": "streamed", "precision": "float64"}}
LLE: dict[str, Any] = {"name": "lle", "neighbors": {"count": 9}}
DISTANCES = np.sqrt(((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2))
CITY = np.abs(POINTS[:, None] - POINTS[None]).sum(axis=2)  # not Euclidean


@dataclass(frozen=True)
class Fault:
    """A method, what goes wrong in it, and the checks of which at least one must fail."""

    method: dict[str, Any]
    inject: Inject
    seen_by: set[str]
    values: Array = field(default_factory=lambda: POINTS)
    sections: dict[str, Any] = field(default_factory=dict)
    full: bool = False  # whether the run passes, and `mlcli verify --full` sees it

    def seen(self, folder: Path, patch: Patch) -> set[str]:
        """The checks that fail with the fault in, of the run or of all that is left to `mlcli verify --full`."""
        self.inject(patch)
        failed = {name for name, check in judged(configured(
            folder, self.method, self.values, **self.sections)).items() if check["verdict"] == "fail"}
        if not self.full:
            return failed
        assert not failed
        return {check.name for check in verify(folder / "out", full=True).certificate.failed}


def solving(method: str, change: Callable[[Model], Model]) -> Inject:
    """A fault in the model that a method returns."""

    def inject(patch: Patch) -> None:
        kind = METHODS[method]
        whole = kind.solve
        patch.setattr(kind, "solve", lambda self, data, compute: change(whole(self, data, compute)))

    return inject


def eigenpairs(change: Callable[[Array, Array], tuple[Array, Array]]) -> Inject:
    """A fault in the eigenpairs that LAPACK returned."""

    def inject(patch: Patch) -> None:
        from mlcli.core import linalg
        from mlcli.core.eigen import solvers

        def changed(matrix: Array) -> tuple[Array, Callable[[int], Array]]:
            values, vectors = change(*linalg.symmetric_eigen(matrix))
            return values, lambda count: vectors[:, :count]

        patch.setattr(solvers, "leading_eigen", changed)

    return unguarded(inject)


def unguarded(inject: Inject) -> Inject:
    """A fault that the eigensolver's own look at its residuals would stop already."""

    def without(patch: Patch) -> None:
        patch.setattr("mlcli.core.eigen.eigensolve._verify", lambda *arguments: None)
        inject(patch)

    return without


def replacing(place: str, change: Callable[..., Any]) -> Inject:
    """A fault in what a function returns; `change` is given the function and its arguments."""

    def inject(patch: Patch) -> None:
        import importlib

        module, _, name = place.rpartition(".")
        home = importlib.import_module(module)
        whole = getattr(home, name)
        patch.setattr(home, name, lambda *arguments, **named: change(whole, *arguments, **named))

    return inject


def centering(change: Callable[[Array], Dense]) -> Inject:
    """A fault in the centered kernel."""
    return lambda patch: patch.setattr(Dense, "of", classmethod(lambda cls, kernel, *more: change(kernel)))


def centered_columns(patch: Patch) -> None:
    """A fault in the kernel of columns that are not to be centered."""
    whole = Factored.of
    patch.setattr(Factored, "of", classmethod(lambda cls, points, route, centered: whole(points, route)))


def embedding(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    return lambda model: replace(model, embedding=change(model.embedding.copy()))


def projector(**parts: Callable[[Any], Any]) -> Callable[[Model], Model]:
    def change(model: Model) -> Model:
        old = model.projector
        return replace(model, projector=replace(old, **{k: f(getattr(old, k)) for k, f in parts.items()}))

    return change


def spectrum(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    return lambda model: replace(model, spectrum=replace(model.spectrum, solved=change(model.spectrum.solved.copy())))


def at(place: Any, change: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """A change of some entries of an array."""

    def changed(array: Array) -> Array:
        array = array.copy()
        array[place] = change(array[place])
        return array

    return changed


def honest(kernel: Array) -> Dense:
    means = kernel.mean(axis=1)
    return Dense(kernel - means - means[:, None] + means.mean(), Centering(means, across=True))


def uncentered(kernel: Array) -> Dense:
    return Dense(kernel, Centering(np.zeros(len(kernel)), across=False))


def centered_once(kernel: Array) -> Dense:
    return replace(honest(kernel), matrix=(lambda k: (k + k.T) / 2)(kernel - kernel.mean(axis=1)))


def lopsided(kernel: Array) -> Dense:
    dense = honest(kernel)
    dense.matrix[7, :7] *= 1.5
    return dense


def one_bad_row(whole: Any, data: Any) -> Array:
    squared = whole(data)
    squared[5] *= 1.2
    squared[:, 5] = squared[5]
    return squared


def wrong_neighbors(whole: Any, points: Array, count: int, metric: Any) -> Lists:
    lists = whole(points, count, metric)
    far = np.argsort(((points - points[11]) ** 2).sum(axis=1))[-count:]
    part = slice(lists.starts[11], lists.starts[12])
    indices, lengths = lists.indices.copy(), lists.lengths.copy()
    indices[part], lengths[part] = far, np.sqrt(((points[far] - points[11]) ** 2).sum(axis=1))
    return Lists(lists.starts, indices, lengths)


def without_edges(graph: Graph, vertex: int = 3, few: int = 4) -> Graph:
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    lost = graph.indices[graph.starts[vertex] : graph.starts[vertex + 1]][:few]
    gone = (rows == vertex) & np.isin(graph.indices, lost) | (graph.indices == vertex) & np.isin(rows, lost)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[~gone], minlength=graph.size))])
    return Graph(starts, graph.indices[~gone], graph.lengths[~gone])


def longer_edges(graph: Graph, place: int = 17) -> Graph:
    """One edge is longer in both directions: else the kernel has two halves, of which some solvers read one only."""
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    ends = {int(rows[place]), int(graph.indices[place])}
    longer = [{row, column} == ends for row, column in zip(rows.tolist(), graph.indices.tolist(), strict=True)]
    return replace(graph, lengths=graph.lengths * np.where(longer, 1.5, 1.0))


def shortcut_missed(whole: Any, graph: Graph, *rest: Any) -> Any:
    return whole(without_edges(graph), *rest)


def noisy(values: Array, vectors: Array) -> tuple[Array, Array]:
    noise = np.random.default_rng(0).standard_normal(vectors.shape)
    return values, np.linalg.qr(vectors + 1e-7 * noise)[0]


def turned(values: Array, vectors: Array) -> tuple[Array, Array]:
    c, s = np.cos(1e-3), np.sin(1e-3)
    vectors = vectors.copy()
    vectors[:, :2] = vectors[:, :2] @ np.array([[c, -s], [s, c]])
    return values, vectors


def swapped_columns(values: Array, vectors: Array) -> tuple[Array, Array]:
    return values, vectors[:, [1, 0, *range(2, len(values))]]


def single(values: Array, vectors: Array) -> tuple[Array, Array]:
    return values, vectors.astype(np.float32).astype(np.float64)


def swapped(whole: Any, table: Any, values: Array) -> Any:
    found = whole(table, values)
    return replace(found, ids=(found.ids[1], found.ids[0], *found.ids[2:]))


def cut_off(whole: Any, table: Any, values: Array) -> Any:
    return whole(table, values).take(range(len(values) - 1))


def other_labels(whole: Any, table: Any, values: Array) -> Any:
    found = whole(table, values)
    return replace(found, labels={k: (*v[1:], v[0]) for k, v in found.labels.items()})


def stale(whole: Any, folder: Any, model: dict[str, Any]) -> None:
    old = model["projector"]
    whole(folder, {**model, "projector": replace(old, axes=old.axes + 1e-4 * np.abs(old.axes).max())})


def other_preparation(whole: Any, folder: Any, model: dict[str, Any]) -> None:
    old = model["preparation"]
    whole(folder, {**model, "preparation": replace(old, spread=old.spread * 1.01)})


def without_transform(whole: Any, folder: Any, model: dict[str, Any]) -> None:
    whole(folder, {**model, "preparation": replace(model["preparation"], transform=())})


def few_digits(whole: Any, table: Any, *rest: Any) -> None:
    whole(replace(table, values=np.round(table.values, 6)), *rest)


def reversed_rows(whole: Any, table: Any, *rest: Any) -> None:
    whole(replace(table, values=table.values[::-1]), *rest)


def altered_digit(whole: Any, *arguments: Any) -> list[str]:
    lines = list(whole(*arguments))
    if lines[0].startswith("component,"):
        cells = lines[2].split(",")
        lines[2] = ",".join([cells[0], repr(float(cells[1]) * 1.0001), *cells[2:]])
    return lines


def shifted_rows(whole: Any, kernel: Any, number: int, vectors: Array, moments: bool) -> Any:
    """Columns are shifted as rows are, over all blocks: an operator that is not symmetric is given up by the search."""
    last, moved = len(vectors) - 1, list[BlockSums]()
    for found in whole(kernel, number, np.roll(vectors, -1, axis=0), moments):
        rows, inside = found.rows, last - found.rows.start
        moved += [replace(found, product=np.zeros_like(found.product)),
                  BlockSums(slice(rows.start + 1, min(rows.stop, last) + 1), found.product[:inside]),
                  BlockSums(slice(0, max(rows.stop - last, 0)), found.product[inside:])]
    return moved


def wrong_landmarks(model: Model) -> Model:
    similarity = model.projector.similarity
    return projector(similarity=lambda s: replace(s, landmarks=(similarity.landmarks + 1) % 60))(model)


def constant_axis(model: Model) -> Model:
    return embedding(at((slice(None), 0), lambda column: np.ones_like(column)))(model)


def other_rate(kind: str, name: str, factor: float) -> Inject:
    def inject(patch: Patch) -> None:
        from mlcli.core.kernels import functions as kernel_functions

        function = getattr(kernel_functions, kind)
        whole = function.for_points
        patch.setattr(function, "for_points", lambda self, *rest: (lambda f: f.replace(
            **{name: type(getattr(f, name))(getattr(f, name) * factor)}))(whole(self, *rest)))

    return inject


def latent(**parts: Callable[[Any], Any]) -> Callable[[Model], Model]:
    """A change of the parameters of probabilistic PCA, consistently with its axes."""

    def change(model: Model) -> Model:
        old = model.projector.similarity.latent
        new = replace(old, **{k: f(getattr(old, k)) for k, f in parts.items()})
        return replace(model, projector=replace(model.projector, similarity=replace(
            model.projector.similarity, latent=new), axes=new.axes, decoder=replace(
            model.projector.decoder, directions=new.loadings)))

    return change


def fit(**parts: Callable[[Any], Any]) -> Callable[[Model], Model]:
    return lambda model: replace(model, fit={**model.fit, **{k: f(model.fit[k]) for k, f in parts.items()}})


PCA, MDS = {"name": "pca"}, {"name": "mds"}
PPCA, FA = {"name": "ppca"}, {"name": "fa", "axes": {"components": 1}}
EM = {"name": "ppca", "solver": "em"}
GAPS = np.where(np.random.default_rng(4).random(POINTS.shape) < 0.15, np.nan, POINTS)
MODELED = {"prepare": {"missing": "model"}}
COVARIANCE = {"input": {"kind": "covariance", "observations": 60}}
FAULTS: dict[str, Fault] = {
    "an axis has another sign than the model's": Fault(
        PCA, solving("pca", embedding(at((slice(None), 1), lambda c: -c))), {"scores", "projection"}),
    "the first eigenvalue is skipped": Fault(
        MDS, eigenpairs(lambda v, q: (v[1:], q[:, 1:])), {"count", "sum", "frobenius"}),
    "the second eigenvalue is skipped": Fault(
        GAUSSIAN, eigenpairs(lambda v, q: (np.delete(v, 1), np.delete(q, 1, axis=1))), {"count", "sum"}),
    "an eigenvalue that is not kept is skipped": Fault(
        ISOMAP, eigenpairs(lambda v, q: (np.delete(v, 4), np.delete(q, 4, axis=1))), {"sum", "frobenius"}),
    "two eigenvectors are swapped": Fault(ISOMAP, eigenpairs(swapped_columns), {"residual"}),
    "the kernel is not centered": Fault(MDS, centering(uncentered), {"centering", "means", "residual"}),
    "the kernel is centered on one side": Fault(MDS, centering(centered_once), {"residual", "centering"}),
    "the kernel is not symmetric": Fault(GAUSSIAN, unguarded(centering(lopsided)), {"residual"}),
    "one row of D is wrong": Fault(
        MDS, replacing("mlcli.core.chain.distance_chains.squares", one_bad_row), {"residual", "means"}),
    "distances are squared twice": Fault(
        MDS, replacing("mlcli.core.chain.distance_chains.squares", lambda whole, *a: whole(*a) ** 2), {"residual"}),
    "given dissimilarities are not squared": Fault(
        MDS, lambda patch: patch.setattr("mlcli.core.kernels.corrections.Correction.off_diagonal",
                                         lambda self, squared: np.sqrt(squared)),
        {"residual", "means"}, DISTANCES, {"input": {"kind": "dissimilarities"}}),
    "a point has the wrong neighbors": Fault(
        ISOMAP, replacing("mlcli.core.graph.neighbors.nearest", wrong_neighbors), {"neighbors"}),
    "a point has the wrong neighbors, and weights over them": Fault(
        LLE, replacing("mlcli.core.graph.neighbors.nearest", wrong_neighbors), {"neighbors"}),
    "each point is its own neighbor": Fault(
        ISOMAP, replacing("mlcli.core.graph.neighbors.nearest", lambda whole, p, k, m: whole(p, k - 1, m)),
        {"neighbors"}),
    "cosine distances are squared ones of directions": Fault(
        {**MDS, "metric": "cosine"}, lambda patch: patch.setattr(Cosine, "lengths", lambda self, squared: squared),
        {"residual", "means"}),
    "Canberra distances leave a column out": Fault(
        {**ISOMAP, "metric": "canberra"}, replacing("mlcli.core.metrics.minkowski.differences", (
            lambda whole, kind, left, right: whole(kind, left[:, :-1], right[:, :-1]))), {"edge lengths"}),
    "the model holds another metric": Fault(
        {**MDS, "metric": "cosine"}, solving("mds", projector(
            similarity=lambda held: replace(held, metric=EUCLIDEAN))), {"parameters"}),
    "edges are missing": Fault(
        ISOMAP, replacing("mlcli.core.graph.pieces.graph_of", lambda whole, *a: without_edges(whole(*a))),
        {"neighbors"}),
    "an edge is too long": Fault(
        ISOMAP, replacing("mlcli.core.graph.pieces.graph_of", lambda whole, *a: longer_edges(whole(*a))),
        {"edge lengths", "graph"}),
    "geodesics miss a shortcut": Fault(
        {**ISOMAP, "paths": {"algorithm": "dijkstra"}}, replacing("mlcli.core.paths.paths._source", shortcut_missed),
        {"residual", "means"}),
    "geodesics of a streamed kernel miss a shortcut": Fault(
        {**ISOMAP, "paths": {"algorithm": "dijkstra", "store": "streamed", "precision": "float64"}},
        replacing("mlcli.core.paths.paths._source", shortcut_missed), {"residual", "means"}),
    "a block of a streamed product lands a row off": Fault(
        STREAMED, lambda patch: [patch.setattr(f"mlcli.core.paths.{kind}.fold", lambda *given, whole=whole:
                                               shifted_rows(whole, *given))
                                 for kind, whole in folds()] and None, {"residual"}),
    "other landmarks are stored than carried the fit": Fault(
        {**ISOMAP, "landmarks": 30}, solving("isomap", wrong_landmarks), {"residual", "means", "projection"}),
    "the gaussian's rate is wrong": Fault(GAUSSIAN, other_rate("Gaussian", "rate", 1.01), {"parameters"}),
    "the gaussian's default rate is not the median's": Fault(
        {"name": "kpca"}, other_rate("Gaussian", "rate", 1.0001), {"rate"}),
    "the default rate of distances is that of their squares": Fault(
        {"name": "chain", "kernel": {"name": "laplacian"}}, replacing(
            "mlcli.core.kernels.functions.median_length", lambda whole, values, _: np.sqrt(whole(values, 2))),
        {"rate"}),
    "the polynomial's degree is wrong": Fault(POLYNOMIAL, other_rate("Polynomial", "degree", 2), {"parameters"}),
    "Lingoes' constant is halved": Fault(
        {**MDS, "correction": "lingoes"}, replacing(
            "mlcli.core.chain.distance_chains.correction_for", lambda whole, *a: (
                lambda c: replace(c, constant=c.constant / 2))(whole(*a))), {"correction"}, CITY,
        {"input": {"kind": "dissimilarities"}}),
    "eigenvectors have not converged": Fault(MDS, eigenpairs(noisy), {"residual"}),
    "axes are turned in their plane": Fault(MDS, eigenpairs(turned), {"residual"}),
    "eigenvectors are rounded to single precision": Fault(GAUSSIAN, eigenpairs(single), {"residual", "orthogonality"}),
    "axes are off by one": Fault(
        MDS, eigenpairs(lambda v, q: (v, np.roll(q, -1, axis=1))), {"residual"}),
    "an axis is scaled": Fault(
        MDS, solving("mds", embedding(at((slice(None), 0), lambda c: c * 1.001))), {"orthogonality"}),
    "axes of length one are longer": Fault(
        {"name": "chain", "coordinates": {"scale": "unit"}}, solving("chain", embedding(lambda y: 1.001 * y)),
        {"orthogonality"}),
    "a kernel that should stay as it is gets means": Fault(
        {"name": "chain", "kernel": {"name": "sigmoid", "gamma": 0.05}, "centering": "none"},
        solving("chain", projector(centering=lambda c: replace(c, means=c.means + 1e-6))), {"means"}),
    "columns that should stay are centered": Fault(
        {"name": "chain", "kernel": {"name": "linear"}, "centering": "none"},
        centered_columns, {"means"}),
    "a function of geodesics has another rate": Fault(
        {"name": "chain", "graph": {"neighbors": {"count": 9}}, "paths": {}, "kernel": {"name": "gaussian"}},
        solving("chain", projector(similarity=lambda s: replace(s, function=s.function.replace(
            rate=1.5 * (s.function.rate or 0.0))))), {"rate", "residual"}),
    "rows are permuted": Fault(LLE, solving("lle", embedding(lambda y: np.roll(y, 1, axis=0))), {"projection"}),
    "an entry is not a number": Fault(PCA, solving("pca", embedding(at((4, 1), lambda c: np.nan))), {"finite"}),
    "the last row is cut off": Fault(MDS, replacing("mlcli.pipeline.fit.coordinates", cut_off), {"rows"}),
    "an eigenvalue is off by a thousandth": Fault(
        PCA, solving("pca", spectrum(at(0, lambda v: v * 1.001))), {"orthogonality", "sum"}),
    "the trace is wrong": Fault(
        {**MDS, "eigensolve": {"solver": "krylov"}}, lambda patch: patch.setattr(
            Dense, "trace", property(lambda self: 1.01 * float(np.trace(self.matrix)))), {"trace"}),
    "the divisor is wrong": Fault(PCA, solving("pca", lambda m: replace(m, spectrum=replace(m.spectrum, divisor=59))),
                                  {"divisor"}),
    "weights do not sum to one": Fault(
        LLE, replacing("mlcli.methods.local.lle.reconstruction_weights",
                       lambda whole, *a, **more: 1.01 * whole(*a, **more)),
        {"residual", "costs"}),
    "the constant vector is an axis": Fault(LLE, solving("lle", constant_axis), {"centering"}),
    "the smallest cost is skipped": Fault(
        LLE, replacing("mlcli.core.kernels.inverse._smallest_costs", lambda whole, *a: whole(*a)[:, 1:]), {"count"},
        full=True),
    "the model's means are off": Fault(
        GAUSSIAN, solving("kpca", projector(centering=lambda c: replace(c, means=c.means + 1e-6))), {"means"}),
    "the decoder's mean is off": Fault(
        PCA, solving("pca", projector(decoder=lambda d: replace(d, mean=d.mean + 1e-3))), {"decoder"}),
    "ids are swapped": Fault(PCA, replacing("mlcli.pipeline.fit.coordinates", swapped), {"rows"}),
    "labels are a row off": Fault(ISOMAP, replacing("mlcli.pipeline.fit.coordinates", other_labels), {"rows"}),
    "the model on disk is another's": Fault(MDS, replacing("mlcli.rundir.archive.save", stale), {"axes", "projection"}),
    "the model prepares rows in another way": Fault(
        PCA, replacing("mlcli.rundir.archive.save", other_preparation), {"model"},
        sections={"prepare": {"scale": "standard"}}),
    "the model forgets a transform": Fault(
        PCA, replacing("mlcli.rundir.archive.save", without_transform), {"model"},
        sections={"prepare": {"transform": ["unit"]}}),
    "a transform is left out": Fault(
        PCA, replacing("mlcli.data.prepare.prepare.apply_transforms", lambda whole, table, *more: table), {"prepared"},
        sections={"prepare": {"transform": ["unit"]}}),
    "other columns than chosen are kept": Fault(
        PCA, replacing("mlcli.data.prepare.prepare.of_columns", lambda whole, table, chosen: (
            table if chosen is None else whole(table, (chosen + 1) % 5))), {"prepared"},
        sections={"prepare": {"top_variance": 3}}),
    "the embedding is written with few digits": Fault(
        PCA, replacing("mlcli.rundir.embedding.write_table", few_digits), {"scores"}, full=True),
    "the embedding is written in another order": Fault(
        MDS, replacing("mlcli.rundir.embedding.write_table", reversed_rows), {"residual"},
        sections={"report": {"formats": ["npy"]}}, full=True),
    "the noise is not the mean of the discarded eigenvalues": Fault(
        PPCA, solving("ppca", latent(noise=lambda v: v * 1.001)), {"stationarity", "variances"}),
    "the noise is that of another divisor": Fault(
        PPCA, replacing("mlcli.core.latent.probabilistic.mean_of_discarded", lambda whole, *a: whole(*a) * 60 / 59),
        {"variances"}),
    "loadings are as long as principal components": Fault(
        PPCA, replacing("mlcli.core.latent.probabilistic.closed_form",
                        lambda whole, mean, directions, variances, noise: (
            lambda found: replace(found, loadings=directions * np.sqrt(variances)))(
                whole(mean, directions, variances, noise))), {"stationarity", "variances"}),
    "em stops at once and says that it converged": Fault(
        EM, lambda patch: patch.setattr("mlcli.core.iterate.remaining", lambda moved, last: 0.0),
        {"stationarity"}),
    "the direction of most variance is left out": Fault(
        PPCA, eigenpairs(lambda v, q: (v[1:], q[:, 1:])), {"variances", "log-likelihood"}),
    "a likelihood is off by one": Fault(
        PPCA, solving("ppca", fit(log_likelihood=lambda v: replace(v, value=v.value + 1))), {"log-likelihood"}),
    "missing cells are taken for zeros": Fault(
        PPCA, replacing("mlcli.core.latent.probabilistic.posterior", lambda whole, model, data: whole(
            model, replace(data, observed=np.ones_like(data.observed)))), {"ascent"}, GAPS, MODELED),
    "posterior means of rows with gaps are another row's": Fault(
        PPCA, solving("ppca", embedding(lambda y: np.roll(y, 1, axis=0))), {"posterior"}, GAPS, MODELED),
    "posterior covariances are those of complete rows": Fault(
        PPCA, solving("ppca", lambda m: replace(m, spreads=np.broadcast_to(
            np.array(m.fit["posterior_covariance"]), m.spreads.shape))), {"posterior"}, GAPS, MODELED),
    "scores of rows with gaps are another row's": Fault(
        FA, solving("fa", embedding(lambda y: np.roll(y, 1, axis=0))), {"scores"}, GAPS, MODELED),
    "moments of columns with gaps are those of complete rows": Fault(
        FA, replacing("mlcli.methods.factors.fa.estimate_moments", lambda whole, points, *more: replace(
            whole(points[~np.isnan(points).any(axis=1)], *more), points=points)), {"moments"}, GAPS, MODELED),
    "correlations of pairs divide by all rows": Fault(
        {**FA, "gaps": "pairwise"}, replacing("mlcli.core.latent.missing_cells.moments_by_pairs", (
            lambda whole, points: whole(np.where(np.isnan(points), 0.0, points)))), {"moments"}, GAPS, MODELED),
    "a uniqueness is off": Fault(
        FA, solving("fa", fit(uniquenesses=lambda u: {**u, "x0": u["x0"] * 1.001})), {"variances", "stationarity"}),
    "factors stop at once and say that they converged": Fault(
        FA, lambda patch: patch.setattr("mlcli.core.iterate.remaining", lambda moved, last: 0.0),
        {"variances"}),
    "the second factor is taken for the first": Fault(
        FA, replacing("mlcli.methods.factors.factor_analysis.symmetric_eigen", lambda whole, matrix: (lambda pair: (
            pair[0][1:], pair[1][:, 1:]))(whole(matrix))), {"count", "variances", "log-likelihood"}),
    "loadings are turned and scores are not": Fault(
        {"name": "fa", "rotation": {"name": "varimax"}}, replacing(
            "mlcli.methods.factors.factor_model.inverse", lambda whole, turn, **named: np.eye(len(turn))), {"weights"}),
    "scores are other than the model's": Fault(
        FA, solving("fa", projector(axes=lambda axes: axes * 1.01)), {"scores", "weights"}),
    "loadings of a covariance are off": Fault(
        FA, solving("fa", lambda m: replace(m, loadings=replace(m.loadings, values=m.loadings.values * 1.001))),
        {"stationarity", "variances"}, np.cov(POINTS.T), COVARIANCE),
    "spectrum.csv is not the spectrum": Fault(
        PCA, replacing("mlcli.findings.frame.files.column_lines", altered_digit), {"residual", "sum"}, full=True),
}


def folds() -> list[tuple[str, Any]]:
    """The functions that find a block of a streamed kernel of geodesics."""
    from mlcli.core.paths.elimination import EliminationRows
    from mlcli.core.paths.geodesics import DijkstraRows

    return [("geodesics.DijkstraRows", DijkstraRows.fold), ("elimination.EliminationRows", EliminationRows.fold)]
