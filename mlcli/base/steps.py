"""What a run would do, stage by stage, with its cost: what `mlcli plan` shows."""

from mlcli.base.frozen import frozen


@frozen
class Passes:
    """Passes over a kernel that is never stored, whose blocks can run on the workers of a cluster."""

    count: int
    seconds: float  # of one core, for a pass
    blocks: int  # of a pass
    sent: float  # bytes, to every worker in every pass
    returned: float  # bytes, from all blocks of a pass
    before: float = 0.0  # seconds of one core that each worker spends ahead of its first block
    once: float = 0.0  # bytes that each worker is sent ahead of it


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
    passes: Passes | None = None  # that the stage consists of
