"""Slow feature analysis."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Step, merge_steps
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.check.second_moments import covariance_checks, loadings_check, slowness_check, unit_variances
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import lowest_directions, singular_step
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.core.whitening import WHITE, Whitening, whiten
from mlcli.methods.method import Method
from mlcli.methods.trials import variant


@frozen
class SlowFeatures:
    """Directions in white coordinates, slowest first."""

    slowness: Array  # r, ascending: the mean squared step from one row to the next of a unit-variance feature
    directions: Array  # r x r, orthonormal columns


@stage("slow features")
def slow_features(white: Whitening) -> SlowFeatures:
    """Return the slow features of white points in time order (Wiskott and Sejnowski), by the SVD of their steps.

    A feature without memory has slowness 2, one that alternates 4; slowness is 2 - 2 ψ for a
    stationary one whose neighboring values have correlation ψ.
    """
    steps = np.diff(white.points, axis=0)
    sizes, directions = lowest_directions(steps)
    return SlowFeatures(sizes**2 / max(len(steps), 1), directions)


def monomials(white: Array, degree: int) -> Array:
    """Return coordinates (n x r), and with degree 2 all their products of two as well (n x r (r + 3) / 2)."""
    if degree == 1:
        return white
    rows, columns = np.triu_indices(white.shape[1])
    return np.hstack([white, white[:, rows] * white[:, columns]])


def monomials_rounding(white: Array, wrong: Array, degree: int) -> Array:
    """Return bounds of the monomials' errors for errors `wrong` of the coordinates `white` (n x r each)."""
    if degree == 1:
        return wrong
    rows, columns = np.triu_indices(white.shape[1])
    size = np.abs(white)
    return np.hstack([wrong, size[:, rows] * wrong[:, columns] + wrong[:, rows] * size[:, columns]])


@stored("monomials", means="d", into="dr")
@frozen
class Monomials(Similarity):
    """White coordinates and, with degree 2, products of two of them: slow feature analysis."""

    means: Array  # d
    into: Array  # d x r
    degree: int

    def rows(self, new: Array) -> Array:
        """Return the monomials of new points (m x r, or m x r (r + 3) / 2)."""
        return monomials((new - self.means) @ self.into, self.degree)

    def width(self, given: int) -> int:
        """Return the number of monomials."""
        rank = self.into.shape[1]
        return rank if self.degree == 1 else rank * (rank + 3) // 2

    def rounding(self, new: Array) -> Array:
        """Return errors of the monomials of an (m, d) array, from the rounding of the white coordinates."""
        wrong = EPS * new.shape[1] * (np.abs(new) + np.abs(self.means)) @ np.abs(self.into)
        return monomials_rounding((new - self.means) @ self.into, wrong, self.degree)


class SFA(Method):
    """The combinations of the columns that change most slowly from row to row; rows are in time order.

    It keeps what changes slowly in a sequence, however little variance it has. It fails where rows do not follow each
    other in equal steps: rows that are dropped for missing cells leave jumps. Set `degree` first: 2 finds slow parts
    that are hidden in products of columns.

    How it works: Among all weighted sums of the columns with variance one, the first coordinate is the one that changes
    least from row to row; each further one is the slowest of those uncorrelated with the ones before. Each coordinate
    has variance one (divisor n), and all are uncorrelated. With `degree: 2`, features are quadratic in the columns. An
    invertible linear map of the columns changes nothing.

    New points: New points are placed one by one, in any order.

    Back to features: With degree 1, `mlcli reconstruct` gives the regression of the columns on the features.

    Files: `spectrum.csv` holds the slowness of each axis, by which axes are ranked, slowest first: the mean squared
    step from one row to the next. It is 2 - 2 ψ if successive values have the correlation ψ, and 2 for noise without
    memory.

    Source: Wiskott and Sejnowski, "Slow feature analysis: unsupervised learning of invariances", 2002.
    """

    accepts: ClassVar = (Features,)
    ordered: ClassVar = True
    judged_by: ClassVar = "slowness"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "slownesses, the smallest first"
    variance_shares: ClassVar = False
    unit_free: ClassVar = True
    decodes: ClassVar = "degree 1"
    rules: ClassVar = ()
    variants: ClassVar = (
        variant("", "permutation", "descending"), variant("quadratic", "permutation", "descending", degree=2))
    axis: ClassVar = "SFA"
    name: Literal["sfa"] = "sfa"
    degree: Literal[1, 2] = option(1, "Degree of the features in the columns: linear (1) or quadratic (2).")
    axes: PlainAxes = PlainAxes()

    def leads_back(self, kind: str) -> bool:
        """Whether the degree is 1."""
        return self.degree == 1

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the number of monomials."""
        return min(len(data.values) - 1, self.monomial_count(data.values.shape[1]))

    def monomial_count(self, columns: int) -> int:
        """Return the number of monomials of so many columns."""
        return columns if self.degree == 1 else columns * (columns + 3) // 2

    def composition(self, data: Features, compute: Compute, share: float | None = None) -> "SFAComposition":
        """Return the stages: white monomials of white columns, and their slow directions."""
        return SFAComposition(self, data, compute)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check unit variances, no correlations, and the stated slownesses."""
        yield from super().checks(subject)
        coordinates, model = subject.embedding, subject.model
        yield from covariance_checks(coordinates, unit_variances(model.axes))
        yield slowness_check(coordinates, model.ranks.solved)
        yield from loadings_check(subject.data.values, coordinates, model.directions)


@frozen
class SFAComposition(Composition[Model]):
    """The directions of white coordinates in which their differences between rows are smallest."""

    method: SFA
    data: Features
    compute: Compute

    @FitStage
    def white(self) -> tuple[Whitening, Whitening]:
        """The white columns, and their white monomials."""
        points = whiten(self.data.values, equal_columns=True)
        return points, whiten(monomials(points.points, self.method.degree), equal_columns=True)

    @white.cost
    def _(self) -> list[Step]:
        return [merge_steps([singular_step("whitening", shape, self.compute.thread_count(), WHITE)
                             for shape in (self.data.values.shape, self.shape)])]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of monomials."""
        return len(self.data.values), self.method.monomial_count(self.data.values.shape[1])

    @FitStage
    def slow(self) -> SlowFeatures:
        """The directions, by the singular values of differences between rows."""
        return slow_features(self.white[1])

    @slow.cost
    def _(self) -> list[Step]:
        return [singular_step("slow features", self.shape, self.compute.thread_count())]

    def result(self) -> Model:
        """Return the slow features, which are linear in the monomials."""
        (points, expanded), slow, degree = self.white, self.slow, self.method.degree
        count = self.method.axes.available_count(len(slow.slowness))
        turn = first_columns(slow.directions, count)
        turn = turn * leading_signs(expanded.points @ turn)
        loadings = (turn.T @ expanded.back @ points.back).T if degree == 1 else None
        projector = Projector(Monomials(points.means, points.into, degree),
                              Centering(expanded.means, across=False), expanded.into @ turn,
                              None if loadings is None else Affine(points.means, loadings))
        return Model(embedding=expanded.points @ turn, spectrum=Spectrum.of_values(slow.slowness, complete=True),
                     projector=projector, loadings=None if loadings is None else Loadings(loadings, self.data.columns))
