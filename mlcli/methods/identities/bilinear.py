"""The certificate of bilinear models: singular value equations of the means, and normal equations of the rows."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.base.values.inputs import CrossLabeled
from mlcli.methods.frame.model import Model


def bilinear_checks(data: CrossLabeled, model: Model) -> list[Check]:
    """Return the checks of a bilinear model, with the means of its styles and contents computed again."""
    styles, contents = sorted({*data.labels}), sorted({*data.contents})
    means = pair_means(data, styles, contents)
    stacked = means.reshape(-1, len(contents))
    given, axes = model.ranks.solved, model.embedding.shape[1]
    factors = data.unit.measured(model.loadings.values) if model.loadings is not None else np.zeros((0, axes))
    there = count("loadings", int(factors.shape != (len(stacked), axes) or not np.isfinite(factors).all()),
                  "there is a factor for each column in each style")
    if there.verdict == "fail":
        return [there]
    again = np.linalg.svd(stacked, compute_uv=False) ** 2
    top = float(again.max(initial=0.0))
    rounding = EPS * max(*stacked.shape, 10) * top + EPS * float(np.sum(stacked**2))
    values = np.pad(given, (0, axes))[:axes]
    size = min(len(again), len(given))
    spread = float(np.abs(again[:size] - given[:size]).max(initial=0.0)) + float(again[size:].sum())
    lengths = factors.T @ factors - np.diag(values)
    pairs = stacked @ (stacked.T @ factors) - factors * values
    checks = [
        there,
        ratio("spectrum", spread, rounding, "the means of styles and contents, computed again, have these singular "
              "values"),
        ratio("trace", abs(float(np.sum(stacked**2)) - model.ranks.solved_trace), rounding,
              "the sum of squares of the means is the sum of squared singular values"),
        ratio("factors", float(np.abs(lengths).max(initial=0.0)), rounding,
              "factors of different axes are orthogonal, and their squared lengths are squared singular values"),
        ratio("singular", float(np.abs(pairs).max(initial=0.0)), rounding * np.sqrt(top),
              "M Mᵀ A = A S², with the means M, styles and columns stacked, and the factors A")]
    wanted = factors.reshape(len(styles), -1, axes)
    return [*checks, *content_checks(data, model, wanted, styles, np.sqrt(top))]


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
