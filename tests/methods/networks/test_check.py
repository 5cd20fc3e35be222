"""The certificate of networks: a share of many rows and all of them in full, errors and noise of any size."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.methods import METHODS, Model
from mlcli.methods.networks import check
from mlcli.methods.networks.autoencoder import Autoencoder
from mlcli.methods.networks.network import Errors, Network, Standard, encode_rows, encoder_and_decoder, linear
from tests.core.test_check import QUICK
from tests.support import checks_of, features

POINTS = np.random.default_rng(3).standard_normal((60, 4)) * [3, 2, 1, 1]


def fitted(method: str, options: dict[str, Any], points: Any = POINTS) -> tuple[Any, Any, Model]:
    """A method, its data, and its model of them."""
    data = features(points)
    resolved = METHODS[method](**options).resolve(data)
    return resolved, data, resolved.fit(data, Compute())


def checked(method: Any, data: Any, model: Model, full: bool = False) -> dict[str, Check]:
    """What the certificate says, by name."""
    return {check.name: check for check in checks_of(method, data, model, full=full)}


@pytest.mark.parametrize("method", ["autoencoder", "vae"])
def test_an_error_in_one_of_many_rows_is_seen_where_all_are_checked(
        method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolved, data, model = fitted(method, {})
    weights = 16 if method == "autoencoder" else 24
    monkeypatch.setattr(check, "MOST", 20 * weights)  # work for twenty rows
    networks = [part.network for part in check.parts(model)]
    taken, whole = check.choose_rows(data.values, False, *networks)
    assert len(taken) == 20 and not whole
    wrong = model.embedding.copy()
    wrong[np.setdiff1d(np.arange(60), taken)[0]] *= 1.001
    wrong = replace(model, embedding=wrong)
    assert [checked(resolved, data, wrong, full)["codes"].verdict for full in (False, True)] == ["pass", "fail"]
    assert not checked(resolved, data, model)["codes"].exact and checked(resolved, data, model, True)["codes"].exact
    if method == "autoencoder":
        assert [checked(resolved, data, model, full)["reconstruction"].verdict for full in (False, True)] == [
            "skipped", "pass"]


@pytest.mark.medium
def test_blocks_of_rows_add_up_to_what_all_rows_give(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved, data, model = fitted("vae", QUICK)
    whole = checked(resolved, data, model)
    monkeypatch.setattr(check, "BLOCK", 70)
    parts = checked(resolved, data, model)
    for name, apart in {"codes": 0.1, "divergence": 0.1, "bound": 0.1, "log-density": 5.0}.items():  # of other draws
        assert parts[name].verdict == whole[name].verdict == "pass"
        assert parts[name].value == pytest.approx(whole[name].value, abs=apart)


def test_an_error_that_is_many_times_the_variance_is_found_again() -> None:
    data, standard = features(POINTS), Standard.of(POINTS)
    generator = np.random.default_rng(0)
    networks: tuple[Network, Network] = (linear(generator.standard_normal((4, 2))),
                                         linear(1e10 * generator.standard_normal((2, 4))))
    encoder, decoder = encoder_and_decoder(standard, networks)
    codes, sums = encode_rows(encoder, POINTS, Errors(encoder, decoder))
    figures = Autoencoder.figures(data, standard, float(sums[0]) / 240)
    model = Autoencoder.model(data, standard, codes, networks, fit=figures)
    assert model.fit["unexplained"] > 1e19
    verdicts = {check.name: check.verdict for check in checks_of(Autoencoder(), data, model)}
    assert verdicts["reconstruction"] == "pass"


@pytest.mark.parametrize("options", [{}, QUICK], ids=["linear", "deep"])
@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_noise_beyond_double_precision_fails_no_check(size: float, options: dict[str, Any]) -> None:
    found = checked(*fitted("vae", options, POINTS * size))
    assert "fail" not in {check.verdict for check in found.values()}
    assert found["log-density" if options else "likelihood"].verdict == "skipped"


def test_columns_that_vanish_beside_a_large_constant_one_divide_nothing_by_zero() -> None:
    points = POINTS.copy()
    points[:, 1] = 1e11  # as large as a constant column may be
    assert checked(*fitted("autoencoder", {}, points))["codes"].verdict == "pass"
