"""`gamma` and `sigma` of kernels whose option is `rate`: converted, and said back."""

from typing import Any

import numpy as np
import pytest

from mlcli import embed
from mlcli.config.build import build, outside_layer, write
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.errors import ConfigError
from tests.wording import Wording


def built(method: dict[str, Any]) -> RunConfig:
    return build(Layer({"input": {"path": "x.csv"}, "method": method}))


@pytest.mark.parametrize(("section", "rate"), [
    ({"name": "gaussian", "sigma": 2}, 1 / 8), ({"name": "gaussian", "gamma": 0.3}, 0.3),
    ({"name": "laplacian", "sigma": 4.0}, 1 / 4), ({"name": "laplacian", "gamma": 3}, 3.0)])
def test_a_name_of_the_literature_is_the_rate(section: dict[str, Any], rate: float, wording: Wording) -> None:
    config = built({"name": "kpca", "kernel": section})
    assert config.method.kernel.rate == rate and config.method.kernel.chosen("rate")  # type: ignore[attr-defined]
    (said,) = config.conversions
    other = next(name for name in section if name != "name")
    assert said.startswith(f"method.kernel.{other} {section[other]:g} ") and f" method.kernel.rate {rate:.6g}: " in said
    assert wording(said) == []
    assert f"rate: {rate}" in write(config) and f"{other}:" not in write(config)
    assert config.replace(output="o").conversions == config.conversions


def test_a_gaussian_of_standard_deviation_sigma_falls_to_one_over_root_e_at_sigma() -> None:
    kernel = built({"name": "kpca", "kernel": {"name": "gaussian", "sigma": 1.7}}).method.kernel  # type: ignore[attr-defined]
    values = kernel(np.zeros((1, 1)), np.array([[0.0], [1.7]]))
    np.testing.assert_allclose(values, [[1, np.exp(-0.5)]], rtol=1e-15)


def test_heat_weights_have_them_too() -> None:
    config = built({"name": "laplacian", "weights": {"name": "heat", "sigma": 0.5}})
    assert config.method.weights.rate == 2.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["polynomial", "sigmoid"])
def test_kernels_with_a_gamma_of_their_own_keep_it(name: str) -> None:
    config = built({"name": "kpca", "kernel": {"name": name, "gamma": 0.5}})
    assert config.method.kernel.gamma == 0.5 and not config.conversions  # type: ignore[attr-defined]


@pytest.mark.parametrize("section", [
    {"name": "gaussian", "sigma": 1, "rate": 1}, {"name": "gaussian", "sigma": 1, "gamma": 1},
    {"name": "gaussian", "sigma": 0}, {"name": "gaussian", "sigma": True}, {"name": "gaussian", "gamma": "a"},
    {"name": "gaussian", "sigma": 1e-200}, {"name": "gaussian", "sigma": 1e200}, {"name": "linear", "sigma": 1},
    {"name": "polynomial", "sigma": 1}])
def test_what_is_no_rate_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        built({"name": "kpca", "kernel": section})


FILE = Layer({"input": {"path": "x.csv"}, "method": {"name": "kpca", "kernel": {"name": "gaussian"}}})


def over(lower: Layer, *texts: str) -> RunConfig:
    return build(outside_layer({}, texts, Layer()).over(lower.over(FILE)))


@pytest.mark.parametrize(("below", "above", "rate"), [
    ("rate", "sigma=3", 1 / 18), ("sigma", "rate=3", 3.0), ("sigma", "gamma=5", 5.0), ("gamma", "sigma=1", 0.5)])
def test_the_upper_layer_decides_whatever_name_it_uses(below: str, above: str, rate: float) -> None:
    lower = assignment(f"method.kernel.{below}", 2, "run.yaml:3:5")
    config = over(lower, f"method.kernel.{above}")
    assert config.method.kernel.rate == rate  # type: ignore[attr-defined]
    assert len(config.conversions) == ("rate" not in above)


@pytest.mark.parametrize("value", ["-1", "1e-300", "wide"])
def test_what_is_no_sigma_is_refused_where_it_was_given(value: str, wording: Wording) -> None:
    with wording.raises(ConfigError, "CONFIG") as caught:
        over(Layer(), f"method.kernel.sigma={value}")
    assert caught.value.where == f"--set method.kernel.sigma={value}"


def test_one_layer_gives_one_name(wording: Wording) -> None:
    with wording.raises(ConfigError, "CONFIG"):
        over(Layer(), "method.kernel.sigma=1", "method.kernel.rate=1")


def test_python_understands_them() -> None:
    values = np.random.default_rng(0).standard_normal((20, 3))
    one, other = (embed(values, "kpca", kernel={"name": "gaussian", name: value})
                  for name, value in (("sigma", 2.0), ("rate", 0.125)))
    np.testing.assert_array_equal(one.embedding, other.embedding)
