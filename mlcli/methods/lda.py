"""Linear discriminant analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, Labeled
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model, Powers
from mlcli.methods.identities.second_moments import class_checks
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.eigen.axes import Axes, first_columns
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.linear.discriminant import classes_of, discriminant_steps, discriminants, score_points
from mlcli.stages.similarities.columns import Columns
from mlcli.stages.similarities.projector import Projector


class LDA(Method):
    """The directions in which classes lie farthest apart relative to their spread; takes a label column.

    Coordinates have covariance one within the classes (divisor n - g). `spectrum.csv` holds the
    ratio of variance between classes (divisor g - 1) to that within, and its share of the trace,
    which axes are ranked by; `loadings.csv` the coefficients that make coordinates of centered
    columns. There are at most g - 1 axes. The classes are those of the first label column;
    `resubstitution_errors` counts the rows that their own classes' normal densities, with the
    classes' shares as priors and all axes, assign to another one. New rows get coordinates but no class.

    Directions without spread within the classes are left out with a warning, as in MASS: with
    more columns than rows there are many, and every table of noise then separates well. Source:
    Fisher, 1936; Rao, 1948; Venables and Ripley, "Modern applied statistics with S", 2002.
    """

    in_blocks: ClassVar = ""
    accepts: ClassVar = (Labeled,)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "ratios of variance between classes to that within"
    decodes: ClassVar = None
    rules: ClassVar = ()
    can_resample: ClassVar = True
    axis: ClassVar = "LDA"
    name: Literal["lda"] = "lda"
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Return the smaller of d and the number of classes less one."""
        return min(data.values.shape[1], len(set(data.labels)) - 1) if isinstance(data, Labeled) else 1

    def steps(self, data: Labeled, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the singular values of deviations from the classes' means."""
        return discriminant_steps(data.values, self.axes.count, compute.thread_count())

    def solve(self, data: Labeled, compute: Compute) -> Model:
        """Compute y = Sᵀ (x - mean) with Sᵀ W S = I and Sᵀ B S diagonal, W and B covariances within and between."""
        names, classes = classes_of(data.labels, data.ids)
        found = discriminants(data.values, classes)
        count = self.axes.available_count(len(found.ratios))
        scores, errors = score_points(found, data.values, classes, count)
        signs = leading_signs(scores)
        scaling = first_columns(found.scaling, count) * signs
        sizes = dict(zip(names, np.bincount(classes).tolist(), strict=True))
        return Model(embedding=map_blocks(lambda some: some * signs, scores),
                     spectrum=Spectrum.of_values(found.ratios, float(found.ratios.sum()), complete=True),
                     projector=Projector(Columns(), Centering(found.mean, across=False), scaling),
                     fit={"classes": sizes, "resubstitution_errors": errors},
                     loadings=Loadings(scaling, data.columns, power=-1))

    def identities(self, data: Labeled, model: Model, full: bool = False) -> list[Check]:
        """Check covariance one within the classes, and the ratios between them."""
        return class_checks(model.embedding, data.labels, model.ranks.solved, model.rounding(data))
