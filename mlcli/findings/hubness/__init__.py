"""Hubness: how often each point is among the nearest neighbors of others (Radovanović, Nanopoulos, Ivanović, 2010)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlcli.base.stages.steps import Step
from mlcli.base.units import percent
from mlcli.base.values.options import Options, option
from mlcli.base.values.sample_size import EXACT
from mlcli.findings.finding import File, Finding, Json, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.plan import FitPlan
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

NUMBERS = File("hubness.json", Json("mlcli.findings.hubness.document:HubnessDocument"))


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
        if not result.prepared.rows or not result.prepared.data().apart:
            return None
        from mlcli.base.stages.stage import running
        from mlcli.findings.hubness.measure import measure_hubness

        with running("hubness"):
            return measure_hubness(result, result.config.report.setting(self.name).neighbors)

    def sections(self, value: Mapping[str, Any], run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the figures as a table, and the number of points by number of lists as curves."""
        from mlcli.findings.hubness.section import hubness

        return [(Place.RESULT, hubness(value))]

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
