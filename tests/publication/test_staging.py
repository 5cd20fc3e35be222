"""Drafts whose folder gets another name, or is moved, while they are written."""

from pathlib import Path

import pytest

from mlcli.errors import StorageError
from mlcli.publication.output_lock import output_lock
from mlcli.publication.staging import Kind
from tests.publication.outputs import names, write


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("above", [False, True])
def test_a_folder_that_is_renamed_meanwhile_is_named_and_nothing_is_left(tmp_path: Path, kind: Kind,
                                                                       above: bool) -> None:
    folder = tmp_path / "runs" / "deep"
    folder.mkdir(parents=True)
    moved, new = (tmp_path / "runs", tmp_path / "other") if above else (folder, tmp_path / "runs" / "other")
    with pytest.raises(StorageError) as caught, output_lock(folder / "out") as lock:
        (lock.path / "kept").write_text("checkpoint")
        try:
            write(folder / "out", kind, "text", force=False, meanwhile=lambda: moved.rename(new))
        finally:
            lock.forget()
    lies = new / "deep" if above else new
    assert (caught.value.code, caught.value.where) == ("E-FOLDER-MOVED", f"{folder}, now {lies}"[:200])
    assert names(lies) == []
