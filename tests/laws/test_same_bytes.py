"""Layouts, their models and the places of new points have the same bytes with every choice of instructions."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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
    "smacof": (DUNE, "-m", "smacof", "--metric", "braycurtis", "--set", "method.weights=-2"),
    "smacof-power": (IRIS, "-m", "smacof", "--metric", "cosine", "--set", "method.weights=0.5", "--set",
                     "method.starts=2"),
    "sammon": (IRIS, "-m", "sammon", "--set", "method.starts=2"),
    "nmds": (DUNE, "-m", "nmds", "--metric", "braycurtis", "--set", "method.starts=3"),
    "nmds-secondary": (DUNE, "-m", "nmds", "--metric", "jaccard", "--set", "method.ties=secondary", "--set",
                       "method.starts=3", "-p", "3"),
    "phate": (IRIS, "-m", "phate"),
    "phate-landmarks": (DUNE, "-m", "phate", "--metric", "braycurtis", "--set", "method.landmarks=12"),
}
KERNELS = ("nmds", "nmds-secondary")  # without the kernels SciPy's isotonic regression sums in another order
PROGRAM = """
import json, sys
from mlcli.cli.program import run
for name, (table, *arguments) in json.loads(sys.argv[1]).items():
    assert run(["embed", table, *arguments, "-o", name, "--outputs", "embedding,model", "--no-cache", "-q"]) == 0
    assert run(["project", name, table, "-o", f"{name}/new.csv", "-q"]) == 0
"""
# Times, the machine, errors that other formulas find, and a curve by LAPACK of which only the knee counts.
UNLIKE = {"run.json", "certificate.json", "entropy.csv"}


def chosen() -> list[str]:
    """The instructions that NumPy takes because this processor has them."""
    return list(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))


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
    assert [path for path in usual if usual[path] != found[path]
            and not (name == "none" and path.partition("/")[0] in KERNELS)] == []


def test_the_settings_take_effect() -> None:
    code = "import numpy; print(*numpy.show_config(mode='dicts')['SIMD Extensions'].get('found', []))"
    assert python(code, **LEAST).split() == []
