"""The section `onto`: the finished run whose map new rows are added to."""

from typing import Literal

from mlcli.base.values.options import Options, option

Way = Literal["fixed", "refit", "tied"]


class Onto(Options):
    """The map of a finished run that new rows are added to; null: a map of its own."""

    run: str = option(..., "The finished run whose map the rows are added to; method and preparation are its own.",
                      min_length=1)
    way: Way = option("fixed", "fixed: rows of that run keep their coordinates, new ones are placed among them; "
                      "refit: all rows are fitted anew, and the result is turned onto that map (Procrustes); tied: all "
                      "move, tied to their old places (layouts).")
    weight: float = option(1.0, "Weight of the penalty on squared distances from old places, with way tied: the "
                           "larger it is, the less old rows move.", ge=1e-6, le=1e6)
    changed: Literal["error", "keep", "place"] = option(
        "error", "What to do with a row of that run that comes again with other numbers: stop (error), keep the former "
        "numbers and place (keep), or place it anew (place).")
