"""The rule of layouts: the stress of the method's own fits with one axis and more."""

from typing import Any

import numpy as np

from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import no_listeners
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.errors import MlcliError
from mlcli.findings.dimension.spectral import below_chord
from mlcli.findings.dimension.verdict import NotApplicable, Verdict
from mlcli.methods.method import Method
from mlcli.methods.model import Model

NAME = "stress"
MOST = 6  # axes
FEW = 150  # points up to which the fits are quick, so that every run makes them
GOOD, USABLE = 0.1, 0.2  # stress-1 of ranks (Clarke, 1993)
NONE = 1e-3  # stress that further axes cannot lower in a way that matters


def stress_verdict(method: Method, model: Model, data: Input, compute: Compute, *,
                   long: bool) -> Verdict | NotApplicable:
    """Return the number of axes by stress, from fits of 1 to 6 axes, each from classical scaling; of many if `long`.

    The stress with the axes of the model is the model's own, as more starts may have made it less. Of ranks, the fewest
    axes with a stress below 0.1, or else below 0.2 (Clarke, 1993); of sizes, whose stress has no such scale, the elbow
    of the curve.
    """
    size = len(data.values)
    if size > FEW and not long:
        return NotApplicable(f"fits of {size} points with 1 to {MOST} axes take long: -p auto makes them")
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
            return Verdict(None, rule, shown(stresses, len(stresses)), figures)
        return Verdict(count, rule, shown(stresses, count), figures)
    rule = f"The elbow of the stress with 1 to {len(stresses)} axes."
    if stresses[-1] < NONE:
        return Verdict(len(stresses), rule, shown(stresses, len(stresses)), figures)
    if len(stresses) < 3:
        return Verdict(None, rule, f"{len(stresses)} axes are too few for an elbow", figures)
    count = int(below_chord(np.append(1.0, stresses)).argmax())
    return Verdict(count or None, rule, shown(stresses, count) if count else "no elbow", figures)


def shown(stresses: list[float], count: int) -> str:
    """Return the stress with so many axes in words, to the digits of the line that names the method's own."""
    return f"stress {stresses[count - 1]:.4f} with {count} {'axis' if count == 1 else 'axes'}"


def stress_by_axes(method: Method, model: Model, data: Input, compute: Compute) -> list[float]:
    """Return the stress of fits with 1, 2, ... axes, at most MOST, until there is none left to lower."""
    stresses: list[float] = []
    for count in range(1, min(MOST, max(method.limit(data), 1)) + 1):
        fitted = model
        if count != model.embedding.shape[1]:
            few = method.replace(**{method.axes_section(): method.axes_options.replace(components=count), "starts": 1})
            fitted = few.fit(data, compute)
        stresses.append(float(fitted.fit["stress"]))
        if stresses[-1] < NONE:
            break
    return stresses
