"""The certificate of several views: what each view's own columns tell of the coordinates.

Columns are taken in orthonormal coordinates of each view, X = Q₁R₁ √n and Y = Q₂R₂ √n, in which the data have the
covariance J = [I B; Bᵀ I] with B = Q₁ᵀQ₂, and loadings Aₖ = Rₖ⁻ᵀWₖ give the model M = [I A₁A₂ᵀ; A₂A₁ᵀ I]: noise may
have any covariance, so that each view's own is that of the data. The log-likelihood is

    -n/2 (D ln 2π + 2 Σ ln |Rₖ| + ln |M| + tr M⁻¹J),

whose slope is that of M⁻¹(M - J)M⁻¹ across: zero where (A₁A₂ᵀ - B) A₂ and (A₂A₁ᵀ - Bᵀ) A₁ are. AₖᵀAₖ holds the
correlations.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import CrossLabeled, Features, TwoViews
from mlcli.certify.subject import max_abs
from mlcli.core.check.second_moments import correlations_check, covariance_checks, loadings_check
from mlcli.core.model import Loadings, Model
from mlcli.core.similarities.projector import require_projector
from mlcli.core.whitening import whiten
from mlcli.methods.views.two_views import rows_of_views

TINY = float(np.finfo(np.float64).tiny)


def bilinear_checks(data: CrossLabeled, model: Model, tolerance: float) -> list[Check]:
    """Return the checks of a bilinear model, with the means of its styles and contents computed again.

    Those of the symmetric model, which converged up to `tolerance`, are along its vectors of styles.
    """
    styles, contents = sorted({*data.labels}), sorted({*data.contents})
    means = pair_means(data, styles, contents)
    given, axes = model.ranks.solved, model.embedding.shape[1]
    factors = data.unit.measured(model.loadings.values) if model.loadings is not None else np.zeros((0, axes))
    there = count("loadings", int(factors.shape != (means[:, :, 0].size, axes) or not np.isfinite(factors).all()),
                  "there is a factor for each column in each style")
    if there.verdict == "fail":
        return [there]
    total = float(np.sum(means**2))
    vectors = getattr(model.projector, "style_vectors", None)
    more = [] if vectors is None else symmetric_checks(means, factors, model, tolerance)
    if vectors is not None:
        if len(vectors) != len(styles):
            return more
        means = np.einsum("sq,tq,tdc->sdc", vectors, vectors, means, optimize=True)
    stacked = means.reshape(-1, len(contents))
    again = np.linalg.svd(stacked, compute_uv=False) ** 2
    top = float(again.max(initial=0.0))
    rounding = EPS * max(*stacked.shape, 10) * top + EPS * total
    values = np.pad(given, (0, axes))[:axes]
    size = min(len(again), len(given))
    spread = max_abs(again[:size] - given[:size]) + float(again[size:].sum())
    lengths = factors.T @ factors - np.diag(values)
    pairs = stacked @ (stacked.T @ factors) - factors * values
    checks = [
        there,
        ratio("spectrum", spread, rounding, "the means of styles and contents, computed again, have these singular "
              "values"),
        ratio("trace", abs(total - model.ranks.solved_trace), rounding,
              "the sum of squares of the means is the total of the spectrum"),
        ratio("factors", max_abs(lengths), rounding,
              "factors of different axes are orthogonal, and their squared lengths are squared singular values"),
        ratio("singular", max_abs(pairs), rounding * np.sqrt(top),
              "M Mᵀ A = A S², with the means M, styles and columns stacked, and the factors A")]
    wanted = factors.reshape(len(styles), -1, axes)
    return [*checks, *more, map_check(model, wanted, np.sqrt(top)),
            *content_checks(data, model, wanted, styles, np.sqrt(top))]


def map_check(model: Model, factors: Array, root: float) -> Check:
    """Check that the maps of styles are the pseudo-inverses F⁺ of their factors F (s x d x p): F F⁺F = F, F⁺F F⁺ = F⁺.

    `root` is the largest singular value of all factors. Both products are symmetric.
    """
    maps = np.asarray(getattr(model.projector, "maps", np.zeros(0)))
    if maps.shape != factors.shape:
        return count("maps", 1, "each style has a map")
    error, wrong = 0.0, EPS * max(*factors.shape, 10)
    for way, factor in zip(maps, factors, strict=True):
        both, across = way.T @ factor, factor @ way.T
        size, length = float(np.linalg.norm(factor)), float(np.linalg.norm(way))
        growth = 1 + size * length
        gaps = [max_abs(factor @ both - factor) / (growth * max(root, TINY)),
                max_abs(both @ way.T - way.T) / (growth * max(length, TINY)),
                max_abs(both - both.T) / growth, max_abs(across - across.T) / growth]
        error = float(np.maximum(error, np.max(np.array(gaps))))  # NaN stays
    return ratio("maps", error, wrong, "the map of a style is the pseudo-inverse of its factors")


def symmetric_checks(means: Array, factors: Array, model: Model, tolerance: float) -> list[Check]:
    """Check the parts of a symmetric bilinear model of means (s x d x c), which give its factors (s d x p).

    That its objective never falls, and what it ends at; that vectors of styles and of contents are orthonormal, and
    those of styles the leading ones of the means along the others; that the vectors and the interaction give the
    factors.
    """
    projector, total = require_projector(model.projector), float(np.sum(means**2)) or 1.0
    names = "style_vectors", "content_vectors", "interaction"
    styles, contents, interaction = (np.asarray(getattr(projector, name)) for name in names)
    (count_of_styles, columns, count_of_contents), axes = means.shape, model.embedding.shape[1]
    wanted = (count_of_styles, styles.shape[1]), (count_of_contents, axes), (styles.shape[1], columns, axes)
    there = count("vectors", sum(part.shape != shape for part, shape in zip(
        (styles, contents, interaction), wanted, strict=True)), "each style and each content has a vector")
    if there.verdict == "fail":
        return [there]
    size = max(*means.shape, 10)
    root = np.sqrt(total)
    apart = [max_abs(part.T @ part - np.eye(part.shape[1])) for part in (styles, contents[:, factors.any(axis=0)])]
    composed = np.einsum("sq,qdp->sdp", styles, interaction).reshape(len(factors), axes)
    crossed = np.einsum("sq,sdc,cp->qdp", styles, means, contents, optimize=True)
    image = np.tensordot(means, contents, 1).reshape(count_of_styles, -1)
    products = image @ image.T
    kept = styles.T @ products @ styles
    turned = max_abs(products @ styles - styles @ kept)
    short = float(np.linalg.eigvalsh(products)[::-1][: styles.shape[1]].sum() - np.trace(kept))
    trace = model.trace if model.trace is not None else np.zeros(0)
    explained, stated = float(np.sum(factors**2)) / total, model.fit.get("explained_share")
    off = abs(stated - explained) if isinstance(stated, int | float) else float("inf")
    falls = float(np.max(-np.diff(trace), initial=0.0)) if len(trace) else np.inf
    end = abs(float(trace[-1]) - explained) if len(trace) else np.inf
    shares = np.asarray(model.fit.get("style_shares", ()), dtype=np.float64)
    own = np.sum(interaction**2, axis=(1, 2)) / total
    return [
        there,
        ratio("orthonormal", max(apart), EPS * size, "vectors of styles, and of contents, are orthonormal"),
        ratio("interaction", max(max_abs(composed - factors), max_abs(crossed - interaction)), EPS * size * root,
              "the factors are the sums of the interaction over the style vectors, and this is that of the means along "
              "both vectors"),
        *([ratio("alternation", turned, (SLACK * tolerance + EPS * size) * total,
                 "vectors of styles span an invariant space of the means along the vectors of contents"),
           ratio("leading", short, (SLACK * tolerance + EPS * size) * total, "this space is the leading one")]
          if model.fit.get("converged") else [skipped("alternation", "the iteration stopped before it converged")]),
        ratio("explained", max(off, end, falls), 10 * EPS * size, "the share of the means' sum of squares, which never "
              "falls, ends as stated"),
        ratio("style shares", max_abs(shares - own) if shares.shape == own.shape else np.inf, 10 * EPS * size,
              "the shares of the axes of styles are those of their interaction")]


def pair_means(data: CrossLabeled, styles: list[str], contents: list[str]) -> Array:
    """Return the means (s x d x c) of the rows of each style and content, as sums of their shares."""
    places = places_of(data.labels, styles), places_of(data.contents, contents)
    means = np.zeros((len(styles), data.values.shape[1], len(contents)))
    for place, mean in enumerate(means):
        rows = np.flatnonzero(places[0] == place)
        counts = np.bincount(places[1][rows], minlength=len(contents))
        np.add.at(mean.T, places[1][rows], data.values[rows] / counts[places[1][rows], None])
    return means


def places_of(labels: Sequence[str], names: list[str]) -> Indices:
    """Return the place of each label (n) among names."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[label] for label in labels], dtype=np.int64)


def content_checks(data: CrossLabeled, model: Model, factors: Array, styles: list[str], root: float) -> list[Check]:
    """Check the normal equations Aᵀ(A b - y) = 0 of the rows, and the share of squares that they leave."""
    worst, left = 0.0, 0.0
    places = places_of(data.labels, styles)
    for place, factor in enumerate(factors):
        rows = np.flatnonzero(places == place)
        points, vectors = data.values[rows], model.embedding[rows]
        rest = points - vectors @ factor.T
        left += float(np.sum(rest**2))
        sizes = np.linalg.svd(factor, compute_uv=False)
        kept = sizes[sizes > 2 * EPS * root]
        growth = float(kept[0] / kept[-1]) if len(kept) else 1.0
        scale = np.linalg.norm(points, axis=1) * root * growth + np.linalg.norm(vectors, axis=1) * root**2
        gap = np.abs(rest @ factor).max(axis=1, initial=0.0)
        wrong = EPS * max(*data.values.shape[1:], len(styles) * factor.shape[0], 10) * scale
        ratios = np.divide(gap, wrong, out=np.where(gap > 0, np.inf, 0.0), where=wrong > 0)
        worst = float(np.maximum(worst, ratios.max()))  # NaN stays
    stated = model.fit.get("residual_share")
    share = left / max(float(np.sum(data.values**2)), np.finfo(np.float64).tiny)
    off = abs(stated - share) if isinstance(stated, int | float) else float("inf")
    return [ratio("contents", worst, 1.0, "coordinates b of a row y of style s are of least squares: Aᵀ(A b - y) = 0 "
                  "with the style's factors A"),
            ratio("residual", off, 10 * EPS * max(len(data.values), 10) ** 0.5,
                  "what the coordinates leave of the rows' sum of squares is the share stated")]


def bottleneck_checks(data: TwoViews, model: Model, related: Array, asked: float) -> list[Check]:
    """Check variances α² of the axes, their correlations with the second view, β, and the information of coordinates.

    `related` holds the stated correlations above zero (r), `asked` is the β that was chosen or follows from these.
    """
    count, beta = model.embedding.shape[1], float(model.fit["beta"])
    squares = np.pad(related[:count], (0, count - len(related[:count]))) ** 2
    lengths = np.sqrt(np.maximum(beta * squares - 1, 0.0) / (1 - squares))
    scaled = model.embedding / np.where(lengths > 0, lengths, 1.0)
    second = whiten(data.view.normalized().values, equal_columns=True)
    directions = None if model.directions is None else model.directions * lengths
    rows = max(len(scaled), 1)
    shared = second.points.T @ model.embedding / rows
    total = model.embedding.T @ model.embedding / rows
    rest = total - shared.T @ shared  # the covariance of coordinates that a regression on the second view leaves
    kept, unexplained = (0.5 * float(np.linalg.slogdet(np.eye(count) + part)[1]) for part in (total, rest))
    stated = [float(model.fit[name]) for name in ("kept_information", "relevant_information")]
    wrong = EPS * max(*data.values.shape, second.rank, 10) * (1 + float(lengths.max(initial=0.0)) ** 2)
    return [*covariance_checks(scaled, (lengths > 0).astype(np.float64)),
            *loadings_check(data.values, scaled, directions),
            correlations_check(second.points, second.condition, scaled, related),
            ratio("beta", abs(beta / asked - 1), 10 * EPS / float(related.min(initial=1.0)),
                  "β is the one that was asked for, or follows from the critical ones"),
            ratio("information", abs(kept - stated[0]) + abs(kept - unexplained - stated[1]), wrong * second.condition,
                  "I(T; X) and I(T; Y) by determinants of covariances of the coordinates")]


def count_bottleneck_checks(points: Array, model: Model, asked: float | None, tolerance: float) -> list[Check]:
    """Check the clusters of counts (n x d) against coordinates p(t | x): both sides of the equations, and all figures.

    Informations are differences of entropies here. `asked` is the β that was chosen, `tolerance` the change of p(t | x)
    at which the iteration ended.
    """
    stated, chances = model.fit, model.embedding
    beta, axes = float(stated["beta"]), chances.shape[1]
    distribution = points / points.sum()
    weights, columns = distribution.sum(axis=1), distribution.sum(axis=0)
    both = chances.T @ distribution  # p(t, y)
    masses = weights @ chances
    shares = np.asarray(stated["shares"], dtype=np.float64)
    loadings = None if model.loadings is None else model.loadings.values
    sized = EPS * max(*points.shape, 10)
    filled, held = masses > 0, np.where(masses > 0, masses, 1.0)
    profiles = both / held[:, None]
    entropies = {name: float(-np.sum(part[part > 0] * np.log(part[part > 0]))) for name, part in (
        ("t", masses), ("x", weights), ("y", columns), ("ty", both), ("tx", weights[:, None] * chances),
        ("xy", distribution))}
    kept = entropies["t"] + entropies["x"] - entropies["tx"]
    relevant = entropies["t"] + entropies["y"] - entropies["ty"]
    total = entropies["x"] + entropies["y"] - entropies["xy"]
    figures = {"kept_information": kept, "relevant_information": relevant, "total_information": total,
               "entropy": entropies["t"]}
    checks = [
        count("signs", int(np.sum(chances < 0)), "probabilities below zero"),
        ratio("sums", max_abs(chances.sum(axis=1) - 1), 8 * EPS * max(axes, 10), "those of a row add up to one"),
        count("beta", int(asked is not None and asked != beta), "another β than the one that was asked for"),
        count("clusters", int(int(stated["clusters"]) != int(filled.sum())), "clusters with rows, as stated"),
        ratio("order", float(np.max(np.diff(shares), initial=0.0)), tolerance + sized, "clusters descend by p(t)")]
    if not stated["converged"]:
        checks.append(skipped("fixed point", "the iteration stopped before it converged"))
    else:
        apart = max_abs(masses - shares)
        if loadings is not None:
            apart = max(apart, max_abs((profiles - loadings.T) * masses[:, None]))
        wrong = tolerance + sized * (1 + beta) * float(np.abs(np.log(np.maximum(profiles, TINY))).max())
        exponents = np.full(chances.shape, -np.inf)
        own = distribution / weights[:, None]
        for place in np.flatnonzero(filled).tolist():
            ratios = np.divide(own, np.maximum(profiles[place], TINY), out=np.ones_like(own), where=own > 0)
            exponents[:, place] = np.log(masses[place]) - beta * np.sum(own * np.log(ratios), axis=1)
        again = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        again /= again.sum(axis=1, keepdims=True)
        checks += [ratio("clusters of rows", apart, wrong, "p(t) and p(t) p(y | t) are sums over the rows"),
                   ratio("fixed point", max_abs(again - chances), wrong, "p(t | x) follows from p(t), p(y | t) and β")]
    gap = max(abs(value - float(stated[name])) for name, value in figures.items())
    size = 1 + max(entropies.values())
    checks += [ratio("information", gap, sized * size, "I(T; X), I(T; Y), I(X; Y) and H(T) by entropies, in nats"),
               ratio("processing", max(relevant - kept, relevant - total, kept - entropies["t"], 0.0), sized * size,
                     "I(T; Y) is at most I(T; X) and I(X; Y), and I(T; X) at most H(T)")]
    return checks


MOST = 10**8  # products of columns of a quick check
SOLID = 1e-3  # relative rounding up to which a likelihood has a maximum


@frozen
class OrthonormalView:
    """Rows of a view in orthonormal coordinates, and its loadings in these."""

    rows: Array  # n x d, Q √n
    loadings: Array  # d x p, A
    volume: float  # ln |R| in the unit of the input
    wrong: float  # relative rounding of A and B

    @classmethod
    def of(cls, view: Features, stated: Array) -> "OrthonormalView | None":
        """Return a view (n x d) with loadings (d x p); None where its columns depend on each other."""
        from scipy.linalg import solve_triangular

        points = view.values
        centered = points - points.mean(axis=0)
        scale = np.sqrt(np.mean(centered**2, axis=0))
        if len(points) <= len(scale) or not (scale > 0).all():
            return None
        axes, triangle = np.linalg.qr(centered / scale)
        root = np.sqrt(len(points))
        triangle, sizes = triangle / root, np.abs(np.diag(triangle)) / root
        condition = float(np.linalg.cond(triangle))
        lost = float((np.abs(points).max(axis=0) / scale).max())  # about rounded means
        wrong = EPS * (max(points.shape[0], 10) + root * lost) * condition
        if not wrong < SOLID:
            return None
        loadings = solve_triangular(triangle, view.unit.measured(stated) / scale[:, None], trans="T")
        volume = float(np.log(sizes).sum() + np.log(scale).sum()) + view.unit.logarithm(len(scale))
        return cls(axes * root, loadings, volume, wrong)


def shared_factor_checks(data: TwoViews, model: Model, *, both: bool, full: bool) -> list[Check]:
    """Check lengths of loadings, scores and likelihood, and that the likelihood has no slope at the loadings."""
    rows, first = data.values.shape
    size = first + data.view.values.shape[1]
    if max(rows, size) * size**2 > MOST and not full:
        return [later("log-likelihood"), later("stationarity")]
    stated = model.fit["log_likelihood"]
    loadings = None if model.loadings is None else model.loadings.values
    views = [] if loadings is None else [OrthonormalView.of(data, loadings[:first]),
                                         OrthonormalView.of(data.view, loadings[first:])]
    known = [view for view in views if view is not None]
    if len(known) < 2:
        return [skipped("log-likelihood", "the columns of a view depend on each other, or loadings are not at hand")]
    (one, other), correlations = known, model.ranks.solved
    crossed, wrong = one.rows.T @ other.rows / rows, one.wrong + other.wrong
    sizes = np.linalg.svd(crossed, compute_uv=False)
    if not wrong < SOLID * (1 - sizes[0]):
        return [skipped("log-likelihood", "a canonical correlation is one")]
    count = min(len(correlations), one.loadings.shape[1])
    kept = np.pad(correlations[:count], (0, one.loadings.shape[1] - count))
    lengths = [view.loadings.T @ view.loadings - np.diag(kept) for view in known]
    left = one.loadings @ other.loadings.T - crossed
    covariance = joint(one.loadings @ other.loadings.T)
    terms = np.array([size * np.log(2 * np.pi) + 2 * (one.volume + other.volume), np.linalg.slogdet(covariance)[1],
                      np.trace(np.linalg.solve(covariance, joint(crossed)))])
    noise = rows * (size * wrong / (1 - float(kept.max(initial=0.0))) + EPS * float(np.abs(terms).sum()))
    return [
        ratio("correlations", max_abs(sizes[:len(correlations)] - correlations), wrong,
              "canonical correlations, from orthonormal coordinates of both views"),
        ratio("lengths", max(map(max_abs, lengths)), wrong,
              "WᵀS⁻¹W of each view is diagonal and holds the canonical correlations"),
        posterior_check(known, covariance if both else np.eye(first), model, wrong),
        ratio("log-likelihood", np.inf if stated is None else abs(rows / 2 * float(terms.sum()) + stated), noise,
              "that of the normal distribution of both views, by their loadings"),
        ratio("stationarity", max(max_abs(left @ other.loadings), max_abs(left.T @ one.loadings)), wrong,
              "the likelihood has no slope in the loadings: (W₁W₂ᵀ - S₁₂) S₂⁻¹W₂ = 0, and so for W₁")]


def joint(crossed: Array) -> Array:
    """Return the covariance of two white views with a covariance (d x e) across."""
    return np.block([[np.eye(len(crossed)), crossed], [crossed.T, np.eye(crossed.shape[1])]])


def posterior_check(views: list[OrthonormalView], covariance: Array, model: Model, wrong: float) -> Check:
    """Check that coordinates are WᵀC⁻¹(x - mean), by the covariance C of the first view, or of both."""
    given = views if len(covariance) > len(views[0].loadings) else views[:1]
    rows, loadings = np.hstack([view.rows for view in given]), np.vstack([view.loadings for view in given])
    return ratio("posterior", max_abs(rows @ np.linalg.solve(covariance, loadings) - model.embedding),
                 wrong * float(np.linalg.norm(rows, axis=1).max()) * float(np.linalg.cond(covariance)),
                 "coordinates are the factors' expectations, given the rows")


SLACK = 100.0  # turns of spans that the fit estimates, over its tolerance, as its estimate is rough
SLOPE = 1e-3  # largest slope of the likelihood in the noise, relative to it, where the iteration has converged
ABSENT = "the columns of a view depend on each other, or a file of the run is not at hand"


def normalized_views(data: TwoViews) -> list[Features]:
    """Return each view in a unit of its own."""
    return [Features(part.values, part.ids, part.columns, unit=part.unit).normalized() for part in data.views]


def measured_rows(data: TwoViews, stated: Loadings | None) -> list[Array] | None:
    """Return plain loadings of all views' columns as one array for each view, in the units of `normalized_views`."""
    if stated is None:
        return None
    return [part.unit.measured(rows) for part, rows in zip(normalized_views(data), rows_of_views(data, stated.values),
                                                           strict=True)]


def scores_of_each(data: TwoViews, model: Model) -> list[Array]:
    """Return the coordinates (n x p) that the rows of each view alone have, by the model's projectors."""
    projectors = map(require_projector, (model.projector, *model.others))
    return [own.project(part.values) for own, part in zip(projectors, data.views, strict=True)]


def rounding_of_each(data: TwoViews, model: Model) -> list[float]:
    """Return a bound of the rounding errors of the coordinates that each view alone gives."""
    others = map(require_projector, model.others)
    return [model.rounding(data), *(other.rounding(other.input_unit.measured(part.values))
                                    for other, part in zip(others, data.views[1:], strict=True))]


def scores_checks(data: TwoViews, model: Model) -> list[Check]:
    """Check that the loadings of second and further views are the covariances with the coordinates that they give."""
    stated = measured_rows(data, model.loadings)
    if stated is None or not model.others:
        return [skipped("views", ABSENT)]
    error, allowed, rows = 0.0, 1.0, max(len(data.values), 1)
    parts, roundings = normalized_views(data), rounding_of_each(data, model)
    for part, scores, weights, rounding in [*zip(parts, scores_of_each(data, model), stated, roundings,
                                                 strict=True)][1:]:
        centered = part.values - part.values.mean(axis=0)
        size = max_abs(part.values)
        bound = EPS * max(*part.values.shape, 10) * size * (1 + max_abs(scores)) + max_abs(centered) * rounding
        gap = max_abs(centered.T @ scores / rows - weights)
        error = max(error, gap / bound if bound else np.inf if gap else 0.0)
    return [ratio("views", error, allowed, "loadings of further views are covariances with the coordinates that rows "
                  "of these views alone have")]


def variates_checks(data: TwoViews, model: Model) -> list[Check]:
    """Check that coordinates are eigenvectors of the sum of the views' projectors, and follow from all projectors."""
    parts = [whiten(part.values, equal_columns=True) for part in normalized_views(data)]
    count, rows = model.embedding.shape[1], max(len(data.values), 1)
    values = np.pad(1 + (len(parts) - 1) * model.ranks.solved[:count], (0, max(count - len(model.ranks.solved), 0)))
    shares = [part.points.T @ model.embedding / rows for part in parts]
    images = sum((part.points @ share for part, share in zip(parts, shares, strict=True)),
                 np.zeros_like(model.embedding))
    wrong = EPS * max(*(part.points.shape[1] for part in parts), rows, 10) * max(part.condition for part in parts)
    scores, roundings = scores_of_each(data, model), rounding_of_each(data, model)
    gathered = model.joint.combine(scores, range(len(parts)), len(parts)) if model.joint else np.inf + model.embedding
    return [ratio("correlations", max_abs(images - model.embedding * values), wrong * (1 + max_abs(model.embedding)),
                  "coordinates are eigenvectors of the sum of projectors on the views, with eigenvalues "
                  "1 + (m - 1) times the correlations"),
            ratio("all views", max_abs(gathered - model.embedding), sum(roundings) + wrong * (
                1 + max_abs(model.embedding)), "rows of all views, projected, have the coordinates of the fit")]


def private_check(data: TwoViews, model: Model) -> list[Check]:
    """Check that the noise of two views is what the shared factors leave of their covariances."""
    private, shared = measured_rows(data, model.private), measured_rows(data, model.loadings)
    if private is None or shared is None:
        return [skipped("private", ABSENT)]
    error, rows = 0.0, max(len(data.values), 1)
    for part, own, common in zip(normalized_views(data), private, shared, strict=True):
        centered = part.values - part.values.mean(axis=0)
        size = max_abs(part.values) ** 2
        gap = max_abs(centered.T @ centered / rows - common @ common.T - own @ own.T)
        error = max(error, gap / size if size else gap)
    return [ratio("private", error, EPS * max(*data.values.shape, 10) * 10,
                  "noise is the covariance of the columns of a view less that of its shared factors")]


def group_factor_checks(data: TwoViews, model: Model, *, first: bool) -> list[Check]:
    """Check scores, likelihood and its slopes at the stated loadings and noise of three or more views."""
    shared, private = model.loadings, model.private
    own = [] if shared is None or private is None else [
        OrthonormalView.of(part, rows) for part, rows in zip(data.views, rows_of_views(
            data, np.hstack([shared.values, private.values])), strict=True)]
    views = [view for view in own if view is not None]
    if len(views) < len(data.views):
        return [skipped("log-likelihood", ABSENT)]
    wrong, count = sum(view.wrong for view in views), model.embedding.shape[1]
    whole = np.hstack([view.rows for view in views])
    loadings, rows = np.vstack([view.loadings[:, :count] for view in views]), len(whole)
    noise = [view.loadings[:, count:] @ view.loadings[:, count:].T for view in views]
    places = [slice(*pair) for pair in pairwise(np.cumsum([0, *map(len, noise)]).tolist())]
    covariance = whole.T @ whole / rows
    total = loadings @ loadings.T
    for place, part in zip(places, noise, strict=True):
        total[place, place] += part
    condition = float(np.linalg.cond(total))
    if not wrong * condition < SOLID:
        return [skipped("log-likelihood", "the noise of a view vanishes")]
    weights = np.linalg.solve(total, loadings)
    expected, reach = whole @ weights, float(np.linalg.norm(whole, axis=1).max())
    alone = [view.rows @ np.linalg.solve(total[place, place], loadings[place])
             for view, place in zip(views, places, strict=True)]
    constant = len(total) * np.log(2 * np.pi) + 2 * sum(view.volume for view in views)
    terms = np.array([constant, np.linalg.slogdet(total)[1], np.trace(np.linalg.solve(total, covariance))])
    stated = model.fit["log_likelihood"]
    allowed = wrong * condition * max(reach, 1.0)
    scores = alone[0] if first else expected
    checks = [
        *(() if first else covariance_checks(model.embedding, model.ranks.solved)),
        *loadings_check(data.values, expected, model.directions),
        ratio("posterior", max_abs(scores - model.embedding), allowed, "coordinates are the factors' expectations"),
        ratio("log-likelihood", np.inf if stated is None else abs(rows / 2 * float(terms.sum()) + stated),
              rows * (len(total) * wrong * condition + EPS * float(np.abs(terms).sum())),
              "that of the normal distribution of all views, by their loadings and noise"),
        ratio("stationarity", max_abs(covariance @ weights - loadings), wrong * condition,
              "the likelihood has no slope in the loadings: C M⁻¹W = W"),
        ratio("variances", max_abs(loadings.T @ weights - np.diag(model.ranks.solved[:count])), wrong * condition,
              "WᵀM⁻¹W is diagonal and holds the variances of the posterior means")]
    if model.others and model.joint:
        found = [*scores_of_each(data, model)]
        gathered = model.joint.combine(found, range(len(found)), len(found))
        gap = max(max_abs(gathered - expected), *map(max_abs, map(np.subtract, found, alone)))
        checks.append(ratio("views", gap, allowed * condition, "rows of each view alone, and of all, have the factors' "
                            "expectations given these"))
    return [*checks, noise_check(total, covariance, noise, places, converged=bool(model.fit.get("converged")))]


def noise_check(total: Array, covariance: Array, noise: Sequence[Array], places: Sequence[slice], *,
                converged: bool) -> Check:
    """Check that the likelihood has no slope in the noise above its bound, given M and C (R x R)."""
    from mlcli.methods.views.group_factors import LEAST

    if not converged:
        return skipped("noise", "the iteration stopped before it converged")
    inverse = np.linalg.inv(total)
    slope = inverse - inverse @ covariance @ inverse
    gaps = [max_abs(slope[place, place] @ (part - LEAST * np.eye(len(part))))
            for place, part in zip(places, noise, strict=True)]
    return ratio("noise", max(gaps), SLOPE, "the likelihood has no slope in the noise of a view, above its bound")
