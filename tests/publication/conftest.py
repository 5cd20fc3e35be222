"""File systems that lack a call."""

import pytest

from mlcli.publication import renames
from tests.publication.outputs import LACKING


@pytest.fixture(params=["nothing", *LACKING])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file system, and what it lacks."""
    if request.param in LACKING:
        monkeypatch.setattr(renames, "_renameat2", LACKING[request.param])
    return str(request.param)
