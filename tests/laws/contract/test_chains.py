"""A method written out as a chain gives the same bytes, whatever way it is run in; senseless chains are refused."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input
from mlcli.config.build import build, chain_document
from mlcli.config.describe import rows
from mlcli.config.layers import Layer, assignment, from_file
from mlcli.config.run_config import RunConfig
from mlcli.core.chain import kernels
from mlcli.errors import ConfigError, GeometryError, MlcliError
from mlcli.methods import METHODS, Model
from mlcli.methods.kernel.chain import chain_paths
from tests.laws.contract.test_contract import CONFIGURATIONS, POINTS
from tests.package import FILES, PACKAGE, parsed
from tests.support import Notes, dissimilarities, distances, features, fit, similarities, spectrum_table

CHAINED = {name: way for name, way in CONFIGURATIONS.items()
           if way[0] != "chain" and METHODS[way[0]](**way[1]).chain() is not None}
INPUTS: dict[str, Input] = {"features": features(POINTS), "dissimilarities": dissimilarities(distances(POINTS)),
                            "kernel": similarities(POINTS @ POINTS.T)}
GRAPH: dict[str, Any] = {"neighbors": {"count": 9}}


def written_out(folder: Path, method: str, options: dict[str, Any], data: Input) -> Model:
    """The model of the chain that a method's YAML document describes."""
    path = folder / "chain.yaml"
    path.write_text(chain_document(METHODS[method](**options), data.kind))
    layer = assignment("input", {"path": "data.csv", "kind": data.kind}, "test").over(from_file(path))
    chain = build(layer).method
    assert chain.name == "chain"
    return chain.resolve(data).fit(data, Compute())


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", CHAINED)
def test_a_method_written_out_gives_the_same_bytes(name: str, kind: str, tmp_path: Path) -> None:
    (method, options), data = CHAINED[name], INPUTS[kind]
    if not isinstance(data, METHODS[method].accepts) or (kind == "kernel" and options) or (
            kind == "dissimilarities" and {"metric", "decoder"} & set(options)):
        pytest.skip("the method does not take it")
    with Notes() as told:
        own = fit(method, data, **options)
    with Notes() as again:
        other = written_out(tmp_path, method, options, data)
    assert np.array_equal(own.embedding, other.embedding)
    assert spectrum_table(own.ranks, None) == spectrum_table(other.ranks, None)
    assert np.array_equal(own.project(data.values[:5]), other.project(data.values[:5]))
    assert [note.code for note in told.notes] == [note.code for note in again.notes]


def outcome(model: Callable[[], Model]) -> tuple[Any, ...]:
    """What a fit gives and notes, or the code and place of its error."""
    with Notes() as told:
        try:
            made = model()
        except MlcliError as error:
            return error.code, error.where
    return made.embedding.tobytes(), made.ranks.values.tobytes(), [note.code for note in told.notes]


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
@pytest.mark.parametrize("method", sorted({method for method, _ in CHAINED.values()}))
def test_of_few_rows_a_method_written_out_does_what_the_method_does(method: str, rows: int, tmp_path: Path) -> None:
    data = features(POINTS[:rows, :2])
    assert outcome(lambda: fit(method, data)) == outcome(lambda: written_out(tmp_path, method, {}, data))


def test_what_is_chosen_is_written_out() -> None:
    text = chain_document(METHODS["isomap"](neighbors={"count": 10}, eigensolve={"components": 2}))
    assert "\n      count: 10\n" in text and "\n    components: 2\n" in text
    assert chain_document(METHODS["laplacian"]()).count("\n      # name: binary\n") == 1


def test_methods_that_are_no_chains_say_so() -> None:
    with pytest.raises(ConfigError) as caught:
        chain_document(METHODS["fa"]())
    assert caught.value.code == "E-NO-CHAIN" and "isomap" in caught.value.hint


TABLE: dict[str, Any] = {"name": "some", "columns": ["x1:x2"]}
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"paths": {}}, "features", "paths"),
    ({"graph": GRAPH}, "features", "graph"),
    ({"graph": GRAPH, "kernel": {"name": "linear"}}, "features", "graph"),
    ({"kernel": {"name": "graph_laplacian"}}, "features", "graph"),
    ({"kernel": {"name": "unfolding"}, "graph": GRAPH, "paths": {}}, "features", "paths"),
    ({"kernel": {"name": "reconstruction"}, "graph": {**GRAPH, "rule": "mutual"}}, "features", "graph.rule"),
    ({"kernel": {"name": "linear"}, "metric": "cosine"}, "features", "metric"),
    ({"kernel": {"name": "cosine"}}, "dissimilarities", "kernel.name"),
    ({"kernel": {"name": "given"}}, "features", "kernel.name"),
    ({}, "kernel", "kernel.name"),
    ({"kernel": {"name": "gaussian"}, "correction": "lingoes"}, "features", "correction"),
    ({"graph": GRAPH, "paths": {}, "correction": "lingoes"}, "features", "correction"),
    ({"kernel": {"name": "polynomial"}, "landmarks": 20}, "features", "landmarks"),
    ({"kernel": {"name": "graph_laplacian"}, "graph": GRAPH, "landmarks": 20}, "features", "landmarks"),
    ({"kernel": {"name": "gaussian"}, "graph": GRAPH, "paths": {"store": "streamed"}}, "features", "paths.store"),
    ({"centering": "columns"}, "features", "centering"),
    ({"centering": "none"}, "features", "centering"),
    ({"kernel": {"name": "unfolding"}, "graph": GRAPH, "centering": "none"}, "features", "centering"),
    ({"kernel": {"name": "linear", "route": "svd"}}, "features", "kernel.route"),
    ({"kernel": {"name": "graph_laplacian"}, "graph": GRAPH, "coordinates": {"divisor": "n"}}, "features",
     "coordinates.divisor"),
    ({"landmarks": 20, "coordinates": {"scale": "unit"}}, "features", "coordinates.scale"),
    ({"kernel": {"name": "sum"}}, "features", "kernel.tables"),
    ({"kernel": {"name": "sum", "tables": [{**TABLE, "metric": "cityblock"}]}}, "features", "kernel.tables"),
    ({"kernel": {"name": "sum", "tables": [{**TABLE, "weight": 0}]}}, "features", "kernel.tables"),
    ({"kernel": {"name": "sum", "tables": [{**TABLE, "name": "all="}]}}, "features", "kernel.tables"),
    ({"kernel": {"name": "sum", "tables": [{**TABLE, "weight": 2}], "weights": "rv"}}, "features", "kernel.weights"),
    ({"kernel": {"name": "sum", "normalization": "none", "tables": [TABLE, {
        "name": "others", "columns": ["x3"], "scale": "standard"}]}}, "features", "kernel.normalization"),
    ({"kernel": {"name": "sum", "tables": [TABLE]}, "metric": "cosine"}, "features", "metric"),
    ({"kernel": {"name": "sum", "tables": [TABLE]}}, "dissimilarities", "kernel.name"),
    ({"kernel": {"name": "sum", "tables": [TABLE]}, "centering": "columns"}, "features", "centering"),
    ({"kernel": {"name": "sum", "tables": [TABLE]}, "landmarks": 20}, "features", "landmarks"),
]


@pytest.mark.parametrize(("options", "kind", "path"), REFUSED)
def test_a_chain_without_sense_is_refused_by_its_path(options: dict[str, Any], kind: str, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit("chain", INPUTS[kind], **options)
    assert (caught.value.code, caught.value.where, caught.value.exit_code) == ("E-CHAIN", f"method.{path}", 78)
    assert caught.value.hint


@pytest.mark.parametrize("paths", [{}, {"graph": GRAPH, "paths": {}}])
@pytest.mark.parametrize("centering", ["double", "none"])
@pytest.mark.parametrize(("kernel", "kind"), [("gaussian", "features"), ("laplacian", "features"),
                                              ("gaussian", "dissimilarities")])
def test_landmarks_that_are_all_points_change_nothing(kernel: str, kind: str, centering: str,
                                                      paths: dict[str, Any]) -> None:
    options = {"kernel": {"name": kernel}, "centering": centering, **paths}
    whole, landmarks = (fit("chain", INPUTS[kind], **options, **more) for more in ({}, {"landmarks": len(POINTS)}))
    np.testing.assert_allclose(landmarks.ranks.values, whole.ranks.values, atol=1e-12)
    np.testing.assert_allclose(landmarks.embedding, whole.embedding, atol=1e-10)
    few = fit("chain", INPUTS[kind], **options, landmarks=20)
    np.testing.assert_allclose(few.project(INPUTS[kind].values), few.embedding, atol=1e-10)
    assert np.abs(few.embedding - whole.embedding).max() > 1e-4


def test_options_are_named_where_they_stand_in_a_chain() -> None:
    with pytest.raises(ConfigError) as caught:
        fit("chain", POINTS, graph={"neighbors": {"count": 99}}, paths={})
    assert (caught.value.code, caught.value.where) == ("E-NEIGHBORS", "method.graph.neighbors.count")


def test_a_plan_names_the_options_of_a_chain() -> None:
    apart = features(np.concatenate([POINTS[:9], POINTS[:9] + 1e3]))
    chain = METHODS["chain"].model_validate({"name": "chain", "graph": {"neighbors": {"count": 3}}, "paths": {}})
    assert any("in 2 pieces of 9, 9 points" in step.how for step in chain.resolve(apart).steps(apart, Compute(), None))
    with pytest.raises(GeometryError) as caught:
        chain.resolve(apart).fit(apart, Compute())
    assert caught.value.code == "E-PIECES" and "method.graph.neighbors.pieces" in caught.value.hint
    unfolding = METHODS["chain"].model_validate(
        {"name": "chain", "graph": GRAPH, "kernel": {"name": "unfolding", "basis": 5}})
    steps = unfolding.resolve(features(POINTS)).steps(features(POINTS), Compute(), None)
    assert "set method.kernel.basis lower" in [step.remedy for step in steps]


# those of methods that are no chains are left out
ROOMS = [path for path in FILES if path.is_relative_to(PACKAGE / "core")
         and path.parent.name not in ("latent", "layouts", "relation")
         and path.relative_to(PACKAGE / "core").as_posix() not in (
             "classifier.py", "whitening.py", "chain/starts.py", "eigen/options.py")]
OF_CHAINS = {row.path for row in rows(RunConfig) if row.only.get("method") == "chain"}
KERNELS: list[Any] = list(kernels.KERNELS.values())


def named_in(tree: ast.AST) -> set[str]:
    """The paths of options that texts in a part of a program name."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {path for text in texts for path in re.findall(r"method\.(?!py\b)[a-z_]+(?:\.[a-z_]+)*", text)}


@pytest.mark.medium
def test_paths_of_options_in_messages_are_those_of_a_chain() -> None:
    """In errors once they are placed in the chain of a kernel; in notes, which caches repeat, as they stand."""
    trees = [parsed(path) for path in ROOMS]
    named = set.union(*map(named_in, trees))
    assert len(named) > 15
    for path in named:
        assert OF_CHAINS & {chain_paths(path, kernel.model_construct()) for kernel in KERNELS}, path
    notes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)
             and getattr(node.func, "id", "") == "note"]
    assert len(notes) > 20 and not set.union(*map(named_in, notes)) - OF_CHAINS


def test_a_chain_refuses_weights_that_the_data_does_not_have() -> None:
    """As the method does, by the option's own path."""
    laplacian, given = METHODS["laplacian"], {"name": "given"}
    for method, where in ((laplacian(weights=given), "method.weights.name"), (METHODS["chain"](
            graph=GRAPH, kernel={"name": "graph_laplacian", "weights": given}), "method.kernel.weights.name")):
        with pytest.raises(ConfigError) as caught:
            method.resolve(features(POINTS))
        assert (caught.value.code, caught.value.where) == ("E-WEIGHTS", where)


def test_flags_reach_the_options_of_a_chain() -> None:
    flag = assignment("method.neighbors.count", 7, "-k", "method.graph.neighbors.count")
    values = {"input": {"path": "data.csv"}, "method": {"name": "chain", "paths": {}}}
    method: Any = build(flag.over(Layer(values))).method
    assert method.graph.neighbors.count == 7
    values = {"input": {"path": "data.csv"}, "method": {"name": "isomap"}}
    method = build(flag.over(Layer(values))).method
    assert method.neighbors.count == 7
