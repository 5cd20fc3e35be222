"""The tests see whether the installed package is that of their tree."""

from pathlib import Path

from tests.package import differing


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / "inner").mkdir(parents=True, exist_ok=True)
        (folder / "inner" / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def test_another_text_and_missing_or_left_files_differ(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", one="1", two="2", new="3")
    installed = written(tmp_path / "installed", one="1", two="other", old="4")
    assert differing(tree, installed) == ["inner/new.py", "inner/old.py", "inner/two.py"]


def test_a_copy_and_the_tree_itself_do_not_differ(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", one="1")
    assert differing(tree, written(tmp_path / "installed", one="1")) == differing(tree, tree) == []
