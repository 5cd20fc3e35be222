"""What is written besides the model, and what is measured for it."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from mlcli.base.options import Options, option
from mlcli.base.products import Name

Format = Literal["csv", "parquet", "npy"]
FigureFormat = Literal["svg", "png", "pdf"]
SampleSize = Annotated[int, Field(ge=2)]


class Quality(Options):
    """How well the embedding keeps neighborhoods, distances and labels; null: not measured."""

    neighbors: int = option(12, "Size of the neighborhoods that are compared.", ge=1)
    sample: SampleSize | Literal["auto"] = option(
        "auto", "Points whose neighborhoods and distances are measured (auto: all up to 2,000 points, above that a "
        "seeded sample of 32 to 250, with standard errors).")


class Report(Options):
    """What is written besides the model."""

    formats: Annotated[tuple[Format, ...], Strict(False)] = option(
        ("csv",), "File formats of the embedding.", min_length=1)
    figures: Annotated[tuple[FigureFormat, ...], Strict(False)] = option(
        ("svg",), "File formats of scree and scatter plot; png and pdf need the extra mlcli[plot].")
    quality: Quality | None = Quality()
    certify: Literal["auto", "full"] = option(
        "auto", "How thoroughly results are checked before they are published: what is cheap, and samples of the rest "
        "(auto), or every row and path, with eigenvalues counted by inertia (full), as `mlcli verify --full` does.")
    dimension: bool = option(True, "Whether the rules for the number of axes are applied.")
    keep: Annotated[tuple[Name, ...], Strict(False)] = option(
        (), "What the stages of the fit made that is written as files too: the neighbor graph (graph.npz), the "
        "distances that the kernel is made of (distances.npy), the weights of the edges or of the neighbors "
        "(weights.npz), the kernel as it was solved (kernel.npy).")

    draw_graph: bool = option(False, "Whether the edges of the neighbor graph are drawn under the scatter plot; the "
                              "graph is then kept.")

    def kept(self) -> tuple[Name, ...]:
        """What is to be kept, each once."""
        return tuple(dict.fromkeys((*self.keep, *(("graph",) if self.draw_graph else ()))))
