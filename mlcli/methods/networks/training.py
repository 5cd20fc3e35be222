"""Training by JAX and optax: Adam's steps over shuffled rows, epoch by epoch, validated by held-out rows.

What it minimizes is a frozen `Objective`, by whose parts its compiled step is found again.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol

import jax
import numpy as np
import optax
from jax import nn, random
from jax import numpy as jnp
from jax.extend import backend

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import JAX_POOL, allowed
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.checkpoints import Place, loop
from mlcli.base.stages.stage import Limit, advance, part, stage
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.errors import NumericalError
from mlcli.methods.networks.learning import Learning, TrainingRows
from mlcli.methods.networks.network import Layers, Network, Traced

jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]  # allows float64; float32 is unchanged


TERMS = 128  # of a portable sum: XLA divides those of 250 and more by the sizes of the processor's caches
FUNCTIONS: Mapping[str, Callable[[Traced], Traced]] = {
    "tanh": jnp.tanh, "relu": nn.relu, "softplus": nn.softplus, "logistic": nn.sigmoid, "identity": lambda sums: sums}


def limit_threads() -> None:
    """Limit JAX to the threads of the run: a thread pool of another size, from an earlier run, is replaced.

    For portable results it has one, as sums depend on the number.
    """
    threads = 1 if context().portable else allowed()
    if _Pool.threads != threads:
        os.environ[JAX_POOL], _Pool.threads = str(threads), threads
        backend.clear_backends()  # type: ignore[no-untyped-call]


class _Pool:
    """The thread pool of JAX; the variable that its size comes from is the user's again after a run."""

    threads = 0


def product(left: Traced, right: Traced) -> Traced:
    """Return a matrix (n x k), or a row (k), times a matrix (k x m); for portable results in sums of `TERMS`."""
    if not context().portable:
        return left @ right
    return sums_in_parts(left, right) if left.ndim > 1 else sums_in_parts(left[None], right)[0]


@jax.custom_vjp
def sums_in_parts(left: Traced, right: Traced) -> Traced:
    """Return a matrix (n x k) times another (k x m) as the sum of products of their parts."""
    return sum(left[:, first:first + TERMS] @ right[first:first + TERMS] for first in range(0, len(right), TERMS))


sums_in_parts.defvjp(lambda left, right: (sums_in_parts(left, right), (left, right)),
                     lambda both, slope: (sums_in_parts(slope, both[1].T), sums_in_parts(both[0].T, slope)))


def forward(layers: Layers, values: Traced, hidden: str, last: str = "identity", dropout: float = 0.0,
            key: Traced = None) -> Traced:
    """Return the outputs of layers for rows of values; with a key, random hidden units are dropped, others raised."""
    for place, (weights, biases) in enumerate(layers):
        values = product(values, weights) + biases
        if place == len(layers) - 1:
            break
        values = FUNCTIONS[hidden](values)
        if key is not None and dropout > 0:
            kept = random.bernoulli(random.fold_in(key, place), 1 - dropout, values.shape)
            values = jnp.where(kept, values / (1 - dropout), 0)
    return FUNCTIONS[last](values)


JUDGED = 1 << 22  # numbers of held-out rows that are evaluated at once
HELD_OUT = 2**31 - 1  # the epoch number of validation, so that its random numbers stay the same


class Objective(Protocol):
    """The objective that training lowers: frozen and hashed by its parts, so that it is compiled once."""

    figures: ClassVar[tuple[str, ...]]

    def __hash__(self) -> int:
        """Return the hash of its parts."""

    def __call__(self, weights: Any, rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """Return the mean over rows, and the figures that it consists of."""

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> Any:
        """Return random weights."""

    def networks(self, weights: Any) -> tuple[Network, Network]:
        """Return the encoder and the decoder."""


@result("training")
@frozen
class TrainingCheckpoint:
    """State of training between two epochs; training resumed from it gives the same bits."""

    weights: tuple[AnyArray, ...]
    moments: tuple[AnyArray, ...]  # of Adam
    best: tuple[AnyArray, ...]  # weights of the smallest held-out objective
    least: float  # the objective of the held-out rows there
    since: int  # epochs since then
    trace: Array  # epochs x (objective, that of held-out rows, figures)


@frozen
class TrainingResult:
    """The result of training."""

    weights: Any
    trace: Array  # epochs x (objective, that of held-out rows: NaN where there are none, figures)
    best: int  # the epoch whose weights these are
    held: Indices  # rows that were held out
    names: tuple[str, ...]  # of the figures

    @property
    def curves(self) -> dict[str, Array]:
        """Curves besides the objective, one value for each epoch."""
        judged = {"validation": self.trace[:, 1]} if len(self.held) else {}
        return {**judged, **dict(zip(self.names, self.trace.T[2:], strict=True))}

    @property
    def facts(self) -> dict[str, int]:
        """The entries `epochs` and `best_epoch` of a model's `fit`."""
        return {"epochs": len(self.trace), "best_epoch": self.best}


@lru_cache(maxsize=16)
def compile_objective(objective: Objective, decay: float, *, portable: bool,
                      ) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """Return the optimizer, a compiled step of it, and the compiled objective of held-out rows.

    `portable` is that of the context, by which products are compiled.
    """
    optimizer = optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(
        decay, mask=partial(jax.tree.map, lambda leaf: leaf.ndim > 1)))

    def step(weights: Any, moments: Any, rows: Traced, key: Traced, place: Traced, rate: Traced) -> Any:
        lowered = jax.value_and_grad(objective, has_aux=True)
        (value, figures), slope = lowered(weights, rows, random.fold_in(key, place), True)
        change, moments = optimizer.update(slope, moments, weights)
        weights = jax.tree.map(lambda old, by: old - rate * by, weights, change)
        return weights, moments, jnp.concatenate([value[None], figures.astype(value.dtype)])

    return optimizer, jax.jit(step, donate_argnums=(0, 1)), jax.jit(
        lambda weights, rows, key: objective(weights, rows, key, False)[0])


@stage("training")
def train(objective: Objective, rows: TrainingRows, start: Any, learning: Learning) -> TrainingResult:
    """Train from `start`; each epoch offers a checkpoint. Raises NumericalError if the objective is not finite."""
    with loop(TrainingCheckpoint) as place, np.errstate(over="ignore"):  # options beyond the range of single precision
        return _train(objective, rows, start, learning, place)


def _train(objective: Objective, rows: TrainingRows, start: Any, learning: Learning,
           kept: Place[TrainingCheckpoint]) -> TrainingResult:
    limit_threads()
    optimizer, step, judged = compile_objective(objective, learning.decay, portable=context().portable)
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, rows.kind), start)
    tree, moments = jax.tree.structure(weights), optimizer.init(weights)
    now = kept.left or TrainingCheckpoint(leaves(weights), leaves(moments), leaves(weights), np.inf, 0,
                                          np.zeros((0, 2)))
    moments = jax.tree.unflatten(jax.tree.structure(moments), now.moments)
    weights, batches = jax.tree.unflatten(tree, now.weights), rows.steps(learning.batch)
    for epoch in range(len(now.trace), learning.epochs):
        if now.since >= learning.patience:
            break
        key, figures = random.fold_in(random.key(rows.seed), epoch), []
        for place, seen in enumerate(rows.batches(epoch, learning.batch)):
            rate = rows.number(learning.rates(epoch * batches + place, learning.epochs * batches))
            weights, moments, row = step(weights, moments, seen, key, place, rate)
            figures.append(row)
        means = np.mean(np.stack([np.asarray(row, np.float64) for row in figures]), axis=0)
        value = validation_objective(judged, weights, rows)
        now = next_checkpoint(now, (weights, moments), np.array([means[0], value, *means[1:]]), len(rows.held) > 0)
        with part(f"epoch, objective {means[0]:.4g}"):
            advance(epoch + 1, Limit(learning.epochs))
        kept.offer(partial(replace, now))  # the state of this epoch, and not of the one in which it is kept
    return TrainingResult(jax.tree.unflatten(tree, now.best), now.trace, len(now.trace) - now.since, rows.held,
                          objective.figures)


def validation_objective(judged: Callable[..., Any], weights: Any, rows: TrainingRows) -> float:
    """Return the objective of the held-out rows; NaN where there are none."""
    key, total = random.fold_in(random.key(rows.seed), HELD_OUT), 0.0
    for place, block in enumerate(row_blocks(len(rows.held), JUDGED, len(rows.standard.means))):
        value = judged(weights, rows.inputs(rows.held[block]), random.fold_in(key, place))
        total += float(value) * (block.stop - block.start)
    return total / len(rows.held) if len(rows.held) else np.nan


def next_checkpoint(before: TrainingCheckpoint, state: tuple[Any, Any], figures: Array,
                    held: bool) -> TrainingCheckpoint:
    """Return the checkpoint after one more epoch; raises NumericalError where its numbers are not finite.

    `figures` is the epoch's row of the trace, an (f,) array: objective, that of held-out rows, further figures.
    """
    epoch, weights = len(before.trace) + 1, leaves(state[0])
    needed = figures if held else np.delete(figures, 1)
    if not (np.isfinite(needed).all() and all(np.isfinite(leaf).all() for leaf in weights)):
        raise NumericalError("DIVERGED", f"the objective or the weights are no longer finite in epoch {epoch}",
                             where="method.learning.rate", hint="choose a lower rate; numbers beyond single precision "
                             "need method.learning.precision float64")
    now = replace(before, weights=weights, moments=leaves(state[1]),
                  trace=np.vstack([before.trace.reshape(-1, len(figures)), figures]))
    if held and figures[1] >= before.least:
        return replace(now, since=before.since + 1)
    return replace(now, best=weights, least=float(figures[1]) if held else np.inf, since=0)


def leaves(tree: Any) -> tuple[AnyArray, ...]:
    """Return copies of the arrays of a tree."""
    return tuple(np.array(leaf) for leaf in jax.tree.leaves(tree))
