"""How long passes take on a cluster: a model of tasks, bytes and overheads, whose constants were measured.

`docs/scale-out.md` says how. A pass lasts as long as the slowest of three things that overlap: the workers compute;
the scheduler looks after blocks; their results reach the client. Where workers add the results, the third is the worker
that receives most: all sums of spans, or all results of one. Sending the vectors comes before, and the sum comes after.
A table that is read in blocks is read by the workers, at the rate of one core each, however fast their storage is.
"""

import math
from dataclasses import replace

from mlcli.base.stages.steps import Passes, Step
from mlcli.engine.executor import TOGETHER, span_of

LINK = 1.25e9  # bytes a second between any two machines: 10 Gbit/s, which is assumed
TAKEN, GIVEN = 2.5e9, 1.8e9  # bytes a second that the client takes in, and that a worker gives back, beside the link
SCHEDULER = 3.4e-3  # seconds of the scheduler for each block; the client needs less, and beside it
WORKER = 3.7e-3  # seconds of a worker for each block, beside its work
ADDED = 2e9  # bytes of results that a worker adds in a second


def seconds_of(passes: Passes, workers: int) -> float:
    """Seconds of all passes on so many workers of one thread each, and of what each worker does first."""
    given = passes.summed or passes.returned / passes.blocks
    tasks = passes.blocks * ((1 + 1 / TOGETHER) if passes.summed else 1.0)
    block = (passes.seconds + tasks * WORKER) / passes.blocks + given / GIVEN + passes.summed / ADDED
    computed = math.ceil(passes.blocks / workers) * block
    returned = passes.returned / min(LINK, TAKEN)
    if passes.summed:
        span = span_of(passes.blocks)
        received = max(span * passes.summed, passes.blocks / span * passes.returned)
        computed = max(computed, received / LINK) if workers > 1 else computed
    spread = (1 + math.log2(workers)) / LINK  # workers pass on what they have got
    one = max(computed, tasks * SCHEDULER, returned) + passes.sent * spread + (returned if passes.summed else 0.0)
    return passes.here + passes.before + passes.once * spread + passes.count * one


def on_workers(step: Step, workers: int) -> Step:
    """A step as a cluster would do it: what is in blocks on workers, anything else here."""
    if step.passes is None:
        return step
    return replace(step, seconds=seconds_of(step.passes, workers), measured=None,
                   how=f"{step.how}; on {workers} worker{'s' * (workers > 1)}, {step.passes.blocks} blocks a pass")
