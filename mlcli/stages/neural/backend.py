"""JAX as training uses it: imported here and nowhere else at the top of a file, and held to the run's threads."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from jax import nn, random
from jax import numpy as jnp
from jax.extend import backend

from mlcli.base.machine.threads import allowed
from mlcli.base.types import Array
from mlcli.stages.neural.network import Activation, Hidden, Layer, Network

POOL = "PJRT_NPROC"  # the variable that XLA's thread pool reads when it starts

jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # so that float64 can be asked for; float32 stays what it is

__all__ = ["FUNCTIONS", "Layers", "Traced", "drawn", "held_to_threads", "jax", "jnp", "network", "passed", "random"]

Traced = Any  # an array that JAX follows
Layers = Sequence[tuple[Traced, Traced]]  # weights and biases
FUNCTIONS: Mapping[str, Callable[[Traced], Traced]] = {
    "tanh": jnp.tanh, "relu": nn.relu, "softplus": nn.softplus, "logistic": nn.sigmoid, "identity": lambda sums: sums}


def held_to_threads() -> None:
    """Steps run on no more threads than the run may use: a pool that an earlier run left with others is made anew."""
    threads = str(allowed())
    if os.environ.get(POOL) != threads:
        os.environ[POOL] = threads
        backend.clear_backends()  # type: ignore[no-untyped-call]


def passed(layers: Layers, values: Traced, hidden: str, last: str = "identity", dropout: float = 0.0,
           key: Traced = None) -> Traced:
    """The outputs of layers for rows of values; with a key, hidden units are dropped at random and the rest raised."""
    for place, (weights, biases) in enumerate(layers):
        values = values @ weights + biases
        if place == len(layers) - 1:
            break
        values = FUNCTIONS[hidden](values)
        if key is not None and dropout > 0:
            kept = random.bernoulli(random.fold_in(key, place), 1 - dropout, values.shape)
            values = jnp.where(kept, values / (1 - dropout), 0)
    return FUNCTIONS[last](values)


def drawn(sizes: Sequence[int], hidden: str, generator: np.random.Generator) -> list[tuple[Array, Array]]:
    """Weights and biases at the start, such that activations keep their size (Glorot and Bengio; He for relu)."""
    layers = []
    for before, after in pairwise(sizes):
        spread = np.sqrt(2 / before if hidden == "relu" else 2 / (before + after))
        layers.append((spread * generator.standard_normal((before, after)), np.zeros(after)))
    return layers


def network(layers: Layers, hidden: Hidden, last: Activation = "identity") -> Network:
    """Layers as plain arrays in double precision."""
    names: list[Activation] = [*[hidden] * (len(layers) - 1), last]
    return Network(tuple(Layer(np.array(weights, dtype=np.float64), np.array(biases, dtype=np.float64), name)
                         for (weights, biases), name in zip(layers, names, strict=True)))
