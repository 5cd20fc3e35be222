"""Pictures of the pages name their points, as readers make them."""

import pytest


@pytest.fixture(autouse=True)
def unnamed_points() -> None:
    """Nothing that is taken from the pictures."""
