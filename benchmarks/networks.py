"""Times the training of an autoencoder beside the same network written out in JAX, and in PyTorch where there is one.

`python benchmarks/networks.py --help`; all run in turns in one process, start from the same weights and see the same
rows in the same order, so that their objectives can be compared.
"""

import argparse
import importlib.util
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from unforced import kernels_in_use, restart_unforced

from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute


def by_hand(rows: Any, start: Any, learning: Any) -> float:
    """Adam with a cosine schedule on minibatches, with nothing around it; the objective of the last epoch."""
    import jax
    import optax
    from jax import numpy as jnp

    def passed(layers: Any, values: Any) -> Any:
        for weights, biases in layers[:-1]:
            values = jax.nn.softplus(values @ weights + biases)
        return values @ layers[-1][0] + layers[-1][1]

    def loss(weights: Any, values: Any) -> Any:
        return jnp.mean((passed(weights["decoder"], passed(weights["encoder"], values)) - values) ** 2)

    batches = [rows.shuffled(epoch, learning.batch) for epoch in range(learning.epochs)]
    schedule = optax.cosine_decay_schedule(learning.rate, sum(map(len, batches)))
    optimizer = optax.adam(schedule)

    @jax.jit
    def step(weights: Any, state: Any, values: Any) -> Any:
        value, slope = jax.value_and_grad(loss)(weights, values)
        change, state = optimizer.update(slope, state)
        return optax.apply_updates(weights, change), state, value

    values = ((rows.points - rows.standard.means) / rows.standard.scale).astype(np.float32)
    weights = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), start)
    state, told = optimizer.init(weights), []
    for epoch in batches:
        told = []
        for chosen in epoch:
            weights, state, value = step(weights, state, values[chosen])
            told.append(value)
    return float(np.mean([float(value) for value in told]))


def by_hand_in_torch(rows: Any, start: Any, learning: Any, threads: int) -> float:
    """The same in PyTorch."""
    import torch

    torch.set_num_threads(threads)
    layers = [tuple(torch.tensor(leaf, dtype=torch.float32, requires_grad=True) for leaf in layer)
              for side in ("encoder", "decoder") for layer in start[side]]
    code = len(start["encoder"]) - 1  # the layer that has no activation, besides the last
    optimizer = torch.optim.Adam([leaf for layer in layers for leaf in layer])
    batches = [rows.shuffled(epoch, learning.batch) for epoch in range(learning.epochs)]
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning.rates(
        step, sum(map(len, batches))) / 1e-3)
    values = torch.tensor(((rows.points - rows.standard.means) / rows.standard.scale).astype(np.float32))
    told = []
    for epoch in batches:
        told = []
        for chosen in epoch:
            seen = passed = values[torch.from_numpy(chosen)]
            for place, (weights, biases) in enumerate(layers):
                passed = torch.addmm(biases, passed, weights)
                if place not in (code, len(layers) - 1):
                    passed = torch.nn.functional.softplus(passed)
            value = torch.mean((passed - seen) ** 2)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            schedule.step()
            told.append(value.detach())
    return float(np.mean([float(value) for value in told]))


def main() -> None:
    restart_unforced()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path, help="images as .npy, such as MNIST's, a row or a square each")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    images = np.load(given.images)[: given.rows]
    points = images.reshape(len(images), -1) / 255.0
    with limit_threads(given.threads):
        print(kernels_in_use(sys.executable))
        from mlcli.methods.networks import training
        from mlcli.methods.networks.autoencoder import Autoencoding, Dense, Uncorrupted
        from mlcli.methods.networks.learning import Learning, Rows
        from mlcli.methods.networks.network import Standard

        learning = Learning(epochs=given.epochs, validation=0.0)
        objective = Autoencoding(hidden="softplus", corruption=Uncorrupted(), sparsity=Dense())
        rows = Rows.of(points, Standard.of(points), learning, Compute())
        start = objective.start([points.shape[1], 500, 250, 16], np.random.default_rng(0))
        sides = {"mlcli": lambda: float(training.train(objective, rows, start, learning).trace[-1, 0]),
                 "JAX": lambda: by_hand(rows, start, learning)}
        if importlib.util.find_spec("torch"):
            sides["PyTorch"] = lambda: by_hand_in_torch(rows, start, learning, given.threads)
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        found: dict[str, float] = {}
        for _ in range(given.repeats):
            for name, run in sides.items():
                training.compile_objective.cache_clear()  # so that both compile their step
                before = time.process_time()
                found[name] = run()
                seconds[name].append(time.process_time() - before)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, value in found.items():
        print(f"{name:8} {medians[name]:7.2f} processor seconds   objective {value:.9g}")
        print(f"         mlcli takes {medians['mlcli'] / medians[name]:.3f} times that")


if __name__ == "__main__":
    main()
