"""A cluster that was named in vain is told of, whatever the command."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.extras import missing_module
from mlcli.engine.cluster.address import note_unused
from tests.journeys.support import Caller, write_points
from tests.support import Notes

SAID = "note[N-CLUSTER-HERE]: this command computes on this machine only, and nothing on local:2"


@pytest.mark.parametrize(("blocks", "codes"), [(0, ["N-CLUSTER-UNUSED"]), (1, [])])
def test_of_a_run_that_sends_nothing(blocks: int, codes: list[str]) -> None:
    cluster: Any = SimpleNamespace(counts=Counter(blocks=blocks))
    with Notes() as notes:
        note_unused(Compute(cluster="tcp://10.0.0.1:8786", cluster_folder="/shared"), cluster)
    assert [*notes.codes] == codes


def test_of_a_folder_without_a_cluster(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "-o", "run", "-v", "--set", "compute.cluster_folder=shared")
    assert called.code == 0 and "note[N-CLUSTER-FOLDER]" in called.err
    assert "N-CLUSTER" not in mlcli("embed", "data.csv", "-v", "-o", "-").err


@pytest.mark.skipif(bool(missing_module("dask")), reason="needs mlcli[dask]")
def test_of_commands_that_compute_where_they_run(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-o", "run", "-q").code == 0
    write_points(Path("new.csv"), rows=3)
    for command in (("check", "data.csv"), ("plan", "data.csv"), ("project", "run", "new.csv", "-o", "new.npy")):
        called = mlcli(*command, "--set", "compute.cluster=local:2")
        assert called.code == 0 and SAID in called.err
        assert "N-CLUSTER" not in mlcli(*command, *(("--force",) if "-o" in command else ())).err
