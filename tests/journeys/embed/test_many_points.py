"""Runs of so many points that blocks of vectors are worked on in parts."""

from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.native.support import needs_native


@pytest.mark.medium
@needs_native  # without kernels the paths of a pass take minutes
def test_isomap_of_many_points_streams(mlcli: Caller) -> None:
    """Blocks of vectors are tall then: they are worked on in parts."""
    generator = np.random.default_rng(0)
    angle, height = 3 + 9 * generator.random(20_000), 20 * generator.random(20_000)
    np.save("roll.npy", np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]))
    called = mlcli("embed", "roll.npy", "-m", "isomap", "-o", "run", "-q")
    assert called.code == 0, called.err
    assert Path("run/embedding.csv").is_file()
    assert mlcli("verify", "run", "-q").code == 0
