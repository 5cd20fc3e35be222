"""What is tested is the installed package, here and in processes, in a neutral environment."""

import os

import pytest

import mlcli
from mlcli import native
from tests.processes import call, neutral, python


def test_processes_import_the_package_that_is_tested_here() -> None:
    """From the source tree they would find a package without kernels; tests/native says where these are required."""
    found = python("import mlcli; from mlcli import native; print(mlcli.__file__, native.describe())")
    assert found.split() == [mlcli.__file__, native.describe()]


@pytest.mark.medium
def test_the_program_has_the_kernels_that_are_tested_here() -> None:
    assert f"native kernels: {native.describe()}" in call("doctor").stdout.splitlines()


def test_a_neutral_environment_has_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "MKL_CBWR", "MLCLI_THREADS", "MLCLI__COMPUTE__SEED",
                "SLURM_CPUS_PER_TASK", "NSLOTS", "PYTHONPATH", "PYTHONUNBUFFERED", "COLUMNS", "NO_COLOR")
    assert not set(settings) - {"OMP_NUM_THREADS"} & set(os.environ)  # which tests beside others have for themselves
    for name in settings:
        monkeypatch.setenv(name, "1")
    assert not set(settings) & set(neutral())
    assert neutral(NSLOTS="3")["NSLOTS"] == "3" and "PATH" in neutral()
    shown = python("import os; print(os.environ.get('OPENBLAS_CORETYPE'), os.environ['NSLOTS'])", NSLOTS="3")
    assert shown == "None 3\n"
