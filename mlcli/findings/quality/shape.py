"""The shape of quality.json, for the parts that are read back."""

from typing import Any

from pydantic import Field, model_validator

from mlcli.base.values.shape import Count, Figure, Name, Number, Shape


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


class Quality(Shape):
    """quality.json."""

    __pydantic_extra__: dict[str, Figure | Name | list[Any] | dict[str, Any]] = Field(init=False)
    rows: Count = 0
    anchors: Count | None = None
    exact: bool = True
    neighbors: Count | None = None
    distances: Name | None = None
    q_nx: Curve | None = None
