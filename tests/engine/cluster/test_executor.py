"""Searches, quality and passes over files on the workers of a cluster: the bytes of one machine."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

pytest.importorskip("distributed", reason="needs mlcli[dask]")

from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute
from mlcli.core.graph.search import nearest, within
from mlcli.core.metrics.distances import with_metric
from mlcli.engine.cluster.connect import Connections, clustered
from mlcli.errors import InputMissing
from mlcli.findings.quality.measure import quality
from tests.core.test_metrics import metric
from tests.engine.executor.test_files import run
from tests.engine.loopback import Loopback
from tests.engine.test_cluster import SLEEPY, folded
from tests.processes import OWN_KERNEL
from tests.support import features

POINTS = np.random.default_rng(8).standard_normal((1200, 20))


@pytest.fixture
def scheduler() -> Iterator[str]:
    """A scheduler with one worker, both in this process."""
    import distributed

    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp://",
                                  host="127.0.0.1", dashboard_address="127.0.0.1:0") as own:
        yield str(own.scheduler_address)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_runs_share_a_connection(scheduler: str) -> None:
    compute = Compute(cluster=scheduler)
    with Connections() as shared:
        with clustered(compute, shared) as one, clustered(compute, shared) as two:
            assert one is not None and two is not None and one is not two and one.client is two.client
        assert one.client.status == "running"
        one.client.close()
        with clustered(compute, shared) as three:  # as after a scheduler was lost
            assert three is not None and three.client is not one.client
    assert three.client.status == "closed"
    with clustered(compute) as alone:
        assert alone is not None
    assert alone.client.status == "closed"


def neighbors(path: Path) -> list[bytes]:
    lists = [nearest(POINTS, 8, metric(name).fitted(POINTS)) for name in ("cosine", "manhattan")]
    lists.append(within(POINTS, POINTS, 4.5, metric("minkowski"), without_self=True))
    return [part.tobytes() for some in lists for part in (some.starts, some.indices, some.lengths)]


def measures(path: Path) -> list[bytes]:
    data = with_metric(metric("manhattan"), features(POINTS))
    found = quality(data, POINTS[:, :2], sample=len(POINTS), generator=np.random.default_rng(0))
    return [repr(found.figures).encode(), found.pairs.tobytes()]


def scores(path: Path) -> list[bytes]:
    found = run(str(path), "method.name=pca").model
    assert found.spectrum is not None
    return [found.embedding.tobytes(), found.spectrum.values.tobytes()]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of many row groups."""
    path = tmp_path_factory.mktemp("data") / "t.parquet"
    parquet.write_table(pa.table({f"x{place}": column for place, column in enumerate(POINTS.T)}), path,
                        row_group_size=100)
    return path


WORK = pytest.mark.parametrize("work", [neighbors, measures, scores], ids=lambda work: work.__name__)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [1, 2, 4])
@WORK
def test_whatever_the_workers(work: Callable[[Path], list[bytes]], workers: int, table: Path, tmp_path: Path,
                              monkeypatch: pytest.MonkeyPatch) -> None:
    with limit_threads(2):
        here = work(table)
        monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
        with Loopback(tmp_path, **OWN_KERNEL) as loopback:
            for _ in range(workers):
                loopback.worker()
            with clustered(Compute(cluster=loopback.cluster)) as cluster:
                assert work(table) == here
                assert cluster is not None and cluster.counts["blocks"] > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@WORK
def test_a_worker_that_is_killed(work: Callable[[Path], list[bytes]], table: Path, tmp_path: Path,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    with limit_threads(2):
        here = work(table)
        monkeypatch.setattr("mlcli.engine.executor.WORTH", 0.0)
        with Loopback(tmp_path, **OWN_KERNEL) as loopback:
            first = loopback.worker(SLEEPY.format(seconds=0.3))

            def kill() -> None:
                folded(loopback, 0.1)
                loopback.worker()  # only now, or it might take all blocks before the first one has any
                first.kill()

            with clustered(Compute(cluster=loopback.cluster)):
                killing = threading.Thread(target=kill)
                killing.start()
                assert work(table) == here
                killing.join()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_file_that_workers_do_not_see(table: Path, tmp_path: Path) -> None:
    """As on machines without shared storage: the worker's own folder hides it."""
    hidden = ("from mlcli.data.files import source\n"
              "source.open_regular = lambda path, open=source.open_regular: open(path + '.absent')\n")
    with Loopback(tmp_path, **OWN_KERNEL) as loopback:
        loopback.worker(hidden)
        with (limit_threads(2), clustered(Compute(cluster=loopback.cluster)),
              pytest.raises(InputMissing) as caught):
            scores(table)
        assert caught.value.code == "E-CLUSTER-INPUT"
