"""The same bytes on a Dask cluster as on one machine, whatever becomes of its workers."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

pytest.importorskip("distributed", reason="needs mlcli[dask]")

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest, parts_of
from mlcli.core.kernels.streamed import Streamed
from mlcli.core.paths.elimination import Analysis, EliminationRows
from mlcli.engine import executor as engine
from mlcli.engine.executor import results, running_on
from mlcli.errors import DataError
from tests.engine.loopback import Loopback
from tests.engine.test_executor import POINTS, a_pass, eliminates
from tests.processes import call, neutral, process

ROOT = Path(__file__).parents[2]
SLEEPY = """
import time
from mlcli.engine.executor import Block
def slowly(block, run=Block.run):
    open("begun", "w").close()
    time.sleep({seconds})
    return run(block)
if Block.run.__name__ == "run":  # Dask may run this twice
    Block.run = slowly
"""
OTHER = "import mlcli\nmlcli.__version__ = '0.0.1'\n"
STREAMED = ("--set", "method.paths.store=streamed")
WIDE = 6_800  # rows
FILES = ("embedding.csv", "spectrum.csv", "model.npz", "quality.json", "certificate.json")


@frozen
class Failing:
    """A source whose third block fails."""

    blocks = 5

    def work(self, number: int) -> int:
        if number == 2:
            raise DataError("BAD", "the block is bad", row=number)
        return number

    def stop(self) -> None: ...


def first_stuck(begin: Any) -> Any:
    """The method that begins a sum, of which the first does not come."""
    from mlcli.engine.cluster.executor import Stuck

    stuck = [Stuck()]

    async def sum_of(*given: Any, **options: Any) -> Any:
        if stuck:
            raise stuck.pop()
        return await begin(*given, **options)

    return sum_of


@eliminates
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_pass_in_the_threads_of_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    from mlcli.engine.cluster import executor

    source = EliminationRows.of(Analysis.of(graph_of(nearest(POINTS, 9), "union")), "float32")
    with (limit_threads(2), distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False,
                                                     dashboard_address="127.0.0.1:0") as own,
          distributed.Client(own) as client):
        monkeypatch.setattr(engine, "SPAN", 1)  # more than one span
        here = a_pass(Streamed(source))
        assert source.blocks > engine.span_of(source.blocks)
        for folder, times in ((None, 1), (tmp_path, 2)):
            monkeypatch.setattr(executor, "GATHER", 0.0 if times > 1 else 60.0)
            with executor.Cluster(client, folder) as cluster, running_on(cluster, lambda: cluster.count):
                assert a_pass(Streamed(source)) == here
                assert cluster.counts["blocks"] == source.blocks and not cluster.counts["second attempts"]
                # the products with five vectors, and row sums, of a pass and not of each of its blocks
                assert cluster.counts["bytes from the cluster"] == times * 8 * len(POINTS) * (5 + 1)
                with monkeypatch.context() as once:
                    once.setattr(executor.Cluster, "_sum", first_stuck(executor.Cluster._sum))
                    assert a_pass(Streamed(source)) == here and cluster.counts["second attempts"] == 1
                with pytest.raises(DataError, match="row 3, the block is bad"):
                    list(results(Failing()))


@pytest.fixture(scope="module")
def roll(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "roll.csv"
    done = call("sample", "swiss-roll", "--rows", 4000, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def here(roll: Path) -> Path:
    """The run of one machine."""
    output = roll.with_name("here")
    done = call("embed", "-m", "isomap", roll, *STREAMED, "-o", output, "-q")
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Loopback]:
    with Loopback(tmp_path) as cluster:
        yield cluster


def begun(roll: Path, output: Path, cluster: str, *options: object, **settings: Any) -> subprocess.Popen[bytes]:
    return process("embed", "-m", "isomap", roll, *STREAMED, "-o", output, "-q", "--cluster", cluster, *options,
                   **settings)


def ended(run: subprocess.Popen[bytes], code: int = 0) -> str:
    said = run.communicate()[1].decode()
    assert run.returncode == code, said
    return said


def counts(output: Path) -> dict[str, Any]:
    return json.loads((output / "run.json").read_text())["cluster"]


def same(here: Path, there: Path) -> bool:
    return all((here / name).read_bytes() == (there / name).read_bytes() for name in FILES)


def folded(cluster: Loopback, seconds: float) -> None:
    """Waits so long after a worker that sleeps has begun its first block."""
    until = time.monotonic() + 300
    while not (cluster.folder / "begun").exists():
        assert time.monotonic() < until, cluster.log()
        time.sleep(0.05)
    time.sleep(seconds)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("threads", [(1,), (2, 1)])
def test_whatever_the_workers(threads: tuple[int, ...], shared: bool, roll: Path, here: Path, loopback: Loopback,
                              tmp_path: Path) -> None:
    for count in threads:
        loopback.worker(threads=count)
    (tmp_path / "shared").mkdir()
    options = ["--set", f"compute.cluster_folder={tmp_path / 'shared'}"] if shared else []
    ended(begun(roll, tmp_path / "there", loopback.address, *options))
    assert same(here, tmp_path / "there")
    assert not any((tmp_path / "shared").iterdir())
    assert ("bytes to the folder" in counts(tmp_path / "there")) == shared


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", [["-m", "kpca", "--kernel", "gaussian"], ["-m", "isomap", *STREAMED, "--paths",
                                                                             "dijkstra"]], ids=["kpca", "dijkstra"])
def test_other_passes_on_workers_of_this_machine(method: list[str], tmp_path: Path) -> None:
    data = tmp_path / "roll.csv"
    assert call("sample", "swiss-roll", "--rows", 9000 if "kpca" in method else 2500, "-o", data).returncode == 0
    for output, more in {"here": [], "there": ["--cluster", "local:2"]}.items():
        done = call("embed", *method, data, "-o", tmp_path / output, "-q", *more)
        assert done.returncode == 0 and not done.stderr, done.stderr
    assert same(tmp_path / "here", tmp_path / "there") and counts(tmp_path / "there")["blocks"] > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("trial", range(20))
def test_a_worker_that_is_killed(trial: int, roll: Path, here: Path, loopback: Loopback, tmp_path: Path) -> None:
    chance = random.Random(trial)
    for _ in range(2):
        loopback.worker(SLEEPY.format(seconds=0.02))
    run = begun(roll, tmp_path / "there", loopback.cluster)
    folded(loopback, chance.uniform(0.0, 4.0))
    loopback.workers[chance.randrange(2)].kill()
    ended(run)
    assert same(here, tmp_path / "there")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("stopped", [False, True], ids=["slow", "stopped"])
def test_a_slow_worker_does_not_hold_the_pass(stopped: bool, roll: Path, here: Path, loopback: Loopback,
                                              tmp_path: Path) -> None:
    loopback.worker()
    slow = loopback.worker(SLEEPY.format(seconds=0.05 if stopped else 300))
    run = begun(roll, tmp_path / "there", loopback.cluster)
    if stopped:
        folded(loopback, 1.0)
        slow.send_signal(signal.SIGSTOP)
    ended(run)
    assert same(here, tmp_path / "there") and counts(tmp_path / "there")["second attempts"] > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_workers_come_and_go(roll: Path, here: Path, loopback: Loopback, tmp_path: Path) -> None:
    first = loopback.worker(SLEEPY.format(seconds=0.2))
    run = begun(roll, tmp_path / "there", loopback.cluster)
    folded(loopback, 2.0)
    loopback.worker()
    time.sleep(2.0)
    first.terminate()
    ended(run)
    assert same(here, tmp_path / "there")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_lost_scheduler_ends_the_run_with_75_and_the_same_command_goes_on(roll: Path, here: Path,
                                                                            tmp_path: Path) -> None:
    output = tmp_path / "there"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with Loopback(tmp_path / "one") as first:
        first.worker(SLEEPY.format(seconds=0.5))
        run = begun(roll, output, first.address)
        until = time.monotonic() + 300
        while not list(tmp_path.glob(".there.*/eigensolve-at-*.stage")):  # after a pass, which takes over ten seconds
            assert time.monotonic() < until, first.log()
            time.sleep(0.05)
        first.scheduler.kill()
        said = ended(run, 75)
    assert "E-CLUSTER-LOST" in said and not output.exists()
    with Loopback(tmp_path / "two") as second:
        second.worker()
        ended(begun(roll, output, second.address))
    assert same(here, output) and "eigensolve" in json.loads((output / "run.json").read_text())["resumed"]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points whose neighbors take so long that workers search for them."""
    path = tmp_path_factory.mktemp("data") / "wide.npy"
    np.save(path, np.random.default_rng(0).standard_normal((WIDE, 50)) / np.arange(1, 51))
    return path


@pytest.fixture(scope="module")
def wide_here(wide: Path) -> Path:
    """The run of one machine."""
    output = wide.with_name("here")
    ended(searched(wide, output))
    return output


def searched(data: Path, output: Path, *options: object) -> subprocess.Popen[bytes]:
    return process("embed", "-m", "laplacian", "-k", 8, "--metric", "minkowski", data, "-o", output, "-q", *options)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("trial", range(3))
def test_a_worker_that_is_killed_amid_blocks_of_neighbors(trial: int, wide: Path, wide_here: Path, loopback: Loopback,
                                                          tmp_path: Path) -> None:
    chance = random.Random(trial)
    for _ in range(2):
        loopback.worker(SLEEPY.format(seconds=0.02))
    run = searched(wide, tmp_path / "there", "--cluster", loopback.cluster)
    folded(loopback, chance.uniform(0.0, 4.0))
    assert run.poll() is None
    loopback.workers[chance.randrange(2)].kill()
    ended(run)
    assert same(wide_here, tmp_path / "there") and counts(tmp_path / "there")["blocks"] >= len(parts_of(WIDE))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("killed", "code"), [("workers", 75), ("command", -signal.SIGKILL)])
def test_a_search_for_neighbors_goes_on_after_the_blocks_that_were_kept(
        killed: str, code: int, wide: Path, wide_here: Path, loopback: Loopback, tmp_path: Path) -> None:
    """Where all workers are gone for a minute, and where the command itself is killed."""
    output = tmp_path / "there"
    loopback.worker(SLEEPY.format(seconds=0.2))
    run = searched(wide, output, "--cluster", loopback.cluster)
    until = time.monotonic() + 300
    while not list(tmp_path.glob(".there.*/neighbors-at-*.stage")):  # after ten seconds
        assert time.monotonic() < until and run.poll() is None, loopback.log()
        time.sleep(0.05)
    (loopback.workers[0] if killed == "workers" else run).kill()
    said = ended(run, code)
    assert ("E-CLUSTER-EMPTY" in said) == (killed == "workers") and not output.exists()
    if killed == "workers":
        loopback.worker()
    ended(searched(wide, output, "--cluster", loopback.cluster))
    assert same(wide_here, output) and counts(output)["blocks"] < len(parts_of(WIDE))
    assert "neighbors" in json.loads((output / "run.json").read_text())["resumed"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_worker_that_is_killed_amid_a_pass_over_a_table_in_blocks(loopback: Loopback, tmp_path: Path) -> None:
    data, values = tmp_path / "rows.parquet", np.random.default_rng(0).standard_normal((20, 40_000))
    parquet.write_table(pyarrow.table({f"x{column}": own for column, own in enumerate(values)}), data,
                        row_group_size=4_000)  # each of them is a block
    options = ["embed", "-m", "pca", data, "--set", "input.stream=always", "-q"]
    ended(process(*options, "-o", tmp_path / "here"))
    for _ in range(2):
        loopback.worker(SLEEPY.format(seconds=0.3))
    run = process(*options, "-o", tmp_path / "there", "--cluster", loopback.cluster)
    folded(loopback, 0.5)
    assert run.poll() is None
    loopback.workers[0].kill()
    ended(run)
    assert same(tmp_path / "here", tmp_path / "there") and counts(tmp_path / "there")["blocks"] >= 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_command_leaves_nothing_after_the_next(roll: Path, here: Path, tmp_path: Path) -> None:
    (temporary := tmp_path / "tmp").mkdir()
    environment = neutral(TMPDIR=str(temporary))
    run = begun(roll, output := tmp_path / "there", "local:1", env=environment)
    until = time.monotonic() + 300
    while not list(temporary.glob("*/*.npy")):  # the eliminated graph
        assert time.monotonic() < until and run.poll() is None
        time.sleep(0.02)
    run.kill()
    run.communicate()
    ended(begun(roll, output, "local:1", env=environment))
    assert same(here, output) and not any(temporary.iterdir())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_other_versions_are_refused(roll: Path, loopback: Loopback, tmp_path: Path) -> None:
    loopback.worker(OTHER)
    said = ended(begun(roll, tmp_path / "there", loopback.cluster), 69)
    assert " mlcli 0.0.1 " in said and not (tmp_path / "there").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_worker_with_other_versions_that_joins_later_is_refused(roll: Path, loopback: Loopback,
                                                                  tmp_path: Path) -> None:
    loopback.worker(SLEEPY.format(seconds=0.5))
    run = begun(roll, tmp_path / "there", loopback.cluster)
    folded(loopback, 1.0)
    loopback.worker(OTHER)
    assert " mlcli 0.0.1 " in ended(run, 69)


def certificates(folder: Path) -> dict[str, str]:
    """An authority and one certificate of it for all machines, as docs/scale-out.md makes them; Dask's settings."""
    page = (ROOT / "docs" / "scale-out.md").read_text()
    recipe = page.partition("<!-- certificates -->\n```sh\n")[2].partition("```")[0]
    assert "openssl req" in recipe
    subprocess.run(["bash", "-e", "-c", recipe], cwd=folder, check=True, capture_output=True)
    tls = {"CA_FILE": "ca.pem", **{f"{part}__{kind}": name for part in ("SCHEDULER", "WORKER", "CLIENT")
                                   for kind, name in (("CERT", "cert.pem"), ("KEY", "key.pem"))}}
    return {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
            **{f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(folder / path) for name, path in tls.items()}}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_encrypted_and_authenticated(roll: Path, here: Path, tmp_path: Path) -> None:
    settings = certificates(tmp_path)
    with Loopback(tmp_path, scheme="tls", **settings) as loopback:
        loopback.worker()
        assert loopback.address.startswith("tls://127.0.0.1:")
        output = tmp_path / "there"
        ended(begun(roll, output, loopback.address, "--strict", env=neutral(**settings)))
        assert same(here, output)
        for cluster in (loopback.address, loopback.address.replace("tls", "tcp")):
            assert "cannot be reached" in ended(begun(roll, tmp_path / "refused", cluster), 69)


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "code", "said"), [("here", 78, "E-CLUSTER"),
                                                       ("tcp://127.0.0.1:1", 69, "E-CLUSTER-UNREACHABLE"),
                                                       ("file:absent.json", 69, "E-CLUSTER-UNREACHABLE")])
def test_what_is_not_there(cluster: str, code: int, said: str, roll: Path, tmp_path: Path) -> None:
    assert said in ended(begun(roll, tmp_path / "there", cluster), code) and not (tmp_path / "there").exists()
