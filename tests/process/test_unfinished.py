"""What is unfinished goes when its block ends, or when the process does."""

from pathlib import Path

import pytest

from mlcli.process import unfinished


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A folder that is being written."""
    folder = tmp_path / "draft"
    folder.mkdir()
    (folder / "embedding.csv").touch()
    return folder


def test_a_folder_a_file_and_a_link_go(tmp_path: Path, draft: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to("kept")
    file, link = tmp_path / "file", tmp_path / "link"
    unfinished.remove_all([(draft, None), (file, None), (link, None)])
    assert list(tmp_path.iterdir()) == [tmp_path / "kept"]


def test_what_was_published_or_took_the_name_stays(tmp_path: Path, draft: Path) -> None:
    inode = draft.stat().st_ino
    draft.rename(tmp_path / "output")
    draft.mkdir()
    (draft / "other").touch()
    unfinished.remove_all([(draft, inode)])
    assert {path.name for path in tmp_path.rglob("*")} == {"output", "embedding.csv", "draft", "other"}


def test_watchers_know_what_is_unfinished(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "_entries", [])
    monkeypatch.setattr(unfinished, "_watchers", [])
    told: list[list[unfinished.Entry]] = []
    unfinished.add_watcher(lambda entries: told.append(list(entries)))
    with unfinished.unfinished(draft, 7):
        pass
    assert told == [[(draft, 7)], []]
