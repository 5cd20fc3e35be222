"""A run under a metric says the same as the run of the metric's matrix: figures of quality, ways along the graph."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from tests.cli.support import Caller

COUNTS = np.random.default_rng(4).integers(0, 60, (40, 7)) + 1.0


@pytest.mark.parametrize("metric", ["braycurtis", "cityblock"])
@pytest.mark.parametrize("method", ["mds", "isomap"])
def test_quality_and_routes_are_those_of_the_matrix(mlcli: Caller, method: str, metric: str) -> None:
    np.save("points.npy", COUNTS)
    np.save("matrix.npy", squareform(pdist(COUNTS, metric)))
    assert mlcli("embed", "points.npy", "-m", method, "--metric", metric, "-o", "by_metric").code == 0
    assert mlcli("embed", "matrix.npy", "--dissimilarities", "-m", method, "-o", "by_matrix").code == 0
    ours, theirs = (json.loads(Path(run, "quality.json").read_bytes()) for run in ("by_metric", "by_matrix"))
    for name in ("stress_1", "sammon_stress", "residual_variance", "trustworthiness"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-9)
    if method == "isomap":
        ways = [mlcli("route", run, "1", "40").out.splitlines()[1:] for run in ("by_metric", "by_matrix")]
        ours, theirs = ([float(line.rpartition(",")[2]) for line in way] for way in ways)
        assert ours == pytest.approx(theirs, rel=1e-12) and len(ours) > 1
