"""The shapes of the JSON files of findings, for the parts that are read back; built only where such a file is read."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mlcli.base.values.shape import Count, Name, Number, Shape


class Curve(Shape):
    """A figure for every size of neighborhood."""

    neighbors: list[Count]
    values: list[Number]

    @model_validator(mode="after")
    def require_one_length(self) -> "Curve":
        """Refuse values without a size of neighborhood, and vice versa."""
        if len(self.neighbors) != len(self.values):
            raise ValueError("should have as many neighbors as values")
        return self


class Measures(Shape):
    """The measures of some coordinates: single numbers but for the curves."""

    __pydantic_extra__: dict[str, Number | None] = Field(init=False)
    q_nx: Curve | None = None
    q_nx_se: Curve | None = None


class Baseline(Measures):
    """The measures of the baseline, and its method."""

    method: Name
    components: Count


class QualityDocument(Measures):
    """quality.json."""

    rows: Count
    anchors: Annotated[Count, Field(gt=0)]
    exact: bool = True
    neighbors: Count | None = None
    distances: Name | None = None
    label: Name | None = None
    scale: Name | None = None
    baseline: Baseline | None = None

    @model_validator(mode="after")
    def require_one_curve(self) -> "QualityDocument":
        """Refuse curves over other sizes of neighborhoods than those of the embedding."""
        if self.baseline is not None and self.baseline.q_nx is not None and (
                self.q_nx is None or self.baseline.q_nx.neighbors != self.q_nx.neighbors):
            raise ValueError("should have curves over the same neighbors")
        return self


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


class Interval(Shape):
    """A figure with its interval and standard deviation over other rows."""

    value: Number
    low: Number
    high: Number
    deviation: Number


class Angle(Shape):
    """The angle between the axes of a run and those of other rows, in degrees."""

    of: Name
    median: Number | None
    at_most: Number | None

    @model_validator(mode="after")
    def require_both(self) -> "Angle":
        """Refuse one figure without the other."""
        if (self.median is None) != (self.at_most is None):
            raise ValueError("should have both figures, or none")
        return self


class StabilityDocument(Shape):
    """stability.json."""

    kind: Literal["bootstrap", "subsample"]
    resamples: Count
    failed: Count
    rows: Count
    level: Annotated[Number, Field(gt=0, lt=1)]
    eigenvalues: list[Interval] = Field(default=[])
    shares: list[Interval] = Field(default=[])
    angle: Angle

    @model_validator(mode="after")
    def require_one_length(self) -> "StabilityDocument":
        """Refuse shares of other axes than the eigenvalues, where there are both."""
        if self.eigenvalues and self.shares and len(self.eigenvalues) != len(self.shares):
            raise ValueError("should have as many shares as eigenvalues")
        return self


class Occurrences(Shape):
    """Numbers of lists of neighbors that points are in, in one space."""

    skewness: Number | None  # None where all counts are equal
    antihubs: Number
    largest: Count
    counts: list[Count]  # points that are in 0, 1, ... lists

    @model_validator(mode="after")
    def require_all_counts(self) -> "Occurrences":
        """Refuse counts that do not end at the largest."""
        if len(self.counts) != self.largest + 1:
            raise ValueError("should count the points up to those in most lists")
        return self


class HubnessDocument(Shape):
    """hubness.json."""

    rows: Count
    neighbors: Count
    distances: Name
    data: Occurrences
    embedding: Occurrences


class ReliabilityDocument(Shape):
    """reliability.json."""

    items: Count
    factors: Count
    alpha: Number | None
    alpha_standardized: Number | None
    average_correlation: Number | None
    omega_total: Number | None
    omega_hierarchical: Number | None
