"""What a run would do, stage by stage, with its cost: what `mlcli plan` shows."""

from mlcli.base.frozen import frozen


@frozen
class Step:
    """One stage of a run, before it runs."""

    stage: str
    how: str  # the algorithm chosen, and why
    seconds: float  # predicted
    memory: float  # bytes at once, predicted, beside the data
    measured: float | None = None  # seconds extrapolated from a share of the work, where that was asked for
    remedy: str = ""  # what takes less memory
    square: bool = False  # whether memory grows with the square of the number of rows
