"""Options of the scatter and scree plots: size, fonts, colors, and outlines of groups."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from mlcli.base.values.options import Options, option

Inches = Annotated[float, Field(ge=1, le=40)]


class Look(Options):
    """The look of scatter and scree plot."""

    size: Annotated[tuple[Inches, ...], Strict(False), Field(min_length=2, max_length=2)] | None = option(
        None, "Width and height in inches (default: 6.5 wide, and as high as the points ask for).")
    font_size: float = option(9.0, "Size of the letters in points; titles are a fifth larger.", ge=4, le=40)
    marker_size: float | None = option(
        None, "Diameter of a point's mark in points (default: smaller ones for more points).", gt=0, le=40)
    palette: Literal["okabe-ito", "tab10", "set2", "dark2", "gray"] = option(
        "okabe-ito", "Colors of groups; where there are more groups than colors, shapes distinguish them.")
    scale: Literal["viridis", "cividis", "magma", "gray"] = option("viridis", "Colors of numbers.")
    aspect: Literal["auto", "equal", "free"] = option(
        "auto", "Whether a unit is equally long on both axes: where that fits (auto), always, or never.")


class NoOutlines(Options):
    """No outlines around groups."""

    name: Literal["none"] = "none"


class Ellipses(Options):
    """The contour of a normal distribution with the mean and the covariance of the group."""

    name: Literal["ellipses"] = "ellipses"
    level: float = option(0.95, "Share of a normal distribution that an ellipse holds.", gt=0, lt=1)


class Hulls(Options):
    """The convex hull of the group."""

    name: Literal["hulls"] = "hulls"


Outlines = Annotated[NoOutlines | Ellipses | Hulls, Field(discriminator="name")]
