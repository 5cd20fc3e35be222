"""The section `report`: outputs of a run besides the model, measures of quality, and the look of the figures."""

from collections.abc import Collection, Sequence
from functools import cache
from math import prod
from re import fullmatch
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    Strict,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)

from mlcli.base.frozen import frozen
from mlcli.base.values.options import Options, option
from mlcli.base.values.plugins import Plugin
from mlcli.base.values.products import Name
from mlcli.errors import ConfigError, MlcliError
from mlcli.findings import FINDINGS
from mlcli.findings.finding import Finding

UNITS = {"mm": 25.4, "cm": 2.54, "in": 1.0}  # of a length in inches
Format = Literal["csv", "parquet", "npy"]
ALWAYS = ("embedding", "spectrum")
OUTPUTS = (*ALWAYS, "model", *(name for name, finding in FINDINGS.items() if finding.output and name not in ALWAYS),
           "report")
FigureFormat = Literal["svg", "png", "pdf"]
PROFILE = 3, 1_000  # least and most columns of a profile: fewer show no shape, more make the page large
LABELED = 60  # most points labeled with ids by default
MOST_LABELED = 400  # more labels overlap
MOST_CELLS = 2**15  # of an image: the page stays below two megabytes
MOST_SHOWN = 5_000_000  # rows of interactive.html, which a browser draws five times a second and holds in memory
MOST_AXES, FEWEST_AXES = 10, 3  # axes to choose from there, and those that it has whatever the number of rows
MOST_COORDINATES = 4_000_000  # coordinates there, above which it has fewer axes: the file stays small
Side = Annotated[int, Field(ge=1)]


def axes_shown(rows: int, axes: int) -> int:
    """Return how many of its axes the interactive page of some rows has."""
    return min(axes, MOST_AXES, max(FEWEST_AXES, MOST_COORDINATES // max(rows, 1)))


def in_inches(length: Any) -> Any:
    """Return a length as a text with its unit, as 90mm, 9cm or 3.5in, in inches; anything else as it is."""
    parts = fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in)\s*", length) if isinstance(length, str) else None
    return length if parts is None else float(parts[1]) / UNITS[parts[2]]


Inches = Annotated[float, BeforeValidator(in_inches), Field(ge=1, le=40), WithJsonSchema(
    {"anyOf": [{"type": "number", "minimum": 1, "maximum": 40}, {"type": "string"}]})]


class Look(Options):
    """The look of scatter and scree plot."""

    size: Annotated[tuple[Inches, ...], Strict(False), Field(min_length=2, max_length=2)] | None = option(
        None, "Width and height of the figure files in inches, or with a unit as in 90mm,70mm (default: width 6.5, "
        "height from the proportions of the plot); figures on the page keep their size.")
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


class Spiders(Options):
    """Lines from the points of the group to their centroid."""

    name: Literal["spiders"] = "spiders"


Outlines = Annotated[NoOutlines | Ellipses | Hulls | Spiders, Field(discriminator="name")]


if TYPE_CHECKING:
    Output = str
else:
    Output = Literal[OUTPUTS]


@frozen
class Image:
    """The layout of the cells of a row as an image."""

    rows: int
    columns: int
    channels: int = 1  # 1: gray; 3: red, green and blue
    order: str = "row"  # the order of cells: row by row, or column by column


class OutputOptions(Options):
    """Kinds and formats of outputs."""

    outputs: Annotated[tuple[Output, ...], Strict(False)] = option(
        OUTPUTS, "Outputs to compute and write. embedding and spectrum are always written; without the model, the run "
        "cannot place new points or be verified; report is the page with its figures. Leave some out to save time "
        "and disk space. config.yaml, run.json, certificate.json and the tables of the fit are always written.",
        min_length=1)
    formats: Annotated[tuple[Format, ...], Strict(False)] = option(
        ("csv",), "File formats of the embedding.", min_length=1)
    figures: Annotated[tuple[FigureFormat, ...], Strict(False)] = option(
        ("svg",), "Formats of the figures (scree, scatter, images); png and pdf need the extra manifold-cli[plot].")

    @field_validator("outputs")
    @classmethod
    def add_always_written(cls, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
        """Add the outputs that are always written; return all in the order of declaration, each once."""
        return tuple(name for name in OUTPUTS if name in (*ALWAYS, *outputs))

    def writes(self, output: Output) -> bool:
        """Whether a run writes this output."""
        return output in self.outputs


if TYPE_CHECKING:
    FindingOptions = OutputOptions
else:
    FindingOptions = create_model("FindingOptions", __base__=OutputOptions, __module__=__name__, **{
        name: finding.option for name, finding in FINDINGS.items() if finding.option is not None})


class Report(FindingOptions):
    """Outputs of a run, and measures computed for them."""  # findings of packages: `with_findings`

    certify: Literal["auto", "full"] = option(
        "auto", "How thoroughly results are checked before they are written: the cheap checks, and samples for the "
        "others (auto), or every row and path, with eigenvalues counted by inertia (full), as `mlcli verify --full` "
        "does.")
    keep: Annotated[tuple[Name, ...], Strict(False)] = option(
        (), "Intermediate results to save: the neighbor graph (graph.npz), the distances from which the kernel is "
        "made (distances.npy), the weights of the edges or of the neighbors (weights.npz), the kernel matrix "
        "whose eigenvectors are found (kernel.npy), and the same before centering (uncentered.npy).")
    image: Annotated[tuple[Side, ...], Strict(False), Field(min_length=2, max_length=3)] | None = option(
        None, "Shape of the images that the rows of features are: rows, columns, and 3 for red, green and blue. The "
        "report then draws some rows and decoded rows as images (default: as profiles).")
    image_order: Literal["row", "column"] = option(
        "row", "Order of the cells of an image: row by row, or column by column as in MATLAB.")
    cutoff: float = option(0.0, "Loadings smaller than this in absolute value are left blank in the report's table "
                           "(files hold all of them).", ge=0)
    draw_graph: bool = option(False, "Draw the edges of the neighbor graph under the scatter plot; this also saves "
                              "the graph (graph.npz).")
    interactive: bool = option(False, "Write interactive.html, an interactive scatter plot in two or three dimensions "
                               "for a browser.")
    title: str | None = option(None, "Title of the page, of scatter and scree plot (default: the method and the "
                               "input's name).", min_length=1)
    point_labels: str = option(
        "auto", f"Texts beside the points of the scatter plot: ids, a label column, none, or (auto) the ids "
        f"of up to {LABELED} points that have room, unless they are numbers. ids and columns need the extra "
        "manifold-cli[plot].", min_length=1)
    outlines: Outlines = option(NoOutlines(), "Outlines of the groups of points: confidence ellipses, convex hulls, "
                                "lines from each point to the centroid of its group (spiders), or none.")
    arrows: int = option(0, "Number of columns drawn as arrows over the scatter plot (a biplot): those with the "
                         "largest loadings on its two axes.", ge=0, le=100)
    look: Look = Look()

    @model_validator(mode="wrap")
    @classmethod
    def with_findings_of_packages(cls, values: Any, handler: ModelWrapValidatorHandler["Report"]) -> "Report":
        """Return the options, with those of findings that installed packages add where some are given."""
        unknown = [name for name in values if name not in cls.model_fields] if isinstance(values, dict) else []
        added = tuple(name for name in unknown if isinstance(name, str) and FINDINGS.plugin(name) is not None)
        return with_findings(added).model_validate(values) if added else handler(values)

    def plugins(self) -> list[Plugin]:
        """Return the findings that installed packages add and that have an option here."""
        return [plugin for name in type(self).model_fields if name not in Report.model_fields
                and (plugin := FINDINGS.plugin(name)) is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        """Runs are sent to other processes, which make the subclass again."""
        added = tuple(name for name in type(self).model_fields if name not in Report.model_fields)
        return _blank, (added,), self.__getstate__()

    def setting(self, name: str) -> Any:
        """Return the option of a finding; None if it is off or not among the outputs."""
        listed = not FINDINGS[name].output or self.writes(name)
        return getattr(self, name, None) or None if listed else None

    def wanted(self) -> list[Finding[Any]]:
        """Return the findings that the options choose."""
        return [finding for finding in FINDINGS.values() if finding.wanted(self)]

    @field_validator("image")
    @classmethod
    def require_drawable(cls, image: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """Require one or three colors, and images that keep the page small."""
        if image is not None and image[2:] not in ((), (1,), (3,)):
            raise ValueError("the third number is 3, for red, green and blue, or is left out")
        if image is not None and prod(image) > MOST_CELLS:
            raise ValueError(f"the report draws images of at most {MOST_CELLS:,} cells")
        return image

    @property
    def picture(self) -> Image | None:
        """The image layout of a row, or None."""
        if self.image is None:
            return None
        rows, columns, *channels = self.image
        return Image(rows, columns, channels[0] if channels else 1, self.image_order)

    def require_image(self, columns: int, where: str = "report.image") -> None:
        """Raise ConfigError if rows of `columns` features do not have the chosen image shape."""
        if self.image is not None and prod(self.image) != columns:
            shape = " x ".join(map(str, self.image))
            raise ConfigError("IMAGE", f"an image of {shape} has {prod(self.image):,} cells and there are {columns:,} "
                              "features", where=where, hint="give the rows and columns of the images, and 3 "
                              "for colors; or leave it out")

    def require_memory_rows(self, *, held: bool) -> None:
        """Raise ConfigError if a finding needs rows in memory and they are not (`held` false)."""
        for finding in self.wanted() if not held else ():
            finding.refuse_blocks()

    @property
    def plotting(self) -> list[str]:
        """The chosen options that only a plotting library can draw."""
        looks = [f"look.{name}" for name, info in Look.model_fields.items() if getattr(self.look, name) != info.default]
        return [*looks, *(["arrows"] if self.arrows else []),
                *(["outlines"] if self.outlines.name != "none" else []),
                *(["point_labels"] if self.point_labels not in ("auto", "none") else [])]

    @property
    def on_page(self) -> "Report":
        """The options for the page, whose figures have its own size: the chosen one is that of the files."""
        return self if self.look.size is None else self.replace(look=self.look.replace(size=None))

    def require_point_labels(self, rows: int, columns: Collection[str], where: str = "report.point_labels") -> None:
        """Raise ConfigError if points cannot have the chosen labels."""
        if self.point_labels in ("auto", "none"):
            return
        if self.point_labels != "ids" and self.point_labels not in columns:
            raise ConfigError("POINT-LABELS", f"there is no label column {self.point_labels[:80]!r}", where=where,
                              hint=f"choose ids, none, auto or a label column: {', '.join(columns)[:200] or 'none'}")
        if rows > MOST_LABELED:
            raise ConfigError("POINT-LABELS", f"labels of {rows:,} points cannot be told apart", where=where,
                              hint=f"leave them out: at most {MOST_LABELED} points are labeled")

    def require_arrows(self, axes: int, *, loaded: bool, where: str = "report.arrows") -> None:
        """Raise ConfigError if arrows were chosen and the run has no plane, or no loadings."""
        if self.arrows and not (loaded and axes > 1):
            has = f"{axes} ax{'i' if axes == 1 else 'e'}s{'' if loaded else ' without loadings'}"
            raise ConfigError("NO-LOADINGS", f"arrows need loadings on two axes, and the run has {has}", where=where,
                              hint="leave them out, or keep two axes of a linear method")

    def draws(self, columns: int) -> bool:
        """Whether the report draws decoded rows of so many features: as images, or as profiles."""
        return columns == prod(self.image) if self.image is not None else PROFILE[0] <= columns <= PROFILE[1]

    def products_to_keep(self) -> tuple[Name, ...]:
        """Return the results of stages to write as files, each once."""
        return tuple(dict.fromkeys((*self.keep, *(("graph",) if self.draw_graph else ()))))


@cache
def with_findings(added: tuple[str, ...]) -> type[Report]:
    """Return the options with those of findings that installed packages add; raises what `FINDINGS.look_up` does."""
    if not added:
        return Report
    options: dict[str, Any] = {name: FINDINGS.look_up(name).option for name in added}
    return create_model("Report", __base__=Report, __module__=__name__, **options)


def with_all_findings() -> type[Report]:
    """Return the options with those of all findings that installed packages add and that can be used."""
    return with_findings(tuple(added_findings()[0]))


@cache
def added_findings() -> tuple[Sequence[str], Sequence[MlcliError]]:
    """Return the names of findings that installed packages add, and the errors of those that cannot be used."""
    return FINDINGS.look_up_all(Report.model_fields)


def _blank(added: tuple[str, ...]) -> Report:
    """Return options without values, to be filled by `__setstate__`."""
    kind = with_findings(added)
    return kind.__new__(kind)
