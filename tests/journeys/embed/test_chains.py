"""Chains at the command line: a method written out, and the flags of its stages."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.conftest import Caller
from tests.laws.contract.test_contract import POINTS
from tests.wording import Wording


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savetxt(tmp_path / "data.csv", POINTS, delimiter=",")


def test_a_document_runs_from_the_shell(mlcli: Caller, tmp_path: Path) -> None:
    document = mlcli("methods", "isomap", "--yaml")
    assert document.code == 0 and "\nmethod:\n  name: chain\n" in document.out
    (tmp_path / "chain.yaml").write_text(document.out)
    assert mlcli("run", "chain.yaml", "--set", "input.path=data.csv", "-o", "one", "-q").code == 0
    assert mlcli.bare("data.csv", "-m", "isomap", "-o", "other", "-q").code == 0
    for file in ("embedding.csv", "spectrum.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


def test_flags_reach_a_chain(mlcli: Caller, tmp_path: Path) -> None:
    arguments = ("embed", "data.csv", "-m", "chain", "-k", "7", "--paths", "floyd", "--kernel", "laplacian", "-p", "3")
    assert mlcli(*arguments, "-o", "run", "-q").code == 0
    text = (tmp_path / "run" / "config.yaml").read_text()
    assert "method:\n  name: chain\n" in text
    assert "count: 7" in text and "algorithm: floyd" in text and "name: laplacian" in text and "components: 3" in text
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert certificate["verdict"] == "pass"


def test_what_is_no_chain_is_not_written_out(mlcli: Caller) -> None:
    called = mlcli("methods", "fa", "--yaml")
    assert called.code == 78 and "E-NO-CHAIN" in called.err
    assert mlcli("methods", "--yaml").code == 2


@pytest.mark.parametrize(("options", "place"), [
    (("--kernel", "unfolding", "-k", "5", "--set", "method.kernel.softness=0.5"), "method.kernel.softness"),
    (("--kernel", "graph_laplacian", "--radius", "3", "--set", "method.graph.rule=mutual"), "method.graph.rule")])
def test_what_would_have_no_effect_is_refused_in_chains_and_methods(mlcli: Caller, options: tuple[str, ...],
                                                                    place: str) -> None:
    called = mlcli.bare("data.csv", "-m", "chain", *options)
    assert (called.code, "E-UNUSED" in called.err, place in called.err) == (78, True, True), called.err


@pytest.mark.parametrize(("method", "options", "place"), [
    ("sde", ("-k", "5", "--set", "method.softness=0.5"), "method.softness"),
    *((method, ("--radius", "3", "--set", "method.graph=mutual"), "method.graph")
      for method in ("isomap", "laplacian", "sde"))])
def test_methods_refuse_the_same(mlcli: Caller, method: str, options: tuple[str, ...], place: str) -> None:
    called = mlcli.bare("data.csv", "-m", method, *options)
    assert (called.code, "E-UNUSED" in called.err, place in called.err) == (78, True, True), called.err


def test_a_key_in_the_wrong_place_is_found_where_the_chosen_method_has_it(mlcli: Caller) -> None:
    called = mlcli.bare("data.csv", "-m", "chain", "--set", "method.graph.count=5")
    assert called.code == 78 and " method.graph.neighbors.count?" in called.err
    assert "method.neighbors.count" not in called.err


def test_the_help_of_a_flag_names_the_choices_and_the_default_of_every_method(mlcli: Caller) -> None:
    said = " ".join(mlcli("embed", "--help").out.split())
    names = {"gaussian", "gower", "laplacian", "reconstruction", "unfolding", "graph_laplacian", "given"}
    assert names <= set(said.partition("One of linear, ")[2].partition(".")[0].split(", "))
    assert "[default: gaussian (kpca), gower (chain)]" in said


def test_kernel_pca_has_the_laplacian_kernel_of_chains_under_every_metric(mlcli: Caller, tmp_path: Path) -> None:
    for metric in ("euclidean", "cityblock"):
        for method in ("kpca", "chain"):
            assert mlcli.bare("data.csv", "-m", method, "--kernel", "laplacian", "--metric", metric, "-q",
                              "--force", "-o", method).code == 0
        for file in ("embedding.csv", "spectrum.csv"):
            assert (tmp_path / "kpca" / file).read_bytes() == (tmp_path / "chain" / file).read_bytes()


def test_a_graph_without_coordinates_gets_no_remedy_that_it_cannot_follow(mlcli: Caller, tmp_path: Path,
                                                                          wording: Wording) -> None:
    (tmp_path / "edges.csv").write_text("source,target,length\na,b,1\nb,c,1\na,c,9\nc,d,1\n")
    called = mlcli.bare("edges.csv", "--graph", "-m", "sde")
    assert called.code == 80 and "E-INFEASIBLE" in called.err and "E-INFEASIBLE" in wording(called.err)
