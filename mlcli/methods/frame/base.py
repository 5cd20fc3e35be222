"""What all methods share: the frame of a fit, and what a method declares."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Input, TwoViews, WeightedGraph
from mlcli.base.values.options import Options
from mlcli.base.values.products import Name
from mlcli.errors import ConfigError
from mlcli.methods.frame.memory import require_memory
from mlcli.methods.frame.model import Model, Powers
from mlcli.methods.frame.trials import Seen, Trials
from mlcli.methods.frame.variants import Way, way
from mlcli.stages.algebra.metrics import EUCLIDEAN, Metric
from mlcli.stages.algebra.metrics.points import with_metric
from mlcli.stages.chain.chain_input import Composition
from mlcli.stages.chain.stages import Stages
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.graph.neighbors import SAME_BOTH_WAYS, Neighbors
from mlcli.stages.similarities import NoProjection


class Method(Options):
    """A method: a frozen declaration of its stages, and `solve`, which composes them."""

    accepts: ClassVar[tuple[type[Given], ...]]
    # data of a size between 2**-unscaled and 2**unscaled is taken as it is, without a scaled copy
    unscaled: ClassVar[int] = 0
    powers: ClassVar[Powers] = Powers(1, 2)  # of the data's unit that coordinates and spectrum carry
    # What the certificate may check of the result: coordinates are V √λ of the kernel that the projector's similarity
    # gives; √n V of (I - W)ᵀ(I - W) with its weights; V √λ of another kernel; scores of the latent model that makes
    # the data most likely; or only what `identities` says.
    proof: ClassVar[Literal["kernel", "weights", "spectrum", "latent", "own"]] = "own"
    missing: ClassVar[bool] = False  # whether it takes features with missing cells
    ranked_by: ClassVar[str | None] = "eigenvalues"  # what spectrum.csv holds; None: there is no spectrum
    axis: ClassVar[str] = "Axis"  # what the field calls an axis, before its number
    decodes: ClassVar[str | None] = ""  # when coordinates lead back to features, in words: always; None: never
    in_blocks: ClassVar[str | None] = None  # when it takes features in blocks of rows, in words: always; None: never
    unsure: ClassVar[bool] = False  # whether its decoder says how sure it is
    aliases: ClassVar[tuple[str, ...]] = ()  # other names that people type
    rules: ClassVar[tuple[str, ...]] = ("broken_stick", "elbow", "two_nn")  # that may say how many axes, best first
    # which linear-Gaussian model the columns may be rows of: with equal noise in all, or noise of its own in each
    columns_model: ClassVar[Literal["none", "equal noise", "own noise"]] = "none"
    scaleless: ClassVar[bool] = False  # whether coordinates have no scale, and eigenvalues are not variances
    loaded: ClassVar[bool] = True  # whether each column has loadings on the axes; of a chain its kernel says so
    shares: ClassVar[bool] = True  # whether an eigenvalue over the trace is a share of variance
    isometric: ClassVar[bool] = False  # whether all axes together keep the distances of features
    # whether rows may be drawn again, as their order says nothing, of a method with neither a chain nor such a model
    redrawn: ClassVar[bool] = False
    ways: ClassVar[tuple[Way, ...]] = (way(),)  # that compute something else
    baseline: ClassVar[bool] = False  # whether it is linear: what others have to beat in `mlcli explore`
    digits: ClassVar[float] = 1e-9  # relative difference of coordinates between runs that are the same by a law
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        name: str
        neighbors: Neighbors = Neighbors()  # of a method on neighbors
        eigensolve: Eigensolve = Eigensolve()  # or, of a method without an eigenproblem:
        axes: Axes = Axes()

    @classmethod
    def holds(cls) -> str:
        """What spectrum.csv holds, in a sentence."""
        return f"spectrum.csv holds {cls.ranked_by}." if cls.ranked_by else "There is no spectrum.csv."

    @classmethod
    def trials(cls, seen: Seen) -> Trials:
        """The settings that `mlcli explore` tries on such an input: none, unless a method says which."""
        return Trials()

    def fit(self, data: Input, compute: Compute) -> Model:
        """The model of the data, computed in units that keep squares in range; raises DataError and RefusedByPlan."""
        with running("prepare"):
            normalized = self.in_range(data)
        self.require_memory(self.known(normalized, compute), normalized, compute)
        model = self.measured_in(normalized.unit).solve(normalized, compute)
        return model.in_units(normalized, self.powers_of(data))

    def in_range(self, data: Input) -> Any:
        """The data as the method compares it, in units that keep squares in range; raises DataError."""
        compared = self.with_metric(data)
        compared.require_scales()
        return compared.normalized(self.unscaled)

    def with_metric(self, data: Input) -> Input:
        """The data as the method compares it: features under its metric; raises DataError outside of its domain."""
        return with_metric(self.distance, data)

    @property
    def free_scale(self) -> bool:
        """Whether distances of coordinates are of no size that those of the data could have."""
        return self.scaleless or self.powers.coordinates == 0

    def axis_names(self, proportions: Sequence[float | None], count: int) -> list[str]:
        """What figures write beside so many axes: the field's word, the number, and the share of variance if known."""
        known = [*(proportions if self.shares and not self.scaleless else ()), *[None] * count]
        return [f"{self.axis} {place}" + ("" if share is None else f" ({share:.1%})")
                for place, share in enumerate(known[:count], start=1)]

    @property
    def distance(self) -> Metric:
        """The metric that features are compared by: Euclidean where there is no choice."""
        return getattr(self, "metric", EUCLIDEAN)

    def resolve(self, data: Input) -> Self:
        """This method with defaults clipped to the data; raises ConfigError where an explicit option does not fit."""
        self.require(data)
        resolved = self.axes_options.resolved(self.limit(data), self.eigenvalues(data))
        return self.replace(**{self.axes_section(): resolved}, **self.resolved_stages(data))

    def require_kind(self, kind: str, missing: str = "error") -> None:
        """Raises ConfigError where the method cannot take this kind of input, or missing cells left in it."""
        kinds = list(dict.fromkeys(accepted.kind for accepted in self.accepts))
        if kind not in kinds:
            raise ConfigError("KIND", f"{self.name} takes {' or '.join(kinds)}, not {kind}", where="input.kind",
                              hint="choose another method, or give the data in another form")
        if missing == "model" and not self.missing:
            raise ConfigError("NO-MODEL", f"{self.name} has no model of missing cells", where="prepare.missing",
                              hint="ppca, fa and lgssm have one; or choose error, drop or mean")

    def require(self, data: Input) -> None:
        """Raises ConfigError where the data lacks what the method needs, or has a view it has no use for."""
        self.require_kind(data.kind)
        if isinstance(data, TwoViews) and not any(issubclass(accepted, TwoViews) for accepted in self.accepts):
            raise ConfigError("VIEW", f"{self.name} has no use for a second view", where="input.view",
                              hint="leave it out, or choose cca or ibfa")
        if not (self.distance.plain or isinstance(data, Features)):
            raise ConfigError("METRIC", f"the metric {self.distance.name} was chosen, and it compares features, not "
                              f"{data.kind}", where="method.metric", hint="leave it out, or give features")
        if not isinstance(data, self.accepts):
            needs = next(accepted.needs for accepted in self.accepts if accepted.kind == data.kind)
            raise ConfigError("NEEDS", f"{self.name} needs {needs.partition(';')[0]}", where="input",
                              hint=needs.partition(";")[2].strip())

    def with_components(self, count: int) -> Self:
        """This method with the count of axes that were kept in the end; a share of variance stays a share."""
        if not isinstance(self.axes_options.components, int) or self.axes_options.components == count:
            return self
        return self.with_axes(count)

    def with_axes(self, count: int) -> Self:
        """This method with so many axes, whatever said before how many."""
        return self.replace(**{self.axes_section(): self.axes_options.replace(components=count)})

    @classmethod
    def axes_section(cls) -> str:
        """The section that says how many axes are kept: `axes` where there is no eigenproblem."""
        return "axes" if "axes" in cls.model_fields else "eigensolve"

    @property
    def axes_options(self) -> Eigensolve | Axes:
        """How many axes are kept."""
        return self.axes if self.axes_section() == "axes" else self.eigensolve

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """What a fit of such an input makes on the way to its coordinates, of what a run may keep."""
        chain = self.chain(kind)
        return () if chain is None else chain.makes(kind)

    def require_products(self, wanted: Sequence[Name], kind: str, where: str) -> None:
        """Raises ConfigError where something is to be kept that the fit does not make."""
        made = self.makes(kind)
        for name in wanted:
            if name not in made:
                raise ConfigError("KEEP", f"{name} cannot be kept: {self.name} makes none with these options",
                                  where=where,
                                  hint=f"it makes {' and '.join(made)}" if made else "leave it out")

    def resampling(self, kind: str) -> Literal["bootstrap", "subsample"] | None:
        """How rows are drawn again to see how stable a result is: all of them with repetition, or some of them without,
        of a neighbor graph, in which repeated rows would be neighbors. None where they cannot be.
        """
        chain = self.chain(kind)
        free = chain is not None or self.columns_model != "none" or self.redrawn
        if kind not in (Features.kind, Dissimilarities.kind) or not free:
            return None
        return "bootstrap" if chain is None or chain.graph is None else "subsample"

    def leads_back(self, kind: str) -> bool:
        """Whether coordinates of such an input are known to lead back to features, with these options."""
        chain = self.chain(kind)
        return self.decodes is not None and kind == Features.kind and (chain is None or chain.linear)

    def require_loadings(self, kind: str, where: str) -> None:
        """Raises ConfigError where something was chosen that needs loadings of the columns and there are none."""
        chain = self.chain(kind)
        if kind != Features.kind or not (self.loaded if chain is None else chain.by_columns):
            raise ConfigError("NO-LOADINGS", f"{self.name} has no loadings of columns here", where=where,
                              hint="leave it out, or choose a linear method of features, as pca, fa or lda")

    def require_decoder(self, kind: str, where: str) -> None:
        """Raises ConfigError where something was chosen that needs a way back to features and there is none."""
        if not self.leads_back(kind):
            condition = f"; {self.name} has one with: {self.decodes}" if self.decodes else ""
            raise ConfigError("NO-DECODER", f"{self.name} has no way from coordinates back to features here",
                              where=where, hint=f"leave it out{condition}")

    def streams(self, kind: str) -> bool:
        """Whether it takes such an input where that is read in blocks of rows; a method with conditions says it."""
        return kind == "features" and self.in_blocks == ""

    def requires(self) -> tuple[str, ...]:
        """The extras that these options need."""
        return ()

    def tables(self) -> tuple[str, ...]:
        """The options that ask for a file of their own."""
        return ()

    def reproduces(self) -> bool:
        """Whether projecting a training row gives the coordinates that the row has."""
        return True

    def identities(self, data: Any, model: Model, full: bool = False) -> list[Check]:
        """Equations of this method's own for the certificate, its kernel's by default; in the computation's units.

        With `full`, of all rows, however long that takes.
        """
        chain = self.chain(data.kind)
        if chain is None or isinstance(model.projector, NoProjection):
            return []
        return chain.kernel.identities(model.projector.similarity, data, model.embedding, model.ranks,
                                       chain.coordinates, full=full)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Stages other than the eigensolve whose defaults depend on the data: neighbors, at most n - 1 of them."""
        if "neighbors" not in type(self).model_fields:
            return {}
        if isinstance(data, WeightedGraph):
            searching = "neighbors.radius", "neighbors.count", "graph"
            return self.refuse_unused("the graph is given", *(path for path in searching if path.partition(
                ".")[0] in type(self).model_fields))
        if self.neighbors.radius is not None and "graph" in type(self).model_fields:
            self.refuse_unused(SAME_BOTH_WAYS, "graph")
        return {"neighbors": self.neighbors.resolved(len(data.values))}

    def limit(self, data: Input) -> int:
        """The most axes that data of this shape can have."""
        return (self.landmark_count(data) or len(data.values)) - 1

    def eigenvalues(self, data: Input) -> int:
        """How many eigenvalues there are, zeros included."""
        return self.landmark_count(data) or len(data.values)

    def landmark_count(self, data: Input) -> int | None:
        """The number of landmarks, where some are asked for; raises ConfigError where there are too many."""
        count: int | None = getattr(self, "landmarks", None)
        if count is not None and count > len(data.values):
            raise ConfigError("LANDMARKS", f"{count} landmarks were asked for and there are {len(data.values)} points",
                              where="method.landmarks", hint="ask for fewer, or leave landmarks out")
        return count

    def stored(self, data: Input) -> float:
        """The bytes of training rows that the model holds: all, or the landmarks; none of a method of columns."""
        chain = self.chain(data.kind)
        if chain is None or data.points is None or (chain.kernel.by_columns and chain.centering != "double"):
            return 0.0
        return 8.0 * data.points.size * (self.landmark_count(data) or len(data.values)) / max(len(data.values), 1)

    def axes_of(self, data: Input) -> int:
        """How many axes are kept; of a share of the variance, as if all were."""
        kept = self.axes_options.components
        return kept if isinstance(kept, int) else self.limit(data)

    def powers_of(self, data: Input) -> Powers:
        """The powers of the data's unit that coordinates and spectrum carry, where the options decide on them."""
        return self.powers

    def known(self, data: Any, compute: Compute) -> list[Step]:
        """The steps whose memory the data alone decide; where a graph decides on the rest, `solve` checks them."""
        chain = self.chain(data.kind)
        searching = None if chain is None else chain.search_steps(data, compute)
        return self.steps(data, compute, None) if searching is None else searching

    def require_memory(self, steps: Sequence[Step], data: Input, compute: Compute) -> None:
        """Refuses a fit of these steps before it starts; raises RefusedByPlan."""
        require_memory(steps, data, self, compute)

    def chain(self, kind: str = "features") -> Stages | None:
        """The chain of stages that this method is for such an input; None where it is none."""
        return None

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """The stages of a fit with their costs; with a share, that part of the most expensive work is measured."""
        return self._composed(data, compute).steps(share)

    def solve(self, data: Any, compute: Compute) -> Model:
        """The method's formula: its chain's, or its own."""
        return Model.of_chain(self._composed(data, compute).fitted(), data)

    def _composed(self, data: Any, compute: Compute) -> Composition:
        chain = self.chain(data.kind)
        if chain is None:
            raise NotImplementedError
        return chain.compose(data, compute, lambda steps, rows: require_memory(steps, rows, self, compute))
