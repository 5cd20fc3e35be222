"""The number of axes to keep: options of methods without an eigenproblem, and what both kinds share."""

from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.options import Options, option
from mlcli.errors import ConfigError, GeometryError

DEFAULT_COUNT = 2  # axes
AUTO: Literal["auto"] = "auto"  # as many as the rules recommend
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, le=1)]


class AxisCount(Options):
    """The base of options with the number of axes."""

    where: ClassVar[str]  # they stand in the configuration


Chosen = TypeVar("Chosen", bound=AxisCount)


class Axes(AxisCount):
    """The number of axes to keep, where a share of the variance has no meaning."""

    components: Count | Literal["auto"] = option(
        DEFAULT_COUNT, "Axes to keep: a count, or the number that the dimension rules recommend (auto).")
    where: ClassVar[str] = "method.axes"  # in the configuration

    def resolved(self, limit: int, size: int) -> "Axes":
        """Return the options with a count of at most `limit` axes, 2 for auto.

        Raises ConfigError for a larger count that was chosen; a default one is clipped.
        """
        if self.components == AUTO:
            return self.replace(components=min(DEFAULT_COUNT, max(limit, 1)))
        return clip_count(self, self.count, limit)

    @property
    def count(self) -> int:
        """The number of axes to keep; for auto, that of the fit that the rules are applied to."""
        return DEFAULT_COUNT if self.components == AUTO else self.components

    def written(self, kept: int) -> None:
        """Return None: all values that rank the axes are written."""

    def available_count(self, available: int) -> int:
        """Return the number of axes to keep of `available` ones; one, of zeros, where there is none.

        Raises GeometryError where more were chosen.
        """
        if self.count <= available:
            return self.count
        if self.chosen("components") and self.count > max(available, 1):
            raise GeometryError("AXES", f"{self.count} axes were requested, but the data has {available}",
                                where=f"{self.where}.components", hint=f"ask for at most {max(available, 1)}")
        note("W-RANK", f"kept {available} of {self.count} axes: the data extends in no other direction"
             if available else "the data extends in no direction: the embedding is zero")
        return max(available, 1)


def first_columns(directions: Array, count: int) -> Array:
    """Return the first columns (n x count) of directions (n x q), padded with columns of zeros."""
    return np.pad(directions[:, :count], ((0, 0), (0, max(count - directions.shape[1], 0))))


def clip_count(options: Chosen, count: int, limit: int) -> Chosen:
    """Return the options with a default count clipped to `limit`; raises ConfigError for a chosen count above it."""
    largest = max(limit, 1)
    if count <= largest:
        return options
    if options.chosen("components"):
        raise ConfigError("COMPONENTS", f"{count} axes were requested, but the data has at most {largest}",
                          where=f"{options.where}.components", hint=f"ask for at most {largest}")
    note("N-COMPONENTS", f"axes kept: {largest}, as many as the data can have")
    return options.model_copy(update={"components": largest})
