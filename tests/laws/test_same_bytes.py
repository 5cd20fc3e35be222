"""Layouts, their models and scores, and the places of new points have the same bytes with every choice of instructions.

Also of points whose equal distances, equal eigenvalues and equal rows leave a choice that rounding could decide.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.native import machine_levels
from tests.processes import call, neutral, python

ROOT = Path(__file__).parents[2]
IRIS, DUNE = (ROOT / "sample_data" / name for name in ("iris.csv", "dune.csv"))
SHORT = ("--set", "method.descent.early_steps=40", "--set", "method.descent.steps=40")
SCORES = ("--discontinuity",)
FEW = ("--set", "method.epochs=30")
NEAR = ("--set", "method.perplexity=8")
RUNS: dict[str, tuple[object, ...]] = {  # the name of each, the file, the method and its options
    "umap": (IRIS, "-m", "umap", "--set", "method.epochs=80", *SCORES),
    "umap-density": (IRIS, "-m", "umap", "--set", "method.epochs=80", "--set", "method.density.share=0.5"),
    "umap-classes": (IRIS, "-m", "umap", "--set", "method.epochs=40", "--label-column", "Species", "--set",
                     "method.target_weight=0.5", "--set", "method.start=pca", "--metric", "minkowski"),
    "umap-braycurtis": (DUNE, "-m", "umap", "--set", "method.epochs=40", "--set", "method.start=random", "--metric",
                        "braycurtis"),
    "tsne": (IRIS, "-m", "tsne", *SHORT, *SCORES),
    "tsne-dof": (IRIS, "-m", "tsne", *SHORT, "--set", "method.dof=0.7", "--set", "method.start=laplacian", "--metric",
                 "correlation", *SCORES),
    "smacof": (DUNE, "-m", "smacof", "--metric", "braycurtis", "--set", "method.weights=-2"),
    "smacof-power": (IRIS, "-m", "smacof", "--metric", "cosine", "--set", "method.weights=0.5", "--set",
                     "method.starts=2", *SCORES),
    "sammon": (IRIS, "-m", "sammon", "--set", "method.starts=2", *SCORES),
    "nmds": (DUNE, "-m", "nmds", "--metric", "braycurtis", "--set", "method.starts=3"),
    "nmds-secondary": (DUNE, "-m", "nmds", "--metric", "jaccard", "--set", "method.ties=secondary", "--set",
                       "method.starts=3", "-p", "3", *SCORES),
    "phate": (IRIS, "-m", "phate", *SCORES),
    "phate-landmarks": (DUNE, "-m", "phate", "--metric", "braycurtis", "--set", "method.landmarks=12"),
}
# What is done with points that leave a choice, each way with each of them.
WAYS: dict[str, tuple[object, ...]] = {
    "umap": ("-m", "umap", *FEW),
    "umap-pca": ("-m", "umap", *FEW, "--set", "method.start=pca", "--metric", "cityblock"),
    "umap-random": ("-m", "umap", *FEW, "--set", "method.start=random", "--set", "method.mix_ratio=0.5"),
    "umap-density": ("-m", "umap", *FEW, "--set", "method.density.share=0.5", "-p", "3"),
    "tsne": ("-m", "tsne", *SHORT, *NEAR),
    "tsne-laplacian": ("-m", "tsne", *SHORT, *NEAR, "--set", "method.start=laplacian", "-p", "3"),
    "tsne-random": ("-m", "tsne", *SHORT, *NEAR, "--set", "method.start=random", "--metric", "chebyshev"),
    "tsne-dof": ("-m", "tsne", *SHORT, *NEAR, "--set", "method.dof=0.7"),
    "smacof": ("-m", "smacof", "-p", "1"),
    "smacof-weights": ("-m", "smacof", "--set", "method.weights=-2", "--set", "method.starts=2", "--metric",
                       "cityblock"),
    "sammon": ("-m", "sammon", "--set", "method.starts=2", "-p", "1"),
    "nmds": ("-m", "nmds", "--set", "method.starts=2", "--metric", "chebyshev"),
    "nmds-secondary": ("-m", "nmds", "--set", "method.ties=secondary", "--set", "method.starts=2", "-p", "1"),
    "phate": ("-m", "phate"),
    "phate-time": ("-m", "phate", "--set", "method.time=12", "--set", "method.gamma=0", "--set", "method.starts=2"),
    "phate-landmarks": ("-m", "phate", "--set", "method.landmarks=12"),
}
EVERYDAY = ("grid-umap", "grid-tsne-laplacian", "copies-umap-density", "copies-nmds", "pieces-phate", "circle-umap-pca",
            "circle-tsne-dof", "line-smacof-weights", "line-sammon")
PAIRS = tuple(f"large-grid-{name}" for name in ("smacof", "sammon", "nmds"))  # whose time is that of all pairs
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
    """The instructions that NumPy takes because this processor has them, or would if it were not told otherwise."""
    told = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()
    return [*np.show_config(mode="dicts")["SIMD Extensions"].get("found", []), *told]


LEAST = {"NPY_DISABLE_CPU_FEATURES": " ".join(chosen()),  # its exponentials then have other digits
         "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-AVX2_Usable,-FMA_Usable"}
SETTINGS: dict[str, dict[str, str]] = {
    "base": {"MLCLI_SIMD": "base", "OPENBLAS_CORETYPE": "Prescott", **LEAST},
    "v3": {"MLCLI_SIMD": "v3", "OPENBLAS_CORETYPE": "Haswell"},
    "none": {"MLCLI_SIMD": "none", "OPENBLAS_CORETYPE": "Zen", "OMP_NUM_THREADS": "1", **LEAST},
    "zen": {"OPENBLAS_CORETYPE": "Zen", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "threads": {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"},
}


def tables_with_ties() -> dict[str, Array]:
    """A square grid, rows two and three times, one cloud twice, a circle, and points at equal distances on a line."""
    cloud = np.random.default_rng(4).integers(-3000, 3000, (24, 3)) / 1000
    angles = np.arange(36) * np.pi / 18
    return {
        "grid": np.argwhere(np.ones((7, 7))).astype(np.float64),
        "copies": np.repeat(cloud, [2, 3] * 12, axis=0),
        "pieces": np.vstack([cloud, cloud + [1000.0, 0.0, 0.0]]),
        "circle": np.column_stack([np.cos(angles), np.sin(angles)]),
        "line": np.arange(40.0)[:, None] * [1.0, 2.0],
    }


def large_tables_with_ties() -> dict[str, Array]:
    """The same of so many points that graphs, eigenmaps and forces are computed in parts; and a cube."""
    angles, cloud = np.arange(300) * np.pi / 150, np.random.default_rng(5).integers(-300, 300, (300, 5)) / 100
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return {
        "large-grid": np.argwhere(np.ones((40, 40))).astype(np.float64),
        "cube": np.argwhere(np.ones((6, 6, 6))).astype(np.float64),
        "threefold": np.repeat(cloud, 3, axis=0),
        "circles": np.vstack([circle, circle + [50.0, 0.0]]),
        "odd-circle": np.column_stack([np.cos(np.arange(37) * np.pi / 18.5), np.sin(np.arange(37) * np.pi / 18.5)]),
    }


def runs_of(tables: Mapping[str, Array], folder: Path) -> dict[str, tuple[object, ...]]:
    """Every way with every table, which is written to a folder."""
    for name, points in tables.items():
        header = ",".join(f"x{number}" for number in range(points.shape[1]))
        np.savetxt(folder / f"{name}.csv", points, "%.17g", ",", header=header, comments="")
    return {f"{name}-{way}": (folder / f"{name}.csv", *options) for name in tables for way, options in WAYS.items()}


def carried_out(folder: Path, runs: Mapping[str, tuple[object, ...]], **settings: str) -> dict[str, bytes]:
    """The files of all runs, by their paths, made by one process in a folder of its own."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-P", "-c", PROGRAM, json.dumps(runs, default=str)]
    done = subprocess.run(command, env=neutral(**settings), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.name not in UNLIKE}


def other_files(usual: Mapping[str, bytes], found: Mapping[str, bytes]) -> list[str]:
    """The files that differ under a setting."""
    assert found.keys() == usual.keys()
    return [path for path in usual if usual[path] != found[path]]


def require(name: str) -> None:
    """Skip a test under a setting that names a level which cannot run here."""
    if SETTINGS[name].get("MLCLI_SIMD", "none") not in (*machine_levels(), "none"):
        pytest.skip("this processor does not run it, or nothing is built")


@pytest.fixture(scope="module")
def everyday(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, ...]]:
    ties = runs_of(tables_with_ties(), tmp_path_factory.mktemp("tables"))
    return {**RUNS, **{name: ties[name] for name in EVERYDAY}}


@pytest.fixture(scope="module")
def usual(everyday: dict[str, tuple[object, ...]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return carried_out(tmp_path_factory.mktemp("usual"), everyday)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["base", "v3", "none"])
def test_runs_have_the_same_bytes_with_other_instructions(
        name: str, everyday: dict[str, tuple[object, ...]], usual: dict[str, bytes], tmp_path: Path) -> None:
    require(name)
    found = carried_out(tmp_path, everyday, **SETTINGS[name])
    assert usual.keys() >= {"umap-density/radii.csv", "tsne/model.npz", "umap/new.csv", "grid-umap/trace.csv",
                            *(f"{run}/discontinuity.csv" for run in RUNS if "--discontinuity" in RUNS[run])}
    assert other_files(usual, found) == []


@pytest.fixture(scope="module")
def ties(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, ...]]:
    return runs_of(tables_with_ties(), tmp_path_factory.mktemp("ties"))


@pytest.fixture(scope="module")
def usual_ties(ties: dict[str, tuple[object, ...]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return carried_out(tmp_path_factory.mktemp("usual"), ties)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.medium if name == "base" else pytest.mark.slow)
                                  for name in SETTINGS])
def test_ties_are_decided_alike_with_other_instructions(
        name: str, ties: dict[str, tuple[object, ...]], usual_ties: dict[str, bytes], tmp_path: Path) -> None:
    require(name)
    assert len({path.partition("/")[0] for path in usual_ties}) == len(WAYS) * len(tables_with_ties())
    assert other_files(usual_ties, carried_out(tmp_path, ties, **SETTINGS[name])) == []


@pytest.fixture(scope="module")
def large_ties(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, ...]]:
    runs = runs_of(large_tables_with_ties(), tmp_path_factory.mktemp("large"))
    return {name: run for name, run in runs.items() if not name.startswith(PAIRS)}


@pytest.fixture(scope="module")
def usual_large(large_ties: dict[str, tuple[object, ...]], tmp_path_factory: pytest.TempPathFactory,
                ) -> dict[str, bytes]:
    return carried_out(tmp_path_factory.mktemp("usual"), large_ties)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SETTINGS)
def test_ties_of_many_points_are_decided_alike_with_other_instructions(
        name: str, large_ties: dict[str, tuple[object, ...]], usual_large: dict[str, bytes], tmp_path: Path) -> None:
    require(name)
    assert other_files(usual_large, carried_out(tmp_path, large_ties, **SETTINGS[name])) == []


def test_the_settings_take_effect() -> None:
    code = "import numpy; print(*numpy.show_config(mode='dicts')['SIMD Extensions'].get('found', []))"
    assert python(code, **LEAST).split() == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("options", [("umap",), ("tsne", "--set", "method.descent.early_steps=30",
                                                 "--set", "method.descent.steps=60"), ("phate",), ("laplacian",),
                                     ("diffusion", "--set", "method.nearest=15"),
                                     ("isomap", "--set", "method.landmarks=50")], ids=lambda options: options[0])
def test_threads_change_no_byte_of_many_points(options: tuple[str, ...], tmp_path: Path) -> None:
    """More than 2^18, from which on t-SNE's affinities are in single precision."""
    random = np.random.default_rng(0)
    surface = random.random((270_000, 2)) @ random.standard_normal((2, 20))
    np.save(tmp_path / "many.npy", np.cos(3 * surface) + 0.02 * random.standard_normal(surface.shape))
    found = []
    for threads in ("1", "2"):
        run = tmp_path / threads
        done = call("embed", tmp_path / "many.npy", "-m", *options, "--threads", threads, "-o", run, "--no-cache", "-q")
        assert done.returncode == 0, done.stderr
        found.append({path.name: path.read_bytes() for path in run.iterdir() if path.name not in UNLIKE})
    assert {"embedding.csv", "model.npz", "quality.json"} <= found[0].keys()
    assert set(other_files(*found)) == {"config.yaml", "report.html"}  # the threads, and how long stages took
