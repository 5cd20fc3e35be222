"""How a run comes to a cluster: what a scheduler's file says, who else can reach the workers, what is left behind."""

import json
import os
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

pytest.importorskip("distributed", reason="needs mlcli[dask]")

import distributed

from mlcli.base.machine import footprint
from mlcli.base.values.compute import Compute
from mlcli.engine.cluster import connect
from mlcli.errors import DependencyMissing, OutputRefused, RefusedByPlan
from tests.support import Notes
from tests.wording import Wording


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    (folder := tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.parametrize("content", [
    b"garbage", b"\xff\xfe\x00", b"[1]", b'{"address": "nowhere"}', b'{"address": "tcp://h:99999"}',
    b'{"address": "tcp://u:pw@h:8786"}', b"", None])
def test_a_file_that_is_not_a_schedulers(content: bytes | None, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setattr(connect, "CONNECT", 0.2)
    path = tmp_path / "s.json"
    if content is not None:
        path.write_bytes(content)
    with (wording.raises(DependencyMissing, "CLUSTER-UNREACHABLE") as raised,
          connect.clustered(Compute(cluster=f"file:{path}"))):
        pass
    assert str(path) in str(raised.value)


def test_a_file_that_cannot_be_read(tmp_path: Path, wording: Wording) -> None:
    with (wording.raises(DependencyMissing, "CLUSTER-UNREACHABLE"),
          connect.clustered(Compute(cluster=f"file:{tmp_path}"))):
        pass


def test_a_device_is_no_file_of_a_scheduler(wording: Wording) -> None:
    with (wording.raises(DependencyMissing, "CLUSTER-UNREACHABLE"),
          connect.clustered(Compute(cluster="file:/dev/zero"))):
        pass


def test_tls_without_certificates_is_told_at_once(wording: Wording) -> None:
    with (wording.raises(DependencyMissing, "CLUSTER-UNREACHABLE"),
          connect.clustered(Compute(cluster="tls://127.0.0.1:9"))):
        pass


@pytest.fixture
def open_scheduler() -> Iterator[str]:
    """The address of a scheduler, with a worker, on this machine's address in a network."""
    from distributed.utils import get_ip

    host = get_ip()
    if host.startswith("127."):
        pytest.skip("the machine is in no network")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host=host,
                                  dashboard_address=f"{connect.LOCAL}:0") as own:
        yield own.scheduler_address


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_an_open_scheduler_is_told_of_however_it_is_named(open_scheduler: str, tmp_path: Path) -> None:
    (file := tmp_path / "s.json").write_text(json.dumps({"address": open_scheduler}))
    for cluster in (open_scheduler, f"file:{file}"):
        with Notes() as notes, connect.clustered(Compute(cluster=cluster)):
            pass
        assert "W-CLUSTER-OPEN" in notes.codes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_workers_of_this_machine_serve_this_process_alone_and_leave_nothing(temporary: Path) -> None:
    with Notes() as notes, connect.clustered(Compute(cluster="local:1")) as cluster:
        assert cluster is not None and "W-CLUSTER-OPEN" not in notes.codes
        own, address = cluster.client.cluster, cluster.client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        host, port = address.removeprefix("tls://").split(":")
        stranger = ssl.create_default_context()
        stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
        with (socket.create_connection((host, int(port)), timeout=30) as way,
              pytest.raises((ssl.SSLError, ConnectionError)), stranger.wrap_socket(way) as secured):
            assert not secured.recv(1)  # refused for want of a certificate
        with pytest.raises(HTTPError):
            urlopen(f"http://127.0.0.1:{own.scheduler.http_server.port}/info/main/workers.html", timeout=5)
        assert [path.name.startswith(".mlcli-cluster.") for path in temporary.iterdir()] == [True, True]
        assert {stat.filemode(path.stat().st_mode) for path in temporary.iterdir()} == {"drwx------"}
    assert not any(temporary.iterdir())


def test_more_workers_than_fit_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_connected", lambda *_: pytest.fail("a cluster was started"))
    for fitting, said in {2: "compute.cluster=local:2", 0: "compute.cluster"}.items():
        limit = footprint.resident(1) + footprint.DASK + footprint.WORKER * fitting + 1000
        with (pytest.raises(RefusedByPlan, match=f"9 workers .*; .*{said}"),
              connect.clustered(Compute(cluster="local:9", threads=1, memory_limit=limit))):
            pass


def test_what_a_killed_process_left_goes_when_the_next_one_starts(temporary: Path) -> None:
    child = os.fork()
    if not child:
        with suppress(BaseException), connect._folder(temporary, connect.OWN) as folder:
            (folder / "arrays").mkdir()
            (folder / "arrays" / "a.npy").write_bytes(b"1")
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    left, = temporary.iterdir()
    assert (left / "arrays" / "a.npy").exists()
    with connect._folder(temporary, connect.OWN) as folder, connect._folder(temporary, connect.OTHERS) as other:
        assert {*temporary.iterdir()} == {folder, other}
    assert not any(temporary.iterdir())


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path, wording: Wording) -> None:
    with (wording.raises(OutputRefused, "CLUSTER-FOLDER"),
          connect._folder(tmp_path / "none", connect.OWN)):
        pass
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("cluster", "folder", "expected"), [
    ("local:2", None, "drwx------"), ("local:2", "shared", "drwx------"), ("tcp://node7:8786", "shared", "drwxr-xr-x")])
def test_data_for_workers_of_this_machine_lies_where_no_other_user_reads(cluster: str, folder: str | None,
                                                                         expected: str, temporary: Path) -> None:
    (temporary / "shared").mkdir()
    options = Compute(cluster=cluster, cluster_folder=None if folder is None else str(temporary / folder))
    before = os.umask(0)
    try:
        with connect._shared(connect.address_of(cluster), options) as made:
            assert made is not None and stat.filemode(made.stat().st_mode) == expected
    finally:
        os.umask(before)
