"""Objectives of networks: slopes by finite differences, penalties by their formulas, trainings that go on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.errors import NumericalError
from mlcli.methods.networks import training
from mlcli.methods.networks.autoencoder import (
    Absolute,
    Autoencoding,
    Dense,
    GaussianNoise,
    Masking,
    RarelyActive,
    Uncorrupted,
)
from mlcli.methods.networks.learning import Learning, training_rows
from mlcli.methods.networks.network import DenseLayer, Network, Standard
from mlcli.methods.networks.training import TrainingResult, jax, random
from mlcli.methods.networks.vae import BernoulliLikelihood, GaussianLikelihood, NegatedBound
from mlcli.methods.networks.vib import BottleneckObjective
from tests.checkpoints import in_parts
from tests.processes import python

POINTS = np.random.default_rng(2).random((30, 3))
SIZES = [3, 4, 2]
PLAIN: dict[str, Any] = {"hidden": "tanh", "corruption": Uncorrupted(), "sparsity": Dense()}
VARIATIONAL: dict[str, Any] = {"hidden": "softplus", "likelihood": GaussianLikelihood(), "beta": 1.0, "level": None}
OBJECTIVES: dict[str, tuple[Any, list[int]]] = {
    "plain": (Autoencoding(**PLAIN), SIZES), "linear": (Autoencoding(**PLAIN), [3, 2]),
    "tied": (Autoencoding(**PLAIN, tied=True), SIZES), "dropout": (Autoencoding(**PLAIN, dropout=0.4), SIZES),
    "contractive": (Autoencoding(**{**PLAIN, "hidden": "softplus"}, contraction=0.3), SIZES),
    "noisy": (Autoencoding(**{**PLAIN, "corruption": GaussianNoise(), "hidden": "relu"}), SIZES),
    "masked": (Autoencoding(**{**PLAIN, "corruption": Masking(), "hidden": "logistic"}), SIZES),
    "small": (Autoencoding(**{**PLAIN, "sparsity": Absolute()}), SIZES),
    "rarely active": (Autoencoding(**{**PLAIN, "sparsity": RarelyActive()}), SIZES),
    "bound": (NegatedBound(**VARIATIONAL), SIZES), "linear bound": (NegatedBound(**VARIATIONAL), [3, 2]),
    "given noise": (NegatedBound(**{**VARIATIONAL, "level": -1.0, "beta": 0.5}), SIZES),
    "information": (BottleneckObjective("softplus", (1, 2), 3.0), [1, 4, 2]),
    "linear information": (BottleneckObjective("softplus", (1, 2), 3.0), [1, 2]),
    "bernoulli": (NegatedBound(**{**VARIATIONAL, "likelihood": BernoulliLikelihood(), "level": 0.0}), SIZES),
}


def start(objective: Any, sizes: list[int]) -> Any:
    """Weights that are nowhere zero."""
    generator = np.random.default_rng(3)
    return jax.tree.map(lambda leaf: np.asarray(leaf) + 0.1 * generator.standard_normal(np.shape(leaf)),
                        objective.start(sizes, generator))


EVERYDAY = ("linear bound", "linear information")  # of the others only when there is time


@pytest.mark.medium
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in EVERYDAY else [pytest.mark.slow])
                                  for name in OBJECTIVES])
def test_slopes_are_those_of_finite_differences(name: str) -> None:
    objective, sizes = OBJECTIVES[name]
    weights, key, generator = start(objective, sizes), random.key(7), np.random.default_rng(0)
    along = jax.tree.map(lambda leaf: generator.standard_normal(np.shape(leaf)), weights)

    def at(step: float) -> float:
        moved = jax.tree.map(lambda leaf, by: leaf + step * by, weights, along)
        return float(objective(moved, POINTS, key, True)[0])

    slope = jax.grad(lambda moved: objective(moved, POINTS, key, True)[0])(weights)
    told = sum(float(np.sum(np.asarray(part) * by)) for part, by in zip(
        jax.tree.leaves(slope), jax.tree.leaves(along), strict=True))
    assert told == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-6)


@pytest.mark.medium
def test_a_contraction_is_the_squared_slope_of_the_coordinates() -> None:
    """Of tanh(x W + b) V it is Σ (Vᵀ diag(1 - h²) Wᵀ)², in NumPy."""
    weights = start(Autoencoding(**PLAIN), SIZES)
    (inward, biases), (outward, _) = weights["encoder"]
    values = [float(Autoencoding(**PLAIN, contraction=weight)(weights, POINTS, random.key(0), False)[0])
              for weight in (0.0, 1.0)]
    slopes = [inward * (1 - np.tanh(row @ inward + biases) ** 2) @ outward for row in POINTS]
    assert values[1] - values[0] == pytest.approx(float(np.mean(np.sum(np.square(slopes), axis=(1, 2)))), rel=1e-10)


@pytest.mark.medium
def test_only_in_training_are_rows_corrupted_and_units_dropped() -> None:
    rough = Autoencoding(**{**PLAIN, "corruption": Masking(share=0.5)}, dropout=0.5)
    weights = start(rough, SIZES)
    judged = [float(rough(weights, POINTS, random.key(seed), False)[0]) for seed in (0, 1)]
    assert judged[0] == judged[1] == float(Autoencoding(**PLAIN)(weights, POINTS, random.key(0), False)[0])
    assert len({float(rough(weights, POINTS, random.key(seed), True)[0]) for seed in (0, 1)}) == 2


def test_plain_networks_are_those_that_were_trained() -> None:
    """The error of the forward passes in NumPy is the objective; the same of a tied decoder."""
    for objective in (Autoencoding(**PLAIN), Autoencoding(**{**PLAIN, "hidden": "relu"}, tied=True)):
        weights = start(objective, SIZES)
        inward, outward = objective.networks(weights)
        value = float(objective(weights, POINTS, random.key(0), False)[0])
        assert value == pytest.approx(float(np.mean((outward(inward(POINTS)) - POINTS) ** 2)), rel=1e-12)


LEARNING = Learning(epochs=6, batch=8, patience=2, rate=0.02)


def learned(objective: Any, learning: Learning = LEARNING, points: Array = POINTS) -> TrainingResult:
    rows = training_rows(points, Standard.of(points), learning, Compute())
    return training.train(objective, rows, objective.start(SIZES, np.random.default_rng(1)), learning)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["dropout", pytest.param("bound", marks=pytest.mark.slow)])
def test_a_training_goes_on_from_what_was_stored_to_the_same_bits(name: str) -> None:
    objective = OBJECTIVES[name][0]
    whole = learned(objective)
    again, deaths = in_parts(lambda: learned(objective))
    assert deaths == len(whole.trace) > 3
    assert np.array_equal(again.trace, whole.trace) and again.best == whole.best
    for left, right in zip(jax.tree.leaves(again.weights), jax.tree.leaves(whole.weights), strict=True):
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes()


@pytest.mark.medium
def test_the_best_weights_for_held_out_rows_are_kept() -> None:
    """They are judged again here; training stops once they were not better for as long as it was told to wait."""
    learning = LEARNING.replace(epochs=60, rate=0.3, schedule="constant", precision="float64")
    found = learned(Autoencoding(**PLAIN), learning=learning)
    inward, outward = Autoencoding(**PLAIN).networks(found.weights)
    seen = Standard.of(POINTS).transform(POINTS, found.held, "float64")
    assert len(found.trace) == found.best + learning.patience < 60
    assert np.nanmin(found.trace[:, 1]) == found.trace[found.best - 1, 1]
    assert found.trace[found.best - 1, 1] == pytest.approx(float(np.mean((outward(inward(seen)) - seen) ** 2)),
                                                           rel=1e-12)


@pytest.mark.parametrize(("rate", "validation"), [(1e30, 0.0), (1e30, 0.2), (1e300, 0.2)])
def test_a_rate_that_diverges_is_an_error_that_names_it(rate: float, validation: float) -> None:
    wild = LEARNING.replace(rate=rate, epochs=30, validation=validation, patience=30)
    with pytest.raises(NumericalError) as caught:
        learned(Autoencoding(**{**PLAIN, "hidden": "relu"}), learning=wild)
    assert (caught.value.code, caught.value.exit_code) == ("E-DIVERGED", 80)
    assert caught.value.where == "method.learning.rate"


@pytest.mark.slow
def test_weight_decay_shrinks_weights_and_leaves_biases() -> None:
    sizes = [float(np.linalg.norm(learned(Autoencoding(**PLAIN), learning=LEARNING.replace(
        decay=decay, validation=0.0)).weights["encoder"][0][0])) for decay in (0.0, 2.0)]
    assert sizes[1] < 0.9 * sizes[0]


def test_rates_fall_along_a_cosine_or_stay() -> None:
    assert [Learning(rate=0.2).rates(step, 4) for step in (0, 2, 4)] == pytest.approx([0.2, 0.1, 0.0])
    assert Learning(rate=0.2, schedule="constant").rates(3, 4) == 0.2


def test_layers_that_do_not_fit_together_are_refused() -> None:
    first, second = (DenseLayer(np.ones(shape), np.ones(shape[1]), "tanh") for shape in ((2, 3), (3, 1)))
    assert Network((first, second)).width == 3
    for wrong in ((), (second, first)):
        with pytest.raises(ValueError, match="weights to a unit"):
            Network(wrong)
    with pytest.raises(ValueError, match="a bias for each"):
        DenseLayer(np.ones((2, 3)), np.ones(2), "tanh")


BUSY = """
import os
import numpy as np
from mlcli.base.values.compute import Compute
from mlcli.base.machine.threads import limit_threads
from mlcli.methods.networks.learning import Learning
from mlcli.methods.networks.network import Standard

POINTS, LEARNING = np.random.default_rng(0).standard_normal((1024, 700)), Learning(epochs=6, batch=256)

def ticks():
    found = {}
    for thread in os.listdir("/proc/self/task"):
        name, _, rest = open(f"/proc/self/task/{thread}/stat").read().rpartition(")")
        if "XLAEigen" in name:  # a thread of the pool
            found[thread] = sum(map(int, rest.split()[11:13]))
    return found

def train():
    from mlcli.methods.networks import training
    from mlcli.methods.networks.autoencoder import Autoencoding, Dense, Uncorrupted
    from mlcli.methods.networks.learning import training_rows

    objective = Autoencoding(hidden="tanh", corruption=Uncorrupted(), sparsity=Dense())
    rows = training_rows(POINTS, Standard.of(POINTS), LEARNING, Compute())
    return training.train(objective, rows, objective.start([700, 1000, 9], np.random.default_rng(0)), LEARNING).trace

for threads in (1, 3, 1):
    with limit_threads(threads):
        train()  # which compiles
        before = ticks()
        trace, after = train(), ticks()
    print(threads, sum(count > before.get(thread, 0) for thread, count in after.items()), trace.tobytes().hex())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not list threads")
def test_the_pool_of_a_training_has_the_threads_of_its_run_whatever_ran_before() -> None:
    lines = [line.split() for line in python(BUSY).splitlines()]
    assert [line[0] for line in lines] == ["1", "3", "1"]
    assert int(lines[0][1]) <= 1 < int(lines[1][1]) and int(lines[2][1]) <= 1
    assert lines[0][2] == lines[2][2]
