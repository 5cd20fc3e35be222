"""The files of a run lead nowhere by themselves: to no network, and to no file outside of its folder."""

import json
from pathlib import Path

import pytest

from mlcli.data.files import remote
from tests.faults.fuzz.directories import rehashed
from tests.journeys.support import Caller
from tests.wording import Wording

ELSEWHERE = "s3://bucket/data.csv"


class Opened(Exception):
    """A network was opened."""


@pytest.fixture
def mlcli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    def opened(path: str) -> None:
        raise Opened(path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remote, "file_system_of", opened)
    return Caller(capsys)


def foreign(mlcli: Caller) -> Path:
    """A run whose files name an input on a network; its input as a file here."""
    assert mlcli("sample", "torus", "--rows", "30", "-o", "data.csv").code == 0
    run = mlcli.finished("embed", "data.csv", "-o", "run", "--outputs", "embedding,spectrum,model,report")
    config = (run / "config.yaml").read_text().replace("path: data.csv", f"path: {ELSEWHERE}")
    assert ELSEWHERE in config
    (run / "config.yaml").write_text(config)
    document = json.loads((run / "run.json").read_text())
    document["input"] |= {"path": ELSEWHERE, "absolute": ELSEWHERE}
    (run / "run.json").write_text(json.dumps(document))
    rehashed(run, "config.yaml")
    return run


def test_verify_does_without_an_input_on_a_network_and_says_so(mlcli: Caller) -> None:
    run = foreign(mlcli)
    called = mlcli("verify", run, "--json")
    found = json.loads(called.out)
    assert called.code == 0 and found["input"] == "on a network"
    (skipped,) = (check for check in found["certificate"]["checks"] if check["name"] == "input")
    assert skipped["verdict"] == "skipped" and "--network" in skipped["how"]
    here = mlcli("verify", run, "--input", "data.csv")
    assert here.code == 0 and "the input is unchanged" in here.out


@pytest.mark.parametrize("command", [
    ("report", "run", "--color-by", "x"), ("relate", "run", "--with", "data.csv", "--species", "wa")])
def test_no_command_opens_a_network_that_a_run_names(mlcli: Caller, command: tuple[str, ...]) -> None:
    foreign(mlcli)
    called = mlcli(*command)
    assert called.code == 66 and "error[E-RUN-REMOTE]" in called.err and "--network" in called.err


@pytest.mark.parametrize("command", [
    ("verify", "run", "--network"), ("verify", "run", "--input", ELSEWHERE),
    ("report", "run", "--color-by", "x", "--network"), ("report", "run", "--color-by", "x", "--input", ELSEWHERE)])
def test_a_network_is_opened_where_the_command_says_so(mlcli: Caller, command: tuple[str, ...]) -> None:
    foreign(mlcli)
    assert "Opened" in mlcli(*command).err


@pytest.mark.parametrize("part", ["labels", "view"])
def test_a_second_file_on_a_network_is_not_opened(mlcli: Caller, part: str) -> None:
    assert mlcli("sample", "torus", "--rows", "30", "-o", "more.csv").code == 0
    assert mlcli("sample", "torus", "--rows", "30", "--seed", "1", "-o", "data.csv").code == 0
    options = ("--labels", "more.csv") if part == "labels" else ("-m", "cca", "--view", "more.csv")
    run = mlcli.finished("embed", "data.csv", "-o", "run", "--outputs", "embedding,spectrum,model", *options)
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("path: more.csv", f"path: {ELSEWHERE}"))
    document = json.loads((run / "run.json").read_text())
    document["input"][part] |= {"path": ELSEWHERE, "absolute": ELSEWHERE}
    (run / "run.json").write_text(json.dumps(document))
    rehashed(run, "config.yaml")
    called = mlcli("verify", run)
    assert called.code == 0 and "the input is on a network" in called.out


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "sub/file", "..", "a\0b"])
def test_verify_reads_no_file_outside_of_the_folder(mlcli: Caller, name: str, wording: Wording) -> None:
    run = foreign(mlcli)
    document = json.loads((run / "run.json").read_text())
    document["files"][name] = {"bytes": 1, "sha256": "0" * 64}
    (run / "run.json").write_text(json.dumps(document))
    called = mlcli("verify", run)
    assert called.code == 83 and "E-RUN-FILES" in wording(called.err)


@pytest.mark.parametrize("target", ["../embedding.csv", "elsewhere.csv", "embedding.csv"])
def test_a_link_out_of_the_folder_is_no_file_of_the_run(mlcli: Caller, target: str) -> None:
    run = foreign(mlcli)
    file = run / "embedding.csv"
    if target != file.name:  # else a loop of links
        (run / target).write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(target)
    assert mlcli("verify", run).code == (0 if target == "elsewhere.csv" else 83)
    assert mlcli("report", run).code == (0 if target == "elsewhere.csv" else 83)
