"""What the JSON files of a run directory hold, as far as it is used later; they may hold more."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mlcli.base.values.file_names import Text

Count = Annotated[int, Field(ge=0, lt=2**53)]
Whole = Annotated[int, Field(gt=-(2**31), lt=2**31)]
Number = float  # finite
Name = Annotated[str, Field(max_length=2**20)]
Figure = bool | Whole | Number | None


class Shape(BaseModel):
    """Keys that must be there, or may be, with the types of their values."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=())


class Known(Shape):
    """Size and hash of a file."""

    bytes: Count
    sha256: str


class Origin(Shape):
    """What was read from a file, or from those of a run."""

    path: Text
    absolute: Text | None = None  # where the path led
    kind: str = ""
    rows: Count
    columns: Count
    edges: Count | None = None  # of a graph
    format: str | None = None
    bytes: Count | None = None
    sha256: str | None = None
    files: dict[Text, Known] = {}


class Inputs(Origin):
    """The input, and its second view."""

    view: Origin | None = None


class Reduced(Shape):
    """PCA ahead of the method."""

    components: Count
    columns: Count
    proportion: Number | None = None  # of the variance


class Sizes(Shape):
    """The size of the embedding."""

    rows: Count
    components: Count
    dropped: Count = 0


class Eigenvalues(Shape):
    """The facts of the spectrum besides spectrum.csv."""

    ranked_by: str = "eigenvalues"
    computed: Count
    complete: bool
    divisor: Annotated[float, Field(gt=0)]
    exponent: Annotated[int, Field(ge=-5000, le=5000)]
    trace: Number | None
    frobenius: Number | None
    negative_share: Number | None = None
    tolerance: Annotated[float, Field(ge=0)]
    further_at_least: list[Number] = []


class Fit(Shape):
    """The figures of a fit: those with a name here, and others that are single, lists, or one for each of many."""

    __pydantic_extra__: dict[str, Figure | str | list[Any] | dict[str, Figure]] = Field(init=False)
    factor_correlations: list[list[Number]] = []
    uniquenesses: dict[str, Number | None] = {}
    log_likelihood: Number | None = None
    dynamics_log_density: Number | None = None
    trace: Number | None = None
    dual_bound: Number | None = None
    duality_gap: Number | None = None
    constraint_violation: Number = 0.0
    converged: bool = True


class Noted(Shape):
    """A warning or a note."""

    code: str
    message: Text


class Stage(Shape):
    """The cost of a stage."""

    stage: str
    seconds: Number
    peak_memory_mib: Number = 0.0


class Library(Shape):
    """A library of linear algebra."""

    library: str
    kernel: str | None
    threads: Count


class Answered(Shape):
    """Whether a stage was taken from a cache, and what made it differ where it was not."""

    stage: str
    taken: bool
    differs: list[str] = []


class Manifest(Shape):
    """run.json."""

    format: Literal[1]
    mlcli: str = ""
    finished: str = ""
    method: Name
    asked: str | None = None  # the hash of the options; none in runs of earlier versions
    input: Inputs
    reduced: Reduced | None = None
    embedding: Sizes
    spectrum: Eigenvalues | None = None  # where the method has one
    fit: Fit
    seed: Annotated[int, Field(ge=0)] = 0  # 2^53 and more in runs of earlier versions
    threads: Count | None = None
    seconds: Number = 0.0
    stages: list[Stage] = []
    cache: list[Answered] | None = None  # where there was one
    warnings: list[Noted] = []
    notes: list[Noted] = []
    versions: dict[str, str | None] = {}
    blas: list[Library] = []
    files: dict[str, Known]


class Fault(Shape):
    """What went wrong."""

    code: str
    exit: Count
    what: str


class Failure(Shape):
    """error.json."""

    error: Fault


class Made(Shape):
    """A check of the certificate."""

    name: str
    value: Number | None = None
    tolerance: Number | None = None
    verdict: str
    how: str = ""


class Certificate(Shape):
    """certificate.json."""

    verdict: str
    checks: list[Made] = []


class Curve(Shape):
    """A figure for every size of neighborhood."""

    neighbors: list[Count]
    values: list[Number]

    @model_validator(mode="after")
    def of_one_length(self) -> "Curve":
        """Refuses values without a size of neighborhood, and vice versa."""
        if len(self.neighbors) != len(self.values):
            raise ValueError("should have as many neighbors as values")
        return self


class Quality(Shape):
    """quality.json."""

    __pydantic_extra__: dict[str, Figure | Name | list[Any] | dict[str, Any]] = Field(init=False)
    anchors: Count | None = None
    exact: bool = True
    neighbors: Count | None = None
    distances: Name | None = None
    q_nx: Curve | None = None


class Interval(Shape):
    """A figure, with how far it would change with other rows."""

    value: Number
    low: Number
    high: Number
    deviation: Number


class Angle(Shape):
    """Between the axes of a run and those of other rows, in degrees."""

    of: Name
    median: Number | None
    at_most: Number | None

    @model_validator(mode="after")
    def of_both(self) -> "Angle":
        """Refuses one figure without the other."""
        if (self.median is None) != (self.at_most is None):
            raise ValueError("should have both figures, or none")
        return self


class Stability(Shape):
    """stability.json."""

    kind: Literal["bootstrap", "subsample"]
    resamples: Count
    failed: Count
    rows: Count
    level: Annotated[Number, Field(gt=0, lt=1)]
    eigenvalues: list[Interval] = []
    shares: list[Interval] = []
    angle: Angle

    @model_validator(mode="after")
    def of_one_length(self) -> "Stability":
        """Refuses shares of other axes than the eigenvalues, where there are both."""
        if self.eigenvalues and self.shares and len(self.eigenvalues) != len(self.shares):
            raise ValueError("should have as many shares as eigenvalues")
        return self


class Recommendation(Shape):
    """How many axes to keep."""

    sentence: str


class Figures(Shape):
    """What decided a rule."""

    residual_variances: list[Number] = []
    line_shares: list[Number] = []


class Rule(Shape):
    """What a rule says."""

    components: Count | None = None
    detail: str | None = None
    rule: str | None = None
    figures: Figures = Figures()


class Dimension(Shape):
    """dimension.json."""

    recommendation: Recommendation
    rules: dict[str, Rule] = {}
    left_out: dict[str, str] = {}
    correlations: list[Number] = []
