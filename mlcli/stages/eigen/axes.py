"""How many axes to keep: for methods without an eigenproblem, and what those with one share."""

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


class Kept(Options):
    """Options that say how many axes are kept."""

    where: ClassVar[str]  # they stand in the configuration


Chosen = TypeVar("Chosen", bound=Kept)


class Axes(Kept):
    """How many axes to keep, where a share of the variance has no meaning."""

    components: Count | Literal["auto"] = option(
        DEFAULT_COUNT, "Axes to keep: a count, or as many as the rules recommend (auto).")
    where: ClassVar[str] = "method.axes"  # in the configuration

    def resolved(self, limit: int, size: int) -> "Axes":
        """With a default count, as of auto, clipped to `limit` axes; raises ConfigError for an explicit one."""
        if self.components == AUTO:
            return self.replace(components=min(DEFAULT_COUNT, max(limit, 1)))
        return clipped(self, self.count, limit)

    @property
    def count(self) -> int:
        """The axes to keep; where the rules are to say that, those of the fit that they are asked of."""
        return DEFAULT_COUNT if self.components == AUTO else self.components

    def written(self, kept: int) -> None:
        """No number: every value that axes are ranked by is written."""

    def kept(self, available: int) -> int:
        """The number of axes to keep of those that there are, one of zeros where there is none.

        Raises GeometryError where more were asked for.
        """
        if self.count <= available:
            return self.count
        if self.chosen("components") and self.count > max(available, 1):
            raise GeometryError("AXES", f"{self.count} axes were asked for and the data has {available}",
                                where=f"{self.where}.components", hint=f"ask for at most {max(available, 1)}")
        note("W-RANK", f"kept {available} of {self.count} axes: the data extends in no other direction"
             if available else "the data extends in no direction: the embedding is zero")
        return max(available, 1)


def first(directions: Array, count: int) -> Array:
    """The first columns, one of zeros added where there is none."""
    return np.pad(directions[:, :count], ((0, 0), (0, max(count - directions.shape[1], 0))))


def clipped(options: Chosen, count: int, limit: int) -> Chosen:
    """The options with a default count of components clipped to `limit`; raises ConfigError for an explicit one."""
    largest = max(limit, 1)
    if count <= largest:
        return options
    if options.chosen("components"):
        raise ConfigError("COMPONENTS", f"{count} axes were asked for and the data has at most {largest}",
                          where=f"{options.where}.components", hint=f"ask for at most {largest}")
    note("N-COMPONENTS", f"axes kept: {largest}, as many as the data can have")
    return options.model_copy(update={"components": largest})
