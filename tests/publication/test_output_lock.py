"""One process makes an output at a time; the claim of a dead one is taken over, on this machine and on others."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcli.errors import OutputRefused, StorageError, TryAgain
from mlcli.publication import output_lock as locking
from mlcli.publication import staging
from mlcli.publication.mounts import Mount
from mlcli.publication.output_lock import OWNER, discard, output_lock, remove_stale_locks

DYING = """
import os, signal, sys; from pathlib import Path; from mlcli.publication.output_lock import output_lock
with output_lock(Path(sys.argv[1])) as claim:
    if sys.argv[2]: (claim.path / "kept").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def died(output: Path, *, kept: bool = False) -> Path:
    """The claim that a process leaves which is killed."""
    command = [sys.executable, "-c", DYING, output, "kept" if kept else ""]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (left,) = output.parent.iterdir()
    return left


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A network's file system, where locks say nothing of other machines."""
    monkeypatch.setattr(staging, "mount_of", lambda path: Mount(path, "nfs4"))
    yield


def of_another_machine(left: Path, *, age: float) -> None:
    """Makes a claim one that another machine touched some seconds ago."""
    owner = left / OWNER
    owner.write_text(json.dumps({**json.loads(owner.read_text()), "system": "0" * 8, "host": "node7"}))
    now = owner.stat().st_mtime
    os.utime(owner, (now - age, now - age))


@pytest.mark.medium
def test_an_output_has_one_owner_and_others_are_told_which(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "out"
    with output_lock(output), pytest.raises(TryAgain) as refused, output_lock(output):
        pytest.fail("two owners")
    assert refused.value.exit_code == 75
    assert f"process {os.getpid()} on {os.uname().nodename}" in refused.value.what
    assert not list(tmp_path.iterdir())


def test_what_no_run_will_go_on_from_is_discarded_unless_its_owner_lives(tmp_path: Path) -> None:
    left = died(tmp_path / "out", kept=True)
    with output_lock(tmp_path / "alive") as claim:
        for name in ("alive", "out", "never"):
            discard(tmp_path / name)
        assert claim.path.exists() and not left.exists()


@pytest.mark.parametrize("newer", [True, False])
def test_what_was_kept_for_a_run_that_is_done_goes_with_its_claim(tmp_path: Path, newer: bool) -> None:
    """Killed once its output was there, it could not do so itself; what a run with --force kept stays."""
    left, output = died(tmp_path / "out", kept=True), tmp_path / "out"
    output.mkdir()
    moment = (left / "kept").stat().st_mtime + (1 if newer else -1)
    os.utime(output, (moment, moment))
    remove_stale_locks(tmp_path)
    assert left.exists() == (not newer) and output.exists()


def test_who_looks_whether_an_owner_is_dead_owns_nothing(tmp_path: Path) -> None:
    """Another run in the same folder looks at every claim there, and locks each for a moment."""
    with output_lock(tmp_path / "out") as claim:
        place = claim.path
    place.mkdir()
    looking = os.open(place, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_EX)
    ends = threading.Timer(locking.LOOK / 5, os.close, [looking])
    ends.start()
    with output_lock(tmp_path / "out") as claim:
        claim.require()
    ends.join()


def test_another_output_of_the_same_folder_is_free(tmp_path: Path) -> None:
    with output_lock(tmp_path / "a"), output_lock(tmp_path / "b"):
        assert len(list(tmp_path.iterdir())) == 2


def test_the_claim_of_a_killed_process_is_taken_over_with_what_it_kept(tmp_path: Path) -> None:
    left = died(tmp_path / "out", kept=True)
    remove_stale_locks(tmp_path)
    assert left.exists()
    with output_lock(tmp_path / "out") as claim:
        assert claim.path == left and (left / "kept").exists()
        (left / "kept").unlink()
    assert not left.exists()


def test_a_claim_that_keeps_nothing_vanishes_when_its_owner_is_dead(tmp_path: Path) -> None:
    with output_lock(tmp_path / "alive") as claim:
        remove_stale_locks(tmp_path)
        assert claim.path.exists()
    died(tmp_path / "out")
    remove_stale_locks(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.medium
@pytest.mark.usefixtures("elsewhere")
def test_the_claim_of_another_machine_holds_as_long_as_it_is_touched(tmp_path: Path) -> None:
    left = died(tmp_path / "out")
    of_another_machine(left, age=locking.STALE / 2)
    with pytest.raises(TryAgain, match="on node7"), output_lock(tmp_path / "out"):
        pytest.fail("two owners")
    remove_stale_locks(tmp_path)
    of_another_machine(left, age=locking.STALE * 2)
    with output_lock(tmp_path / "out") as claim:
        claim.require()
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("elsewhere")
def test_who_was_taken_for_dead_does_not_publish(tmp_path: Path) -> None:
    with pytest.raises(TryAgain) as lost, output_lock(tmp_path / "out") as claim:
        claim.require()
        locking._sign(claim.path, tmp_path / "out")  # as another machine does after STALE seconds
        claim.require()
    assert lost.value.code == "E-LOCK-LOST"


@pytest.mark.medium
def test_where_there_are_no_locks_the_owner_is_dead_when_it_is_not_touched(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(9, "no locks for folders, as on NFS")

    left = died(tmp_path / "out")
    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(TryAgain), output_lock(tmp_path / "out"):
        pytest.fail("two owners")
    of_another_machine(left, age=locking.STALE * 2)
    with output_lock(tmp_path / "out") as claim:
        claim.require()


@pytest.mark.parametrize("owner", [b"", b"[]", b"\xff{", b"{}", b'{"token": 7}'])
def test_a_damaged_owner_is_no_owner(tmp_path: Path, owner: bytes) -> None:
    left = died(tmp_path / "out")
    (left / OWNER).write_bytes(owner)
    with output_lock(tmp_path / "out") as claim:
        claim.require()


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputRefused), output_lock(tmp_path / "file" / "out"):
        pytest.fail("claimed")


def test_a_full_disk_is_a_storage_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(StorageError) as failed:
        patched.setattr(Path, "write_text", full)
        with output_lock(tmp_path / "out"):
            pytest.fail("claimed")
    assert failed.value.exit_code == 74 and not list(tmp_path.iterdir())
