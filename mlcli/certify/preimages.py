"""The decoder of a nonlinear method: its parts are those of the model, and some training rows are decoded again."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, around_median, count, later, ratio, skipped
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.chain.stages import Stages

NUMBER, SOLVED = 1e-8, 2e-5  # seconds for each number that is compared, and for a local system
CLOSE = 1e-9  # relative gap of squared distances below which either may be the nearer
PAIRS = 400  # rows whose distances show whether a rate is one over their median
PLACED = 1e-9  # relative error of landmarks' coordinates, which are projected


@frozen
class Decoding:
    """A decoder, the training rows of the model, and the figures that the run states."""

    option: Any
    decoder: Any
    points: Array  # m x d, less the origin
    origin: Array  # d
    coordinates: Array  # m x p
    stated: dict[str, float]
    subject: Subject
    chain: Stages

    @property
    def total(self) -> float:
        """Σ ‖x - mean‖²."""
        return float(np.sum((self.points - self.points.mean(axis=0)) ** 2))

    @property
    def reach(self) -> float:
        """The largest number of the points, and of their origin."""
        return max_abs(self.points) + max_abs(self.origin)

    def sample(self, cost: float) -> Indices:
        """Return the rows to decode again, at `cost` seconds each."""
        return self.subject.plan.sample(0.2, cost, len(self.points), least=2)

    def share(self, name: str, squares: float, allowed: float) -> Check:
        """Check a sum of squared errors over the total, as stated; `allowed` is the relative rounding of an error."""
        stated = self.stated.get(name)
        if stated is None or not self.total > 0:
            return skipped("decoder error", "all rows are equal" if not self.total > 0 else f"{name} is not stated")
        found = squares / self.total
        return ratio("decoder error", abs(found - stated), allowed * (np.sqrt(max(found, stated)) + allowed),
                     f"{name} = Σ‖x̂ - x‖² / Σ‖x - mean‖²")


def preimage_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of a decoder that was chosen."""
    decoder, parts, option = subject.projector.decoder, subject.similarity.parts, chain.decoder
    if decoder is None or parts.points is None:
        yield count("decoder", 1, "decoders that are missing")
        return
    origin = np.zeros(parts.points.shape[1]) if parts.origin is None else parts.origin
    whole = len(parts.points) == subject.size
    coordinates = subject.embedding if whole else subject.fit_coordinates
    found = Decoding(option, decoder, parts.points, origin, coordinates, dict(subject.model.fit), subject, chain)
    if hasattr(decoder, "coordinates"):
        gap = max_abs(decoder.coordinates - coordinates) if decoder.coordinates.shape == coordinates.shape else np.inf
        yield ratio("decoder rows", gap, 0.0 if whole else PLACED * max_abs(coordinates),
                    "the decoder's coordinates are those of the training rows")
    wrong = [name for name, kept, asked in PARTS[option.name](found) if not np.array_equal(kept, asked)]
    yield count("decoder parts", len(wrong), f"parts of the decoder that are not the model's: {', '.join(wrong) or 0}")
    if not wrong:
        yield from CHECKS[option.name](found)


def _barycentric_parts(found: Decoding) -> list[tuple[str, Any, Any]]:
    decoder, option = found.decoder, found.option
    return [("points", decoder.points, found.points), ("origin", decoder.origin, found.origin),
            ("neighbors", decoder.neighbors, min(option.neighbors, len(found.points))),
            ("ridge", decoder.ridge, option.ridge)]


def _fixed_point_parts(found: Decoding) -> list[tuple[str, Any, Any]]:
    decoder, option, subject = found.decoder, found.option, found.subject
    return [("points", decoder.points, found.points), ("origin", decoder.origin, found.origin),
            ("axes", decoder.axes, subject.projector.axes), ("limit", decoder.limit, option.limit),
            ("rate", decoder.rate, subject.similarity.parts.function.rate), ("tolerance", decoder.tolerance,
                                                                             option.tolerance),
            ("share", decoder.share, (found.chain.centering == "double") / len(found.points))]


def _ridge_parts(found: Decoding) -> list[tuple[str, Any, Any]]:
    asked, chain = found.option.rate, found.chain
    unit = found.subject.data.unit ** (chain.power if chain.coordinates.scale == "roots" else 0)
    return [] if asked is None else [("rate", found.decoder.rate, (unit**-2).parameter(asked, "method.decoder.rate"))]


def _barycentric(found: Decoding) -> Iterator[Check]:
    """Yield the check of features by the neighbors of some rows, found and weighted again."""
    decoder, size = found.decoder, len(found.points)
    rows = found.sample(NUMBER * found.coordinates.size + SOLVED)
    decoded = decoder.decode_left_out(decoder.coordinates[rows]) - found.origin
    gaps, squares, clear = [0.0], 0.0, True
    for place, row in enumerate(rows.tolist()):
        weights = _local_weights(decoder, row)
        if weights is None:
            clear = False
            continue
        expected = weights[1] @ found.points[weights[0]]
        gaps.append(max_abs(expected - decoded[place]) / max(float(np.abs(weights[1]).sum()), 1.0))
        squares += float(np.sum((expected - found.points[row]) ** 2))
    grown = EPS * max(1 / decoder.ridge, decoder.neighbors)
    yield ratio("decoder", max(gaps), grown * found.reach, "weights that reproduce the coordinates of some rows, "
                "times the features of their neighbors", exact=len(rows) == size)
    if len(rows) < size:
        yield later("decoder error")
    elif clear:
        yield found.share("decoder_error_left_out", squares, grown * found.reach * np.sqrt(
            found.points.size / max(found.total, np.finfo(float).tiny)))


def _local_weights(decoder: Any, row: int) -> tuple[Indices, Array] | None:
    """Return the neighbors (k) of a training row at other places, and their weights (k); None where ties decide.

    They minimize ‖y - Σ wⱼ yⱼ‖² + r Σ wⱼ² with Σ wⱼ = 1, by its Lagrange equations.
    """
    apart = decoder.coordinates - decoder.coordinates[row]
    squares = np.einsum("ij,ij->i", apart, apart)
    order = np.argsort(squares, kind="stable")
    count = decoder.neighbors + 1
    near = order[:count]
    if count < len(order) and squares[order[count]] - squares[near[-1]] <= CLOSE * squares[order[count]]:
        return None
    there = near[squares[near] > 0][: decoder.neighbors] if squares[near[-1]] > 0 else near[: decoder.neighbors]
    gram = apart[there] @ apart[there].T
    trace = float(np.trace(gram))
    system = np.ones((len(there) + 1, len(there) + 1))
    system[-1, -1] = 0.0
    system[:-1, :-1] = gram / (trace or 1.0) + decoder.ridge * np.eye(len(there))
    return there, np.linalg.solve(system, np.append(np.zeros(len(there)), 1.0))[:-1]


def _ridge(found: Decoding) -> Iterator[Check]:
    """Yield checks of the regression's equations (K + α I) A = X - mean, of its rate and of its errors."""
    decoder, size, alpha = found.decoder, len(found.points), found.option.alpha
    centered = found.points - found.points.mean(axis=0)
    yield ratio("decoder mean", max_abs(decoder.mean - found.origin - found.points.mean(axis=0)),
                8 * EPS * found.reach, "the mean of the training rows")
    rows = found.sample(NUMBER * (found.coordinates.size + found.points.size))
    kernel = _gaussian(decoder.coordinates[rows], decoder.coordinates, decoder.rate)
    gap = kernel @ decoder.weights + alpha * decoder.weights[rows] - centered[rows]
    scale = EPS * max(size, 10) * ((size + alpha) * max_abs(decoder.weights) + found.reach)
    yield ratio("decoder", max_abs(gap), scale, "(K + α I) A = X - mean on some rows", exact=len(rows) == size)
    if found.option.rate is None:
        yield _median_rate(found)
    yield found.share("decoder_error", float(np.sum((alpha * decoder.weights)**2)), EPS * max(size, 10))
    if not found.subject.plan.full and len(rows) < size:
        yield later("decoder error")
        return
    values, vectors = np.linalg.eigh(_gaussian(decoder.coordinates, decoder.coordinates, decoder.rate))
    diagonal = (vectors**2) @ (1 / (np.maximum(values, 0.0) + alpha))
    yield found.share("decoder_error_left_out", float(np.sum((decoder.weights / diagonal[:, None]) ** 2)),
                      EPS * max(size, 10) * (1 + float(values[-1]) / alpha))


def _median_rate(found: Decoding) -> Check:
    """Check that the rate is one over the median squared distance of coordinates; of a sample, about that."""
    size = len(found.coordinates)
    chosen = np.random.default_rng(found.subject.plan.seed + 5).choice(size, min(size, PAIRS), replace=False)
    some = found.decoder.coordinates[chosen]
    squares = np.sum((some[:, None] - some[None]) ** 2, axis=2)[np.triu_indices(len(chosen), 1)]
    squares = squares[squares > 0]
    if not len(squares):
        return count("decoder rate", int(found.decoder.rate != 1.0), "the rate of rows at one place is one")
    below, wrong = around_median(squares * found.decoder.rate, 1e-9, whole=size <= PAIRS)
    return count("decoder rate", int(wrong), f"one over the median squared distance: {below:.3f} of pairs are nearer")


def _fixed_point(found: Decoding) -> Iterator[Check]:
    """Yield checks that some pre-images are fixed points, no less similar than the row that they start from."""
    decoder, size = found.decoder, len(found.points)
    rows = found.sample(NUMBER * found.points.size * 60)
    places = decoder(found.coordinates[rows]) - found.origin
    weights = found.coordinates[rows] @ found.subject.projector.axes.T + decoder.share
    shares = weights * _gaussian(places, found.points, decoder.rate)
    values, sizes = shares.sum(axis=1), np.abs(shares).sum(axis=1)
    begun = (weights * _gaussian(found.points[rows], found.points, decoder.rate)).sum(axis=1)
    rounding = EPS * max(size, 10) * sizes
    yield ratio("decoder ascent", float(np.maximum(begun - values, 0.0).max(initial=0.0)),
                float(rounding.max(initial=0.0)), "pre-images are at least as near in feature space as their rows")
    positive = values > 10 * rounding
    next_places = shares[positive] @ found.points / values[positive, None]
    steps = np.sqrt(decoder.rate) * np.linalg.norm(next_places - places[positive], axis=1)
    wrong = np.sqrt(decoder.rate) * found.reach * rounding[positive] / values[positive] + decoder.tolerance
    ended = steps <= 10 * wrong
    if 0 < np.sum(~ended) <= found.stated.get("decoder_unconverged", 0):
        yield skipped("decoder", f"{int(np.sum(~ended))} of {len(rows)} pre-images did not converge")
    else:
        yield ratio("decoder", float((steps / wrong).max(initial=0.0)), 1.0,
                    "z = Σ γ k(z, x) x / Σ γ k(z, x), on some rows", exact=len(rows) == size)
    if len(rows) == size and found.stated.get("decoder_rows") == size:
        yield found.share("decoder_error", float(np.sum((places - found.points) ** 2)), 1e-9 + decoder.tolerance)
    else:
        yield later("decoder error")


def _gaussian(left: Array, right: Array, rate: float) -> Array:
    """Return exp(-rate d²) of all pairs of (m, p) and (n, p) rows, by differences."""
    found: AnyArray = np.zeros((len(left), len(right)))
    for column in range(left.shape[1]):
        found += (left[:, column, None] - right[:, column]) ** 2
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-rate * found))


PARTS: dict[str, Callable[[Decoding], list[tuple[str, Any, Any]]]] = {
    "barycentric": _barycentric_parts, "fixed_point": _fixed_point_parts, "ridge": _ridge_parts}
CHECKS: dict[str, Callable[[Decoding], Iterator[Check]]] = {
    "barycentric": _barycentric, "fixed_point": _fixed_point, "ridge": _ridge}
