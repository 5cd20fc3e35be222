"""What a block costs on a Dask cluster beside its own work: processor seconds of client, scheduler and worker.

Usage: python benchmarks/cluster_overheads.py [ROWS]   (in the source tree; a scheduler and a worker on loopback)

Blocks do nothing and give back nothing, or zeros. `mlcli/engine/cluster/scaling.py` has its constants from here. With
ROWS: the bytes that a pass over a kernel of so many points sends from two worker processes to the client, if it adds
the results of all blocks, and if workers add them.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
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


def bytes_of_passes(rows: int) -> None:
    """Print a line of JSON for a pass by elimination and one by tiles, each with eight vectors."""
    from mlcli.core.graph.graph import graph_of
    from mlcli.core.graph.search import nearest
    from mlcli.core.kernels.functions import Gaussian
    from mlcli.core.kernels.streamed import KernelPass, PassPart, Streamed
    from mlcli.core.kernels.tiles import Tiles
    from mlcli.core.paths.elimination import Analysis, EliminationRows

    random = np.random.default_rng(0)
    points, vectors = random.random((rows, 2)), random.standard_normal((rows, 8))
    kernels = {"elimination": EliminationRows.of(Analysis.of(graph_of(nearest(points, 10), "union")), "float32"),
               "tiles": Tiles(Gaussian(rate=1.0), points, np.float64)}
    with limit_threads(1), clustered(Compute(cluster="local:2")) as cluster:
        assert cluster is not None
        for name, kernel in kernels.items():
            taken = []
            placed = vectors if kernel.order is None else vectors[kernel.order]
            for adds in (False, True):
                before = cluster.counts["bytes from the cluster"]
                if adds:
                    Streamed(kernel, centered=False).apply(vectors)
                else:
                    made = PassPart.before(vectors, None, collects=True)
                    for folded in results(KernelPass(kernel, placed, True)):
                        made.add(folded, ends=False)
                taken.append(cluster.counts["bytes from the cluster"] - before)
            print(json.dumps({"kernel": name, "rows": rows, "blocks": kernel.blocks, "bytes of n x p": vectors.nbytes,
                              "bytes of all blocks": taken[0], "bytes of the sum": taken[1]}), flush=True)


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
    if len(sys.argv) > 1:
        bytes_of_passes(int(sys.argv[1]))
    else:
        main()
