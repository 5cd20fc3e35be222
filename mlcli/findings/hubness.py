"""Hubness: how often each point is among the nearest neighbors of others (Radovanović, Nanopoulos, Ivanović, 2010)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.units import percent
from mlcli.base.values.options import Options, option
from mlcli.base.values.sample_size import EXACT, sample_of
from mlcli.findings.finding import File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

NUMBERS = File("hubness.json", Json("mlcli.findings.shapes:HubnessDocument"))
FEWEST = 3  # number of points with a skewness
BLOCK = 2**18  # distances in a block
BARS = 40  # bins of the curve, about


class Hubness(Options):
    """Hubness: how often points are nearest neighbors of others, in data and embedding; null: not measured."""

    neighbors: int = option(10, "Number of nearest neighbors of each point.", ge=1)


class HubnessFinding(Finding[Mapping[str, Any]]):
    """Skewness of the numbers of lists that points are in, and the share of points in none."""

    name = "hubness"
    files = (NUMBERS,)
    option = (Hubness | None, None)
    stage = "Counts how often each point is among the nearest neighbors of others."
    columns = ("hubness_skewness_data", "hubness_skewness", "antihubs_data", "antihubs")

    def compute(self, result: "Result", known: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the counts of rows without missing cells, of many rows for a sample."""
        from mlcli.base.stages.stage import running

        if not result.prepared.rows or not result.prepared.data().apart:
            return None
        with running("hubness"):
            return measure_hubness(result, result.config.report.setting(self.name).neighbors)

    def sections(self, value: Mapping[str, Any], run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the figures as a table, and the number of points by number of lists as curves."""
        from mlcli.report.drawing.html import figure, section, sentence, table
        from mlcli.report.drawing.text import number
        from mlcli.report.figures.curves import curve

        data, embedding = value["data"], value["embedding"]
        rows = [(words, *(shown(part[name]) for part in (data, embedding)), meaning)
                for name, words, shown, meaning in (
                    ("skewness", "skewness", number, "0: counts are symmetric about their mean; large: there are hubs"),
                    ("antihubs", "in no list", percent, "share of points that are in no list"),
                    ("largest", "most lists", number, "number of lists that the largest hub is in"))]
        count = value["neighbors"]
        said = (f"Each of {number(value['rows'])} points has a list of its {count} nearest neighbors, so a point is in "
                f"{count} lists on average; {value['distances']} distances in the data.")
        places, lines = histograms(data["counts"], embedding["counts"])
        drawn = curve("Points by the number of lists that they are in", "lists", "points", places, lines)
        return [(Place.RESULT, section("Hubness", sentence(said, "soft"), table(
            ("measure", "data", "embedding", "meaning"), rows, (1, 2), said=True), figure(
                drawn, "A long tail to the right are hubs, and points at 0 are antihubs.")))]

    def facts(self, value: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return skewness and share of points in no list, of data and embedding."""
        return {} if value is None else {self.name: {
            "neighbors": value["neighbors"],
            "hubness_skewness_data": value["data"]["skewness"], "hubness_skewness": value["embedding"]["skewness"],
            "antihubs_data": value["data"]["antihubs"], "antihubs": value["embedding"]["antihubs"]}}

    def headline(self) -> Sequence[str]:
        """Return all keys of the fact."""
        return ("neighbors", *self.columns)

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return skewness and share of points in no list, in one line."""
        fact = summary.get(self.name)
        if not fact:
            return ()
        skewness = [fact[key] for key in self.columns[:2]]
        first, second = ("none" if value is None else f"{value:.3g}" for value in skewness)
        return (f"hubness: skewness {first} in the data, {second} in the embedding; in no list of {fact['neighbors']} "
                f"neighbors are {percent(fact['antihubs_data'])} and {percent(fact['antihubs'])} of the points",)

    def step(self, plan: "FitPlan", fit: Sequence[Step]) -> Step | None:
        """Return the cost of two lists of neighbors of each point."""
        if not plan.points:
            return None
        from mlcli.base.machine.rates import product_rate, rates

        rows, columns = plan.table.values.shape
        pairs, cores = float(min(rows, EXACT)) ** 2, plan.compute.thread_count()
        return Step(self.name, f"of {min(rows, EXACT)} of {rows} points",
                    pairs * (rates().measured / cores + 2 * columns / product_rate(cores)), plan.memory_after)


def measure_hubness(result: "Result", neighbors: int) -> Mapping[str, Any] | None:
    """Return the content of hubness.json; None where there are too few points."""
    import numpy as np

    from mlcli.base.stages.stage import note
    from mlcli.base.values.scaling import all_finite
    from mlcli.core.similarities.spaces import EuclideanSpace, input_space
    from mlcli.findings.frame.result import as_compared

    table, embedding, seed = result.prepared, result.model.embedding, result.config.compute.seed
    if (sample := result.sample(EXACT)) is not None:
        table, embedding = table.take(sample), embedding[sample]
    rows = np.arange(len(embedding)) if all_finite(table.values) else np.flatnonzero(
        np.isfinite(table.values).all(axis=1))
    rows = rows[sample_of(len(rows), EXACT, result.config.compute.generator())]
    if len(rows) < FEWEST:
        return None
    if len(rows) < result.prepared.rows:
        note("N-HUBNESS-ROWS", f"hubness is counted among {len(rows):,} of {result.prepared.rows:,} rows")
    count = min(neighbors, len(rows) - 1)
    space = input_space(as_compared(result, table), rows)
    return {"rows": len(rows), "neighbors": count, "distances": space.name,
            "data": occurrences(lists(space, rows, count, seed), len(rows)),
            "embedding": occurrences(lists(EuclideanSpace.of(embedding, rows), rows, count, seed), len(rows))}


def lists(space: Any, rows: Indices, count: int, seed: int = 0) -> Indices:
    """Return the `count` nearest neighbors of each point among `rows`, an (m, count) array of positions in `rows`.

    `rows` is an (m,) array. Equal distances are in random order, drawn for each point: in a fixed order early points
    would be hubs.
    """
    import numpy as np

    from mlcli.base.rows.blocks import in_order, row_blocks

    def work(block: slice) -> Indices:
        apart = np.array(space.between(rows[block], rows), dtype=np.float64)
        apart[np.arange(len(apart)), np.arange(block.start, block.stop)] = np.inf
        places = np.broadcast_to(np.arange(len(rows)), apart.shape)
        order = np.random.default_rng([seed, block.start]).permuted(places, axis=1)
        first = np.argpartition(np.take_along_axis(apart, order, axis=1), count - 1, axis=1)[:, :count]
        return np.take_along_axis(order, first, axis=1)

    return np.concatenate(list(in_order(work, row_blocks(len(rows), BLOCK, len(rows)), progress=True)))


def occurrences(near: Indices, size: int) -> dict[str, Any]:
    """Return how often each of `size` points is in lists: N_k, its skewness E(N - μ)³/σ³, and the share in none.

    `near` is an (m, k) array of positions. Source: Radovanović, Nanopoulos and Ivanović, 2010.
    """
    import numpy as np

    numbers = np.bincount(near.ravel(), minlength=size)
    apart: Array = numbers - numbers.mean()
    spread = float(apart.std())
    return {"skewness": float(np.mean(apart**3) / spread**3) if spread > 0 else None,
            "antihubs": float(np.mean(numbers == 0)), "largest": int(numbers.max()),
            "counts": np.bincount(numbers).tolist()}


def histograms(*counts: list[int]) -> tuple[list[float], dict[str, Sequence[float]]]:
    """Return the middles of about 40 bins, and the number of points in each: in the data, and in the embedding."""
    width = -(-max(map(len, counts)) // BARS)
    bins = -(-max(map(len, counts)) // width)
    padded = [[*count, *[0] * (bins * width - len(count))] for count in counts]
    sums = [[float(sum(count[place * width:(place + 1) * width])) for place in range(bins)] for count in padded]
    return [place * width + (width - 1) / 2 for place in range(bins)], dict(
        zip(("data", "embedding"), sums, strict=True))
