"""On a terminal of 60 columns lines are folded between words; piped output is never folded."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.journeys.support import write_points
from tests.processes import neutral, program

COLUMNS = 60
FIGURES = re.compile(r"[█▉▊▋▌▍▎▏]+|[\d.e-]+ s\b")  # bars, and times


def on_terminal(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of the program, and what a terminal shows of it."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    command = [*program(), *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, cwd=folder,
                          env=neutral(TERM="dumb", COLUMNS="")) as running:
        os.close(its)
        shown = b""
        try:
            while part := os.read(ours, 2**16):
                shown += part
        except OSError:  # the other end was closed
            pass
    os.close(ours)
    return running.returncode, shown.decode().replace("\r\n", "\n")


def too_long(text: str) -> list[str]:
    """The lines that do not fit although they hold more than a word."""
    return [line for line in text.splitlines() if len(line) > COLUMNS and len(line.split()) > 1]


@pytest.mark.medium
def test_a_run_is_told_in_lines_that_fit(tmp_path: Path) -> None:
    write_points(tmp_path / "data.csv")
    asked = ["embed", "data.csv", "-m", "isomap", "-k", "5", "--force", "--verbose", "-o", "out"]
    code, shown = on_terminal(tmp_path, *asked)
    piped = subprocess.run([*program(), *asked], capture_output=True, text=True, cwd=tmp_path, env=neutral(),
                           check=True).stderr
    assert code == 0 and too_long(shown) == [] and len(shown.splitlines()) > len(piped.splitlines())
    assert FIGURES.sub("", shown).split() == FIGURES.sub("", piped).split()
    assert too_long(piped) != []
    code, shown = on_terminal(tmp_path, "compare", "out", "out", "-o", "a page of all runs, with a long name.html")
    assert code == 0 and "a page of all runs, with a long name.html" in shown
    code, shown = on_terminal(tmp_path, "verify", "out")
    assert code == 0 and too_long(shown) == []


@pytest.mark.medium
def test_an_error_fits_with_its_path_whole_and_json_is_one_line(tmp_path: Path) -> None:
    name = "a folder with blanks in its name/and a file that is not there at all.csv"
    code, shown = on_terminal(tmp_path, "embed", name)
    assert code == 66 and name in shown and len(shown.splitlines()) > 2
    assert too_long(shown.replace(name, "name")) == []
    code, shown = on_terminal(tmp_path, "embed", name, "--json")
    assert code == 66 and json.loads(shown)["error"]["where"] == name
