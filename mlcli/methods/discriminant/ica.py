"""Independent component analysis."""

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.check.second_moments import covariance_checks, loadings_check, unit_variances
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.linalg import singular, singular_step
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.core.whitening import WHITE, Whitening, whiten
from mlcli.methods.discriminant.check import fixed_point_check, negentropy_checks
from mlcli.methods.method import Method
from mlcli.methods.trials import variant

Contrast = Literal["logcosh", "exp", "cube"]
Order = Literal["symmetric", "deflation"]
Values = tuple[Array, Array, Array]  # G, its derivative and its second derivative
USUAL = 20  # steps of most fits
PATIENCE = 500  # steps without a smaller change: directions of Gaussian data never converge
CONTRAST, CALLS = 20, 60  # a contrast and its derivatives, in functions of one distance; small calls of a step


@result("unmixing")
@frozen
class Unmixing:
    """Orthonormal directions of white data, with the data's negentropies along them."""

    directions: Array  # p x r
    negentropy: Array  # p, (E G(y) - E G(v))^2

    @property
    def objective(self) -> float:
        """The sum that the fixed point maximizes."""
        return float(self.negentropy.sum())


@frozen
class IndependentComponents:
    """Independent components in descending order of negentropy, with the course of the iteration."""

    directions: Array  # p x p
    negentropy: Array  # p
    trace: Array  # the objective after each iteration
    facts: dict[str, Any]


def _logcosh(values: Array) -> Values:
    slope, size = np.tanh(values), np.abs(values)
    return size + np.log1p(np.exp(-2 * size)) - np.log(2.0), slope, 1 - slope**2


def _exp(values: Array) -> Values:
    bell = np.exp(-values**2 / 2)
    return -bell, values * bell, (1 - values**2) * bell


def _cube(values: Array) -> Values:
    return values**4 / 4, values**3, 3 * values**2


CONTRASTS: dict[str, Callable[[Array], Values]] = {"logcosh": _logcosh, "exp": _exp, "cube": _cube}


def fastica(white: Array, contrast: Contrast, order: Order, iterate: Iterate,
            random: np.random.Generator) -> IndependentComponents:
    """Return the independent components of white points (n x p), from random directions (Hyvärinen and Oja)."""
    size = white.shape[1]
    start = symmetric_decorrelation(random.standard_normal((size, size))) if size else np.zeros((0, 0))
    runs = (_symmetric_runs if order == "symmetric" else _deflation_runs)(white, contrast, iterate, start)
    directions = np.vstack([start[:0], *(run.state.directions for run in runs)])
    negentropy = with_negentropy(white, directions, contrast).negentropy
    best = np.argsort(-negentropy, kind="stable")
    trace = np.concatenate([np.zeros(0), *(run.trace for run in runs)])
    return IndependentComponents(directions[best], negentropy[best], trace,
                                 {"iterations": len(trace), "converged": all(run.converged for run in runs)})


def _symmetric_runs(white: Array, contrast: Contrast, iterate: Iterate, start: Array) -> list[Iterated[Unmixing]]:
    """Iterate all directions at once."""
    def step(state: Unmixing) -> Unmixing:
        stepped = fixed_point_step(white, state.directions, contrast)
        return with_negentropy(white, symmetric_decorrelation(stepped), contrast)

    if not len(start):
        return []
    return [iterate(step, with_negentropy(white, start, contrast), rotation_change, patience=PATIENCE)]


def _deflation_runs(white: Array, contrast: Contrast, iterate: Iterate, start: Array) -> list[Iterated[Unmixing]]:
    """Iterate one direction after another, each orthogonal to those before."""
    rows: list[Iterated[Unmixing]] = []
    for first in start:
        before = np.vstack([start[:0], *(run.state.directions for run in rows)])

        def step(state: Unmixing, before: Array = before) -> Unmixing:
            stepped = fixed_point_step(white, state.directions, contrast)
            return with_negentropy(white, deflate(stepped, before), contrast)

        begun = with_negentropy(white, deflate(first[None, :], before), contrast)
        rows.append(iterate(step, begun, rotation_change, patience=PATIENCE))
    return rows


def with_negentropy(white: Array, directions: Array, contrast: Contrast) -> Unmixing:
    """Return directions (r x p) with their negentropies, for white points (n x p)."""
    means = CONTRASTS[contrast](white @ directions.T)[0].mean(axis=0)
    return Unmixing(directions, (means - gaussian_mean(contrast)) ** 2)


@cache
def gaussian_mean(contrast: Contrast) -> float:
    """Return E G(v) of a standard Gaussian v, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    return float(CONTRASTS[contrast](nodes)[0] @ weights / np.sqrt(2 * np.pi))


def fixed_point_step(white: Array, directions: Array, contrast: Contrast) -> Array:
    """Return each direction (p x r) after one step of the fixed point on white points (n x r), not yet orthogonal."""
    _, first, second = CONTRASTS[contrast](white @ directions.T)
    return first.T @ white / len(white) - second.mean(axis=0)[:, None] * directions


def step_seconds(rows: int, count: int) -> float:
    """Predict the seconds of one step: the contrast of all points twice, and the small calls."""
    return rows * count * (CONTRAST * rates().bent + 8 * count * rates().product) + CALLS * rates().called


def symmetric_decorrelation(directions: Array) -> Array:
    """Return the orthonormal directions (p x r) nearest to directions (p x r), by their polar factor."""
    left, _, right = singular(directions)
    return left @ right


def deflate(direction: Array, before: Array) -> Array:
    """Return a direction (1 x r) made orthogonal to those `before` (q x r), of length one."""
    for _ in range(2):
        direction = direction - (direction @ before.T) @ before
    return direction / np.linalg.norm(direction)


def rotation_change(before: Unmixing, after: Unmixing) -> float:
    """Return the largest change of any entry of the directions, up to signs."""
    old, new = before.directions, after.directions
    signs = np.where(np.einsum("ij,ij->i", new, old) < 0, -1.0, 1.0)
    return float(np.abs(new - signs[:, None] * old).max(initial=0.0))


class ICA(Method):
    """Independent sources mixed into the columns, found as the directions in which the data is least Gaussian.

    It keeps sources that are independent of each other, not the directions of most variance. It fails if two or more
    sources are Gaussian: the iteration then does not converge, or another `compute.seed` gives other directions. Set
    the number of sources first (`-p`), then the `contrast`: logcosh serves in general, exp with heavy tails and
    outliers, cube with light tails.

    How it works: A sum of independent sources is nearer to a Gaussian than each source is. So sources are found as the
    directions in which the data are least Gaussian. The leading principal components are scaled to variance one
    (whitened), and then rotated by the FastICA iteration: all directions at once (`symmetric`), or one after the other
    (`deflation`). Coordinates have variance one (divisor n) and are uncorrelated.

    Axes are in descending order of J = (E G(y) - E G(ν))², with E the mean and ν a Gaussian variable: for the contrast
    G, this estimates the negentropy, how far a coordinate y is from Gaussian. Sources have no sign of their own, so
    signs follow the rule of all methods.

    New points: The means of the training rows are subtracted from a new row, and it is unmixed along the same
    directions.

    Files: `loadings.csv` holds the mixing matrix, which also reconstructs features. `fit.negentropy` in `run.json`
    holds J of each axis.

    Source: Hyvärinen, "Fast and robust fixed-point algorithms for independent component analysis", 1999.
    """

    accepts: ClassVar = (Features,)
    judged_by: ClassVar = "reconstruction"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    variants: ClassVar = (variant(), variant("deflation", "quick", algorithm="deflation", contrast="cube"))
    can_resample: ClassVar = True
    axis: ClassVar = "IC"
    name: Literal["ica"] = "ica"
    algorithm: Order = option("symmetric", "All directions at once (symmetric), or one after the other (deflation).")
    contrast: Contrast = option("logcosh", "The function G that distinguishes Gaussian from other values.")
    iterate: Iterate = Iterate()
    axes: PlainAxes = PlainAxes()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def composition(self, data: Features, compute: Compute, share: float | None = None) -> "ICAComposition":
        """Return the stages: white points, and FastICA."""
        return ICAComposition(self, data, compute)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check unit variances, no correlations, negentropies, the fixed point, and the mixing matrix."""
        yield from super().checks(subject)
        coordinates, model = subject.embedding, subject.model
        yield from covariance_checks(coordinates, unit_variances(model.axes))
        yield from negentropy_checks(coordinates, self.contrast, np.array(model.fit["negentropy"], dtype=np.float64))
        yield fixed_point_check(coordinates, self.contrast, self.iterate.tolerance, bool(model.fit["converged"]),
                                together=self.algorithm == "symmetric")
        yield from loadings_check(subject.data.values, coordinates, model.directions)


@frozen
class ICAComposition(Composition[Model]):
    """The directions w of extreme E G(wᵀ z) for white principal components z."""

    method: ICA
    data: Features
    compute: Compute

    @FitStage
    def white(self) -> Whitening:
        """z, of which the leading ones are used."""
        return whiten(self.data.values, equal_columns=False)

    @white.cost
    def _(self) -> list[Step]:
        return [singular_step("whitening", self.data.values.shape, self.compute.thread_count(), WHITE)]

    @cached_property
    def count(self) -> int:
        """The number of axes."""
        return self.method.axes.available_count(self.white.rank)

    @FitStage
    def found(self) -> IndependentComponents:
        """w, by some dozens of passes over the white points."""
        method = self.method
        return fastica(self.white.points[:, : self.count], method.contrast, method.algorithm, method.iterate,
                       self.compute.generator())

    @found.cost
    def _(self) -> list[Step]:
        rows, count = len(self.data.values), self.method.axes.count
        return [repeated("iterate", "FastICA", step_seconds(rows, count), 8.0 * 6 * rows * count, usual=USUAL,
                         most=self.method.iterate.limit)]

    def result(self) -> Model:
        """Return the sources, and the mixing matrix."""
        white, found, count = self.white, self.found, self.count
        turn = first_columns(np.eye(white.rank, len(found.directions)) @ found.directions.T, count)
        turn = turn * leading_signs(white.points @ turn)
        mixing = (turn.T @ white.back).T
        projector = Projector(Columns(), Centering(white.means, across=False), white.into @ turn,
                              Affine(white.means, mixing))
        return Model(embedding=white.points @ turn, projector=projector, objective=Quantity(found.trace),
                     fit={"negentropy": found.negentropy.tolist(), **found.facts},
                     loadings=Loadings(mixing, self.data.columns))
