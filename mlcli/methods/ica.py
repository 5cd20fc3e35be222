"""Independent component analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step, repeated
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model, Powers
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.negentropy import fixed_point_check, negentropy_checks
from mlcli.methods.identities.second_moments import covariance_checks, loadings_check, unit_variances
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.costs import singular_step
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.eigen.axes import Axes, first_columns
from mlcli.stages.linear.independence import USUAL, Contrast, Order, fastica, step_seconds
from mlcli.stages.linear.whitening import WHITE, whiten
from mlcli.stages.similarities.columns import Columns
from mlcli.stages.similarities.decoders import Affine
from mlcli.stages.similarities.projector import Projector


class ICA(Method):
    """Independent sources mixed into the columns, found as the directions in which the data is least Gaussian.

    The leading principal components are whitened and rotated by FastICA's fixed point: all directions at once
    (symmetric) or one after the other (deflation). Coordinates have variance one (divisor n) and are uncorrelated.
    Axes are in descending order of J = (E G(y) - E G(ν))² with ν Gaussian, the estimate of negentropy that the
    contrast G stands for (`fit.negentropy`); signs follow the common rule, as sources have none.
    `loadings.csv` holds the mixing matrix, which also reconstructs features.

    It fails if two or more sources are Gaussian: it then does not converge, or finds other directions with another
    `compute.seed`. logcosh serves in general, exp with heavy tails and outliers, cube with light tails.
    Source: Hyvärinen, "Fast and robust fixed-point algorithms for independent component analysis", 1999.
    """

    accepts: ClassVar = (Features,)
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
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d."""
        return min(len(data.values) - 1, data.values.shape[1])

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values and of some dozens of passes over the white points."""
        rows, count = len(data.values), self.axes.count
        return [singular_step("whitening", data.values.shape, compute.thread_count(), WHITE),
                repeated("iterate", "FastICA", step_seconds(rows, count), 8.0 * 6 * rows * count, usual=USUAL,
                         most=self.iterate.limit)]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute the directions w of extreme E G(wᵀ z) for white principal components z."""
        white = whiten(data.values, equal_columns=False)
        count = self.axes.available_count(white.rank)
        found = fastica(white.points[:, :count], self.contrast, self.algorithm, self.iterate, compute.generator())
        turn = first_columns(np.eye(white.rank, len(found.directions)) @ found.directions.T, count)
        turn = turn * leading_signs(white.points @ turn)
        mixing = (turn.T @ white.back).T
        projector = Projector(Columns(), Centering(white.means, across=False), white.into @ turn,
                              Affine(white.means, mixing))
        return Model(embedding=white.points @ turn, projector=projector, objective=Quantity(found.trace),
                     fit={"negentropy": found.negentropy.tolist(), **found.facts},
                     loadings=Loadings(mixing, data.columns))

    def identities(self, data: Features, model: Model, full: bool = False) -> list[Check]:
        """Check unit variances, no correlations, negentropies, the fixed point, and the mixing matrix."""
        return [*covariance_checks(model.embedding, unit_variances(model.axes)),
                *negentropy_checks(model.embedding, self.contrast, np.array(model.fit["negentropy"], dtype=np.float64)),
                fixed_point_check(model.embedding, self.contrast, self.iterate.tolerance, bool(model.fit["converged"]),
                                  together=self.algorithm == "symmetric"),
                *loadings_check(data.values, model.embedding, model.directions)]
