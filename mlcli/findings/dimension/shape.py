"""The shape of dimension.json, as far as it is used later."""

from pydantic import Field

from mlcli.base.values.shape import Count, Number, Shape


class Recommendation(Shape):
    """How many axes to keep."""

    sentence: str


class Figures(Shape):
    """What decided a rule."""

    residual_variances: list[Number] = Field(default=[])
    line_shares: list[Number] = Field(default=[])


class Rule(Shape):
    """The answer of a rule."""

    components: Count | None = None
    detail: str | None = None
    rule: str | None = None
    figures: Figures = Figures()


class Dimension(Shape):
    """dimension.json."""

    recommendation: Recommendation
    rules: dict[str, Rule] = Field(default={})
    left_out: dict[str, str] = Field(default={})
    correlations: list[Number] = Field(default=[])
