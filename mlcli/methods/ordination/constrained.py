"""The base of constrained ordinations: options, axes, figures of the fit, and the loadings of constraints."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.values.inputs import Input, Viewed
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.core.eigen.options import Axes
from mlcli.core.model import Powers
from mlcli.core.similarities.projector import NoProjection
from mlcli.methods.method import Method
from mlcli.methods.ordination.constraints import ConstrainedInertia, Constraints, require_columns

PLACES = "keep constrained axes only, and no condition: method.axes.components at most the number of constrained axes"


class ConstrainedMethod(Method):
    """The base of methods whose first axes are constrained to combinations of the columns of a second view."""

    powers: ClassVar = Powers(coordinates=1, spectrum=2)
    ranked_by: ClassVar = "constrained eigenvalues, then unconstrained ones"
    rules: ClassVar = ()
    decodes: ClassVar = None
    loads: ClassVar = "terms"
    can_resample: ClassVar = True
    residual_axis: ClassVar[str]  # the field's name of an unconstrained axis
    condition: Annotated[tuple[str, ...], Strict(False)] = option(
        (), "Columns of the second view that are partialed out: the others constrain what these leave unexplained "
        "(empty: none).")
    scores: Literal["wa", "lc"] = option("wa", "Coordinates on constrained axes: weighted sums of the data (wa), or "
                                         "linear combinations of the constraints (lc).")
    permutations: int = option(999, "Permutations of the rows by which pseudo-F is tested (0: no test).", ge=0)
    axes: Axes = Axes()

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for a condition that the second view does not have."""
        assert isinstance(data, Viewed)
        require_columns(self.condition, data.view.columns)
        return {}

    def axis_name(self, place: int, constrained: int | None) -> str:
        """Return the name of an axis; those after the constrained ones are counted from one again."""
        last = place if constrained is None else constrained
        return f"{self.axis} {place}" if place <= last else f"{self.residual_axis} {place - last}"

    def reproduces(self) -> bool:
        """Whether coordinates are weighted sums, as those of new rows are."""
        return self.scores == "wa"

    def not_placed(self, constrained: int, count: int) -> NoProjection | None:
        """Return why new rows have no coordinates, which need their constraints; None where they have some."""
        if self.condition:
            return NoProjection("this run partialed out columns of the second view, which new rows lack",
                                PLACES)
        if count > max(constrained, 1) or not constrained:
            return NoProjection(f"axes after the first {constrained} are of residuals, which new rows without the "
                                "second view do not have", PLACES)
        return None

    def figures(self, explained: ConstrainedInertia, found: Constraints, total: float, divisor: float,
                value: float) -> dict[str, Any]:
        """Return figures of the fit: inertia and its parts over the divisor, pseudo-F and the p-value of its test."""
        parts = {"total": total, "conditional": total - explained.constrained - explained.residual,
                 "constrained": explained.constrained, "unconstrained": explained.residual}
        if not found.condition.size:
            parts.pop("conditional")
        share = explained.constrained / total if total > 0 else float("nan")
        rows, left = len(found.basis), found.residual_freedom
        adjusted = {} if found.condition.size or left < 1 else {
            "adjusted_explained_share": 1 - (1 - share) * (rows - 1) / left}
        tested = {} if np.isnan(value) else {"p_value": value, "permutations": self.permutations}
        return {"inertia": Quantity(np.array(list(parts.values())) / divisor, 2, names=tuple(parts)),
                "explained_share": share, **adjusted,
                "degrees_of_freedom": {"constrained": found.rank, "residual": left},
                "pseudo_F": explained.ratio, **tested}

