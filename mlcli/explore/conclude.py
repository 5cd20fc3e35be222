"""The conclusion of an exploration: scores, ranks, compares and refits the finished trials, and recommends one."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.stages.stage import running
from mlcli.config.layers import Layer
from mlcli.engine.threads import threads_of
from mlcli.explore.contents import Candidate, Exploration, TrialEntry
from mlcli.explore.examine import Examination, TrialRows, base_config
from mlcli.explore.recommend import (
    Option,
    Recommendation,
    axes_sentence,
    choose,
    choose_fewer_axes,
    fewer_axes_sentence,
    no_choice,
    stability_sentence,
)
from mlcli.explore.scores import Assessment, MeanRank, assess, best_of, rank_methods
from mlcli.explore.settings import FACTORS, Clock, Exclusion, Setting
from mlcli.explore.trials import (
    Refit,
    Trial,
    chance_of,
    ranks_in,
    reference_of,
    refit,
    refit_all,
    scores_by_axes,
    surface_of,
)
from mlcli.explore.verdict import Surface, Verdict, verdict_of
from mlcli.findings.frame.likeness import procrustes, standardize
from mlcli.findings.frame.result import Start
from mlcli.methods import METHODS
from mlcli.pipeline.start import begin
from mlcli.report.comparison.side_by_side import Comparison, Side, side_by_side

Command = Callable[[Setting, int], str]  # a setting and a number of axes to a command line


def conclude(layer: Layer, examined: Examination, made: Sequence[Trial], left: Sequence[Exclusion], clock: Clock,
             command: Command) -> Exploration:
    """Return the exploration: finished trials with scores, ranks and refits, the verdict and the recommendation."""
    config = base_config(layer)
    with threads_of(config.compute):
        start = begin(config)
        data = start.prepared.table.data()
        compared = config.method.with_metric(data) if data.kind == "features" else data
        generator = config.compute.generator()
        with running("compare"):
            graph = examined.report.graph
            connecting, work = graph.connecting_k if graph else 1, ranks_in(clock.budget)
            seen = reference_of(data, compared, start.prepared.table, len(made), connecting, generator, work)
            scores = assess(seen, [one.cut(examined.axes) for one in made])
            order, places = candidates_of(made, scores, generator)
            best = [made[place] for place in order]
            curves = scores_by_axes(seen, best, examined.most, work)
            comparison = compare_best(best, start, examined.axes, generator)
            again = list(refit_all(best, data, examined.axes, clock.end))
            best_scores, surface, chance = [scores[place] for place in order], None, None
            cut = time.monotonic() > clock.end
            if not cut:
                surface = surface_of(best, best_scores, curves, data, examined.axes, connecting)
                chance = chance_of(best, best_scores, data, examined)
            flat = None if surface is None else refit(best[surface.linear], data, surface.axes, clock.end)
    entries = [entry(one, score) for one, score in zip(made, scores, strict=True)]
    candidates = [candidate(entries[place], place_of, made, place, (curve, refit), examined.axes)
                  for place, place_of, curve, refit in zip(order, places, curves, again, strict=True)]
    verdict = verdict_of(examined.structure, chance, surface, examined.axes, data.values.shape[1],
                         [one.entry.name for one in candidates])
    choice = recommend(candidates, examined, verdict, surface, flat)
    choice = replace(choice, sentences=[*choice.sentences, *limit_sentences(examined.sampled, cut=cut)])
    return Exploration(
        input=config.input.path, size=size_of(start), axes=examined.axes, why=examined.why,
        findings=[vars(finding) for finding in examined.report.findings], candidates=candidates, entries=entries,
        recommendation=choice,
        command="" if choice.chosen is None else command(made[order[choice.chosen]].setting, choice.axes),
        comparison=comparison, left=[(one.name, one.reason, one.seconds) for one in left], anchors=len(seen.anchors),
        rows=seen.size, neighbors=seen.neighbors, budget=clock.budget, seconds=clock.elapsed,
        facts={"seed": config.compute.seed, "threads": config.compute.thread_count()},
        sampled=None if examined.sampled is None else (examined.sampled.rows, examined.sampled.of))


def limit_sentences(sampled: TrialRows | None, *, cut: bool) -> list[str]:
    """Return sentences about parts of the exploration that the budget did not allow."""
    said = [] if sampled is None else [
        f"All settings were tried on a random sample of {sampled.rows:,} of {sampled.of:,} rows, as the budget does "
        "not allow all. The commands below use all rows; mlcli plan predicts their time."]
    return said + ["The budget was used up before the test of whether the data are a surface or noise."] * cut


def size_of(start: Start) -> str:
    """Return the size of the input in words."""
    table = start.prepared.table
    rows, columns = table.values.shape
    return f"{rows:,} rows x {columns:,} columns" if table.kind == "features" else f"{len(table.ids):,} points"


def candidates_of(made: Sequence[Trial], scores: Sequence[Assessment],
                  generator: np.random.Generator) -> tuple[list[int], list[MeanRank]]:
    """Return the indices of the best setting of each method by R_NX, ordered by mean rank, and their ranks."""
    best = []
    for method in dict.fromkeys(one.setting.method for one in made):
        own = [place for place, one in enumerate(made) if one.setting.method == method]
        best.append(own[best_of([scores[place] for place in own])])
    places = rank_methods([scores[place] for place in best], generator)
    order = sorted(range(len(best)), key=lambda place: places[place].mean_rank)
    return [best[place] for place in order], [places[place] for place in order]


def entry(made: Trial, score: Assessment) -> TrialEntry:
    """Return the entry of a trial with its scores."""
    setting = made.setting
    count = setting.values.get("method.neighbors.count")
    return TrialEntry(made.folder.name, setting.method, setting.words, METHODS[setting.method].baseline, count,
                      made.seconds, score, made.warnings, made.doubtful)


def candidate(entry: TrialEntry, place: MeanRank, made: Sequence[Trial], own: int,
              more: tuple[Sequence[tuple[int, Assessment]], Refit], axes: int) -> Candidate:
    """Return the best setting of a method with its rank, curve and refits."""
    curve, refit = more
    return Candidate(entry, place, made[own].advice, curve, refit.fits, refit.m2, refit.overlap, refit.reason,
                     next_counts(made, own, axes))


def next_counts(made: Sequence[Trial], own: int, axes: int) -> list[tuple[str, float]]:
    """Return the fits with the next smaller and larger numbers of neighbors, with their Procrustes statistics."""
    def count(one: Trial) -> int | None:
        return one.setting.values.get("method.neighbors.count")

    mine = count(made[own])
    if mine is None:
        return []
    same = sorted((one for one in made if one.setting.method == made[own].setting.method and count(one) is not None),
                  key=lambda one: count(one) or 0)
    place = next(place for place, one in enumerate(same) if one is made[own])
    shape = standardize(made[own].cut(axes))
    return [(one.setting.words, procrustes(shape, standardize(one.cut(axes))).m2)
            for one in (*same[max(place - 1, 0) : place], *same[place + 1 : place + 2])]


def compare_best(best: Sequence[Trial], start: Start, axes: int, generator: np.random.Generator) -> Comparison:
    """Compare every two of the best settings of all methods, in one orientation."""
    table = start.prepared.table
    # no method name: the names contain it
    sides = [Side(one.setting.name, "", one.config.input.path, len(one.values), one.cut(axes),
                  one.eigenvalues, (), axes=one.config.method.axis_names((), 2)) for one in best]
    return side_by_side(sides, table.ids, table.labels, 12, generator)


def recommend(candidates: Sequence[Candidate], examined: Examination, verdict: Verdict, surface: Surface | None,
              flat: Refit | None) -> Recommendation:
    """Return the choice of a method and of a number of axes, with sentences on both and on their stability."""
    options = [Option(one.entry.method, one.entry.words, one.entry.linear, one.entry.judged, one.place,
                      loses=METHODS[one.entry.method].loses) for one in candidates]
    if len(options) == 1:
        return replace(no_choice(options), verdict=Verdict(verdict.name, "", verdict.statistics))
    said = [verdict.sentence] if verdict.sentence else []
    if verdict.name == "none":
        return Recommendation(None, False, said, 0, verdict)
    axes, curves = examined.axes, [one.by_axes for one in candidates]
    place, linear, sentences = choose(options)
    factors = [number for number, one in enumerate(candidates) if one.entry.method == FACTORS]
    kept = axes
    if verdict.name == "factors" and factors:
        place, linear, sentences = factors[0], False, [
            f"{FACTORS}: it fits that model. Its scores are not made to keep neighbors: what is a column's own noise "
            "weighs less in them."]
    elif verdict.name == "surface" and surface is not None and not examined.asked:
        place, linear, kept, sentences = surface.linear, True, surface.axes, []
    elif not examined.fixed:
        other, kept = choose_fewer_axes(options, curves, place, axes)
        if other != place:
            sentences = [f"{options[other].name} with {kept} {'axis' if kept == 1 else 'axes'} keeps as much as "
                         f"{options[place].name}, the best with {axes}."]
            place, linear = other, options[other].linear
    one = candidates[place]
    stable = (stability_sentence(flat.fits, flat.m2, flat.overlap, flat.reason) if flat is not None and kept > axes
              else stability_sentence(one.fits, one.m2, one.overlap, one.unstable))
    more = [axes_sentence(one.by_axes, axes, kept), fewer_axes_sentence(options, curves, place, axes), stable]
    return Recommendation(place, linear, [*said, *sentences, *filter(None, more)], kept, verdict)
