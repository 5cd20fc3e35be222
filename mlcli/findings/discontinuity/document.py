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
    share: Number | None  # of doubtful points, up to which a map counts as continuous; None: there is no alarm
    doubtful: Count | None
    torn: bool | None

    @model_validator(mode="after")
    def require_some(self) -> "DiscontinuityDocument":
        """Refuse more doubtful points than there are, and an alarm without its share."""
        if len({self.share is None, self.doubtful is None, self.torn is None}) > 1:
            raise ValueError("should have a share, doubtful points and torn, or none of them")
        if (self.doubtful or 0) > self.rows:
            raise ValueError("should count no more points than there are")
        return self
