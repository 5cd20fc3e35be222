"""Runs that are exported, and the input of runs that are copied with their results."""

import csv
from pathlib import Path

import pytest

from tests.cli.commands.export.cell_file import write_cells
from tests.journeys.support import Caller

ROWS = [[f"p{row}", ("a", "b", "")[row % 3], row % 4, row**2 % 7, row % 5] for row in range(20)]


@pytest.fixture
def run(mlcli: Caller) -> str:
    """PCA of three columns, with ids and a label that some rows lack."""
    with Path("data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "kind", "u", "v", "w"], *ROWS])
    mlcli.finished("embed", "data.csv", "--id-column", "id", "--label-column", "kind", "-o", "run", "-q")
    return "run"


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """A file of AnnData in the directory of the test."""
    path = tmp_path / "cells.h5ad"
    write_cells(path)
    return path
