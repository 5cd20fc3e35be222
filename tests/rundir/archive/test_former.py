"""Models that the version before this format wrote place new points as that version did."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.graph.neighbors import Nearest, Within
from mlcli.rundir import archive

FORMER = Path(__file__).parent / "former"


def numbers(path: Path) -> Array:
    """The numbers of a table whose first column holds ids."""
    return np.genfromtxt(path, delimiter=",", skip_header=1)[:, 1:]


@pytest.mark.parametrize(("name", "new", "rule"), [
    ("isomap", "new", Within(0.45)), ("sde", "new", Within(0.4)), ("lle", "new", Nearest(4)),
    ("laplacian", "new", Nearest(4)), ("given", "new_dissimilarities", Nearest(4))])
def test_a_model_of_the_former_format_is_read_and_projects(name: str, new: str, rule: Nearest | Within) -> None:
    projector = archive.load(FORMER / name)["projector"]
    assert projector.similarity.neighbors == rule
    found = projector.project(numbers(FORMER / f"{new}.csv"))
    assert np.allclose(found, numbers(FORMER / name / "projected.csv"), rtol=1e-13, atol=1e-14)


def test_what_is_read_is_written_in_the_present_format(tmp_path: Path) -> None:
    model = archive.load(FORMER / "given")
    archive.save(tmp_path, model)
    assert archive.load(tmp_path)["projector"].similarity.neighbors == model["projector"].similarity.neighbors
    assert '"given-barycenters"' not in (tmp_path / "model.json").read_text()
