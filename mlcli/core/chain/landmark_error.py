"""Bounds of the angles between axes by landmarks and those of all points, from sampled rows of the whole kernel."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import nonzero_columns
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.core.chain.nystrom import TOGETHER
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import symmetric_eigen, tall_qr
from mlcli.core.model import Model

LEAST, MOST = 30, 100  # sampled rows, between which they are a twentieth of the landmarks
SPARE = 20  # rows besides two for each axis
LEVEL = 0.05  # share of samples in which a bound may be too small
STREAM = 0x6C6D  # of random numbers, so that the sample does not depend on the choice of landmarks
FEWEST = 0.5  # degrees of freedom


def sample_count(size: int, landmarks: int, axes: int) -> int:
    """Return how many rows of the kernel of `size` points are sampled for the error of `axes` axes."""
    return min(max(LEAST, min(MOST, landmarks // 20), 2 * axes + SPARE), size)


def sample_rows(size: int, landmarks: int, axes: int, compute: Compute) -> Indices:
    """Return the points (s), ascending, whose kernel rows are sampled."""
    count = sample_count(size, landmarks, axes)
    return np.sort(np.random.default_rng([compute.seed, STREAM]).choice(size, count, replace=False))


def with_errors(model: Model, rows: Indices, columns: Callable[[slice], Array], *, centered: bool) -> Model:
    """Return the fit of landmarks, all points placed, with bounds of its axes' errors.

    `rows` (s) are the sampled points, and `columns` computes the kernel between some of all points and these (b x s),
    before it is centered.
    """
    embedding, extent = model.embedding, nonzero_columns(model.embedding)
    every = row_blocks(len(embedding), TOGETHER, len(rows))
    with single_threaded_blas():
        vectors, triangle = tall_qr(embedding[:, extent] - (embedding[:, extent].mean(axis=0) if centered else 0.0))
        images = np.sum([*in_order(lambda some: columns(some).T @ vectors[some], every)], axis=0)
    return _bounded(model, _Basis.of(vectors[rows], triangle, extent), images, centered=centered)


def with_errors_by_products(model: Model, rows: Indices, products: Array, *, centered: bool) -> Model:
    """Return what `with_errors` does where `products` (s x p + 1) of the kernel rows of the sampled points are known.

    These are with the placed axes and with ones. No array of as many rows as points is made beside the embedding.
    """
    embedding, extent = model.embedding, nonzero_columns(model.embedding)
    every, axes = row_blocks(len(embedding), TOGETHER, max(int(extent.sum()), 1)), int(extent.sum())
    mean, triangle = np.zeros(axes), np.zeros((0, axes))
    with single_threaded_blas():
        if centered:
            mean = np.sum([embedding[some][:, extent].sum(axis=0) for some in every], axis=0) / len(embedding)
        for some in every:
            triangle = tall_qr(np.vstack([triangle, embedding[some][:, extent] - mean]))[1]
        back = np.linalg.pinv(triangle)
        images = (products[:, :-1][:, extent] - np.outer(products[:, -1], mean)) @ back
        given = (embedding[rows][:, extent] - mean) @ back
    return _bounded(model, _Basis.of(given, triangle, extent), images, centered=centered)


def _bounded(model: Model, basis: "_Basis", images: Array, *, centered: bool) -> Model:
    """Return the fit with the bounds, given rows of K Q (s x q) of the sampled points before they are centered."""
    size = len(model.embedding)
    with single_threaded_blas():
        sines = _bounds(basis, size, images, _following(model.ranks, size), centered=centered)
    return replace(model, spectrum=replace(model.ranks, errors=np.degrees(np.arcsin(sines))))


@frozen
class _Basis:
    """An orthonormal basis Q of the placed axes (n x q), at sampled points, and each axis in it."""

    rows: Array  # s x q, those of Q
    axes: Array  # q x p, as unit vectors; NaN for an axis without an extent

    @classmethod
    def of(cls, rows: Array, triangle: Array, extent: AnyArray) -> "_Basis":
        """Return the basis of the axes with an `extent`, a (p,) mask, which are Q times a triangle (q x q)."""
        axes = np.full((len(triangle), len(extent)), np.nan)
        axes[:, extent] = triangle / np.maximum(np.linalg.norm(triangle, axis=0), np.finfo(float).tiny)
        return cls(rows, axes)


def _following(spectrum: Spectrum, size: int) -> float:
    """Return the eigenvalue after those of the axes, estimated for all `size` points from that of the landmarks.

    Where no more than these were computed, it is taken to be the last of them.
    """
    count = spectrum.vectors.shape[1]
    known = [*spectrum.solved[count - 1 :], *spectrum.solved_at_least][:2]
    return max(float(known[-1]), 0.0) * size / len(spectrum.vectors)


def _bounds(basis: _Basis, size: int, images: Array, following: float, *, centered: bool) -> Array:
    """Return upper confidence bounds of the sines of the angles (p) of `size` points, at 95 %, 1 where there is none
    below.

    `images` (s x q) are rows of K Q, for the basis Q (n x q), before their mean is subtracted. Their regression on
    the rows of Q estimates H = QᵀKQ; what it leaves is a sample of the residual R = K Q - Q H. An axis a differs from
    the eigenvector by the angle to its Ritz vector Q u, with Hu = θu, and by that of the Ritz vector, whose sine is at
    most ‖R u‖ / (θ - μ), with μ the largest eigenvalue of the rest. The first has a standard error from the regression;
    the squared norm, a sum of unequal terms, as many degrees of freedom as Satterthwaite counts.
    Source: Davis and Kahan, 1970; Stewart and Sun, "Matrix Perturbation Theory", 1990, theorem V.3.4; Satterthwaite,
    1946.
    """
    from scipy.special import chdtri, stdtrit

    (count, width), given = images.shape, basis.rows
    if centered:
        given, images = given - given.mean(axis=0), images - images.mean(axis=0)
    inverse = np.linalg.pinv(given.T @ given)
    slopes = inverse @ (given.T @ images)
    values, turns = symmetric_eigen((slopes + slopes.T) / 2)
    degrees = max(count - 1 - width, 1)
    left = np.square((images - given @ slopes) @ turns)  # of each Ritz vector, s x q
    variance, whole = left.sum(axis=0) / degrees, 1 - count / size  # of all rows, nothing is left to chance
    found = np.full(basis.axes.shape[1], np.nan)
    for place, axis in zip(np.flatnonzero(np.isfinite(basis.axes).any(axis=0)), range(width), strict=True):
        terms, others = left[:, axis], np.arange(width) != axis
        inside = np.sqrt(max(1 - float(turns[:, axis] @ basis.axes[:, place]) ** 2, 0.0))
        spread = whole * variance[axis] * np.einsum("ij,ij->j", turns, inverse @ turns)
        gaps, rest = np.abs(values[axis] - values[others]), values[axis] - following
        if rest <= 0 or not gaps.all():
            found[place] = 1.0
            continue
        inside += whole and stdtrit(degrees, 1 - LEVEL) * np.sqrt(np.sum(spread[others] / np.square(gaps)))
        mean, square = float(terms.mean()), float(terms.var(ddof=1)) * whole
        free = np.clip(2 * mean**2 * count / square, FEWEST, degrees) if square > 0 else np.inf
        growth = free / chdtri(free, 1 - LEVEL) if np.isfinite(free) else 1.0
        outside = np.sqrt(size * (variance[axis] if whole else mean) * growth) / rest
        found[place] = min(np.hypot(inside, outside), 1.0)
    return found
