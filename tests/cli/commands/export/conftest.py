"""The input of runs that are copied with their results."""

from pathlib import Path

import pytest

from tests.cli.commands.export.cell_file import write_cells


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """A file of AnnData in the directory of the test."""
    path = tmp_path / "cells.h5ad"
    write_cells(path)
    return path
