"""Times all distances under each metric beside SciPy's `pdist`, in turns in one process.

`python benchmarks/metrics.py --help`; `pdist` runs on one thread and computes each pair once.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from scipy.spatial.distance import pdist
from unforced import kernels_in_use, restart_unforced

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.core.metrics import AnyMetric
from mlcli.core.metrics.distances import pairwise

METRICS = ("braycurtis", "cityblock", "chebyshev", "canberra", "cosine", "correlation", "hamming", "jensenshannon")


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    restart_unforced()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("metrics", nargs="*", default=METRICS)
    given = parser.parse_args()
    points = np.random.default_rng(0).poisson(2.0, (given.rows, given.columns)) * 1.0
    points[:, 0] += 1
    print(f"{given.rows} x {given.columns}, {given.threads} threads, kernels {native.describe()}")
    adapter: TypeAdapter[Any] = TypeAdapter(AnyMetric)
    with limit_threads(given.threads):
        print(kernels_in_use(sys.executable))
        for name in given.metrics:
            metric = adapter.validate_python(name).fitted(points)
            turns = [(timed(lambda m=metric: pairwise(m, points)), timed(lambda n=name: pdist(points, n)))
                     for _ in range(given.repeats)]
            own, other = (statistics.median(turn[side] for turn in turns) for side in (0, 1))
            print(f"  {name:14} {own:8.3f} s   pdist {other:8.3f} s   {other / own:5.1f}x")


if __name__ == "__main__":
    main()
