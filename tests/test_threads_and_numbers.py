"""How many threads run changes no number of a run: its files are the same to the last bit."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from tests.processes import call

ROWS = 2200  # above the sizes from which spectra are found in part and quality is measured on a sample
TIMED = ("run.json", "report.html", "config.yaml")  # of times and paths
RUNS = {
    "isomap": ("--method", "isomap"),
    "kernel PCA": ("--method", "kpca"),
    "polynomial kernel": ("--method", "kpca", "--set", "method.kernel.name=polynomial"),
    "landmarks": ("--method", "mds", "--set", "method.landmarks=100"),
    "pca": ("--method", "pca"),
}


def write_sheet(path: Path) -> Path:
    """A sheet in 20 dimensions with noise, and a column of labels."""
    generator = np.random.default_rng(4)
    sheet: Array = generator.random((ROWS, 2))
    points = np.column_stack([sheet, np.sin(3 * sheet)]) @ generator.standard_normal((4, 20))
    points += 0.05 * generator.standard_normal(points.shape)
    lines = [",".join([*(f"x{i}" for i in range(20)), "side"])]
    lines += [",".join([*(f"{value:.6g}" for value in row), "ab"[int(across > 0.5)]])
              for row, across in zip(points.tolist(), sheet[:, 0], strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def files(folder: Path) -> dict[str, bytes]:
    """The files of a run that hold no times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in TIMED}


@pytest.mark.parametrize("name", RUNS)
def test_files_are_the_same_for_any_number_of_threads(name: str, tmp_path: Path) -> None:
    sheet = write_sheet(tmp_path / "sheet.csv")
    found = []
    for threads in (1, 3):
        ended = call("embed", sheet, *RUNS[name], "--label-column", "side", "-q", "--threads", threads,
                     "-o", tmp_path / str(threads))
        assert ended.returncode == 0, ended.stderr
        found.append(files(tmp_path / str(threads)))
    assert {"embedding.csv", "quality.json", "shepard.csv", "dimension.json", "spectrum.csv"} <= set(found[0])
    assert [file for file in found[0] if found[0][file] != found[1].get(file)] == []
