"""A fork that stands for a started program ends as that one does: code, streams, folder, environment, mask."""

import os
import sys
from pathlib import Path

import pytest

from tests.processes import forked, neutral, process, server

STATE = """
import os, sys
print(sys.argv[1:], os.getcwd(), sorted(os.environ.items()), os.umask(0o22))
print(sys.stdin.read(), file=sys.stderr)
sys.exit(7)
"""


@pytest.mark.medium
@pytest.mark.parametrize("arguments", [("sample", "torus", "--rows", "4"), ("embed", "absent.csv"), ("embed", "-o")])
def test_code_and_streams_are_those_of_a_process(arguments: tuple[str, ...], tmp_path: Path) -> None:
    one, other = (start(*arguments, cwd=tmp_path) for start in (process, forked))
    assert (one.communicate(), one.returncode) == (other.communicate(), other.returncode)


def test_a_fork_takes_the_place_of_its_client(tmp_path: Path) -> None:
    script, told = tmp_path / "state.py", neutral(MLCLI_NAME="an ümlaut")
    script.write_text(STATE, encoding="utf-8")
    with Path(script).open("rb") as given:
        child = forked("a b", script=str(script), cwd=tmp_path, env=told, umask=0o27, stdin=given)
        out, err = child.communicate()
    assert child.returncode == 7 and err.decode() == f"{STATE}\n"
    assert out.decode() == f"{['a b']} {tmp_path} {sorted(told.items())} {0o27}\n"


def test_a_fork_that_dies_by_a_signal_is_told(tmp_path: Path) -> None:
    script = tmp_path / "dies.py"
    script.write_text("import os\nos.kill(os.getpid(), 9)\n", encoding="utf-8")
    child = forked(script=str(script))
    child.communicate()
    assert child.returncode == -9


def test_forks_share_nothing(tmp_path: Path) -> None:
    """What one posts for its supervisor does not stop the next."""
    script = tmp_path / "posts.py"
    script.write_text("from mlcli.process.shared_status import STATUS\nprint(STATUS.read(), STATUS.requested_signal)\n"
                      "STATUS.post(limit=0.0)\nSTATUS.ask(15)\n", encoding="utf-8")
    for _ in range(2):
        assert forked(script=str(script)).communicate()[0] == b"{} 0\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_server_has_one_thread() -> None:
    place = server().encode()
    pids = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if place in path.read_bytes().split(b"\0")]
    assert [len([*(pid / "task").iterdir()]) for pid in pids if pid.name != str(os.getpid())] == [1]
