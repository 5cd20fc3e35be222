"""How long passes take on a cluster: a model of tasks, bytes and overheads, whose constants were measured.

`docs/scale-out.md` says how. A pass lasts as long as the slowest of three things that overlap: the workers compute;
the client looks after blocks; their results reach the client. Sending the vectors comes before.
"""

import math
from dataclasses import replace

from mlcli.base.steps import Passes, Step

LINK = 1.25e9  # bytes a second between any two machines: 10 Gbit/s, not measured
TAKEN = 1.0e9  # bytes a second that the client receives and adds up
CLIENT = 4e-3  # seconds of the client for each block
WORKER = 6e-3  # seconds of a worker for each block, beside its work


def seconds_of(passes: Passes, workers: int) -> float:
    """Seconds of all passes on so many workers of one thread each, and of what each worker does first."""
    rounds = math.ceil(passes.blocks / workers)
    computed = rounds * (passes.seconds / passes.blocks + WORKER)
    returned = passes.returned / min(LINK, TAKEN)
    sent = passes.sent / LINK * (1 + math.log2(workers))
    once = passes.before + passes.once / LINK * (1 + math.log2(workers))
    return once + passes.count * (max(computed, passes.blocks * CLIENT, returned) + sent)


def on_workers(step: Step, workers: int) -> Step:
    """A step as a cluster would do it: passes on workers, anything else here."""
    if step.passes is None:
        return step
    return replace(step, seconds=seconds_of(step.passes, workers), measured=None,
                   how=f"{step.how}; on {workers} workers, {step.passes.blocks} blocks a pass")
