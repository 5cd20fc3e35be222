"""The section `onto`: the finished run whose map new rows are added to."""

from typing import Literal

from mlcli.base.values.options import Options, option
from mlcli.errors import ConfigError

Way = Literal["fixed", "tied", "refit"]


class Onto(Options):
    """The map of a finished run that new rows are added to; null: a map of its own."""

    run: str = option(..., "The finished run whose map the rows are added to; method and preparation are its own.",
                      min_length=1)
    way: Way = option("fixed", "fixed: rows of that run keep their coordinates, new ones are placed among them; tied: "
                      "all rows move, those of that run tied to their places; refit: all rows are fitted anew, and the "
                      "result is turned onto that map (Procrustes).")
    weight: float = option(0.1, "Strength of the ties of `tied`, relative to the forces of the layout: at 0 there are "
                           "none.", ge=0, le=1e6)
    changed: Literal["error", "keep", "place"] = option(
        "error", "What to do with a row of that run that comes again with other numbers: stop (error), keep the former "
        "numbers and place (keep), or place it anew (place).")

    def require(self) -> None:
        """Raise ConfigError for options without effect."""
        if self.way != "tied":
            self.refuse_unused("rows are tied by {onto.way=tied} alone", "weight", where="onto")
        if self.way == "tied" and not self.weight:
            raise ConfigError("UNUSED", "ties of weight 0 have no effect", where="onto.weight",
                              hint="give a weight above 0, or {onto.way=refit}")
