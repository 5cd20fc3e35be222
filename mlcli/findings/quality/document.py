"""The shape of quality.json, built only where the file is read back."""

from typing import Annotated

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
