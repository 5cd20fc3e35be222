"""Training: Adam's steps over shuffled rows, epoch by epoch, judged by rows that are held out (JAX, optax)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol

import numpy as np
import optax

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.checkpoints import Place, loop
from mlcli.base.stages.stage import advance, part, stage
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.errors import NumericalError
from mlcli.stages.neural.backend import Traced, held_to_threads, jax, jnp, random
from mlcli.stages.neural.feeding import Fed
from mlcli.stages.neural.learning import Learning
from mlcli.stages.neural.network import Network

JUDGED = 1 << 22  # numbers of held-out rows that are judged at once
HELD_OUT = 2**31 - 1  # the epoch that held-out rows are judged in, so that their random numbers stay


class Objective(Protocol):
    """What training lowers: frozen, and known by its parts, so that it is compiled once."""

    figures: ClassVar[tuple[str, ...]]

    def __hash__(self) -> int:
        """Of its parts."""

    def __call__(self, weights: Any, rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """The mean over rows, and the figures that it is made of."""

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> Any:
        """Weights at random."""

    def networks(self, weights: Any) -> tuple[Network, Network]:
        """Encoder and decoder."""


@result("training")
@frozen
class Checkpoint:
    """Where training stands between two epochs: what it goes on from, to the same bits."""

    weights: tuple[AnyArray, ...]
    moments: tuple[AnyArray, ...]  # of Adam
    best: tuple[AnyArray, ...]  # weights, as the held-out rows judge them
    least: float  # the objective of the held-out rows there
    since: int  # epochs since then
    trace: Array  # epochs x (objective, that of held-out rows, figures)


@frozen
class Trained:
    """What training ended with."""

    weights: Any
    trace: Array  # epochs x (objective, that of held-out rows: NaN where there are none, figures)
    best: int  # the epoch whose weights these are
    held: Indices  # rows that were held out
    names: tuple[str, ...]  # of the figures

    @property
    def curves(self) -> dict[str, Array]:
        """What happened besides the objective, epoch by epoch."""
        judged = {"validation": self.trace[:, 1]} if len(self.held) else {}
        return {**judged, **dict(zip(self.names, self.trace.T[2:], strict=True))}

    @property
    def facts(self) -> dict[str, int]:
        """The entries `epochs` and `best_epoch` of a model's `fit`."""
        return {"epochs": len(self.trace), "best_epoch": self.best}


@lru_cache(maxsize=16)
def compiled(objective: Objective, decay: float) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """The optimizer, a step of it, and the objective of rows that only judge."""
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
def trained(objective: Objective, rows: Fed, start: Any, learning: Learning) -> Trained:
    """Steps down from `start`; each epoch offers a checkpoint. Raises NumericalError if the objective is not finite."""
    with loop(Checkpoint) as place, np.errstate(over="ignore"):  # options beyond the range of single precision
        return _trained(objective, rows, start, learning, place)


def _trained(objective: Objective, rows: Fed, start: Any, learning: Learning, kept: Place[Checkpoint]) -> Trained:
    held_to_threads()
    optimizer, step, judged = compiled(objective, learning.decay)
    weights = jax.tree.map(lambda leaf: np.asarray(leaf, rows.kind), start)
    tree, moments = jax.tree.structure(weights), optimizer.init(weights)
    now = kept.left or Checkpoint(leaves(weights), leaves(moments), leaves(weights), np.inf, 0, np.zeros((0, 2)))
    moments = jax.tree.unflatten(jax.tree.structure(moments), now.moments)
    weights, batches = jax.tree.unflatten(tree, now.weights), rows.steps(learning.batch)
    for epoch in range(len(now.trace), learning.epochs):
        if now.since >= learning.patience:
            break
        key, figures = random.fold_in(random.key(rows.seed), epoch), []
        for place, seen in enumerate(rows.batches(epoch, learning.batch)):
            rate = rows.number(learning.rates(epoch * batches + place, learning.epochs * batches))
            weights, moments, told = step(weights, moments, seen, key, place, rate)
            figures.append(told)
        means = np.mean(np.stack([np.asarray(told, np.float64) for told in figures]), axis=0)
        value = judgment(judged, weights, rows)
        now = after(now, (weights, moments), np.array([means[0], value, *means[1:]]), len(rows.held) > 0)
        with part(f"epoch, objective {means[0]:.4g}"):
            advance(epoch + 1, learning.epochs)
        kept.offer(partial(_itself, now))
    return Trained(jax.tree.unflatten(tree, now.best), now.trace, len(now.trace) - now.since, rows.held,
                   objective.figures)


def _itself(checkpoint: Checkpoint) -> Checkpoint:
    return checkpoint


def judgment(judged: Callable[..., Any], weights: Any, rows: Fed) -> float:
    """The objective of the rows that are held out; NaN where there are none."""
    key, total = random.fold_in(random.key(rows.seed), HELD_OUT), 0.0
    for place, block in enumerate(row_blocks(len(rows.held), JUDGED, len(rows.standard.means))):
        value = judged(weights, rows.seen(rows.held[block]), random.fold_in(key, place))
        total += float(value) * (block.stop - block.start)
    return total / len(rows.held) if len(rows.held) else np.nan


def after(before: Checkpoint, state: tuple[Any, Any], told: Array, held: bool) -> Checkpoint:
    """The checkpoint after one more epoch; raises NumericalError where its numbers are not finite."""
    epoch, weights = len(before.trace) + 1, leaves(state[0])
    needed = told if held else np.delete(told, 1)
    if not (np.isfinite(needed).all() and all(np.isfinite(leaf).all() for leaf in weights)):
        raise NumericalError("DIVERGED", f"the objective or the weights are no longer finite in epoch {epoch}",
                             where="method.learning.rate", hint="choose a lower rate; numbers beyond single precision "
                             "need method.learning.precision float64")
    now = replace(before, weights=weights, moments=leaves(state[1]),
                  trace=np.vstack([before.trace.reshape(-1, len(told)), told]))
    if held and told[1] >= before.least:
        return replace(now, since=before.since + 1)
    return replace(now, best=weights, least=float(told[1]) if held else np.inf, since=0)


def leaves(tree: Any) -> tuple[AnyArray, ...]:
    """The arrays of a tree, each a copy of its own."""
    return tuple(np.array(leaf) for leaf in jax.tree.leaves(tree))
