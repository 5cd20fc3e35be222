"""Random projection."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from mlcli.base.rows.scratch import map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.model import Loadings, Model
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Projector
from mlcli.methods.method import Method
from mlcli.methods.parts.check import direction_checks, distortion_checks
from mlcli.methods.parts.random_projection import (
    Kind,
    distortion_bound,
    distortions,
    project_rows,
    projection_step,
    random_directions,
    some_rows,
)
from mlcli.methods.trials import variant

Density = Annotated[float, Field(gt=0, le=1)]


class RandomProjection(Method):
    """Random directions, which nearly keep all distances if there are enough of them; takes no eigenproblem.

    It keeps all distances, nearly, if there are enough axes; it serves ahead of methods that depend on distances only,
    for tables of thousands of columns. It fails with few axes: two random axes are rarely a good picture, and PCA shows
    more. Set the number of axes first (`-p`), some hundreds, by `fit.bound`.

    How it works: Coordinates are (x - mean) R with a random matrix R that follows `compute.seed`: normal entries of
    variance 1/p (gaussian), ±1 / √(s p) in a share s of the entries and zero in the others (sparse, `density`), or an
    orthonormal frame times √(d/p) (orthogonal). Squared distances are kept on average over all R. Axes have no order.
    Signs follow the common rule.

    How many axes: For n rows there is an R with p axes that keeps every squared distance within 1 ± ε if p ≥ 4 ln n /
    (ε²/2 - ε³/3), whatever the number of columns. `fit.bound` holds this ε for the number of axes that was asked for.
    It is empty if no ε below one fits, as with fewer than 24 ln n axes.

    New points: New rows are placed exactly, with the same R.

    Files: `loadings.csv` holds R. `fit.distortion` holds the smallest, the mean and the largest ratio of squared
    distances after to before, over the pairs of up to 64 rows.

    Source: Johnson and Lindenstrauss, "Extensions of Lipschitz mappings into a Hilbert space", 1984; Dasgupta and
    Gupta, 2003 (the bound); Achlioptas, 2003, and Li, Hastie and Church, 2006 (sparse).
    """

    in_blocks: ClassVar = ""
    accepts: ClassVar = (Features,)
    judged_by: ClassVar = "distortion"
    ranked_by: ClassVar = None
    decodes: ClassVar = None
    rules: ClassVar = ()
    can_resample: ClassVar = True
    variants: ClassVar = (
        variant("", "rotation", "columns", "constant column"),
        variant("sparse", "rotation", "columns", "constant column", kind="sparse"),
        variant("orthogonal", "rotation", "columns", "constant column", kind="orthogonal"))
    axis: ClassVar = "RP"
    name: Literal["random"] = "random"
    kind: Kind = option("gaussian", "Directions: of normal entries (gaussian), with many zeros (sparse), or "
                        "orthonormal (orthogonal).")
    density: Density | Literal["auto"] = option(
        "auto", "Share of entries of sparse directions that are not zero; 1/√d by default.")
    axes: PlainAxes = PlainAxes()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d: distances of n points need no more axes."""
        return min(len(data.values) - 1, data.values.shape[1])

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for a density of directions without zeros."""
        return {} if self.kind == "sparse" else self.refuse_unused(f"{self.kind} directions have no zeros", "density")

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the products with the directions."""
        return [projection_step(data.values, self.kind, self.axes.count, compute.thread_count())]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute (X - mean) R for random directions R, and how far it keeps distances."""
        rows = rows_of(data.values)
        mean = data.values.mean(axis=0) if rows is None else rows.means
        varying = bool(np.any(data.values.max(axis=0) > data.values.min(axis=0)))
        mean = mean if varying else data.values.max(axis=0)
        count = self.axes.available_count(self.axes.count if varying else 0)
        columns = len(mean)
        directions = random_directions(self.kind, columns, count, self.share(columns), compute.generator())
        scores = project_rows(data.values, mean, directions)
        signs = leading_signs(scores)
        scores, directions = map_blocks(lambda some: some * signs, scores), directions * signs
        chosen = some_rows(data.values)
        ratios = distortions(data.values[chosen], scores[chosen])
        figures = {"bound": distortion_bound(len(scores), count), "distortion": {} if not len(ratios) else {
            "smallest": float(ratios.min()), "mean": float(ratios.mean()), "largest": float(ratios.max())}}
        return Model(embedding=scores, projector=Projector(Columns(), Centering(mean, across=False), directions),
                     fit=figures, loadings=Loadings(directions, data.columns, power=0))

    def share(self, columns: int) -> float:
        """Return the share of entries that are not zero, of sparse directions of so many columns."""
        return float(1 / np.sqrt(columns)) if self.density == "auto" else self.density

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the entries or lengths of the directions, the mean, the bound, and the distortion of some pairs."""
        yield from super().checks(subject)
        model = subject.model
        yield from direction_checks(model.axes, self.kind, self.share(len(model.axes)))
        yield from distortion_checks(subject.data.values, model.embedding, model.fit)
