"""The chains whose kernel is computed from the distances of all pairs of points, or of landmarks."""

from dataclasses import replace
from functools import cached_property
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import FIRST_TOUCH, pass_cost, rates
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Features, Spatial
from mlcli.core.centering import uncentered
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.landmark_error import sample_count, sample_rows, with_errors, with_errors_by_products
from mlcli.core.chain.nystrom import place_features, place_rows, placing_memory, placing_passes
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.eigen.eigensolve import NOTABLE
from mlcli.core.eigen.options import choose_landmarks, landmark_step
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.euclidean_distances import gower, halve
from mlcli.core.kernels.corrections import Correction, correction_for
from mlcli.core.kernels.forms import CACHED, Dense, gower_steps
from mlcli.core.kernels.square import corrected_rows, distance_products
from mlcli.core.kernels.streamed import fits_in_memory
from mlcli.core.linalg import solve_cost
from mlcli.core.metrics.distances import is_euclidean, metric_of, seconds_of_squares, squares
from mlcli.core.model import Model
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.kernels import Distances, GivenDistances
from mlcli.core.similarities.projector import linear_decoder


def kernel_of_function(chain: ChainInput, halved: Array, base: Any, tolerance: float = 0.0) -> tuple[Dense, Any]:
    """Return the kernel of -δ²/2 (n x n, overwritten), or of a function of δ, and the similarity of new points."""
    if not chain.kernel.bent:
        return Dense.of(halved, tolerance), base
    with running("kernel"):
        function = chain.kernel.for_halved(halved, chain.data.unit)
        each(lambda rows: function.of_halved(halved[rows]), row_blocks(len(halved), CACHED))
    from mlcli.core.similarities.of_distances import OfDistances

    similarity = OfDistances(base, function)
    if chain.stages.centering == "none":
        return Dense(halved, uncentered(len(halved)), tolerance), similarity
    return Dense.of(halved, tolerance), similarity


COPIES = {"lingoes": 3.0, "cailliez": 5.0}  # n x n matrices at once
COPIED = 1.5  # of the memory of distances that they take if they are to be held, with what the solver takes
ENTRY = 6  # passes over memory that an entry of the kernel of landmarks takes
SPECTRA = {"lingoes": 0.5, "cailliez": 4.0}  # whole spectra that take as long


def distance_chain(chain: ChainInput) -> Composition[Model]:
    """Return the computation from distances: of landmarks, of all pairs in memory or not, or of a matrix in a file."""
    if chain.stages.landmarks is not None:
        return LandmarkChain(chain)
    rows = rows_of(chain.data.values)
    if rows is None and held_in_memory(chain):
        return PairwiseChain(chain)
    if rows is None:
        from mlcli.core.chain.streamed_distances import StreamedChain

        return StreamedChain(chain)
    from mlcli.core.chain.file_distances import FileChain

    return FileChain(chain, rows)


def held_in_memory(chain: ChainInput) -> bool:
    """Whether the distances of all pairs are held: few ones, those that take long to compute, if they fit, and others
    that only a matrix in memory serves.
    """
    eigensolve, metric = chain.stages.eigensolve, metric_of(chain.data)
    whole = eigensolve.components == "all" or eigensolve.solver == "dense" or chain.stages.correction != "none"
    if whole or chain.kernel.bent or not isinstance(chain.data, Features):
        return True
    slow = not (metric.embeds or metric.shared_seconds)
    return fits_in_memory(chain.size, chain.compute) or (
        slow and COPIED * 8 * chain.size**2 <= chain.compute.memory_bytes())


@frozen
class PairwiseChain(Composition[Model]):
    """Coordinates from the distances D of all pairs: K = -H D² H / 2, or a function of D."""

    chain: ChainInput
    landmarks: Indices | None = None  # the points that are taken, where these are not all (m)
    beside: float = 0.0  # bytes of what else is in memory

    @cached_property
    def data(self) -> Spatial:
        """The points that are taken."""
        return self.chain.spatial if self.landmarks is None else self.chain.spatial.take(self.landmarks)

    @property
    def count(self) -> int:
        """The number of points, before any are taken."""
        return self.chain.stages.landmarks or self.chain.size

    @property
    def held(self) -> float:
        """Bytes of distances, of corrected ones besides, and of what else is in memory."""
        return (1 + (self.chain.stages.correction != "none")) * 8.0 * self.count**2 + self.beside

    @property
    def whole(self) -> bool:
        """Whether all points are taken, so that memory grows with the square of their number."""
        return self.chain.stages.landmarks is None

    @property
    def remedy(self) -> str:
        """What takes less memory."""
        if self.chain.kernel.bent:
            of_points = isinstance(self.chain.data, Features)
            return "use kernel gaussian, which is streamed" if of_points else "give fewer points"
        return "of features, pca gives the same embedding in little memory; or " * metric_of(
            self.chain.data).plain + "use landmarks"

    @FitStage
    def squared(self) -> Array:
        """D² (n x n), overwritten by the kernel."""
        with running("distances"):
            return squares(self.data)

    @squared.cost
    def _(self) -> list[Step]:
        seconds = seconds_of_squares(self.chain.spatial, self.count, self.chain.compute.thread_count())
        return [Step("distances", f"{self.count} x {self.count}, in memory",
                     seconds + FIRST_TOUCH * pass_cost(self.count**2), self.held, remedy=self.remedy,
                     square=self.whole)]

    @FitStage
    def correction(self) -> Correction:
        """The constant that makes D Euclidean, if it is asked for."""
        return correction_for(self.squared, self.chain.stages.correction, self.data.unit)

    @correction.cost
    def _(self) -> list[Step]:
        rule = self.chain.stages.correction
        if rule == "none":
            return []
        return [Step("correction", rule, SPECTRA[rule] * solve_cost(self.count, self.chain.compute.thread_count()),
                     COPIES[rule] * 8.0 * self.count**2 + self.beside, remedy=self.remedy, square=self.whole)]

    @FitStage
    def kernel(self) -> tuple[Dense, Any]:
        """K, and the similarity of new points."""
        with running("kernel"):
            halved = halve(self.correction.off_diagonal(self.squared))
        return kernel_of_function(self.chain, halved, self.of_new)

    @kernel.cost
    def _(self) -> list[Step]:
        return gower_steps(self.count**2, self.held, self.remedy, square=self.whole, bent=self.chain.kernel.bent,
                           centered=self.chain.double)

    @property
    def of_new(self) -> Distances | GivenDistances:
        """-D²/2 of new points."""
        if isinstance(self.data, Features):
            return Distances(self.data.values, self.correction, metric_of(self.data))
        return GivenDistances(self.correction, self.landmarks)

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = V Λ Vᵀ."""
        return solve_spectrum(self.chain, self.kernel[0], len(self.squared) - self.chain.double,
                              NOTABLE if self.chain.kernel.bent else 0.0)

    @spectrum.cost
    def _(self) -> list[Step]:
        return [self.chain.stages.eigensolve.step(self.count, self.chain.compute.thread_count(), self.held, self.remedy,
                                           square=self.whole)]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        data, correction, similarity, plain = self.data, self.correction, self.kernel[1], not self.chain.kernel.bent
        products = distance_products(
            len(self.squared), corrected_rows(data, correction), self.spectrum.centering,
            gower if plain else lambda squares: similarity.function.of_halved(gower(squares)))
        bent = not is_euclidean(data) or correction.constant or not plain
        return build_fit(self.chain, self.spectrum, similarity, products=products,
                         decoder=None if bent else linear_decoder(data.values, self.spectrum))


@frozen
class LandmarkChain(Composition[Model]):
    """Coordinates of landmarks from their distances, which then place all points."""

    chain: ChainInput

    @property
    def placing(self) -> float:
        """Bytes that placing all points takes."""
        chain, count, points = self.chain, self.chain.stages.landmarks or 0, self.chain.data.values
        return placing_memory(rows_of(points), points=len(points), landmarks=count,
                              axes=chain.stages.eigensolve.wanted(count), threads=chain.compute.thread_count())

    @FitStage
    def of_landmarks(self) -> Model:
        """The fit of points of a random sample."""
        chain = self.chain
        landmarks = choose_landmarks(chain.size, chain.stages.landmarks or 0, chain.compute.generator())
        return PairwiseChain(chain, landmarks).fit()

    @of_landmarks.cost
    def _(self) -> list[Step]:
        return PairwiseChain(self.chain, beside=self.placing).steps()

    @FitStage
    def placed(self) -> Model:
        """All points by their distances from the landmarks, by the formula of new points (Gower's interpolation)."""
        points = self.chain.data.values
        rows = rows_of(points)
        with running("coordinates"):
            if self.chain.stages.correction != "none":  # not of blocks; its constant is that of the landmarks
                return place_features(self.of_landmarks, points)
            sample = self.sample
            to_sample, double = self.similarity_to(sample), self.chain.double
            if rows is not None:
                placed, products = place_rows(self.of_landmarks, rows, to_sample)
                return with_errors_by_products(placed, sample, products, centered=double)
            return with_errors(place_features(self.of_landmarks, points), sample,
                               lambda some: to_sample.rows(points[some]), centered=double)

    @property
    def sample(self) -> Indices:
        """The points (s) whose rows of the whole kernel bound the errors of the axes."""
        count, axes = self.chain.stages.landmarks or 0, self.of_landmarks.embedding.shape[1]
        return sample_rows(len(self.chain.data.values), count, axes, self.chain.compute)

    def similarity_to(self, sample: Indices) -> Similarity:
        """Return the similarity of points to some of them (s), not to the landmarks."""
        similarity: Any = self.of_landmarks.required_projector.similarity
        base = similarity.base if self.chain.kernel.bent else similarity
        to_sample = replace(base, points=self.chain.data.values[sample]) if isinstance(base, Distances) else replace(
            base, landmarks=sample)
        return replace(similarity, base=to_sample) if self.chain.kernel.bent else to_sample

    @placed.cost
    def _(self) -> list[Step]:
        count, points = self.chain.stages.landmarks or 0, self.chain.data.values
        axes, rows = self.chain.stages.eigensolve.wanted(count), rows_of(points)
        sampled = 0 if self.chain.stages.correction != "none" else sample_count(len(points), count, axes)
        step, seconds = landmark_step(count, len(points), self.placing, sampled), self.seconds(count + sampled)
        if rows is None:
            return [replace(step, seconds=seconds)]
        threads = self.chain.compute.thread_count()
        return [replace(step, seconds=seconds, passes=placing_passes(rows, count + sampled, axes, seconds * threads))]

    def seconds(self, count: int) -> float:
        """Return the seconds of the kernel between all points and `count` ones, and of its products with axes."""
        chain, threads, metric = self.chain, self.chain.compute.thread_count(), metric_of(self.chain.data)
        size, columns = chain.data.values.shape
        apart = 0.0 if not isinstance(chain.data, Features) else columns * (
            2 * rates().product if metric.plain else metric.column_seconds)
        entry = apart + rates().bent * chain.kernel.bent + pass_cost(ENTRY)
        return float(size * count * entry / threads)

    def result(self) -> Model:
        """Return all points as they are placed."""
        return self.placed
