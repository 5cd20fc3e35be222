"""What is written besides the model, and what is measured for it."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from mlcli.base.options import Options, option

Format = Literal["csv", "parquet", "npy"]
SampleSize = Annotated[int, Field(ge=2)]


class Quality(Options):
    """How well the embedding keeps neighborhoods, distances and labels; null: not measured."""

    neighbors: int = option(12, "Size of the neighborhoods that are compared.", ge=1)
    sample: SampleSize | Literal["auto"] = option(
        "auto", "Points whose neighborhoods and distances are measured (auto: all up to 2,000 points, above that a "
        "seeded sample of 100 to 500, with standard errors).")


class Report(Options):
    """What is written besides the model."""

    formats: Annotated[tuple[Format, ...], Strict(False)] = option(
        ("csv",), "File formats of the embedding.", min_length=1)
    quality: Quality | None = Quality()
    dimension: bool = option(True, "Whether the rules for the number of axes are applied.")
