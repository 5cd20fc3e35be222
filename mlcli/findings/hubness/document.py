"""The shape of hubness.json, built only where the file is read back."""

from pydantic import model_validator

from mlcli.base.values.shape import Count, Name, Number, Shape


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
