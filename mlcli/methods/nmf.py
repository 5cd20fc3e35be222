"""Non-negative matrix factorization."""

from typing import Any, ClassVar, Literal, cast

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model, Powers
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.factorization import factorization_checks
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.linear.factorize import Factorizing, Start
from mlcli.stages.linear.nonnegative import Objective, Refinement
from mlcli.stages.similarities.models.nonnegative import require_nonnegative, weights_projector


class NMF(Method):
    """Parts without negative numbers, whose sums with weights of zero or more are nearest to the rows.

    X ≈ W H with W, H ≥ 0. Coordinates are W, the weights of the parts in a row; `loadings.csv` holds the parts, the
    rows of H. Each part sums to one, so a weight is the amount of its part in the row, in the data's unit, and the
    weights of a row add up to the total of its reconstruction. Parts are in descending order of the total of their
    weights (as shares in `fit.shares`), and there is no spectrum. frobenius minimizes ‖X - W H‖² / 2 by coordinate
    descent over one column of W or row of H at a time (HALS); kullback_leibler minimizes Σ x ln(x / (W H)) - x + W H,
    as for counts, by multiplicative updates. The start is NNDSVDa, made of singular vectors, or random numbers that
    follow `compute.seed`. After the last iteration, and for new rows, weights are the exact minimum for the given
    parts: non-negative least squares, or the least divergence.

    Negative cells are refused. Rows and columns of zeros are allowed, and have weights and parts of zero. Cells of new
    rows in columns that are zero in every part do not count for kullback_leibler.

    The objective has many minima, and another start may give other parts: it fails if they are then not alike. Ask for
    fewer parts, or compare `fit.objective` of some seeds. Source: Lee and Seung, 1999 and 2001; Cichocki and Phan,
    "Fast local algorithms for large scale nonnegative matrix and tensor factorizations", 2009; Boutsidis and
    Gallopoulos, 2008 (start); Gillis and Glineur, 2012 (repeated sweeps).
    """

    accepts: ClassVar = (Features,)
    powers: ClassVar = Powers(coordinates=1, spectrum=0)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    domain: ClassVar = "amounts"
    can_resample: ClassVar = True
    repeat_tolerance: ClassVar = 1e-6
    variants: ClassVar = (
        variant("", "rotation", "shift", "mirror", "constant column"),
        variant("divergence", "rotation", "shift", "mirror", "constant column", objective="kullback_leibler"))
    axis: ClassVar = "Part"
    name: Literal["nmf"] = "nmf"
    objective: Objective = option("frobenius", "Squared errors (frobenius), or the generalized Kullback-Leibler "
                                  "divergence.")
    start: Start = option("nndsvda", "Start: halves of singular vectors, or random numbers.")
    sweeps: int = option(3, "Sweeps over a factor for each product with the data, of frobenius (1: plain HALS).", ge=1)
    iterate: Refinement = Refinement()
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d: n parts could be the rows themselves."""
        return min(len(data.values) - 1, data.values.shape[1])

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for sweeps of multiplicative updates."""
        if self.objective == "frobenius":
            return {}
        return self.refuse_unused("multiplicative updates have no sweeps", "sweeps")

    def in_range(self, data: Input) -> Any:
        """Return the data in units that keep squares in range; raises DataError for a negative cell."""
        require_nonnegative(data.values, data.ids, cast(Features, data).columns)
        return super().in_range(data)

    @property
    def factorize(self) -> Factorizing:
        """The stages of the fit."""
        return Factorizing(self.objective, self.start, self.sweeps, self.iterate, self.axes)

    @property
    def power(self) -> int:
        """The power of the data's unit in the objective."""
        return 2 if self.objective == "frobenius" else 1

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular vectors of the start, of the iteration, and of the weights at its end."""
        return self.factorize.steps(data.values.shape, compute.thread_count())

    def solve(self, data: Features, compute: Compute) -> Model:
        """Minimize the objective from the start, and compute the weights for the parts that were found."""
        found = self.factorize(data.values, compute)
        return Model(embedding=found.weights, projector=weights_projector(self.objective, found.parts),
                     fit={"objective": Quantity(found.objective, self.power), **found.facts},
                     objective=Quantity(found.trace, self.power),
                     loadings=Loadings(found.parts.T, data.columns, power=0))

    def identities(self, data: Features, model: Model, full: bool = False) -> list[Check]:
        """Check signs, sums and order of the parts, the objective, and that neither factor can be improved."""
        return factorization_checks(data.values, model.embedding, model.directions, self.objective,
                                    self.iterate.tolerance, model.fit, data.unit**self.power)
