"""Descent by a schedule: steps with momentum and a gain for each number, as t-SNE takes them."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.options import Options, option
from mlcli.stages.algebra.iterate import Iterated, follow_schedule
from mlcli.stages.layout.divergence import Divergence, Forces
from mlcli.stages.layout.repulsion import Summation

RISE, FALL, LEAST = 0.2, 0.8, 0.01  # of a gain: added where a step goes on, a factor where it turns, and added to that
LONGEST = 5.0  # length of a step of a point


@result("descent")
@frozen
class Motion:
    """Coordinates of points, their last step and the gain of each number (n x p each), and the forces there."""

    points: Array
    velocity: Array
    gains: Array
    attraction: Array
    repulsion: Array
    divergence: float

    @property
    def objective(self) -> float:
        """The divergence."""
        return self.divergence

    @classmethod
    def at(cls, points: Array, forces: Forces, *, velocity: Array, gains: Array) -> "Motion":
        """Return the motion at some coordinates."""
        return cls(points, velocity, gains, forces.attraction, forces.repulsion, forces.divergence)


class Descent(Options):
    """A schedule of descent: first with exaggerated attraction, then with the affinities as they are."""

    early_exaggeration: float = option(12.0, "Factor of attraction in the first steps, by which groups form.", gt=0)
    early_steps: int = option(250, "Number of these steps.", ge=0)
    exaggeration: float = option(1.0, "Factor of attraction in the other steps; above 1 groups become more compact.",
                                 gt=0)
    steps: int = option(500, "Number of the other steps.", ge=1)
    rate: float | None = option(None, "Learning rate (default: the number of points over the factor of attraction).",
                                gt=0)
    early_momentum: float = option(0.8, "Share of the last step that the next one keeps, in the first steps.", ge=0,
                                   lt=1)
    momentum: float = option(0.8, "The same in the other steps.", ge=0, lt=1)

    @property
    def count(self) -> int:
        """The number of all steps."""
        return self.early_steps + self.steps

    def __call__(self, divergence: Divergence, start: Array, how: Summation) -> Iterated[Motion]:
        """Return the motion after all steps from coordinates (n x p).

        A gain rises while a number moves in one direction, and falls where it turns (Jacobs, 1988). Points move all at
        once, and stay centered. Source of the schedule: Belkina and others, 2019; Linderman and Steinerberger, 2019.
        """
        def step(before: Motion, number: int) -> Motion:
            early = number < self.early_steps
            factor = self.early_exaggeration if early else self.exaggeration
            momentum = self.early_momentum if early else self.momentum
            gradient = divergence.together(factor * before.attraction - before.repulsion)
            turns = np.sign(before.velocity) == np.sign(gradient)
            gains = np.where(turns, FALL * before.gains + LEAST, before.gains + RISE)
            velocity = momentum * before.velocity - (self.rate or len(start) / factor) * gains * gradient
            lengths = np.linalg.norm(velocity, axis=1, keepdims=True)
            velocity = np.where(lengths > LONGEST, velocity / np.maximum(lengths, LONGEST) * LONGEST, velocity)
            points = before.points + velocity
            points -= points.mean(axis=0)
            return Motion.at(points, divergence.forces(points, how), velocity=velocity, gains=gains)

        begun = divergence.together(start)
        return follow_schedule(step, Motion.at(begun, divergence.forces(begun, how), velocity=np.zeros_like(begun),
                                               gains=np.ones_like(begun)), self.count)
