"""Chains at the command line: a method written out, and the flags of its stages."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Caller
from tests.contract.test_contract import POINTS


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savetxt(tmp_path / "data.csv", POINTS, delimiter=",")


def test_a_document_runs_from_the_shell(mlcli: Caller, tmp_path: Path) -> None:
    document = mlcli("methods", "isomap", "--yaml")
    assert document.code == 0 and "\nmethod:\n  name: chain\n" in document.out
    (tmp_path / "chain.yaml").write_text(document.out)
    assert mlcli("run", "chain.yaml", "--set", "input.path=data.csv", "-o", "one", "-q").code == 0
    assert mlcli("embed", "data.csv", "-m", "isomap", "-o", "other", "-q").code == 0
    for file in ("embedding.csv", "spectrum.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


def test_flags_reach_a_chain(mlcli: Caller, tmp_path: Path) -> None:
    arguments = ("embed", "data.csv", "-m", "chain", "-k", "7", "--paths", "floyd", "--kernel", "laplacian", "-p", "3")
    assert mlcli(*arguments, "-o", "run", "-q").code == 0
    text = (tmp_path / "run" / "config.yaml").read_text()
    assert "count: 7" in text and "algorithm: floyd" in text and "name: laplacian" in text and "components: 3" in text
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert certificate["verdict"] == "pass"


def test_what_is_no_chain_is_not_written_out(mlcli: Caller) -> None:
    called = mlcli("methods", "fa", "--yaml")
    assert called.code == 78 and "E-NO-CHAIN" in called.err
    assert mlcli("methods", "--yaml").code == 2
