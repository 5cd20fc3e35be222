"""JAX for training: its import, its threads, and layers in its arrays."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import jax
import numpy as np
from jax import nn, random
from jax import numpy as jnp
from jax.extend import backend

from mlcli.base.machine.threads import JAX_POOL, allowed
from mlcli.base.types import Array
from mlcli.methods.networks.network import Activation, DenseLayer, Hidden, Network

jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # allows float64; float32 is unchanged

__all__ = ["FUNCTIONS", "Layers", "Traced", "forward", "initial_layers", "jax", "jnp", "limit_threads", "network",
           "random"]

Traced = Any  # an array that JAX follows
Layers = Sequence[tuple[Traced, Traced]]  # weights and biases
FUNCTIONS: Mapping[str, Callable[[Traced], Traced]] = {
    "tanh": jnp.tanh, "relu": nn.relu, "softplus": nn.softplus, "logistic": nn.sigmoid, "identity": lambda sums: sums}


def limit_threads() -> None:
    """Limit JAX to the threads of the run: a thread pool of another size, from an earlier run, is replaced."""
    threads = allowed()
    if _Pool.threads != threads:
        os.environ[JAX_POOL], _Pool.threads = str(threads), threads
        backend.clear_backends()  # type: ignore[no-untyped-call]


class _Pool:
    """The thread pool of JAX; the variable that its size comes from is the user's again after a run."""

    threads = 0


def forward(layers: Layers, values: Traced, hidden: str, last: str = "identity", dropout: float = 0.0,
            key: Traced = None) -> Traced:
    """Return the outputs of layers for rows of values; with a key, random hidden units are dropped, others raised."""
    for place, (weights, biases) in enumerate(layers):
        values = values @ weights + biases
        if place == len(layers) - 1:
            break
        values = FUNCTIONS[hidden](values)
        if key is not None and dropout > 0:
            kept = random.bernoulli(random.fold_in(key, place), 1 - dropout, values.shape)
            values = jnp.where(kept, values / (1 - dropout), 0)
    return FUNCTIONS[last](values)


def initial_layers(sizes: Sequence[int], hidden: str, generator: np.random.Generator) -> list[tuple[Array, Array]]:
    """Return random weights and biases such that activations keep their size (Glorot and Bengio; He for relu)."""
    layers = []
    for before, after in pairwise(sizes):
        spread = np.sqrt(2 / before if hidden == "relu" else 2 / (before + after))
        layers.append((spread * generator.standard_normal((before, after)), np.zeros(after)))
    return layers


def network(layers: Layers, hidden: Hidden, last: Activation = "identity") -> Network:
    """Return layers as plain arrays in double precision."""
    names: list[Activation] = [*[hidden] * (len(layers) - 1), last]
    return Network(tuple(DenseLayer(np.array(weights, dtype=np.float64), np.array(biases, dtype=np.float64), name)
                         for (weights, biases), name in zip(layers, names, strict=True)))
