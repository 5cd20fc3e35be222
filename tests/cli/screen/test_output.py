"""Two flags that name one file are refused, over whatever links."""

from pathlib import Path

import pytest

from mlcli.cli.screen.output import require_own_file
from mlcli.errors import UsageError


@pytest.fixture(autouse=True)
def _links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.csv").write_text("x\n")
    Path("link.csv").symlink_to("there.csv")
    Path("second.csv").symlink_to("link.csv")
    Path("dangling.csv").symlink_to("absent.csv")
    Path("folder").mkdir()
    Path("shortcut").symlink_to("folder")
    for one, other in (("loop", "pool"), ("pool", "loop")):
        Path(one).symlink_to(other)


@pytest.mark.parametrize(("one", "other"), [
    ("a.csv", "./a.csv"), ("a.csv", "folder/../a.csv"), ("link.csv", "there.csv"), ("second.csv", "link.csv"),
    ("dangling.csv", "absent.csv"), ("shortcut/a.csv", "folder/a.csv"), ("loop", "loop")])
def test_one_file_has_one_output(one: str, other: str) -> None:
    for first, second in ((one, other), (other, str(Path(one).absolute()))):
        with pytest.raises(UsageError, match="--picture and --classes name the same file") as caught:
            require_own_file("--picture", first, {"-o": "another.csv", "--classes": second})
        assert (caught.value.code, caught.value.where) == ("E-ONE-FILE", f"--picture {first}"[:80])


@pytest.mark.parametrize(("one", "other"), [
    ("a.csv", "b.csv"), ("link.csv", "absent.csv"), ("shortcut/a.csv", "a.csv"), ("loop", "there.csv"),
    ("a.csv", None)])
def test_others_are_different_files(one: str, other: str | None) -> None:
    require_own_file("--picture", one, {"-o": other})
