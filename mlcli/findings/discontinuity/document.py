"""The shape of discontinuity.json, built only where the file is read back."""

from pydantic import model_validator

from mlcli.base.values.shape import Count, Name, Number, Shape


class DiscontinuityDocument(Shape):
    """discontinuity.json."""

    rows: Count
    method: Name
    neighbors: Number  # perplexity or neighbors that thresholds are of; zero where a method has none
    moved: list[Number]  # length of the moves along each principal direction, in the input's unit
    unit: Number  # what perturbation is relative to, in the embedding's unit
    perturbation: Number | None  # thresholds above which a point is doubtful; None: not used
    singularity: Number | None
    share: Number  # of doubtful points, up to which a map counts as continuous
    doubtful: Count
    torn: bool

    @model_validator(mode="after")
    def require_some(self) -> "DiscontinuityDocument":
        """Refuse more doubtful points than there are."""
        if self.doubtful > self.rows:
            raise ValueError("should count no more points than there are")
        return self
