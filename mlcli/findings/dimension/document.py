"""The shape of dimension.json, built only where the file is read back."""

from pydantic import Field

from mlcli.base.values.shape import Count, Number, Shape


class Recommendation(Shape):
    """The recommended number of axes, in a sentence."""

    sentence: str


class Figures(Shape):
    """Figures of a rule that are drawn."""

    residual_variances: list[Number] = Field(default=[])
    stresses: list[Number] = Field(default=[])
    line_shares: list[Number] = Field(default=[])


class Rule(Shape):
    """The answer of a rule."""

    components: Count | None = None
    detail: str | None = None
    rule: str | None = None
    figures: Figures = Figures()


class DimensionDocument(Shape):
    """dimension.json."""

    recommendation: Recommendation
    rules: dict[str, Rule] = Field(default={})
    left_out: dict[str, str] = Field(default={})
    correlations: list[Number] = Field(default=[])
