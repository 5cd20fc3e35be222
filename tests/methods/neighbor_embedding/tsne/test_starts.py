"""First coordinates are small, span all axes, and follow the data."""

import numpy as np

from mlcli.base.values.compute import Compute
from mlcli.core.graph.search import nearest
from mlcli.core.metrics import METRICS
from mlcli.core.metrics.distances import with_metric
from mlcli.methods.neighbor_embedding.perplexity import calibrate
from mlcli.methods.neighbor_embedding.tsne import SIZE, eigenmaps, first_coordinates, small_start
from tests.support import dissimilarities, distances, features

POINTS = np.random.default_rng(2).standard_normal((40, 4)) * [3, 2, 1, 0.5]
COMPUTE = Compute()


def test_the_first_axis_has_the_size_and_others_keep_their_share() -> None:
    scores = first_coordinates(features(POINTS), 3)
    start = small_start(scores, 3, COMPUTE)
    assert abs(start[:, 0].std() / SIZE - 1) < 1e-12
    assert np.allclose(start / start[:, :1].std(), scores / scores[:, :1].std())


def test_lacking_axes_are_small_and_random() -> None:
    line = POINTS[:, :1] * np.ones(3)
    start = small_start(first_coordinates(features(line), 2), 2, COMPUTE)
    assert 0 < start[:, 1].std() < 0.1 * start[:, 0].std()
    assert np.array_equal(start, small_start(first_coordinates(features(line), 2), 2, COMPUTE))


def test_distances_have_the_start_of_their_points() -> None:
    one, other = (small_start(first_coordinates(data, 2), 2, COMPUTE) for data in (
        features(POINTS), dissimilarities(distances(POINTS))))
    assert np.allclose(one, other, atol=1e-12)


def test_rows_that_a_metric_does_not_tell_apart_start_at_one_place() -> None:
    data = with_metric(METRICS["cosine"](), features(np.vstack([POINTS, 2 * POINTS[:5]])))
    start = first_coordinates(data, 2)  # type: ignore[arg-type]
    assert np.allclose(start[:5], start[40:], atol=1e-12)


def test_pieces_of_a_graph_start_apart() -> None:
    far = np.vstack([POINTS, POINTS + 1000.0])
    start = small_start(eigenmaps(calibrate(nearest(far, 9), (3.0,)), 2, COMPUTE), 2, COMPUTE)
    gaps = distances(start)[:40, 40:]
    assert gaps.min() > 0 and gaps.mean() > np.ptp(start[:40], axis=0).max() / 2
