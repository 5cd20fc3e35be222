"""Similarities from the command line: the map that their rule means, new points by the rule of the run, checks."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

import mlcli
from mlcli.base.types import Array
from tests.journeys.support import Caller
from tests.wording import Wording

POINTS = np.random.default_rng(5).standard_normal((25, 2))
GIVEN = ("--dissimilarities", "--method", "mds")


def coordinates(folder: str) -> Array:
    return np.loadtxt(Path(folder) / "embedding.csv", delimiter=",", skiprows=1)[:, 1:]


def test_minus_log_of_exponentials_gives_back_the_points(mlcli: Caller) -> None:
    np.save("s.npy", np.exp(-cdist(POINTS, POINTS)))
    assert mlcli.bare("s.npy", *GIVEN, "--similarities", "minus-log", "-o", "run").code == 0
    np.testing.assert_allclose(pdist(coordinates("run")), pdist(POINTS), rtol=1e-12)


def test_a_rule_implies_the_kind_and_contradicts_another_one(mlcli: Caller, wording: Wording) -> None:
    np.save("s.npy", np.exp(-cdist(POINTS, POINTS)))
    assert mlcli.bare("s.npy", *GIVEN, "--similarities", "minus-log", "-o", "run").code == 0
    assert mlcli.bare("s.npy", "-m", "mds", "--similarities", "minus-log", "-o", "implied").code == 0
    assert Path("implied/config.yaml").read_text() == Path("run/config.yaml").read_text().replace(
        "output: run", "output: implied")
    Path("run.yaml").write_text("input: {path: s.npy, similarities: minus-log}\nmethod: {name: mds}\noutput: yaml\n")
    assert mlcli("run", "run.yaml", "-q").code == 0
    assert np.array_equal(coordinates("yaml"), coordinates("run"))
    assert json.loads(mlcli("check", "s.npy", "--similarities", "minus-log", "--json").out)["kind"] == "dissimilarities"
    for kind, method in (("kernel", "kpca"), ("features", "mds")):
        called = mlcli.bare("s.npy", "-m", method, "--kind", kind, "--similarities", "minus-log", "-o", "no")
        assert (called.code, wording(called.err)) == (78, ["E-INPUT-OPTION"]) and kind in called.err
    called = mlcli.bare("s.npy", "-m", "pca", "--similarities", "minus-log", "-o", "no")
    assert (called.code, wording(called.err)) == (78, ["E-KIND"]) and "--similarities" in called.err


@pytest.mark.medium
def test_the_root_of_one_minus_a_gaussian_kernel_has_the_map_of_the_kernel_over_root_two(mlcli: Caller) -> None:
    np.save("k.npy", np.exp(-cdist(POINTS, POINTS, "sqeuclidean")))
    assert mlcli.bare("k.npy", *GIVEN, "--similarities", "root-one-minus", "-p", 4, "-o", "rule").code == 0
    assert mlcli.bare("k.npy", "--kind", "kernel", "-m", "kpca", "-p", 4, "-o", "kernel").code == 0
    np.testing.assert_allclose(coordinates("rule") * np.sqrt(2), coordinates("kernel"), atol=1e-12)


@pytest.mark.parametrize("rule", ["one-minus", "max-minus"])
def test_new_points_are_read_by_the_rule_of_the_run(mlcli: Caller, wording: Wording, rule: str) -> None:
    similarities = np.exp(-cdist(POINTS, POINTS)) * (1 if rule == "one-minus" else 40)
    np.save("s.npy", similarities)
    run = mlcli.finished("embed", "s.npy", *GIVEN, "--similarities", rule, "-o", "run")
    stored = json.loads((run / "model.json").read_text())["model"]["rule"]["fields"]
    assert stored["name"] == rule and stored["largest"] == similarities.max()
    np.save("new.npy", similarities[3:8])
    called = mlcli("project", "run", "new.npy", "-o", "-")
    assert called.code == 0, called.err
    rows = [line.split(",")[1:3] for line in called.out.strip().splitlines()[1:]]
    np.testing.assert_allclose(np.array(rows, dtype=float), coordinates("run")[3:8], atol=1e-10)
    np.save("new.npy", similarities[3:8] * 2)
    called = mlcli("project", "run", "new.npy", "-o", "-")
    assert called.code == 65 and "E-SIMILARITY" in wording(called.err)
    called = mlcli("project", "run", "new.npy", "--set", "input.similarities=minus-log", "-o", "-")
    assert called.code == 78 and "E-INPUT-OPTION" in wording(called.err)


def test_new_points_in_python_are_read_by_the_rule() -> None:
    similarities = np.exp(-cdist(POINTS, POINTS))
    found = mlcli.embed(similarities, "mds", kind="dissimilarities",
                        set={"input.similarities": "minus-log"})
    np.testing.assert_allclose(found.project(similarities[:4]), found.embedding[:4], atol=1e-10)


def test_new_points_of_a_run_of_squared_dissimilarities_are_squared(mlcli: Caller) -> None:
    squares = squareform(pdist(POINTS)) ** 2
    np.save("d.npy", squares)
    mlcli.finished("embed", "d.npy", *GIVEN, "--set", "input.squared=true", "-o", "run")
    np.save("new.npy", squares[:5])
    called = mlcli("project", "run", "new.npy", "-o", "-")
    rows = [line.split(",")[1:3] for line in called.out.strip().splitlines()[1:]]
    np.testing.assert_allclose(np.array(rows, dtype=float), coordinates("run")[:5], atol=1e-10)


def test_a_matrix_of_similarities_is_examined_by_the_rule(mlcli: Caller) -> None:
    np.save("s.npy", np.exp(-cdist(POINTS, POINTS)))
    called = mlcli("check", "s.npy", "--dissimilarities", "--similarities", "minus-log", "--json")
    found = json.loads(called.out)
    assert found["euclidean"]["is_euclidean"] and found["metric"]["is_metric"]
    np.savetxt("s.csv", np.exp(-cdist(POINTS[:4], POINTS[:4])) + 0.1 * np.eye(4, k=1), delimiter=",")
    called = mlcli("check", "s.csv", "--dissimilarities", "--similarities", "one-minus", "--json")
    assert json.loads(called.out)["metric"]["symmetry"]["violations"] == 3
