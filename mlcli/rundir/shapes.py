"""The shapes of run.json, certificate.json and error.json, as far as they are used later; they may hold more."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mlcli.base.values.file_names import Text
from mlcli.base.values.shape import Count, Figure, Name, Number, Shape, Whole


def _in_folder(name: str) -> str:
    """Return the name of a file in the folder of the run itself; raises ValueError for a path to another place."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name[:80]!r} is no name of a file in its folder")
    return name


OwnName = Annotated[Text, AfterValidator(_in_folder)]


class Known(Shape):
    """Size and hash of a file."""

    bytes: Count
    sha256: str


class Origin(Shape):
    """The input: a file, or the files of a run."""

    path: Text
    absolute: Text | None = None  # where the path led
    kind: str = ""
    rows: Count
    columns: Count
    edges: Count | None = None  # of a graph
    format: str | None = None
    bytes: Count | None = None
    sha256: str | None = None
    files: dict[Text, Known] = Field(default={})


class Inputs(Origin):
    """The input, and its second view, which may have a further one."""

    view: "Inputs | None" = None


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
    ids: Literal["given", "invented"] | None = None  # what earlier versions did not say


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
    further_at_least: list[Number] = Field(default=[])
    shared: list[Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=2)]] = Field(default=[])


class Fit(Shape):
    """The figures of a fit: those with a name here, and others that are single, lists, or one for each of many."""

    __pydantic_extra__: dict[str, Figure | str | list[Any] | dict[str, Figure]] = Field(init=False)
    factor_correlations: list[list[Number]] = Field(default=[])
    uniquenesses: dict[str, Number | None] = Field(default={})
    log_likelihood: Number | None = None
    dynamics_log_density: Number | None = None
    trace: Number | None = None
    stress: Annotated[Number, Field(ge=0, lt=2**500)] | None = None  # its square is shown, too
    linear_r_squared: Number | None = None
    a: Number | None = None  # of umap's curve
    b: Number | None = None
    explained_share: Number | None = None  # of a constrained ordination
    pseudo_F: Number | None = None
    p_value: Number | None = None
    permutations: Count | None = None
    radius_correlation: Number | None = None
    time: Whole | Number | None = None  # a page shows it as it is
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
    differs: list[str] = Field(default=[])


class Added(Shape):
    """A name that another package adds to a table of the program."""

    table: str
    name: Name
    package: str
    version: str = ""


class Portable(Shape):
    """What results depend on, where they are the same on other machines."""

    architecture: str
    instructions: str
    mlcli: str
    python: str
    numpy: str
    scipy: str
    blas: list[str]
    c_library: str


class Ancestor(Shape):
    """A run that the map of a run grew from."""

    run: Text
    absolute: Text | None = None
    sha256: str  # of its run.json
    finished: str = ""
    rows: Count


class Moves(Shape):
    """How far rows moved from their places in a former map."""

    median: Number
    largest: Number


class Onto(Ancestor):
    """The run whose map a run added rows to, and how."""

    way: Literal["fixed", "refit", "tied"]
    weight: Number | None = None  # of the penalty of rows that are tied to their places
    moved: Moves | None = None  # how far these moved
    old: Count
    new: Count
    again: Count = 0
    changed: Count = 0
    placed: Count = 0
    fit_rows: Count | None = None  # of the fit whose figures are those of this run; None where they are of all rows
    m2: Number | None = None  # of rows that were fitted anew and turned onto the former map
    ancestors: list[Ancestor] = Field(default=[])  # the first one first


class Manifest(Shape):
    """run.json."""

    format: Literal[1]
    mlcli: str = ""
    finished: str = ""
    method: Name
    plugins: list[Added] = Field(default=[])
    asked: str | None = None  # the hash of the options; none in runs of earlier versions
    input: Inputs
    held_out: Annotated[int, Field(ge=0)] = 0  # rows that were read and not fitted
    reduced: Reduced | None = None
    onto: Onto | None = None
    embedding: Sizes
    spectrum: Eigenvalues | None = None  # where the method has one
    fit: Fit
    seed: Annotated[int, Field(ge=0)] = 0  # 2^53 and more in runs of earlier versions
    threads: Count | None = None
    seconds: Number = 0.0
    stages: list[Stage] = Field(default=[])
    cache: list[Answered] | None = None  # where there was one
    warnings: list[Noted] = Field(default=[])
    notes: list[Noted] = Field(default=[])
    facts: list[Noted] = Field(default=[])
    versions: dict[str, str | None] = Field(default={})
    portable: Portable | None = None
    blas: list[Library] = Field(default=[])
    files: dict[OwnName, Known]


class StoredError(Shape):
    """An error."""

    code: str
    exit: Count
    what: str


class Failure(Shape):
    """error.json."""

    error: StoredError


class StoredCheck(Shape):
    """A `Check` as certificate.json has it."""

    name: str
    value: Number | None = None
    tolerance: Number | None = None
    verdict: str
    how: str = ""


class StoredCertificate(Shape):
    """certificate.json."""

    verdict: str
    checks: list[StoredCheck] = Field(default=[])
