"""The scores by which a run's model tells how far new rows lie off the manifold, from training rows or held-out ones.

Without rows held out, each of a sample of training rows is scored as if the fit had not seen it: squared residuals by
their leverage, distances to neighbors with the row left out. Coordinates were chosen with these rows, so p is
approximate. Rows that are held out (`report.calibration`) are placed as new ones are, and p is exact.
"""

from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import release_pages, take_rows
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.scaling import Unit, all_finite
from mlcli.core.model import Model
from mlcli.core.similarities.off_manifold import (
    LEAST,
    ManifoldScore,
    ReferenceRows,
    kind_of,
    leverage_free,
    reference_of,
    scored_rows,
    with_reaches,
)
from mlcli.core.similarities.projector import NoProjection, Projector
from mlcli.data.table.table import Table
from mlcli.findings.frame.result import Result
from mlcli.methods import Method
from mlcli.rundir.model import PlacedRows, ScoredModel, StoredModel


@frozen
class TrainingRows:
    """A sample of the rows of a step, with the moments of all coordinates."""

    rows: Array  # m x d, prepared
    places: Indices  # m
    coordinates: Array  # m x p
    count: int  # n
    mean: Array  # p, in the units of the computation
    precision: Array  # p x p

    @classmethod
    def of(cls, values: Array, embedding: Array, places: Indices, unit: Unit) -> "TrainingRows":
        """Return the sample at some places (m) of prepared rows (n x d) and of their coordinates (n x p), of a unit."""
        mean, precision = moments(unit.measured(embedding))
        return cls(values[places], places, coordinates=take_rows(embedding, places), count=len(embedding), mean=mean,
                   precision=precision)


def moments(embedding: Array) -> tuple[Array, Array]:
    """Return the mean (p) of coordinates (n x p) and the inverse of their covariance, over n - 1 (p x p)."""
    count, axes = embedding.shape
    blocks = row_blocks(count, 2**20, axes)
    sums, products = list[Array](), np.zeros((axes, axes))
    for block in blocks:
        sums.append(embedding[block].sum(axis=0))
        release_pages()
    mean = np.sum(sums, axis=0) / count
    for block in blocks:
        gaps = embedding[block] - mean
        release_pages()
        products += np.einsum("ij,ik->jk", gaps, gaps)
    deviations = np.sqrt(np.diag(products))
    sizes = np.where(deviations > 0, deviations, 1.0)
    correlations = products / np.outer(sizes, sizes)
    precision = np.linalg.pinv(correlations, hermitian=True) / np.outer(sizes, sizes) * max(count - 1, 1)
    precision[deviations == 0] = precision[:, deviations == 0] = 0.0
    return mean, precision


def score_model(result: Result) -> ScoredModel:
    """Return the model of a run with scores of its steps, calibrated by rows held out or else by training rows."""
    model = result.finished()
    with no_listeners(), single_threaded_blas():
        places = sample_rows(result)
        if places is None or not np.isfinite(take_rows(result.model.embedding, places)).all():
            return ScoredModel(model)  # the certificate names coordinates that are no numbers
        decodes = result.start.held_out is not None or not result.config.method.follows_rows
        last, own = score_step(result.config.method, result.model, result.prepared, places, decodes=decodes)
        views = tuple(replace(view, score=calibrated(*score_view(projector, table.values, places, decodes=decodes)))
                      for view, projector, table in zip(model.views, result.model.others, result.prepared.views[1:],
                                                        strict=False))
        first, steps = result.start.reduced, model.reductions
        if first is not None:
            kept = places if result.model.kept is None else result.model.kept[places]
            before, theirs = score_step(first.method, first.model, first.given.table, kept, decodes=True)
            steps = (*steps[:-1], replace(steps[-1], score=before))
            own = theirs if own is None else own if theirs is None else np.maximum(own, theirs)
        scored = replace(model, reductions=steps, views=views, score=calibrated(last, own))
        return hold_out(scored, result)


def hold_out(model: StoredModel, result: Result) -> ScoredModel:
    """Return the model with scores of the rows that were held out, where there are any."""
    held, kept = result.start.held_out, result.model.kept
    if held is None or model.score is None:
        return ScoredModel(model)
    if held.kind != "features" and kept is not None:
        held = replace(held, values=held.values[:, kept], columns=tuple(model.trained))
    views = tuple(view if view.score is None else replace(view, score=exact(
        view.score, placed_view(model, held, number).scores)) for number, view in enumerate(model.views, 2))
    placed = model.place(held if held.view is None else held.views[0])
    return ScoredModel(replace(model, views=views, score=exact(model.score, placed.scores)), placed)


def placed_view(model: StoredModel, held: Table, number: int) -> PlacedRows:
    """Return rows of one view as the model places them; the first has number 1."""
    return model.of_view(number).place(held.views[number - 1])


def calibrated(score: ManifoldScore | None, scores: Array | None) -> ManifoldScore | None:
    """Return a score with the scores of training rows (m) for p."""
    return None if score is None or scores is None else replace(score, calibration=np.sort(scores))


def exact(score: ManifoldScore | None, scores: Array | None) -> ManifoldScore | None:
    """Return a score with the scores of rows held out of the fit (m) for p."""
    return None if score is None or scores is None else replace(score, calibration=np.sort(scores), exact=True)


def sample_rows(result: Result) -> Indices | None:
    """Return the places of the training rows to score; None where rows have no score."""
    projector, kind, table = result.model.projector, result.method_input.kind, result.prepared
    if kind not in ("features", "dissimilarities") or isinstance(projector, NoProjection) or (
            not projector.similarity.places) or table.rows < LEAST:
        return None
    most = scored_rows(table.rows, table.values.shape[1])
    held = rows_of(table.values)
    if held is not None:
        return held.some(most)
    there = np.arange(table.rows)
    if projector.decoder is None and not all_finite(table.values):  # which would give missing cells
        there = np.flatnonzero(np.isfinite(table.values).all(axis=1))
    if len(there) < LEAST:
        return None
    if len(there) <= most:
        return there
    return np.sort(result.config.compute.generator().choice(there, most, replace=False))


def score_step(method: Method, model: Model, table: Table, places: Indices, *,
               decodes: bool) -> tuple[ManifoldScore | None, Array | None]:
    """Return the score of a method's step, and those of its training rows at some places, each left out (m).

    `decodes`: the errors of a decoder are as large as those of other rows, or p is computed from these.
    """
    assert isinstance(model.projector, Projector)
    if model.needs_all_views:
        return None, None
    if table.kind == "dissimilarities":
        measured = model.projector.input_unit.measured(table.values[np.ix_(places, places)])
        return by_neighbors(*with_reaches(measured, None, places))
    if model.others:
        return score_view(model.projector, table.values, places, decodes=decodes)
    training = TrainingRows.of(table.values, model.embedding, places, model.projector.output_unit)
    of_chain = method.chain_of(table.kind) is not None and model.spectrum is not None
    return score_rows(model.projector, training, model if of_chain else None,
                      linear=method.columns_model != "none", decodes=decodes)


def score_view(projector: Projector | NoProjection, values: Array, places: Indices, *,
               decodes: bool) -> tuple[ManifoldScore | None, Array | None]:
    """Return the score of rows (n x d) of one of several views, and those at some places, each left out (m).

    Coordinates are those that its rows have alone; neither is there where they have none.
    """
    if isinstance(projector, NoProjection):
        return None, None
    coordinates = projector.project(values[places])
    mean, precision = moments(projector.output_unit.measured(coordinates))
    training = TrainingRows(values[places], places, coordinates=coordinates, count=len(places), mean=mean,
                            precision=precision)
    return score_rows(projector, training, None, linear=False, decodes=decodes)


def score_rows(projector: Projector, training: TrainingRows, chain: Model | None, *, linear: bool,
               decodes: bool) -> tuple[ManifoldScore, Array]:
    """Return the score of rows of features, and those of training rows, each left out (m).

    `chain` is the model of a chain, whose axes are eigenvectors of the kernel; `linear`: it has T² and Q; `decodes` as
    in `score_step`.
    """
    kind = kind_of(projector, projector.input_unit.measured(training.rows[:1]), of_chain=chain is not None,
                   decodes=decodes)
    if kind == "neighbors":
        measured = np.asarray(projector.input_unit.measured(training.rows))
        return by_neighbors(*reference_of(projector, measured, projector.similarity.parts.points))
    lengths = axis_lengths(projector, chain) if kind == "residual" and chain is not None else None
    score = ManifoldScore(kind, 1.0, training.mean, training.precision, lengths, linear=linear)
    found = leverage_free(score.measured(projector, training.rows, training.coordinates),
                          score.hotelling(projector, training.coordinates), training.count)
    return of_scale(score, found)


def by_neighbors(reference: ReferenceRows, scores: Array) -> tuple[ManifoldScore, Array]:
    """Return the score by distances to neighbors, and those of training rows (m)."""
    return of_scale(ManifoldScore("neighbors", 1.0, reference=reference), scores)


def of_scale(score: ManifoldScore, found: Array) -> tuple[ManifoldScore, Array]:
    """Return a score over the mean of those of training rows (m), and these over it."""
    scale = float(found.mean()) or 1.0  # all are zero where axes leave nothing
    return replace(score, scale=scale), found / scale


def axis_lengths(projector: Projector, chain: Model) -> Array:
    """Return the factors (p) of coordinates along axes of length one in the feature space, 1 / (√λ ‖a‖).

    Axes are a = V s / λ, where s is the length of coordinates, and those along V / √λ are √λ / s times these.
    """
    roots, norms = np.sqrt(chain.ranks.axis_eigenvalues), np.linalg.norm(projector.axes, axis=0)
    there = (roots > 0) & (norms > 0)
    return np.divide(1.0, roots * norms, out=np.zeros_like(roots), where=there)
