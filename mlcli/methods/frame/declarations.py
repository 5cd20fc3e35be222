"""The declarations of a method: what its class says of its input, its results and its laws."""

from typing import ClassVar, Literal

from mlcli.base.values.inputs import Given
from mlcli.base.values.options import Options
from mlcli.methods.frame.model import Powers
from mlcli.methods.frame.variants import Variant, variant


class Declarations(Options):
    """The declarations of a method, with those of most methods as defaults."""

    accepts: ClassVar[tuple[type[Given], ...]]
    unscaled: ClassVar[int] = 0  # data of a size from 2**-unscaled to 2**unscaled is used without a scaled copy
    powers: ClassVar[Powers] = Powers(1, 2)  # of the data's unit in coordinates and spectrum
    # The kind of the certificate's checks: coordinates are V √λ of the projector similarity's kernel; √n V of
    # (I - W)ᵀ(I - W) with its weights; V √λ of another kernel; scores of the latent model of largest likelihood; linear
    # functions of least cost on a graph; or only the checks of `identities`.
    proof: ClassVar[Literal["kernel", "weights", "spectrum", "latent", "linearization", "own"]] = "own"
    missing: ClassVar[bool] = False  # whether it takes features with missing cells
    domain: ClassVar[Literal["numbers", "amounts", "answers"]] = "numbers"  # amounts: zero or more; answers: categories
    ranked_by: ClassVar[str | None] = "eigenvalues"  # the numbers in spectrum.csv; None: there is no spectrum
    axis: ClassVar[str] = "Axis"  # the field's name of an axis, before its number
    decodes: ClassVar[str | None] = ""  # the condition of a decoder to features; empty: always; None: never
    in_blocks: ClassVar[str | None] = None  # the condition of reading features in blocks; empty: always; None: never
    decoder_variance: ClassVar[bool] = False  # whether its decoder gives variances
    rules: ClassVar[tuple[str, ...]] = ("broken_stick", "elbow", "two_nn")  # for the number of axes, best first
    # the linear-Gaussian model of the columns: with equal noise in all, or noise of its own in each
    columns_model: ClassVar[Literal["none", "equal noise", "own noise"]] = "none"
    scaleless: ClassVar[bool] = False  # whether coordinates have no scale, and eigenvalues are not variances
    keeps_order: ClassVar[bool] = False  # whether only the order of dissimilarities counts
    has_loadings: ClassVar[bool] = True  # whether columns have loadings on the axes; for a chain its kernel decides
    # what the rows of loadings.csv are of: the columns of the table, those of all views, the columns in each class, or
    # the columns and the terms of the constraints
    loads: ClassVar[Literal["columns", "views", "classes", "terms"]] = "columns"
    variance_shares: ClassVar[bool] = True  # whether an eigenvalue over the trace is a share of variance
    loses: ClassVar[str] = ""  # what its pictures do not show although they seem to, as a sentence of the report
    isometric: ClassVar[bool] = False  # whether all axes together keep the distances of features
    can_resample: ClassVar[bool] = False  # whether rows have no order; for a method without chain and columns' model
    unit_free: ClassVar[bool] = False  # whether another unit of a column changes no coordinates
    most_views: ClassVar[float] = 2  # views that it takes, where it takes more than one
    variants: ClassVar[tuple[Variant, ...]] = (variant(),)  # variants of options that compute something else
    baseline: ClassVar[bool] = False  # whether it is the linear baseline of `mlcli explore`
    beside_baseline: ClassVar[bool] = False  # whether its quality is shown beside that of PCA or classical scaling
    later: ClassVar[tuple[str, ...]] = ()  # options of later versions, which count in fingerprints only if chosen
    repeat_tolerance: ClassVar[float] = 1e-9  # relative difference of coordinates between runs that agree by a law

    @classmethod
    def holds(cls) -> str:
        """Return a sentence about the content of spectrum.csv."""
        return f"spectrum.csv holds {cls.ranked_by}." if cls.ranked_by else "There is no spectrum.csv."

    def loss(self) -> str:
        """Return the sentence on what its pictures do not show, with these options."""
        return self.loses
