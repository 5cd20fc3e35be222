"""The shape of stability.json, built only where the file is read back."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from mlcli.base.values.shape import Count, Name, Number, Shape


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
