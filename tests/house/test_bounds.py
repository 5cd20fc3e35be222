"""The oldest versions that the package allows: they are installed, and the everyday tests pass with them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import neutral

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "bounds.sh"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_oldest_versions_pass(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "rich==13.8"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("pip reaches no index of packages")
    command = [str(SCRIPT), sys.executable, "-q", "-m", "not slow"]
    ended = subprocess.run(command, env=neutral(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-2000:]
    assert "numpy==2.3\n" in ended.stdout and " passed" in ended.stdout
