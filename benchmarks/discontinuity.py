"""The scores of `report.discontinuity` beside the fit of their layout, in turns: processor seconds and memory.

Usage: python benchmarks/discontinuity.py X.npy METHOD ROWS [TURNS]   (on 50 components where there are more columns)

For MNIST at full size: `python benchmarks/discontinuity.py data/mnist/X.npy umap 70000`, and `tsne`.
"""

import resource
import sys
import time
from typing import Any

import numpy as np

from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.findings.discontinuity.measure import scores_of
from mlcli.methods import METHODS

COMPONENTS = 50


def components(rows: Array) -> Array:
    """Return rows on their first principal components."""
    centered = rows - rows.mean(axis=0)
    if rows.shape[1] <= COMPONENTS:
        return centered
    return np.ascontiguousarray(centered @ np.linalg.eigh(centered.T @ centered)[1][:, : -COMPONENTS - 1 : -1])


def main(path: str, name: str, count: int, turns: int = 1) -> None:
    """Print processor and wall seconds of fits and scores, and the largest memory after each."""
    every = components(np.load(path).astype(float))
    points = every[np.random.default_rng(0).permutation(len(every))[:count]]
    data, compute = Features(points, tuple(map(str, range(count))), tuple(f"x{axis}" for axis in range(
        points.shape[1]))), Compute(seed=0)
    method: Any = METHODS[name].model_validate({"name": name}).resolve(data)
    for _ in range(turns):
        with no_listeners():
            begun = time.process_time(), time.perf_counter()
            model = method.fit(data, compute)
            fitted = time.process_time(), time.perf_counter()
            held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            scores_of(method.point_losses(method.in_range(data), model, compute))
        ended = time.process_time(), time.perf_counter()
        fit, scores = fitted[0] - begun[0], ended[0] - fitted[0]
        print(f"{name} {count}: fit {fit:.1f} s ({fitted[1] - begun[1]:.1f} s of wall, {held >> 10} MB), "
              f"scores {scores:.1f} s ({ended[1] - fitted[1]:.1f} s, "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB), ratio {scores / fit:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
