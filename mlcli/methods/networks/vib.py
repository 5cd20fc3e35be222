"""Variational information bottleneck.

The encoder with the distribution of the second view given its code, information in NumPy, the objective of training,
and the method. Without hidden layers it is the Gaussian information bottleneck (`core/latent/bottleneck.py`).

JAX is imported where the objective is traced, which happens only in training. Source: Alemi et al., 2017.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.latent.bottleneck import (
    BEYOND,
    FAR,
    UNRELATED,
    GaussianBottleneck,
    critical_betas,
    default_beta,
    openings,
)
from mlcli.core.latent.canonical import ALIKE, canonical, canonical_steps, most_pairs
from mlcli.core.model import Model
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import Whitening, centered_columns, column_lengths, require_no_faint, whiten
from mlcli.errors import DataError
from mlcli.methods.networks.check import forward_checks, gaussian_bottleneck_checks, information_checks, training_checks
from mlcli.methods.networks.learning import Learning, training_rows
from mlcli.methods.networks.network import (
    DenseLayer,
    Encoder,
    Hidden,
    Network,
    Standard,
    Traced,
    Units,
    codes_of,
    encode_rows,
    initial_layers,
)
from mlcli.methods.networks.two_networks import QUICK, NetworkMethod, network_steps
from mlcli.methods.trials import variant

START = -4.0  # logarithm of the variance of codes at the start: axes that are closed there hardly open later
LITTLE = 0.01  # nats: an axis that keeps less of the first view counts as closed


@stored("bottleneck-encoder", means="d", origin="e", into="er", root="rr")
@frozen
class BottleneckEncoder(Encoder):
    """An encoder, and q(y | t) = N(g(t), (L Lᵀ)⁻¹) of the second view in white coordinates, given a code t.

    Raises ValueError for parts that do not fit together.
    """

    answer: Network  # g, from a code (p) to white coordinates (r)
    origin: Array  # e: the means of the second view
    into: Array  # e x r: (y - origin) @ into are white coordinates
    root: Array  # r x r, lower triangular: L

    def __post_init__(self) -> None:
        if self.network.outputs != 2 * self.answer.inputs or self.answer.outputs != len(self.root):
            raise ValueError("the network leads from rows to means and variances of codes, and from codes to the view")
        if not (np.diag(self.root) > 0).all():
            raise ValueError("the root of a precision has a diagonal above zero")

    def gains(self, second: Array, codes: Array) -> Array:
        """Return log q(y | t) - log N(y; 0, I) (m) of white rows of the second view (m x r) at codes (m x p)."""
        rest = (second - self.answer(codes)) @ self.root
        return np.asarray(np.log(np.diag(self.root)).sum() + np.sum(second**2 - rest**2, axis=1) / 2)

    def expected_gains(self, second: Array, outputs: Array, draws: int, seed: Sequence[int]) -> Array:
        """Return the gains (m) of white rows (m x r), expected over the codes of the encoder's outputs (m x 2p).

        They are exact for a linear decoder, else means over `draws` pairs of codes, opposite to each other.
        """
        means, deviations = codes_of(outputs)
        layer, *others = self.answer.layers
        if not others:
            spread = deviations**2 @ np.sum((layer.weights @ self.root) ** 2, axis=1)
            return self.gains(second, means) - spread / 2
        generator, total = np.random.default_rng(seed), np.zeros(len(means))
        for _ in range(draws):
            shift = deviations * generator.standard_normal(means.shape)
            total += self.gains(second, means + shift) + self.gains(second, means - shift)
        return total / (2 * draws)


def divergences(outputs: Array) -> Array:
    """Return KL(q(t | x) ‖ N(0, 1)) of each axis (m x p), by the encoder's outputs for rows (m x 2p)."""
    means, deviations = codes_of(outputs)
    return (means**2 + deviations**2 - 1) / 2 - np.log(deviations)


@frozen
class Divergences:
    """Sums over rows of what each axis keeps of the first view."""

    width: ClassVar[int] = 1  # the least that a block has: the encoder's layers decide

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """Return the sums (p) over rows with outputs (m x 2p)."""
        return np.asarray(divergences(outputs).sum(axis=0))


@frozen
class Information:
    """Sums over rows: what each axis keeps of the first view, and last what codes tell of the second one."""

    encoder: BottleneckEncoder
    second: Array  # n x r, white
    draws: int
    seed: int

    @property
    def width(self) -> int:
        """Numbers per row in memory at once."""
        return self.encoder.answer.width

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """Return the sums (p + 1) over rows (m x d), the first of them numbered `first`, with outputs (m x 2p)."""
        second = self.second[first:first + len(rows)]
        gains = self.encoder.expected_gains(second, outputs, self.draws, [self.seed, first])
        return np.append(divergences(outputs).sum(axis=0), gains.sum())


@frozen
class BottleneckObjective:
    """I(T; X) / β - I(T; Y) by its bounds; weights are those of `encoder`, `decoder` and the root of a precision.

    Rows are both views side by side, and the second one is white. The encoder's outputs are the means and the
    log-variances of q(t | x).
    """

    figures: ClassVar[tuple[str, ...]] = ("kept", "relevant")
    hidden: Hidden
    columns: tuple[int, int]  # of each view
    beta: float

    def start(self, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Traced]:
        """Return random weights for layers of these sizes, from the inputs to the code, at which no axis is closed.

        Codes have little noise, and the decoder says of all codes that the second view is N(0, I).
        """
        count, width = self.columns[1], sizes[-1]
        *before, (inward, _) = initial_layers([*sizes[:-1], 2 * width], self.hidden, generator)
        *others, (outward, there) = initial_layers([*sizes[:0:-1], count], self.hidden, generator)
        spread = np.repeat([1.0, 0.0], width)
        return {"encoder": [*before, (inward * spread, START * (1 - spread))],
                "decoder": [*others, (0 * outward, there)],
                "diagonal": np.zeros(count), "below": np.zeros(count * (count - 1) // 2)}

    def root(self, weights: dict[str, Traced], module: Any) -> Any:
        """Return L (r x r); its diagonal is given by logarithms. `module` is numpy or jax.numpy."""
        count = self.columns[1]
        places = np.zeros((count, count), dtype=np.int64)
        places[np.tril_indices(count, -1)] = np.arange(1, count * (count - 1) // 2 + 1)
        below = module.concatenate([module.zeros(1, weights["below"].dtype), weights["below"]])
        return below[places] + module.diag(module.exp(weights["diagonal"]))

    def __call__(self, weights: dict[str, Traced], rows: Traced, key: Traced, training: bool) -> tuple[Traced, Traced]:
        """Return the mean over rows, and both bounds."""
        from jax import numpy as jnp
        from jax import random

        from mlcli.methods.networks.training import forward, product

        first, second = rows[:, :self.columns[0]], rows[:, self.columns[0]:]
        means, logs = jnp.split(forward(weights["encoder"], first, self.hidden), 2, axis=1)
        kept = jnp.mean(jnp.sum(jnp.square(means) + jnp.exp(logs) - 1 - logs, axis=1)) / 2
        decoder, root = weights["decoder"], self.root(weights, jnp)
        spread: Traced = 0.0
        if len(decoder) == 1:  # the expectation is known
            codes = means
            spread = jnp.exp(logs) @ jnp.sum(jnp.square(product(decoder[0][0], root)), axis=1)
        else:
            codes = means + jnp.exp(logs / 2) * random.normal(key, means.shape, means.dtype)
        rest = product(second - forward(decoder, codes, self.hidden), root)
        gains = jnp.sum(jnp.square(second) - jnp.square(rest), axis=1) - spread
        relevant = jnp.mean(gains) / 2 + jnp.sum(weights["diagonal"])
        return kept / self.beta - relevant, jnp.stack([kept, relevant])

    def networks(self, weights: dict[str, Traced]) -> tuple[Network, Network]:
        """Return the encoder and the decoder as plain arrays."""
        return Network.of(weights["encoder"], self.hidden), Network.of(weights["decoder"], self.hidden)

    def encoder(self, weights: dict[str, Traced], scales: "ColumnScales", second: Whitening) -> BottleneckEncoder:
        """Return the encoder of rows as they are, with axes in descending order of what they keep of these rows.

        The coordinate of largest size on each axis is above zero.
        """
        inward, outward = self.networks(weights)
        (nearest, *further) = inward.layers
        inward = Network((replace(nearest, weights=nearest.weights / scales.lengths[:, None]), *further))
        outputs, kept = encode_rows(Encoder(scales.means, 1.0, inward), scales.points, Divergences())
        order = np.argsort(-kept, kind="stable")
        signs = leading_signs(outputs[:, order])
        *before, last = inward.layers
        places, turns = np.append(order, order + len(order)), np.append(signs, np.ones(len(order)))
        first, *after = outward.layers
        return BottleneckEncoder(
            scales.means, 1.0,
            Network((*before, replace(last, weights=last.weights[:, places] * turns,
                                      biases=last.biases[places] * turns))),
            answer=Network((replace(first, weights=first.weights[order] * signs[:, None]), *after)),
            origin=second.means, into=second.into,
            root=self.root({name: np.asarray(weights[name], dtype=np.float64) for name in ("diagonal", "below")}, np))


@frozen
class ColumnScales:
    """Points with the mean and the standard deviation of each column; a constant one has the deviation one."""

    points: Array  # n x d
    means: Array  # d
    lengths: Array  # d

    @classmethod
    def of(cls, points: Array) -> "ColumnScales":
        """Return points (n x d) with both; raises DataError where no column varies, or one varies too little."""
        means, centered = centered_columns(points)
        require_no_faint(centered, points)
        lengths = column_lengths(centered) / np.sqrt(max(len(points), 1))
        if not lengths.any():
            raise DataError("NO-VARIATION", "all rows are equal up to rounding", hint="give rows that differ")
        return cls(points, means, np.where(lengths > 0, lengths, 1.0))

    @property
    def unit_points(self) -> Array:
        """The points with mean zero and deviation one in each column (n x d)."""
        return (self.points - self.means) / self.lengths


class VIB(NetworkMethod):
    """A noisy summary of a table's columns by a network that keeps what they tell of a second view, `--view`.

    It keeps what the columns tell about the second view, as much as its worth `beta` allows, also where both are not
    related by straight lines. It fails with few rows: the networks then learn the rows by heart, and those held out
    (`held_out_information`) tell less than the others. Set the second view (`--view`) and the hidden `layers` first,
    then `beta`.

    How it works: T is a noisy summary of a row x. The encoder, a network, gives the mean and the spread of each of its
    axes: q(t | x) = N(m(x), diag s²(x)). The decoder, another network with the same layers in reverse, gives what to
    expect of the second view: q(y | t) = N(g(t), Σ), with the noise Σ learned, of any covariance. Both are trained to
    minimize I(T; X) / β - I(T; Y): information about x costs, and information about y pays. Neither is known, but
    both have a bound. I(T; X) is at most the mean of KL(q(t | x) ‖ N(0, I)), the Kullback-Leibler divergence. I(T; Y)
    is bounded by the mean of log q(y | t), and stated as what this gains over the normal distribution of y that does
    not know t. Coordinates are the means m(x), axes in descending order of what they keep.

    The distribution of T that all rows share is the standard normal one. A learned one, with other means and variances,
    would change nothing: the last layer of the encoder undoes it.

    Without hidden layers the optimum is known, and needs no training: it is the summary of `gib` at the same β. There
    the noise has variance one, and here T has: coordinates and noise of an axis are those of gib over √(1 + α²), with
    α² the variance of gib's coordinates. With hidden layers the fit needs `manifold-cli[neural]` (JAX). The paper
    weighs I(T; X) by a β that is 1 / β here.

    Both views are taken without units: each column of the first over its standard deviation, the second in white
    coordinates. Without `beta` it is that of gib for as many axes, by the canonical correlations; for relations that
    these do not see, choose `beta`. Few rows are few steps in an epoch: they need a larger `learning.rate`, such as
    0.02, and more epochs.

    New points: New rows are rows of the first view, and take one pass through the encoder, which needs no JAX.

    Files: `posterior.csv` holds the standard deviations s(x). `fit` in `run.json` holds β and the information in nats:
    `kept_information`, the bound of I(T; X), with the part of each axis in `axis_information`, and
    `relevant_information`, which equals I(T; Y) if y is Gaussian and g and Σ are the best; the gain of other y contains
    how far these are from Gaussian. `held_out_information` is the same for the rows that were held out of the training.
    `information.csv` holds both for rising β: without hidden layers the curve of gib, else those β at which the
    network was trained (`curve`).

    Source: Alemi, Fischer, Dillon and Murphy, "Deep variational information bottleneck", 2017; without hidden layers
    Chechik, Globerson, Tishby and Weiss, 2005.
    """

    accepts: ClassVar = (TwoViews,)
    judged_by: ClassVar = "information"
    in_blocks: ClassVar = None
    decodes: ClassVar = None
    unit_free: ClassVar = True
    variants: ClassVar = (
        variant(),
        variant("deep", "permutation", "rotation", "mirror", "columns", "constant column", "quick", **QUICK))
    axis: ClassVar = "VIB"
    translation: ClassVar = 8.0
    name: Literal["vib"] = "vib"
    layers: Units = option((), "Numbers of hidden units of the encoder, layer by layer, from the input inward; the "
                           "decoder has the same in reverse.")
    activation: Hidden = option("softplus", "Activation of the hidden units.")
    training: Literal["auto", "always"] = option(
        "auto", "Whether a network without hidden layers is trained (always) or solved in closed form (auto).")
    beta: float | None = option(None, "The weight of information about the second view, against that kept of the "
                                "first (default: by the number of axes).", gt=1, le=1e12)
    curve: int = option(1, "Number of values of β at which the network is trained, one after the other: from 100 times "
                        "`beta` down to it.", ge=1)
    draws: int = option(32, "Number of pairs of codes that are drawn for each row to measure information.", ge=1)
    learning: Learning = Learning()
    axes: PlainAxes = PlainAxes()

    @property
    def closed(self) -> bool:
        """Whether the optimum has a closed form: both networks are linear."""
        return self.training == "auto" and not self.layers

    def limit(self, data: Input) -> int:
        """Return one less than rows; in closed form, at most the columns of the smaller view."""
        return most_pairs(data) if self.closed else len(data.values) - 1

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for options of training or hidden units where there are none."""
        if self.closed:
            self.refuse_unused("a closed form is not trained", "learning", "curve")
        elif self.learning.validation == 0:
            self.refuse_unused("no rows are held out", "learning.patience")
        return {} if self.layers else self.refuse_unused("there are no hidden units", "activation", "draws")

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the canonical pairs, and of the epochs for each β."""
        threads, answers = compute.thread_count(), data.view.values.shape[1]
        pairs, sizes = canonical_steps(data, threads), self.sizes(data)
        if self.closed:
            return pairs
        training, coordinates = network_steps(data.values, sizes, self.learning, threads, outputs=answers,
                                              more=answers**2, translation=self.translation)
        beside = 8.0 * len(data.values) * (sizes[0] + answers)  # both views, as they are taught
        passes = 1 + 2 * self.draws * bool(self.layers)
        return [*pairs[:2 if self.beta is None else 1], *[replace(
            step, seconds=times * step.seconds, memory=step.memory + beside)
            for step, times in ((training, self.curve), (coordinates, self.curve * passes))]]

    def solve_closed_form(self, data: TwoViews, compute: Compute) -> Model:
        """Compute the summary of gib with T of variance one, and the regression of the second view on it."""
        found = GaussianBottleneck.of(data, self.beta, self.axes)
        first, second = found.views
        turns, lengths = found.pairs.turns(found.count), found.lengths
        deviations = 1 / np.sqrt(1 + lengths**2)
        shrunk = leading_signs(first.points @ turns[0]) * lengths * deviations
        related = np.pad(found.related[:found.count], (0, found.count - len(found.related[:found.count])))
        scale, weights = Standard.of(data.values).scale, first.into @ (turns[0] * shrunk)
        shares = (related * lengths * deviations) ** 2  # of the variance of the second view's variates, which T tells
        inward = DenseLayer(scale * np.hstack([weights, np.zeros_like(weights)]),
                            np.append(np.zeros(found.count), 2 * np.log(deviations)), "identity")
        answer = DenseLayer((turns[1] * related * shrunk).T, np.zeros(second.rank), "identity")
        precision = np.eye(second.rank) + turns[1] * (shares / (1 - shares)) @ turns[1].T
        root = np.asarray(np.linalg.cholesky(precision), dtype=np.float64)
        encoder = BottleneckEncoder(first.means, scale, Network((inward,)), answer=Network((answer,)),
                                    origin=second.means, into=second.into, root=root)
        kept, relevant = found.information
        total = -0.5 * float(np.log1p(-found.related**2).sum())
        return self.summary(encoder, encoder.rows(data.values), information=found.curve, fit={
            "beta": found.beta, "critical_betas": found.critical.tolist(), "kept_information": kept,
            "relevant_information": relevant, "total_information": total,
            "axis_information": (-np.log(deviations)).tolist()})

    def solve_by_training(self, data: TwoViews, compute: Compute) -> Model:
        """Return the model of both networks after training, with the information at each β."""
        from mlcli.methods.networks import training

        scales, second = ColumnScales.of(data.values), whiten(data.view.values, equal_columns=True)
        if not second.rank:
            raise DataError("NO-VARIATION", "all rows of the second view are equal up to rounding", where="input.view",
                            hint="give rows that differ")
        size, beta = data.values.shape[1], self.beta or self.linear_beta(data, second)
        rows = training_rows(np.hstack([scales.unit_points, second.points]), Standard.plain(size + second.rank),
                             self.learning, compute)
        betas = np.geomspace(FAR * beta, beta, self.curve) if self.curve > 1 else np.array([beta])
        objective = BottleneckObjective(self.activation, (size, second.rank), beta)
        weights, course = objective.start(self.sizes(data), np.random.default_rng(rows.seed)), list[Array]()
        for value in betas.tolist():
            found = training.train(replace(objective, beta=value), rows, weights, self.learning)
            weights = found.weights
            encoder = objective.encoder(weights, scales, second)
            measure = Information(encoder, second.points, self.draws, rows.seed)
            outputs, sums = encode_rows(encoder, data.values, measure)
            course.append(sums / len(outputs))
        curve = np.array(course[::-1])
        kept, relevant = curve[:, :-1].sum(axis=1), curve[:, -1]
        if relevant[0] <= kept[0] / beta:  # the objective of a summary that is closed
            note("W-NOT-LEARNED", "the summary tells less of the second view than it costs, I(T; X) / β: choose "
                 "another method.learning.rate, more epochs, or a larger method.beta")
        held = {} if not len(found.held) else {"held_out_information": float(encoder.expected_gains(
            second.points[found.held], outputs[found.held], self.draws, [rows.seed, len(outputs)]).mean())}
        return self.summary(encoder, outputs, objective=Quantity(found.trace[:, 0]), curves={
            name: Quantity(values) for name, values in found.curves.items()}, information={
                "beta": betas[::-1], "axes": np.sum(curve[:, :-1] > LITTLE, axis=1).astype(np.float64), "kept": kept,
                "relevant": relevant}, fit={
                    "beta": beta, "kept_information": float(kept[0]), "relevant_information": float(relevant[0]),
                    "axis_information": curve[0, :-1].tolist(), **held, **found.facts})

    def linear_beta(self, data: TwoViews, second: Whitening) -> float:
        """Return the β of gib for so many axes; twice the least where correlations leave none."""
        correlations = canonical(whiten(data.values, equal_columns=True), second).correlations
        critical = critical_betas(correlations[correlations > UNRELATED])
        beta = default_beta(critical, min(self.axes.count, len(critical))) if len(critical) else 1.0
        return beta if beta > 1 + ALIKE else BEYOND

    @staticmethod
    def summary(encoder: BottleneckEncoder, outputs: Array, **more: Any) -> Model:
        """Return the model of an encoder; `outputs` (n x 2p) are those for the rows."""
        means, deviations = codes_of(outputs)
        count = means.shape[1]
        return Model(embedding=means, spreads=deviations, projector=Projector(
            encoder, uncentered(2 * count), np.eye(2 * count, count)), **more)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check coordinates by a forward pass, information by other formulas, and a closed form's optimum."""
        yield from super().checks(subject)
        data, model, full = subject.data, subject.model, subject.plan.full
        yield from forward_checks(data, model, full)
        yield from information_checks(data, model, full)
        if self.closed:
            critical = np.array(model.fit["critical_betas"], dtype=np.float64)
            asked = openings(1 / np.sqrt(critical), self.beta, self.axes)[0] if len(critical) else model.fit["beta"]
            yield from gaussian_bottleneck_checks(data, model, float(asked), full)
        else:
            yield from training_checks(model, rising=False)
