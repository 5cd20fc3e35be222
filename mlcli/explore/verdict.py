"""Verdicts on the data as a whole, each from statistics that it names: no structure, groups, factors, a surface."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from mlcli.base.frozen import frozen

FAR = 4.0  # a value more standard deviations above the mean of copies without structure is no chance


@frozen
class SeparateGroups:
    """Separate groups of points."""

    count: int
    silhouette: float
    reference: float  # the largest silhouette of parts of a normal cloud of the same covariance
    axes: int  # the fewest principal axes that separate them
    inside: int  # number of axes within the groups, by parallel analysis


@frozen
class FactorEvidence:
    """A factor model with noise of each column's own; by BIC, smaller is better."""

    count: int
    bic: float
    equal: float  # with one noise for all columns (probabilistic PCA), of the best number of axes
    free: float  # with any covariance


@frozen
class Structure:
    """Statistics of the columns before any method is tried."""

    rows: int  # number of rows in the sample
    axes: int  # number of axes by parallel analysis
    nearer: float  # how much nearer neighbors are than with permuted columns, in standard deviations
    groups: SeparateGroups | None
    factors: FactorEvidence | None

    @property
    def unrelated(self) -> bool:
        """Whether the columns look independent, and points lie in no groups."""
        return not self.axes and self.nearer <= FAR and self.groups is None and self.factors is None

    def document(self) -> dict[str, Any]:
        """Return the statistics as plain values, for JSON."""
        parts = {"groups": self.groups, "factors": self.factors}
        return {"rows": self.rows, "parallel_analysis": self.axes, "nearer": self.nearer,
                **{name: None if part is None else vars(part) for name, part in parts.items()}}


@frozen
class Chance:
    """R_NX of the best method on the data, and on copies with permuted columns."""

    kept: float
    permuted: float  # the largest over some copies


@frozen
class Surface:
    """A surface that no method lays flat, and the axes of a linear method that contain it."""

    linear: int  # place among the candidates
    axes: int  # number of axes of the linear method
    kept: float  # R_NX with these
    along: float  # R_NX of neighborhoods along the neighbor graph
    best: int  # place of the candidate that keeps most with the axes compared, of those that tear no surface
    best_kept: float
    best_along: float  # the largest R_NX of any method along the graph


@frozen
class Verdict:
    """A verdict on the data, with the statistics behind it."""

    name: str  # none, groups, factors, surface; else embedding
    sentence: str = ""
    statistics: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the verdict as plain values, for JSON."""
        return {"name": self.name, "sentence": self.sentence, "statistics": dict(self.statistics)}


def verdict_of(structure: Structure | None, chance: Chance | None, surface: Surface | None, axes: int,
               columns: int, names: Sequence[str]) -> Verdict:
    """Return the first verdict that holds, with all statistics; `names` are those of the candidates."""
    name, sentence = _name_and_sentence(structure, chance, surface, axes, columns, names)
    statistics = {} if structure is None else structure.document()
    for key, found in (("chance", chance), ("surface", surface)):
        statistics |= {} if found is None else {key: vars(found)}
    return Verdict(name, sentence, statistics)


def _name_and_sentence(structure: Structure | None, chance: Chance | None, surface: Surface | None, axes: int,
                       columns: int,
                       names: Sequence[str]) -> tuple[str, str]:
    """Return the name of a verdict and its sentence."""
    if structure is not None and structure.unrelated and chance is not None:
        return "none", (
            f"No structure found: no eigenvalue lies above those of permuted columns (parallel analysis), neighbors "
            f"are no nearer than there, and the best embedding keeps R_NX {chance.kept:.3f}, where it keeps "
            f"{chance.permuted:.3f} of permuted columns. A picture would show chance.")
    if structure is not None and (groups := structure.groups) is not None:
        return "groups", (
            f"The data are {groups.count} groups that lie apart: silhouette {groups.silhouette:.2f}, where as many "
            f"parts of one normal cloud have {groups.reference:.2f} at most, and hardly any point lies between two. "
            f"{groups.axes} {'axis keeps' if groups.axes == 1 else 'axes keep'} them apart; within them "
            + (f"parallel analysis finds {groups.inside} more." if groups.inside else "no axis lies above chance."))
    if structure is not None and (factors := structure.factors) is not None:
        return "factors", (
            f"{factors.count} factor{'s' * (factors.count > 1)} and noise of each column's own explain the covariance "
            f"best: BIC {factors.bic:.0f}, {factors.equal:.0f} with one noise for all columns (probabilistic PCA), "
            f"{factors.free:.0f} of a covariance without a model.")
    if surface is not None:
        exact = ", which reproduce all columns," if surface.axes >= columns else ""
        return "surface", (
            f"The data are a surface of about {axes} dimensions in {columns} columns that no method here lays flat: "
            f"{surface.axes} axes of {names[surface.linear]}{exact} keep R_NX {surface.kept:.3f}, and "
            f"{surface.along:.3f} of the neighborhoods along the surface; with {axes} axes the best that does not tear "
            f"it, {names[surface.best]}, keeps {surface.best_kept:.3f}, and none keeps more than "
            f"{surface.best_along:.3f} along it.")
    return "embedding", ""
