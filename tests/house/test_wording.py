"""The snapshot of messages: a change is found and told, a command renews it, and CI cannot."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tests.wording
from mlcli.errors import DataError
from tests.processes import neutral, own_folders
from tests.wording import OPTION, ROOT, Wording, comparing, stored

ERROR = DataError("SOME", "a thing was found", where="data.csv", hint="mend it")
SAID = "E-SOME: a thing was found; data.csv; mend it"


def test_the_same_message_passes_and_gives_its_codes() -> None:
    wording = Wording("tests/test_x.py::test_y", "/folders", [SAID, "read TMP/x: N-A and W-B-C"])
    assert wording(ERROR) == ["E-SOME"]
    assert wording("read /folders/test_y0/x: N-A and W-B-C") == ["N-A", "W-B-C"]


@pytest.mark.parametrize("expected", [[SAID.replace("mend", "heal")], []])
def test_another_message_fails_with_the_old_and_the_new_one(expected: list[str]) -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        Wording("tests/test_x.py::test_y", "/folders", expected)(ERROR)
    told = str(failed.value)
    assert f"new: {SAID}" in told and (expected or ["(no message)"])[0] in told
    assert "python -m tests.wording --renew tests/test_x.py" in told


def test_the_code_of_an_error_is_asserted_besides_its_message() -> None:
    wording = Wording("tests/test_x.py::test_y", "/folders", [SAID])
    with pytest.raises(AssertionError), wording.raises(DataError, "OTHER"):
        raise ERROR
    with wording.raises(DataError, "SOME") as caught:
        raise ERROR
    assert caught.value is ERROR and wording.seen == [SAID]


def test_every_stored_message_is_of_a_test_that_exists() -> None:
    names = {file: {node.name for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
                    if isinstance(node, ast.FunctionDef)} for file in comparing(["tests"])}
    gone = [test for test in stored() if test.partition("::")[2].partition("[")[0] not in names.get(
        test.partition("::")[0], ())]
    assert not gone, f"python -m tests.wording --renew removes {gone[:3]}"


def test_ci_does_not_renew_the_snapshot() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.wording", "--renew"], cwd=ROOT, env={**neutral(), "CI": "true"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "never in CI" in done.stderr
    scripts = [*(ROOT / ".github").rglob("*.yml"), *(ROOT / ".ci").glob("*")]
    assert scripts and not [path for path in scripts if path.is_file() and (
        "tests.wording" in (text := path.read_text(encoding="utf-8")) or f"{OPTION} " in text)]


@pytest.mark.medium
def test_the_command_stores_what_is_said_now_and_prints_old_and_new(tmp_path: Path) -> None:
    """Of the files that are named; messages of others stay."""
    folder = tmp_path / "tests"
    (folder / "wording").mkdir(parents=True)
    for file in ("__init__.py", "__main__.py"):
        (folder / "wording" / file).write_bytes(Path(tests.wording.__file__).with_name(file).read_bytes())
    (folder / "__init__.py").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    hooks = "pytest_addoption, pytest_collection_modifyitems, pytest_configure, snapshot, wording"
    (folder / "conftest.py").write_text(f"from tests.wording import {hooks}\n", encoding="utf-8")
    folder.joinpath("test_three.py").write_text(
        "import pytest\ndef test_three(wording): assert wording('W-A: new')\n"
        "@pytest.mark.skip\ndef test_skipped(wording): assert wording('W-A: new')\n", encoding="utf-8")
    for name in ("one", "two"):
        (folder / f"test_{name}.py").write_text(f"def test_{name}(wording): assert wording('W-A: new')\n")
    snapshot = folder / "wording" / "messages.json"
    before = {"tests/test_one.py::test_one": ["W-A: old"], "tests/test_one.py::test_gone": ["W-B"],
              "tests/test_three.py::test_skipped": ["W-A: old"], "tests/test_two.py::test_two": ["W-A: old"]}
    snapshot.write_text(json.dumps(before), encoding="utf-8")

    def command(*arguments: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-m", "tests.wording", *arguments], cwd=tmp_path,
                              env=neutral(CI="", **own_folders(tmp_path)), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert command("tests/test_one.py")[0] == 1 and json.loads(snapshot.read_text()) == before
    code, told = command("--renew", "tests/test_one.py")
    assert code == 0 and "tests/test_one.py::test_one\n  old: W-A: old\n  new: W-A: new" in told
    after = {**before, "tests/test_one.py::test_one": ["W-A: new"]}
    del after["tests/test_one.py::test_gone"]
    assert json.loads(snapshot.read_text()) == after
    assert command()[0] == 1 and command("--renew")[0] == command()[0] == 0
    assert json.loads(snapshot.read_text())["tests/test_three.py::test_skipped"] == ["W-A: old"]

    before = json.loads(snapshot.read_text())
    (folder / "test_one.py").write_text(
        "import pytest\ndef test_one(wording):\n    assert not wording('W-A: by a failing test')\n"
        "@pytest.fixture\ndef left():\n    yield\n    raise OSError\n"
        "def test_left(left, wording): assert wording('W-A: of a test whose teardown fails')\n"
        "def test_more(wording): assert wording('W-A: more')\n", encoding="utf-8")
    code, told = command("--renew", "tests/test_one.py")
    assert code == 1 and "kept as they were, as the test failed: tests/test_one.py::test_one\n" in told
    assert json.loads(snapshot.read_text()) == {**before, "tests/test_one.py::test_more": ["W-A: more"]}
