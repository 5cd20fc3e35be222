"""Completion as shells carry it out: lines typed in a terminal, and what the shell makes of them."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SHELLS = {  # how each starts without what a user has set, and what it is told first; {} is the folder of the script
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {}/_mlcli"),
    "zsh": (["zsh", "-f", "-i"], "fpath=({} $fpath); autoload -Uz compinit; compinit -u -d {}/dump"),
    "zsh, read by itself": (["zsh", "-f", "-i"], "source {}/_mlcli"),
    "fish": (["fish", "-i", "--no-config"], "source {}/_mlcli")}
READY, PATIENCE = "now", 30.0  # what a shell says when it has read its script, and seconds that it has for it
CLEAR = "\x15"  # the key that empties the line
CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()=>][0-9A-B]?|\x1b\][^\x07\x1b]*(\x07|\x1b\\)")


def shown(terminal: int, expected: str, patience: float = PATIENCE) -> str:
    """What a terminal shows until there is what is expected, or the seconds are over; all of it without that."""
    seen, end = "", time.monotonic() + patience
    while not (expected and expected in seen) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            seen = CODES.sub("", seen + os.read(terminal, 1 << 16).decode(errors="replace"))
    return seen


LINES = [  # what is typed, and what the shell makes of it or lists below it
    ("mlcli explo\t", "explore "), ("mlcli embed -m is\t", "isomap "), ("mlcli embed --comp\t", "--components "),
    ("mlcli embed -m isomap --set method.neighbors.cou\t", "method.neighbors.count="),
    ("mlcli embed --set prepare.scale=sta\t", "prepare.scale=standard "), ("mlcli embed meas\t", "measures.csv "),
    ("mlcli isom\t", "isomap "), ("mlcli meas\t", "measures.csv "), ("mlcli umap --comp\t", "--components "),
    ("mlcli measures.csv --comp\t", "--components "), ("mlcli explain isom\t", "isomap "),
    ("mlcli explain pca meas\t", "measures.csv "), ("mlcli help rel\t", "relate "),
    ("mlcli report runs/mea\t", "runs/measures-pca"), ("mlcli report runs/measures-pca --outl\t", "--outlines "),
    ("mlcli embed measures.csv --metric bray\t", "braycurtis "), ("mlcli sample swiss\t", "swiss-roll "),
    ("mlcli relate runs/measures-pca --with meas\t", "measures.csv "),
    ("mlcli embed measures.csv --labels meas\t", "measures.csv "), ("mlcli project runs/measures-pca meas\t",
                                                                   "measures.csv ")]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(tmp_path: Path, shell: str) -> None:
    start, first = SHELLS[shell]
    if shutil.which(start[0]) is None:
        pytest.skip(f"there is no {start[0]}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = subprocess.run(["mlcli", "--show-completion", start[0]], capture_output=True, check=True,
                            env={**os.environ, "PATH": path}).stdout
    (tmp_path / "_mlcli").write_bytes(script)
    (tmp_path / "measures.csv").touch()
    (tmp_path / "runs" / "measures-pca").mkdir(parents=True)
    process, terminal = pty.fork()
    if not process:
        os.chdir(tmp_path)
        os.execvpe(start[0], start, {**os.environ, "PATH": path, "HOME": str(tmp_path), "TERM": "xterm", "PS1": "$ "})
    try:
        os.write(terminal, f"{first.replace('{}', str(tmp_path))}; echo {READY[0]}''{READY[1:]}\r".encode())
        assert READY in shown(terminal, READY)
        for line, expected in LINES:
            os.write(terminal, line.encode())
            seen = shown(terminal, expected)
            assert expected in seen, (line, seen)
            os.write(terminal, CLEAR.encode())
            shown(terminal, "", 0.2)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
