"""Constrained ordinations: bases of constraints, the permutation test of what they explain, and the methods' base."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Input, Viewed
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.model import Powers
from mlcli.core.permutations import TIED, Permutations
from mlcli.core.similarities.projector import NoProjection
from mlcli.core.whitening import centered_columns, column_lengths
from mlcli.errors import ConfigError
from mlcli.methods.method import Method

ALIASED = 1e-7  # share of a column's length, outside of the span of earlier ones, up to which it is dependent (R's qr)
AT_ONCE = 2**20  # numbers in the bases of the permutations that are computed together
LOST = 2.0**-40  # rounding of F for a residual as large as the whole, relative to F
EXACT = 1e-12  # share of the constrained inertia up to which the residual is rounding
SHOWN = 10  # columns named in a note


@frozen
class Constraints:
    """The span of some columns beyond that of others, the condition, which are partialed out."""

    condition: Array  # n x c, orthonormal
    basis: Array  # n x q, orthonormal, and orthogonal to the condition
    columns: Array  # n x q: the constraints that are not aliased, centered and of length one
    names: tuple[str, ...]  # q

    @property
    def rank(self) -> int:
        """The number of constrained dimensions."""
        return self.basis.shape[1]

    @property
    def residual_freedom(self) -> int:
        """The degrees of freedom of the residuals, n - 1 - c - q."""
        return len(self.basis) - 1 - self.condition.shape[1] - self.rank

    @property
    def both(self) -> Array:
        """The basis (n x (c + q)) of condition and constraints."""
        return np.hstack([self.condition, self.basis])

    def conditioned(self, centered: Array) -> Array:
        """Return centered columns (n x d) without what the condition explains."""
        return centered - self.condition @ (self.condition.T @ centered) if self.condition.size else centered

    def arrows(self, axes: Array) -> Array:
        """Return the correlations (q x p) of the constraints with axes (n x p) of length one."""
        return self.columns.T @ axes


@frozen
class ConstrainedInertia:
    """The inertia that constraints explain, and its permutation test."""

    constrained: float
    residual: float
    freedom: tuple[int, int]  # q and n - 1 - c - q

    @property
    def ratio(self) -> float:
        """Pseudo-F; NaN where there is no constraint, or no residual beyond rounding."""
        explaining, left = self.freedom
        if not (explaining and left > 0 and self.residual > EXACT * self.constrained):
            return float("nan")
        return (self.constrained / explaining) / (self.residual / left)


def require_columns(condition: Sequence[str], columns: Sequence[str]) -> None:
    """Raise ConfigError for a condition that is not among the columns of the second view, or leaves none of them."""
    if lacking := [name for name in condition if name not in columns]:
        raise ConfigError("UNKNOWN-COLUMN", f"the second view has no column {lacking[0][:80]!r}",
                          where="method.condition",
                          hint=f"its columns are {', '.join(repr(name[:80]) for name in columns[:SHOWN])}")
    if condition and set(columns) == set(condition):
        raise ConfigError("CONDITION", "all columns of the second view are partialed out: no constraint is left",
                          where="method.condition", hint="name fewer columns")


def constraints_of(values: Array, names: Sequence[str], condition: Sequence[str]) -> Constraints:
    """Return the constraints among the columns of a table (n x e), those that `condition` names first.

    Columns that depend on earlier ones, or do not vary, are aliased: they are left out with a warning, as by R's qr.
    """
    with running("constraints"):
        _, centered = centered_columns(values)
        lengths = column_lengths(centered)
        first = [place for place, name in enumerate(names) if name in condition]
        order = [*first, *(place for place in range(len(names)) if place not in first)]
        unit = centered / np.where(lengths > 0, lengths, 1.0)
        basis, kept = np.zeros((len(values), min(len(names), max(len(values) - 1, 0)))), list[int]()
        for place in order:
            found = basis[:, : len(kept)]
            rest = unit[:, place] - found @ (found.T @ unit[:, place])
            rest -= found @ (found.T @ rest)
            length = float(np.linalg.norm(rest))
            if len(kept) < basis.shape[1] and length > ALIASED:
                rest -= rest.mean()
                basis[:, len(kept)] = rest / np.linalg.norm(rest)
                kept.append(place)
        _note_aliased([names[place] for place in order if place not in kept])
        within, own = sum(place in first for place in kept), [place for place in kept if place not in first]
        return Constraints(condition=basis[:, :within], basis=basis[:, within : len(kept)], columns=unit[:, own],
                           names=tuple(names[place] for place in own))


def _note_aliased(aliased: Sequence[str]) -> None:
    if aliased:
        more = f" and {len(aliased) - SHOWN} more" if len(aliased) > SHOWN else ""
        listed = ", ".join(repr(name[:80]) for name in aliased[:SHOWN])
        note("W-ALIASED", f"left out, as they do not vary or depend on the other constraints: {listed}{more}",
             columns=list(aliased))


def permutation_test(found: Constraints, squares: Callable[[Array], Array], total: float,
                     permutations: Permutations) -> float:
    """Return the p-value of pseudo-F under permutations of the rows, those with the condition partialed out.

    `squares` returns the inertia that each column of an array (n x k) explains, and `total` is that of all rows. It is
    the share of permutations whose F is no lower, the observed one included (Legendre and Legendre). NaN where F is.
    """
    size, width = found.both.shape
    if permutations.count < 1 or not found.rank or found.residual_freedom < 1:
        return float("nan")
    observed, lost = _ratios(found, squares, total, np.arange(size)[None, :])
    if not np.isfinite(observed[0]):
        return float("nan")
    slack = max(TIED * max(abs(observed[0]), 1.0), LOST * abs(observed[0]) * lost[0])
    p_values = permutations.p_values(observed, lambda orders: _ratios(found, squares, total, orders)[0][:, None], size,
                                     most=max(1, AT_ONCE // max(size * width, 1)), slack=float(slack))
    return float(p_values[0])


def _ratios(found: Constraints, squares: Callable[[Array], Array], total: float,
            orders: Indices) -> tuple[Array, Array]:
    """Return pseudo-F (b) for orders (b x n) of the rows of both bases: the same as for the rows of the data.

    It is infinite where nothing but rounding is left. With it the whole over the residual (b).
    """
    both, within = found.both, found.condition.shape[1]
    bases = both[orders].transpose(1, 0, 2).reshape(len(both), -1)
    sums = squares(bases).reshape(len(orders), both.shape[1])
    constrained, conditional = sums[:, within:].sum(axis=1), sums[:, :within].sum(axis=1)
    residual = total - conditional - constrained
    gone = np.abs(residual) <= EXACT * np.abs(constrained)
    residual = np.where(gone, 1.0, residual)
    ratios = (constrained / found.rank) / (residual / found.residual_freedom)
    return np.where(gone, np.inf, ratios), np.abs(total / residual)


def permutation_steps(size: int, width: int, constraints: int, *, count: int, threads: int,
                      held: float) -> list[Step]:
    """Return the step of `count` permutations of constraints of n rows, none without any.

    Each is a product with an (n, width) array; `held` are the bytes in memory besides.
    """
    if not count:
        return []
    bases = 8.0 * min(count, max(1, AT_ONCE // max(size * constraints, 1))) * constraints
    return [Step("permutations", f"{count:,} of {size:,} rows", 2.0 * size * width * constraints * count
                 / product_rate(threads), held + bases * (3 * size + width))]


PLACES = "keep constrained axes only, and no condition: method.axes.components at most the number of constrained axes"


class ConstrainedMethod(Method):
    """The base of methods whose first axes are constrained to combinations of the columns of a second view."""

    powers: ClassVar = Powers(coordinates=1, spectrum=2)
    ranked_by: ClassVar = "constrained eigenvalues, then unconstrained ones"
    judged_by: ClassVar = "explained"
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
    axes: PlainAxes = PlainAxes()

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
