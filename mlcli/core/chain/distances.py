"""The chains whose kernel is computed from the distances of all pairs of points, or of landmarks."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Features, Spatial
from mlcli.core.centering import uncentered
from mlcli.core.chain.input import ChainInput, Fitted
from mlcli.core.chain.nystrom import place_features, place_rows, placing_memory, placing_passes
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.costs import FIRST, gower_steps, pass_cost, solve_cost
from mlcli.core.distances import gower, halve
from mlcli.core.eigen.eigensolve import NOTABLE
from mlcli.core.eigen.options import choose_landmarks, landmark_step
from mlcli.core.kernels.corrections import correction_for
from mlcli.core.kernels.file_rows import FILE_TOLERANCE, FileRows, file_steps
from mlcli.core.kernels.forms import CACHED, Dense
from mlcli.core.kernels.square import corrected_rows, distance_products
from mlcli.core.kernels.streamed import Streamed
from mlcli.core.metrics.points import is_euclidean, metric_of, seconds_of_squares, squares
from mlcli.core.similarities.decoders import linear_decoder
from mlcli.core.similarities.kernels import Distances, GivenDistances


def kernel_of_function(chain: ChainInput, halved: Array, base: Any, tolerance: float = 0.0) -> tuple[Dense, Any]:
    """Return the kernel of -δ²/2 (n x n, overwritten), or of a function of δ, and the similarity of new points."""
    if not chain.kernel.bent:
        return Dense.of(halved, tolerance), base
    with running("kernel"):
        function = chain.kernel.for_halved(halved, chain.data.unit)
        each(lambda rows: function.of_halved(halved[rows]), row_blocks(len(halved), CACHED))
    from mlcli.core.similarities.of_distances import OfDistances

    similarity = OfDistances(base, function)
    if chain.centering == "none":
        return Dense(halved, uncentered(len(halved)), tolerance), similarity
    return Dense.of(halved, tolerance), similarity


def drop_centering(chain: ChainInput, steps: list[Step]) -> list[Step]:
    """Return the steps, without centering where the chain has none."""
    return steps if chain.centering == "double" else [step for step in steps if step.stage != "centering"]


COPIES = {"lingoes": 3.0, "cailliez": 5.0}  # n x n matrices at once
SPECTRA = {"lingoes": 0.5, "cailliez": 4.0}  # whole spectra that take as long


@frozen
class PairwiseChain:
    """Coordinates from the distances of all pairs, or of landmarks, which then place the others."""

    chain: ChainInput

    def steps(self, share: float | None) -> list[Step]:
        """Return the steps of distances of all pairs in memory, their kernel and its spectrum."""
        chain, data, rows = self.chain, self.chain.data, rows_of(self.chain.data.values)
        if rows is not None and chain.landmarks is None:
            return file_steps(rows, chain.compute.thread_count())
        count, threads = chain.landmarks or len(data.values), chain.compute.thread_count()
        square, remedy = 8.0 * count**2, self._instead()
        placing = 0.0 if chain.landmarks is None else placing_memory(
            rows, points=len(data.values), landmarks=count, axes=chain.eigensolve.wanted(count), threads=threads)
        held, whole = (1 + (chain.correction != "none")) * square + placing, chain.landmarks is None
        steps = [Step("distances", f"{count} x {count}, in memory",
                      seconds_of_squares(chain.spatial, count, threads) + FIRST * pass_cost(count**2), held,
                      remedy=remedy, square=whole)]
        if chain.correction != "none":
            steps += [Step("correction", chain.correction, SPECTRA[chain.correction] * solve_cost(count, threads),
                           COPIES[chain.correction] * square + placing, remedy=remedy, square=whole)]
        steps += [*gower_steps(count**2, held, remedy, square=whole, bent=chain.kernel.bent),
                  chain.eigensolve.step(count, threads, held, remedy, square=whole)]
        return drop_centering(chain, steps if whole else [*steps, self._placing_step(count, placing)])

    def _placing_step(self, count: int, memory: float) -> Step:
        """Return the step that places all points by landmarks; `memory` is its bytes."""
        points, rows = len(self.chain.data.values), rows_of(self.chain.data.values)
        step, axes = landmark_step(count, points, memory), self.chain.eigensolve.wanted(count)
        return step if rows is None else replace(step, passes=placing_passes(rows, count, axes, step.seconds))

    def _instead(self) -> str:
        """Return the remedy that takes less memory."""
        if self.chain.kernel.bent:
            of_points = isinstance(self.chain.data, Features)
            return "use kernel gaussian, which is streamed" if of_points else "give fewer points"
        return "of features, pca gives the same embedding in little memory; or " * metric_of(
            self.chain.data).plain + "use landmarks"

    def fit(self) -> Fitted:
        """Return the fit of all points, or of landmarks, which then place the others."""
        data, count = self.chain.spatial, self.chain.landmarks
        rows = rows_of(data.values)
        if count is None:
            return self.fit_to(data) if rows is None else self._by_passes(rows)
        landmarks = choose_landmarks(len(data.values), count, self.chain.compute.generator())
        fit = self.fit_to(data.take(landmarks), landmarks)
        with running("coordinates"):
            return place_rows(fit, rows) if rows is not None else place_features(fit, data.values)

    def _by_passes(self, rows: Rows) -> Fitted:
        """Return the fit of K = -H D² H / 2 with a matrix in a file, which is only applied to vectors."""
        correction = correction_for(np.zeros((0, 0)), "none", self.chain.data.unit)
        kernel = Streamed(FileRows(rows), FILE_TOLERANCE)
        spectrum = solve_spectrum(self.chain, kernel, len(rows) - 1, 0.0)
        return build_fit(self.chain, spectrum, GivenDistances(correction, None))

    def fit_to(self, data: Spatial, landmarks: Indices | None = None) -> Fitted:
        """Return the fit of K = -H D² H / 2, or of a function of D.

        `landmarks` is an (m,) array with the indices of the data's points among all n; None where these are all.
        """
        chain = self.chain
        with running("distances"):
            squared = squares(data)
        correction = correction_for(squared, chain.correction, data.unit)
        with running("kernel"):
            halved = halve(correction.off_diagonal(squared))
        base = Distances(data.values, correction, metric_of(data)) if isinstance(data, Features) else GivenDistances(
            correction, landmarks)
        kernel, similarity = kernel_of_function(chain, halved, base)
        plain = similarity is base
        limit = len(squared) - (chain.centering == "double")
        spectrum = solve_spectrum(chain, kernel, limit, 0.0 if plain else NOTABLE)
        bent = not is_euclidean(data) or correction.constant or not plain
        products = distance_products(
            len(squared), corrected_rows(data, correction), spectrum.centering,
            gower if plain else lambda squares: similarity.function.of_halved(gower(squares)))
        return build_fit(chain, spectrum, similarity, products=products,
                         decoder=None if bent else linear_decoder(data.values, spectrum))
