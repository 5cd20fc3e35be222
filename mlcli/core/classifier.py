"""Classification by normal densities with one covariance: posterior probabilities of classes, and their priors."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Strict

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.errors import ConfigError

LISTED = 10  # classes in a message
WHOLE = 1e-9  # difference from one of the sum of priors
Priors = Literal["proportions", "equal"] | Annotated[tuple[float, ...], Strict(False)]


@frozen
class Memberships:
    """The probability of each class for each row, given its features."""

    names: tuple[str, ...]  # g
    probabilities: Array  # n x g

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the probabilities in a table."""
        return tuple(f"P({name})" for name in self.names)

    @property
    def classes(self) -> list[str]:
        """The most probable class of each row (n)."""
        return [self.names[place] for place in self.probabilities.argmax(axis=1).tolist()]


@stored("classifier", scaling="cr", centers="gr", priors="g")
@frozen
class Classifier:
    """Normal densities of classes with one covariance, the identity in all discriminants (predict.lda of MASS)."""

    names: tuple[str, ...]  # g
    scaling: Array  # c x r
    centers: Array  # g x r
    priors: Array  # g

    def memberships(self, centered: Array) -> Memberships:
        """Return posterior probabilities of centered rows (m x d), in the units of the fit."""
        return Memberships(self.names, posteriors(centered @ self.scaling, self.centers, self.priors))


def name_in(column: str) -> str:
    """Return the class whose probability is the content of a column."""
    return column.removeprefix("P(").removesuffix(")")


def posteriors(scores: Array, centers: Array, priors: Array) -> Array:
    """Return P(class | scores), (m, g), of scores (m x r) with identity covariance around centers (g x r).

    Proportional to prior times exp(y c - ‖c‖²/2); the parameters count as known ("plug-in"; Venables and Ripley, 2002).
    `priors` is a (g,) array.
    """
    with np.errstate(divide="ignore"):
        logs = scores @ centers.T - 0.5 * np.sum(centers**2, axis=1) + np.log(priors)
    logs -= logs.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return np.asarray(logs)


def priors_of(chosen: Priors, names: Sequence[str], counts: Indices) -> Array:
    """Return the priors of classes (g) with these numbers of rows (g).

    Raises ConfigError for numbers that are no probabilities of the classes.
    """
    if chosen == "proportions":
        return np.asarray(counts / counts.sum())
    if chosen == "equal":
        return np.full(len(counts), 1 / len(counts))
    given = np.array(chosen, dtype=np.float64)
    if len(given) != len(names):
        listed = ", ".join(name[:80] for name in names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        raise ConfigError("PRIORS", f"{len(given)} priors were given, but there are {len(names)} classes",
                          where="method.priors", hint=f"give one for each class, in the order {listed}")
    if (given < 0).any() or abs(float(given.sum()) - 1) > WHOLE:
        raise ConfigError("PRIORS", "priors must be probabilities with the sum 1", where="method.priors",
                          hint="give numbers from 0 to 1")
    return given
