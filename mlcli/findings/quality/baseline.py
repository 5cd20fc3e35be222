"""The linear baseline of a layout: PCA of the same features, or classical scaling of the same dissimilarities."""

from collections.abc import Sequence

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.stage import mute_notes
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.methods import METHODS, Method

KINDS = {"features": "pca", "dissimilarities": "mds"}  # of inputs, each with the method that is its baseline


@frozen
class BaselineCoordinates:
    """Coordinates of a baseline, and the method that they are from."""

    method: str
    points: Array  # n x q


def baseline_of(method: Method, data: Input, axes: int, compute: Compute) -> BaselineCoordinates | None:
    """Return the baseline of a method's input on as many axes, or on fewer where it has fewer; None without one."""
    chosen = baseline_method(method, data, axes)
    if chosen is None:
        return None
    with mute_notes():
        return BaselineCoordinates(chosen.name, chosen.fit(data, compute).embedding)


def baseline_method(method: Method, data: Input, axes: int) -> Method | None:
    """Return the method that is the baseline, resolved for the data; None where the method is shown without one."""
    if not method.beside_baseline or data.kind not in KINDS:
        return None

    def resolved() -> Method:
        clipped = Eigensolve.model_construct(set(), components=axes)  # as a default, which is clipped
        with mute_notes():
            return METHODS[KINDS[data.kind]](eigensolve=clipped).resolve(data)

    return memoize("baseline", (data.kind, *data.values.shape, axes), resolved)  # all that it depends on


def baseline_steps(method: Method, data: Input, compute: Compute) -> Sequence[Step]:
    """Return the steps of fitting the baseline; none where there is none."""
    chosen = baseline_method(method, data, method.axes.count) if method.beside_baseline else None
    return () if chosen is None else chosen.steps(chosen.in_range(data), compute, None)
