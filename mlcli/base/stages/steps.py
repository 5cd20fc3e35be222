"""The stages of a run with their predicted costs, as `mlcli plan` shows them."""

from collections.abc import Sequence
from dataclasses import replace

from mlcli.base.frozen import frozen

WAITING = 6  # results of blocks that a worker holds until they are added, about


@frozen
class Passes:
    """Work of a stage in blocks that workers of a cluster can run, such as passes over a file."""

    count: int
    seconds: float  # of one core, for a pass
    blocks: int  # of a pass
    sent: float  # bytes, to every worker in every pass
    returned: float  # bytes, from all blocks of a pass to the command
    before: float = 0.0  # seconds of one core that each worker spends ahead of its first block
    once: float = 0.0  # bytes that each worker is sent ahead of it
    here: float = 0.0  # seconds of the stage besides, where the command runs
    working: float = 0.0  # bytes that a worker of one thread takes besides what it is sent and what it gives back
    summed: float = 0.0  # bytes of a block's result where workers add the results, and `returned` is the sum alone

    @property
    def worker_bytes(self) -> float:
        """Memory of a worker of one thread in bytes: its inputs, and two results, one of them in transfer.

        Where workers add results, also those that wait for a sum, the sum before and the one after.
        """
        adding = WAITING * self.summed + 2 * self.returned if self.summed else 2 * self.returned / self.blocks
        return self.once + self.sent + self.working + adding


@frozen
class Step:
    """One stage of a run, before it runs."""

    stage: str
    how: str  # the algorithm chosen, and why
    seconds: float  # predicted; of iterations whose number is not known, for a usual number of them
    memory: float  # bytes at once, predicted, beside the data
    measured: float | None = None  # seconds extrapolated from a share of the work, where that was asked for
    remedy: str = ""  # what takes less memory
    square: bool = False  # whether memory grows with the square of the number of rows
    needs: str = ""  # the library that it loads, one of `base/machine/footprint.py`
    each: float | None = None  # seconds of one iteration, where their number is not known before
    usual: int = 0  # iterations that `seconds` counts
    most: int = 0  # iterations after which it stops, converged or not
    passes: Passes | None = None  # what of it workers can do
    spread: tuple[float, float] = (1.0, 1.0)  # times `seconds`: the least and the most of usual data


def repeated(stage: str, how: str, each: float, memory: float, *, usual: int, most: int, remedy: str = "",
             square: bool = False, needs: str = "") -> Step:
    """A stage that ends when it has converged: so many iterations usually, and `most` at most."""
    usual = min(usual, most)
    return Step(stage, f"{how}, about {usual} iterations, {most} at most" if usual < most else f"{how}, {most} "
                "iterations at most", usual * each, memory, remedy=remedy, square=square, needs=needs, each=each,
                usual=usual, most=most)


def merge_steps(steps: Sequence[Step]) -> Step:
    """Return one step for a stage that runs several times: seconds summed, the largest memory."""
    return replace(steps[0], how=", ".join(dict.fromkeys(step.how for step in steps)),
                   seconds=sum(step.seconds for step in steps), memory=max(step.memory for step in steps))
