"""Parameters of estimators are the options of the methods, each once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from mlcli.config.build import build
from mlcli.methods import METHODS, Method

pytest.importorskip("sklearn")

import mlcli.sklearn
from mlcli.sklearn import NO_ESTIMATOR
from mlcli.sklearn.parameters import config_layer, parameters_of

NAMES = [name for name in METHODS if name not in NO_ESTIMATOR]


def method_with(name: str, **values: Any) -> Method:
    """The method of an estimator's parameters."""
    parameters = parameters_of(METHODS[name])
    defaults = {keyword: parameter.default for keyword, parameter in parameters.items()}
    return build(config_layer(name, parameters, {**defaults, **values}), fits=False).method


def leaves(options: Mapping[str, Any], path: str = "method") -> dict[str, Any]:
    """Options by their config paths."""
    found: dict[str, Any] = {}
    for name, value in options.items():
        found |= leaves(value, f"{path}.{name}") if isinstance(value, dict) else {f"{path}.{name}": value}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_option_of_a_method_is_one_parameter_and_defaults_are_those_of_the_method(name: str) -> None:
    method = METHODS[name].model_validate({"name": name})
    parameters = parameters_of(METHODS[name])
    paths = [parameter.path for parameter in parameters.values()]
    assert len(paths) == len(set(paths))
    known = leaves(method.model_dump(exclude={"name"}))
    assert {path for path, value in known.items() if value is not None} <= set(paths)
    made = leaves(method_with(name).model_dump(exclude={"name"}))
    assert {path for path in made if made[path] != known[path]} <= {"method.neighbors.pieces"}


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_hides_a_method_of_the_estimator(name: str) -> None:
    kind = getattr(mlcli.sklearn, METHODS[name].__name__)
    assert not set(kind.parameters) & {part for base in kind.__mro__[1:] for part in vars(base)}


def test_a_parameter_reaches_its_option() -> None:
    made = method_with("isomap", neighbors=np.int64(7), paths_store="streamed", decoder="ridge", decoder_alpha=2.0)
    assert made.neighbors.count == 7 and made.chosen("paths")
    assert (made.paths.store, made.decoder.name, made.decoder.alpha) == (  # type: ignore[attr-defined]
        "streamed", "ridge", 2.0)
    assert method_with("isomap", radius=2.0).neighbors.count is None


def test_a_mapping_is_a_whole_section() -> None:
    as_section = method_with("kpca", kernel={"name": "polynomial", "degree": 2})
    assert as_section == method_with("kpca", kernel="polynomial", kernel_degree=2)
    chain = method_with("chain", graph={"neighbors": {"count": 9}}, paths={}, kernel="gaussian")
    assert chain.graph.neighbors.count == 9 and chain.paths is not None  # type: ignore[attr-defined]


def test_a_value_of_another_type_than_the_default_is_chosen() -> None:
    parameters = parameters_of(METHODS["fa"])
    assert parameters["iterate_limit"].chosen(10_000.0) and not parameters["iterate_limit"].chosen(10_000)
    assert parameters["components"].default is None and parameters["components"].usual == 2
