"""Linear discriminant analysis."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, Labeled
from mlcli.base.values.missing import is_missing
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.check.second_moments import class_checks
from mlcli.core.classifier import Classifier, Memberships, Priors, priors_of
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.methods.discriminant.check import posterior_checks
from mlcli.methods.discriminant.discriminants import (
    ClassProjector,
    classes_of,
    discriminant_steps,
    discriminants,
    labeled_rows,
    score_points,
)
from mlcli.methods.method import Method
from mlcli.methods.trials import variant


class LDA(Method):
    """The directions in which classes lie farthest apart relative to their spread; takes a label column.

    It keeps the differences between the means of classes, relative to the spread within them. It fails where classes
    differ in spread and not in their means, and with more columns than rows, since any noise then separates the classes
    well. Set the label column first (`--label-column`), and `method.shrinkage` with many columns and few rows.

    How it works: The spread of the rows around the means of their classes is made the same in all directions. Then the
    axes are those along which the means of the classes differ most. There are at most g - 1 axes of g classes.
    Coordinates have covariance one within the classes (divisor n - g). The classes are those of the first label column.

    The covariance within classes may be shrunk towards a multiple of the identity (`method.shrinkage`), which helps
    with many columns and few rows. The intensity is a number, or that of Ledoit and Wolf for each class. As in
    scikit-learn, the divisor of the covariance is then n. Directions without spread within the classes are left out
    with a warning, as in MASS.

    New points: New rows are placed with the same coefficients. `mlcli project --classes` also writes the most probable
    class of each. Rows without a label are left out of the fit with a note, and `mlcli project` places them; in a table
    that is read in blocks, they are refused.

    Files: `spectrum.csv` holds, for each axis, the ratio of the variance between classes (divisor g - 1) to that
    within, by which axes are ranked, and its share in the sum of all ratios. `loadings.csv` holds the coefficients that
    make coordinates of centered columns.

    `classes.csv` holds the most probable class of each row, and the posterior probability of each class: the prior of
    the class times its normal density with the covariance within classes, divided by the sum of these products over the
    classes (`predict.lda` of MASS, plug-in). Priors change no axis. `resubstitution_errors` in `run.json` counts the
    rows whose most probable class is not their own.

    Source: Fisher, 1936; Rao, 1948; Venables and Ripley, "Modern applied statistics with S", 2002.
    """

    in_blocks: ClassVar = "without method.shrinkage"
    accepts: ClassVar = (Labeled,)
    judged_by: ClassVar = "classes"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "ratios of variance between classes to that within"
    decodes: ClassVar = None
    rules: ClassVar = ()
    can_resample: ClassVar = True
    variants: ClassVar = (variant(), variant("ledoit_wolf", "rotation", shrinkage="ledoit_wolf", priors="equal"))
    later: ClassVar = ("priors", "shrinkage")
    axis: ClassVar = "LDA"
    name: Literal["lda"] = "lda"
    priors: Priors = option(
        "proportions", "Prior probabilities of the classes: their shares of the rows (proportions), equal ones "
        "(equal), or numbers in the alphabetical order of the classes.")
    shrinkage: Literal["none", "ledoit_wolf"] | Annotated[float, Field(gt=0, le=1)] = option(
        "none", "Shrinkage of the covariance within classes: none, by Ledoit and Wolf (ledoit_wolf), or a share of the "
        "mean variance.")
    axes: PlainAxes = PlainAxes()

    @property
    def weighs_columns(self) -> bool:
        """Whether the covariance is shrunk, to a multiple of the identity."""
        return self.shrinkage != "none"

    def streams(self, kind: str) -> bool:
        """Whether input is features, and no covariance is shrunk."""
        return kind == "features" and self.shrinkage == "none"

    def limit(self, data: Input) -> int:
        """Return the smaller of d and the number of classes less one."""
        if not isinstance(data, Labeled):
            return 1
        return min(data.values.shape[1], sum(not is_missing(name) for name in set(data.labels)) - 1)

    def steps(self, data: Labeled, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the singular values of deviations from the classes' means."""
        return discriminant_steps(data.values, self.axes.count, len(set(data.labels)), compute.thread_count())

    def solve(self, data: Labeled, compute: Compute) -> Model:
        """Compute y = Sᵀ (x - mean) with Sᵀ W S = I and Sᵀ B S diagonal, W and B covariances within and between."""
        known = labeled_rows(data)
        data = data if known is None else data.take(known)
        names, classes = classes_of(data.labels)
        counts = np.bincount(classes)
        priors = priors_of(self.priors, names, counts)
        found = discriminants(data.values, classes, priors, None if self.shrinkage == "none" else self.shrinkage)
        count = self.axes.available_count(len(found.ratios))
        scores, chances = score_points(found, data.values, classes, count)
        signs = leading_signs(scores)
        scaling = first_columns(found.scaling, count) * signs
        errors = int(np.sum(chances.argmax(axis=1) != classes))
        return Model(kept=known, left_out="no label", embedding=map_blocks(lambda some: some * signs, scores),
                     spectrum=Spectrum.of_values(found.ratios, float(found.ratios.sum()), complete=True),
                     projector=ClassProjector(
                         Columns(), Centering(found.mean, across=False), scaling,
                         classifier=Classifier(tuple(names), found.scaling, found.centers, priors)),
                     fit={"classes": dict(zip(names, counts.tolist(), strict=True)), "resubstitution_errors": errors},
                     loadings=Loadings(scaling, data.columns, power=-1),
                     memberships=Memberships(tuple(names), chances))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the covariance within classes, the ratios between them, and posteriors by elimination."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        if self.shrinkage == "none":
            yield from class_checks(model.embedding, data.labels, model.ranks.solved, model.rounding(data))
        yield from posterior_checks(data, model, self.priors, self.shrinkage, full=subject.plan.full)
