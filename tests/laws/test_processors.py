"""The laws hold on other processors: each choice of instructions, of the kernels and of OpenBLAS, runs some of them."""

import subprocess
import sys
from pathlib import Path

import pytest

from mlcli.native import machine_levels
from tests.processes import neutral, own_folders

pytestmark = pytest.mark.medium

HERE = Path(__file__).parent
LAWS = (  # of methods that compute by native kernels and by LAPACK; quick ones, as all settings run all of them
    "theorems/test_identities.py", "theorems/graphs/test_tsne.py",
    "theorems/graphs/test_lle.py", "theorems/graphs/test_laplacian.py", "theorems/graphs/test_sampled_layouts.py",
    "agreement/test_isomap.py", "agreement/test_lle.py", "agreement/test_pcoa.py",
)
# Own kernels and those of OpenBLAS are set at once: each setting is tried, in half as many processes.
SETTINGS = {"base": "Prescott", "v3": "Haswell", "none": "Zen"}


@pytest.mark.parametrize(("level", "core"), SETTINGS.items())
def test_the_laws_hold_with_other_instructions(level: str, core: str, tmp_path: Path) -> None:
    settings = {"OPENBLAS_CORETYPE": core, **own_folders(tmp_path)}
    if level == "none" or level in machine_levels():  # else this processor does not run it, or nothing is built
        settings["MLCLI_SIMD"] = level
    laws = [str(HERE / law) for law in LAWS]
    # -P keeps the folder of the sources off the path: the installed program is tested, as it has the kernels.
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *laws]
    done = subprocess.run(command, env=neutral(**settings), cwd=HERE.parent.parent, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
