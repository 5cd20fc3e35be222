"""A run of lists in a Parquet file."""

from pathlib import Path

import numpy as np

from tests.data.formats.columns.test_lists import FORMS, NAMES, VALUES, fixed, saved
from tests.journeys.support import Caller


def test_a_run_of_lists_places_new_rows_from_lists_and_from_columns(mlcli: Caller) -> None:
    here = Path()
    path = saved(here, {"id": [f"r{row}" for row in range(500)], "e": FORMS["list"]})
    assert mlcli.bare(path, "-o", "run").code == 0
    np.save("plain.npy", VALUES)
    assert mlcli.bare("plain.npy", "-o", "plain").code == 0
    ours, theirs = (np.loadtxt(f"{run}/embedding.csv", delimiter=",", skiprows=1, usecols=(1, 2))
                    for run in ("run", "plain"))
    assert np.array_equal(ours, theirs)
    new = here / "new"
    new.mkdir()
    for columns in ({"id": ["n1", "n2"], "e": fixed(VALUES[:2])},
                    {"id": ["n1", "n2"], **{name: VALUES[:2, place] for place, name in enumerate(NAMES)}}):
        called = mlcli("project", "run", saved(new, columns), "-o", "-")
        placed = np.array([line.split(",")[1:3] for line in called.out.splitlines()[1:]], dtype=float)
        np.testing.assert_allclose(placed, ours[:2], atol=1e-9)
