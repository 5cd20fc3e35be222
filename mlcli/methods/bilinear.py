"""The bilinear model of style and content."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled, Input
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Loadings, Model, Powers
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.bilinear import bilinear_checks
from mlcli.stages.eigen.axes import Axes, first_columns
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.latent.bilinear import (
    Crossing,
    content_maps,
    content_vectors,
    style_factors,
    style_steps,
    unexplained_share,
)
from mlcli.stages.similarities.models.styles import StyleProjector


class Bilinear(Method):
    """Contents in several styles, such as letters in fonts or postures of persons; takes two label columns.

    The first label column names the style of a row, the second its content: `--label-column font --label-column
    letter`. The asymmetric model of Tenenbaum and Freeman says that a row of style s and content c is Aˢ bᶜ: each style
    has a matrix Aˢ of its own, and the vector bᶜ of a content is the same in all styles. It is fitted to the mean of
    the rows of each pair of a style and a content, so that each pair counts once, however many rows it has. The means
    are stacked, styles and columns below each other and contents side by side. Their singular value decomposition
    U S Vᵀ gives the least squares: Aˢ are the rows of U S that belong to the style, and bᶜ the columns of Vᵀ.

    The coordinates of a row are its content vector given its style: the b of least ‖y - Aˢ b‖. They have no unit. Rows
    of the same content lie near each other, whatever their style, if the model holds. If the axes depend on
    each other in a style, its rows have the shortest such vector, with a warning.

    As in the paper, nothing is centered: the first axis is mostly the mean of all rows. Use `--scale center` to model
    deviations from the columns' means. `spectrum.csv` holds the squared singular values, not divided by anything, and
    their shares of the sum of squares of all means. Axes are ranked by them. `loadings.csv` holds Aˢ, in rows named
    `column@style`. `residual_share` is the part of the rows' sum of squares that Aˢ b leaves. There are at most as many
    axes as columns, and as contents.

    New rows need their style, and not their content: `mlcli project RUN new.csv --label-column font`. A style that no
    row of the fit has is refused. So is a pair of a style and a content without any row. It fails if styles do more
    than a linear map of contents can. Source: Tenenbaum and Freeman, "Separating style and content with bilinear
    models", Neural Computation 12, 2000.
    """

    accepts: ClassVar = (CrossLabeled,)
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "squared singular values of the means of styles and contents"
    decodes: ClassVar = None
    rules: ClassVar = ()
    loads: ClassVar = "classes"
    can_resample: ClassVar = False
    variants: ClassVar = (variant("", "shift"),)
    axis: ClassVar = "Bilinear"
    name: Literal["bilinear"] = "bilinear"
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Return the smaller of d and the number of contents."""
        return min(data.values.shape[1], len(set(data.contents))) if isinstance(data, CrossLabeled) else 1

    def reproduces(self) -> bool:
        """New rows need their style, which a row of features does not have."""
        return False

    def steps(self, data: CrossLabeled, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of stacked means, and of the rows' contents."""
        return style_steps(data.values, (len(set(data.labels)), len(set(data.contents))), self.axes.count,
                           compute.thread_count())

    def solve(self, data: CrossLabeled, compute: Compute) -> Model:
        """Compute U S Vᵀ of the stacked means, and of each row the b of least ‖y - Aˢ b‖."""
        crossing = Crossing.of(data.labels, data.contents, data.ids)
        found = style_factors(data.values, crossing)
        styles, columns, _ = found.factors.shape
        count = self.axes.available_count(len(found.values))
        factors = first_columns(found.factors.reshape(styles * columns, -1), count).reshape(styles, columns, count)
        maps = content_maps(factors, found.least, crossing.styles)
        embedding = content_vectors(data.values, crossing, maps)
        signs = leading_signs(embedding)
        share = unexplained_share(data.values, crossing, factors, embedding)
        names = tuple(f"{column}@{style}" for style in crossing.styles for column in data.columns)
        counts = {"styles": dict(zip(crossing.styles, np.bincount(crossing.style).tolist(), strict=True)),
                  "contents": dict(zip(crossing.contents, np.bincount(crossing.content).tolist(), strict=True))}
        return Model(embedding=embedding * signs,
                     spectrum=Spectrum.of_values(found.values, float(found.values.sum()), complete=True),
                     projector=StyleProjector.of(crossing.styles, maps * signs),
                     loadings=Loadings((factors * signs).reshape(styles * columns, count), names),
                     fit={**counts, "residual_share": share})

    def identities(self, data: CrossLabeled, model: Model, full: bool = False) -> list[Check]:
        """Check the singular value equations of means computed again, and the normal equations of the rows."""
        return bilinear_checks(data, model)
