"""Layouts, their models and the places of new points have the same bytes with every choice of instructions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from mlcli.native import machine_levels
from tests.processes import neutral, python

ROOT = Path(__file__).parents[2]
IRIS, DUNE = (ROOT / "sample_data" / name for name in ("iris.csv", "dune.csv"))
SHORT = ("--set", "method.descent.early_steps=40", "--set", "method.descent.steps=40")
RUNS: dict[str, tuple[object, ...]] = {  # the name of each, the file, the method and its options
    "umap": (IRIS, "-m", "umap", "--set", "method.epochs=80"),
    "umap-density": (IRIS, "-m", "umap", "--set", "method.epochs=80", "--set", "method.density.share=0.5"),
    "umap-classes": (IRIS, "-m", "umap", "--set", "method.epochs=40", "--label-column", "Species", "--set",
                     "method.target_weight=0.5", "--set", "method.start=pca", "--metric", "minkowski"),
    "umap-braycurtis": (DUNE, "-m", "umap", "--set", "method.epochs=40", "--set", "method.start=random", "--metric",
                        "braycurtis"),
    "tsne": (IRIS, "-m", "tsne", *SHORT),
    "tsne-dof": (IRIS, "-m", "tsne", *SHORT, "--set", "method.dof=0.7", "--set", "method.start=laplacian", "--metric",
                 "correlation"),
}
PROGRAM = """
import json, sys
from mlcli.cli.program import run
for name, (table, *arguments) in json.loads(sys.argv[1]).items():
    assert run(["embed", table, *arguments, "-o", name, "--outputs", "embedding,model", "--no-cache", "-q"]) == 0
    assert run(["project", name, table, "-o", f"{name}/new.csv", "-q"]) == 0
"""
UNLIKE = {"run.json", "certificate.json"}  # times, the machine, and errors that other formulas find


def chosen() -> list[str]:
    """The instructions that NumPy takes because this processor has them."""
    return [name for name in __cpu_dispatch__ if __cpu_features__[name]]


LEAST = {"NPY_DISABLE_CPU_FEATURES": " ".join(chosen()),  # its exponentials then have other digits
         "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable"}
SETTINGS: dict[str, dict[str, str]] = {
    "base": {"MLCLI_SIMD": "base", "OPENBLAS_CORETYPE": "Prescott", **LEAST},
    "v3": {"MLCLI_SIMD": "v3", "OPENBLAS_CORETYPE": "Haswell"},
    "none": {"MLCLI_SIMD": "none", "OPENBLAS_CORETYPE": "Zen", "OMP_NUM_THREADS": "1", **LEAST},
}


def carried_out(folder: Path, **settings: str) -> dict[str, bytes]:
    """The files of all runs, by their paths, made by one process in a folder of its own."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-P", "-c", PROGRAM, json.dumps(RUNS, default=str)]
    done = subprocess.run(command, env=neutral(**settings), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.name not in UNLIKE}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return carried_out(tmp_path_factory.mktemp("usual"))


@pytest.mark.parametrize("name", ["base", *(pytest.param(name, marks=pytest.mark.medium) for name in ("v3", "none"))])
def test_runs_have_the_same_bytes_with_other_instructions(name: str, usual: dict[str, bytes], tmp_path: Path) -> None:
    if name != "none" and name not in machine_levels():
        pytest.skip("this processor does not run it, or nothing is built")
    found = carried_out(tmp_path, **SETTINGS[name])
    assert found.keys() == usual.keys() >= {"umap-density/radii.csv", "tsne/model.npz", "umap/new.csv"}
    assert [path for path in usual if usual[path] != found[path]] == []


def test_the_settings_take_effect() -> None:
    code = "from numpy._core._multiarray_umath import __cpu_features__ as has; print(*(has[name] for name in {}))"
    assert python(code.format(chosen()), **LEAST).split() == ["False"] * len(chosen())
