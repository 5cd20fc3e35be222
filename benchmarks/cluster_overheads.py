"""What a block costs on a Dask cluster beside its own work: processor seconds of client, scheduler and worker.

Usage: python benchmarks/cluster_overheads.py   (in the source tree; a scheduler and a worker on loopback)

Blocks do nothing and give back nothing, or zeros. `mlcli/engine/cluster/scaling.py` has its constants from here.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.engine.cluster.connect import clustered
from mlcli.engine.executor import results

BLOCKS = 300


@frozen
class Idle:
    """A source whose blocks give back so many zeros."""

    numbers: int
    blocks = BLOCKS

    def work(self, number: int) -> Array:
        """Fresh pages, as a product has."""
        return np.full(self.numbers, float(number))

    def stop(self) -> None:
        """A block takes no time."""


def main() -> None:
    """Prints a line of JSON for each size of results."""
    from benchmarks.cluster import used
    from benchmarks.cluster_overheads import Idle  # by the name that the worker knows
    from tests.engine.loopback import Loopback

    with (tempfile.TemporaryDirectory() as name,
          Loopback(Path(name), PYTHONPATH=str(Path(__file__).parents[1])) as loopback):
        worker = [loopback.worker()]
        with clustered(Compute(cluster=loopback.cluster)), limit_threads(1):
            sum(1 for _ in results(Idle(0)))
            for numbers in (0, 25_000, 250_000):
                before = used(worker), used([loopback.scheduler]), time.process_time()
                total = sum(float(part.sum()) for part in results(Idle(numbers)))
                after = used(worker), used([loopback.scheduler]), time.process_time()
                assert total == numbers * BLOCKS * (BLOCKS - 1) / 2
                spent = [round((late - early) / BLOCKS * 1000, 3) for early, late in zip(before, after, strict=True)]
                print(json.dumps({"bytes": 8 * numbers, "ms of a block": dict(zip(
                    ("worker", "scheduler", "client"), spent, strict=True))}), flush=True)


if __name__ == "__main__":
    main()
