"""The number of axes by curves of what they leave: residual variance of distances, and stress.

Tenenbaum, de Silva and Langford, 2000: 1 - r² between the distances that the method keeps and those between points on
its first 1, ..., p axes; the curve's elbow is the dimension. The elbow is searched on a logarithmic scale, on which a
narrow sheet's second axis shows next to a long first one.
"""

from typing import Any

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.base.values.scaling import Unit
from mlcli.core.model import Model
from mlcli.errors import MlcliError
from mlcli.findings.dimension.evidence import Evidence, NotApplicable, RuleVerdict
from mlcli.findings.dimension.spectral import below_chord
from mlcli.methods.method import Method

EXACT, LINEAR = 700, 200  # largest number of points for all distances; for PCA, which costs less itself
ROWS = 64  # rows of distances in a block, few enough to stay in cache
SOURCES, TARGETS = 60, 1000  # of more points, random samples whose distances to each other are compared
LEAST = 1e-3  # a smaller residual variance counts as this one: the rest is noise or rounding


def residual_variance(evidence: Evidence) -> RuleVerdict | NotApplicable:
    """Return the point of the curve's logarithm farthest below the chord from no axis to the last."""
    if evidence.method.scaleless:
        return NotApplicable(f"the coordinates of {evidence.method.name} have no scale, so their distances cannot be "
                             "compared")
    if evidence.distances is None:
        return NotApplicable("the method preserves no distances, or they are not stored")
    sources, targets = choose_points(evidence)
    if len(targets) < 3:
        return NotApplicable("it needs three points")
    axes = evidence.axes
    distances = evidence.distances(sources, targets)
    if not np.isfinite(distances).all():
        return NotApplicable("some distances are too large for double precision")
    curve = residual_variances(distances, take_rows(axes, sources), take_rows(axes, targets))
    if not np.isfinite(curve).all():
        return NotApplicable("all distances are equal")
    figures = {"residual_variances": curve.tolist(), "from": len(sources), "to": len(targets),
               "sampled": len(targets) < evidence.size}
    rule = "The elbow of log(1 - r²), with r the correlation of the method's distances with those on the first axes."
    if len(curve) < 3:
        return RuleVerdict(None, rule, f"{len(curve)} axes are too few for an elbow", figures)
    count = int(below_chord(np.log(np.append(1.0, np.maximum(curve, LEAST)))).argmax())
    return RuleVerdict(count or None, rule, f"{curve[count - 1]:.4g} left" if count else "the curve has no elbow",
                       figures)


def choose_points(evidence: Evidence) -> tuple[Indices, Indices]:
    """Return points from which, and points to which, distances are compared; the first are among the others."""
    if evidence.size <= (LINEAR if evidence.of_columns else EXACT):
        return np.arange(evidence.size), np.arange(evidence.size)
    targets = evidence.sample(TARGETS)
    return targets[:: -(-len(targets) // SOURCES)], targets


def residual_variances(distances: Array, sources: Array, targets: Array) -> Array:
    """Return 1 - r² of distances (s, t) and those from sources (s, q) to targets (t, q) on the first 1, ..., q axes.

    A point's distance to itself, which is zero in both, is left out. Units, which change nothing, are powers of two.
    """
    distances, unit = Unit.of(distances).measured(distances), Unit.of(sources, targets)
    sources, targets = unit.measured(sources), unit.measured(targets)
    count, axes = distances.size - len(sources), sources.shape[1]
    sums, squares, products = np.zeros((3, axes))
    both = np.array_equal(sources, targets)  # each pair twice: then its second time is not computed
    for rows in row_blocks(len(sources), ROWS):
        others = slice(rows.start if both else 0, None)
        kept = distances[rows, others]
        weights = np.ones(kept.shape)
        if both:
            weights[:, rows.stop - rows.start :] = 2.0
        kept, squared = weights * kept, np.zeros(kept.shape)
        for axis in range(axes):
            apart = np.subtract.outer(sources[rows, axis], targets[others, axis])
            squared += np.square(apart, out=apart)
            roots = np.sqrt(squared, out=apart)
            sums[axis] += np.vdot(roots, weights)
            squares[axis] += np.vdot(squared, weights)
            products[axis] += np.vdot(roots, kept)
    mean = float(distances.sum()) / count
    sizes = (squares - sums**2 / count) * (float(np.vdot(distances, distances)) - count * mean**2)
    curve = 1 - np.divide((products - sums * mean) ** 2, sizes, out=np.full(axes, np.nan), where=sizes > 0)
    return np.maximum(curve, 0.0)


NAME = "stress"
MOST_AXES = 6  # axes
FEW_POINTS = 150  # points up to which the fits are quick, so that every run makes them
GOOD, USABLE = 0.1, 0.2  # stress-1 of ranks (Clarke, 1993)
NONE = 1e-3  # stress that further axes cannot lower in a way that matters


def stress_verdict(method: Method, model: Model, data: Input, compute: Compute, *,
                   long: bool) -> RuleVerdict | NotApplicable:
    """Return the number of axes by stress, from fits of 1 to 6 axes, each from classical scaling; of many if `long`.

    The stress with the axes of the model is the model's own, as more starts may have made it less. Of ranks, the fewest
    axes with a stress below 0.1, or else below 0.2 (Clarke, 1993); of sizes, whose stress has no such scale, the elbow
    of the curve.
    """
    size = len(data.values)
    if size > FEW_POINTS and not long:
        return NotApplicable(f"fits of {size} points with 1 to {MOST_AXES} axes take long: -p auto makes them")
    try:
        with no_listeners(), single_threaded_blas():
            stresses = stress_by_axes(method, model, data, compute)
    except MlcliError as error:
        return NotApplicable(f"a fit failed: {error}")
    figures: dict[str, Any] = {"stresses": stresses}
    if method.keeps_order:
        rule = f"The fewest axes with a stress below {GOOD}, or else below {USABLE} (Clarke, 1993)."
        below = [place for limit in (GOOD, USABLE) for place, stress in enumerate(stresses, 1) if stress < limit]
        count = below[0] if below else 0
        if not count:
            return RuleVerdict(None, rule, shown(stresses, len(stresses)), figures)
        return RuleVerdict(count, rule, shown(stresses, count), figures)
    rule = f"The elbow of the stress with 1 to {len(stresses)} axes."
    if stresses[-1] < NONE:
        return RuleVerdict(len(stresses), rule, shown(stresses, len(stresses)), figures)
    if len(stresses) < 3:
        return RuleVerdict(None, rule, f"{len(stresses)} axes are too few for an elbow", figures)
    count = int(below_chord(np.append(1.0, stresses)).argmax())
    return RuleVerdict(count or None, rule, shown(stresses, count) if count else "no elbow", figures)


def shown(stresses: list[float], count: int) -> str:
    """Return the stress with so many axes in words, to the digits of the line that names the method's own."""
    return f"stress {stresses[count - 1]:.4f} with {count} {'axis' if count == 1 else 'axes'}"


def stress_by_axes(method: Method, model: Model, data: Input, compute: Compute) -> list[float]:
    """Return the stress of fits with 1, 2, ... axes, at most MOST, until there is none left to lower."""
    stresses: list[float] = []
    for count in range(1, min(MOST_AXES, max(method.limit(data), 1)) + 1):
        fitted = model
        if count != model.embedding.shape[1]:
            few = method.replace(**{method.axes_section(): method.axes_options.replace(components=count), "starts": 1})
            fitted = few.fit(data, compute)
        stresses.append(float(fitted.fit["stress"]))
        if stresses[-1] < NONE:
            break
    return stresses
