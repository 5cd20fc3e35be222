"""Options of the scatter and scree plots: size, fonts, colors, and outlines of groups."""

from re import fullmatch
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema

from mlcli.base.values.options import Options, option

UNITS = {"mm": 25.4, "cm": 2.54, "in": 1.0}  # of a length in inches


def in_inches(length: Any) -> Any:
    """Return a length as a text with its unit, as 90mm, 9cm or 3.5in, in inches; anything else as it is."""
    parts = fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in)\s*", length) if isinstance(length, str) else None
    return length if parts is None else float(parts[1]) / UNITS[parts[2]]


Inches = Annotated[float, BeforeValidator(in_inches), Field(ge=1, le=40), WithJsonSchema(
    {"anyOf": [{"type": "number", "minimum": 1, "maximum": 40}, {"type": "string"}]})]


class Look(Options):
    """The look of scatter and scree plot."""

    size: Annotated[tuple[Inches, ...], Strict(False), Field(min_length=2, max_length=2)] | None = option(
        None, "Width and height of the figures in inches, or with a unit as in 90mm,70mm (default: width 6.5, height "
        "from the proportions of the plot).")
    font_size: float = option(9.0, "Font size in points; titles are 20% larger.", ge=4, le=40)
    marker_size: float | None = option(
        None, "Diameter of the markers in points (default: smaller for more rows).", gt=0, le=40)
    palette: Literal["okabe-ito", "tab10", "set2", "dark2", "gray"] = option(
        "okabe-ito", "Colors of groups; if there are more groups than colors, marker shapes distinguish them.")
    scale: Literal["viridis", "cividis", "magma", "gray"] = option("viridis", "Color scale of numeric labels.")
    aspect: Literal["auto", "equal", "free"] = option(
        "auto", "Whether both axes have the same scale: if that fits (auto), always (equal), or never (free).")


class NoOutlines(Options):
    """No outlines around groups."""

    name: Literal["none"] = "none"


class Ellipses(Options):
    """The contour of a normal distribution with the mean and the covariance of the group."""

    name: Literal["ellipses"] = "ellipses"
    level: float = option(0.95, "Share of a normal distribution inside an ellipse.", gt=0, lt=1)


class Hulls(Options):
    """The convex hull of the group."""

    name: Literal["hulls"] = "hulls"


Outlines = Annotated[NoOutlines | Ellipses | Hulls, Field(discriminator="name")]
