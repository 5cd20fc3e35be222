"""What is written besides the model, and what is measured for it."""

from math import prod
from typing import Annotated, Literal, get_args

from pydantic import Field, Strict, field_validator

from mlcli.base.options import Options, option
from mlcli.base.products import Name
from mlcli.errors import ConfigError

Format = Literal["csv", "parquet", "npy"]
Output = Literal["embedding", "spectrum", "model", "quality", "dimension", "report"]
OUTPUTS: tuple[Output, ...] = get_args(Output)
ALWAYS = OUTPUTS[:2]
FigureFormat = Literal["svg", "png", "pdf"]
PROFILE = 3, 1_000  # columns of a profile: two make one slope, and more than the most would make the page large
MOST_CELLS = 2**15  # of an image: the page stays below two megabytes
Side = Annotated[int, Field(ge=1)]
SampleSize = Annotated[int, Field(ge=2)]


class Quality(Options):
    """How well the embedding keeps neighborhoods, distances and labels; null: not measured."""

    neighbors: int = option(12, "Size of the neighborhoods that are compared.", ge=1)
    sample: SampleSize | Literal["auto"] = option(
        "auto", "Points whose neighborhoods and distances are measured (auto: all up to 2,000 points, above that a "
        "seeded sample of 32 to 250, with standard errors).")


class Report(Options):
    """What is written, and what is measured for it."""

    outputs: Annotated[tuple[Output, ...], Strict(False)] = option(
        OUTPUTS, "What is computed and written besides config.yaml, run.json, certificate.json and the tables of the "
        "fit: embedding and spectrum always; the model, without which a run cannot be used or verified again; the "
        "report with its figures. Fewer for very many small runs.", min_length=1)
    formats: Annotated[tuple[Format, ...], Strict(False)] = option(
        ("csv",), "File formats of the embedding.", min_length=1)
    figures: Annotated[tuple[FigureFormat, ...], Strict(False)] = option(
        ("svg",), "File formats of scree and scatter plot; png and pdf need the extra manifold-cli[plot].")
    quality: Quality | None = Quality()
    certify: Literal["auto", "full"] = option(
        "auto", "How thoroughly results are checked before they are published: what is cheap, and samples of the rest "
        "(auto), or every row and path, with eigenvalues counted by inertia (full), as `mlcli verify --full` does.")
    dimension: bool = option(True, "Whether the rules for the number of axes are applied.")
    keep: Annotated[tuple[Name, ...], Strict(False)] = option(
        (), "What the stages of the fit made that is written as files too: the neighbor graph (graph.npz), the "
        "distances that the kernel is made of (distances.npy), the weights of the edges or of the neighbors "
        "(weights.npz), the kernel as it was solved (kernel.npy).")
    image: Annotated[tuple[Side, ...], Strict(False), Field(min_length=2, max_length=3)] | None = option(
        None, "Rows and columns of the image that a row of features is, and 3 where it has red, green and blue: the "
        "report draws decoded rows as images (default: as profiles).")
    draw_graph: bool = option(False, "Whether the edges of the neighbor graph are drawn under the scatter plot; the "
                              "graph is then kept.")

    @field_validator("outputs")
    @classmethod
    def with_the_embedding(cls, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
        """Refuses to leave out what is always written; each is named once, in the order of the declaration."""
        if not {*ALWAYS} <= {*outputs}:
            raise ValueError(f"{' and '.join(ALWAYS)} are always written, and stand in the list")
        return tuple(name for name in OUTPUTS if name in outputs)

    def writes(self, output: Output) -> bool:
        """Whether a run has this output."""
        return output in self.outputs

    @property
    def measures(self) -> Quality | None:
        """How quality is measured, where it is."""
        return self.quality if self.writes("quality") else None

    @property
    def rules(self) -> bool:
        """Whether the rules for the number of axes are applied."""
        return self.dimension and self.writes("dimension")

    @field_validator("image")
    @classmethod
    def of_pixels(cls, image: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """Refuses colors other than three, and images that would make the page large."""
        if image is not None and image[2:] not in ((), (1,), (3,)):
            raise ValueError("the third number is 3, for red, green and blue, or is left out")
        if image is not None and prod(image) > MOST_CELLS:
            raise ValueError(f"the report draws images of at most {MOST_CELLS:,} cells")
        return image

    def require_image(self, columns: int, where: str = "report.image") -> None:
        """Raises ConfigError where rows of so many features are not images of the shape that was chosen."""
        if self.image is not None and prod(self.image) != columns:
            shape = " x ".join(map(str, self.image))
            raise ConfigError("IMAGE", f"an image of {shape} has {prod(self.image):,} cells and there are {columns:,} "
                              "features", where=where, hint="give the rows and columns of the images, and 3 "
                              "for colors; or leave it out")

    def draws(self, columns: int) -> bool:
        """Whether the report draws decoded rows of so many features: as images, or as profiles."""
        return columns == prod(self.image) if self.image is not None else PROFILE[0] <= columns <= PROFILE[1]

    def kept(self) -> tuple[Name, ...]:
        """What is to be kept, each once."""
        return tuple(dict.fromkeys((*self.keep, *(("graph",) if self.draw_graph else ()))))
