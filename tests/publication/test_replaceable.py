"""Finished folders: each kind is known by its listing, and replaced by its own kind alone."""

import json
from pathlib import Path

import pytest

from mlcli.errors import OutputRefused
from mlcli.publication.replaceable import FINISHED, FORMAT, RELATION, RUN, Listing, require_finished
from tests.wording import Wording


def finished(folder: Path, listing: Listing) -> Path:
    folder.mkdir()
    (folder / "data").write_text("data")
    (folder / listing.name).write_text(json.dumps({"format": FORMAT, listing.key: "", "files": {"data": {}}}))
    return folder


@pytest.mark.parametrize("listing", FINISHED, ids=lambda listing: listing.name)
def test_a_finished_folder_of_any_kind_is_known(tmp_path: Path, listing: Listing, wording: Wording) -> None:
    folder = finished(tmp_path / "out", listing)
    assert require_finished(folder) == listing.require(folder) == ("data", listing.name)
    (folder / "thesis").touch()
    with wording.raises(OutputRefused, "OUTPUT-FOREIGN"):
        require_finished(folder)


@pytest.mark.parametrize(("new", "allowed"), [(RELATION, False), (RUN, True), (None, True)])
def test_what_a_folder_replaced_is_of_its_own_kind(tmp_path: Path, new: Listing | None, allowed: bool,
                                                   wording: Wording) -> None:
    """A run that got into the place of a relation after the last look is not taken for the relation that was there."""
    old, successor = finished(tmp_path / "old", RUN), tmp_path / "new"
    if new is not None:
        finished(successor, new)
    if allowed:
        assert require_finished(old, successor) == ("data", "run.json")
    else:
        with wording.raises(OutputRefused, "OUTPUT-FOREIGN"):
            require_finished(old, successor)
