"""A run without the native kernels says so once, on standard error and in run.json, with what mends it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mlcli
from mlcli.native.library import REMEDY
from tests.journeys.support import write_points
from tests.processes import neutral, program

pytestmark = pytest.mark.medium

WITHOUT = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if finder.__module__.startswith("_frozen")]  # no editable install's
sys.path.insert(0, sys.argv.pop(1))
from mlcli.__main__ import main
main()
"""
BROKEN = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "mlcli.native._kernels":
            raise ImportError("GLIBCXX_9 not found")
sys.meta_path.insert(0, Finder())
from mlcli.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed where nothing could be compiled."""
    folder = tmp_path_factory.mktemp("pure")
    shutil.copytree(Path(mlcli.__file__).parent, folder / "mlcli", ignore=shutil.ignore_patterns("*.so"))
    return folder


@pytest.mark.parametrize(("code", "variable", "says"), [
    (WITHOUT, "", "mlcli was installed without its native kernels"),
    pytest.param(BROKEN, "", "the native kernels do not load (GLIBCXX_9 not found)", marks=pytest.mark.slow),
    ("from mlcli.__main__ import main; main()", "none", "MLCLI_SIMD=none does without the native kernels"),
])
def test_a_run_without_kernels_says_so(tmp_path: Path, copy: Path, code: str, variable: str, says: str) -> None:
    write_points(tmp_path / "data.csv")
    command = [sys.executable, "-P", "-c", code, *([str(copy)] if code == WITHOUT else []),
               "embed", "data.csv", "-m", "isomap", "-k", "6", "-o", "run"]
    ended = subprocess.run(command, cwd=tmp_path, env=neutral(MLCLI_SIMD=variable), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    notes = json.loads((tmp_path / "run" / "run.json").read_text())["notes"]
    told = [note["message"] for note in notes if note["code"] == "N-NO-KERNELS"]
    assert len(told) == 1
    assert says in told[0]
    assert ended.stderr.count("N-NO-KERNELS") == 1
    assert told[0] in ended.stderr
    assert ("--no-cache-dir" in told[0]) == (variable != "none")


def test_who_asks_is_told_what_mends_it(copy: Path) -> None:
    called = subprocess.run([sys.executable, "-P", "-c", WITHOUT, str(copy), "doctor"], env=neutral(MLCLI_SIMD=""),
                            capture_output=True, text=True, check=True)
    assert f"mlcli was installed without its native kernels; {REMEDY}" in called.stdout
    code = "from mlcli.native.library import kernels; kernels()"
    asking = WITHOUT.replace("from mlcli.__main__ import main\nmain()", code)
    called = subprocess.run([sys.executable, "-P", "-c", asking, str(copy)], env=neutral(MLCLI_SIMD=""),
                            capture_output=True, text=True, check=False)
    assert f"DependencyMissing: the native kernels are not installed; mlcli.native; mlcli was installed without its " \
           f"native kernels; {REMEDY}" in called.stderr


def test_a_run_with_kernels_does_not(tmp_path: Path) -> None:
    write_points(tmp_path / "data.csv")
    environment = {name: value for name, value in neutral().items() if name != "MLCLI_SIMD"}
    ended = subprocess.run([*program(), "embed", "data.csv", "-o", "run"], cwd=tmp_path, env=environment,
                           capture_output=True, text=True, check=True)
    assert "KERNELS" not in ended.stderr + (tmp_path / "run" / "run.json").read_text()
