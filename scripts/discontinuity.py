#!/usr/bin/env python3
"""Calibrates the thresholds of `report.discontinuity` on maps that are known to be continuous, and to be cut.

    python scripts/discontinuity.py                  # how often other maps raise the alarm, with the thresholds in use
    python scripts/discontinuity.py --write          # calibrates, and writes the table of thresholds.py
    python scripts/discontinuity.py --write umap     # of one method; the others keep their rows

Continuous maps are of data with the two dimensions of the layout, and with neighborhoods that are large beside it: one
normal distribution, or well separated groups. Cut maps are of data that no continuous one-to-one map leads to the
layout: a sphere to the plane, a circle to a line, or one normal distribution from a random start with few neighbors.

All rows of the table follow one rule from the scores of `MAPS` continuous maps and as many cut ones:

1. The threshold of perturbation is `ROOM` times the 99% quantile in continuous maps, and at least `FLOOR`: half a
   standard deviation of the inputs may move a point nearly as far as the layout is large, even where groups move less.
2. The threshold of singularity is `ROOM` times the largest in continuous maps. It is not used where more than
   `UNBOUNDED` of their points have none.
3. The share of doubtful points that a map may have is `WORST` times the least share that at most `FALSE` of the
   continuous maps exceed, and at least `LEAST`.
4. If fewer than `FOUND` of the cut maps have more, the setting gets no thresholds: its method has scores and no alarm.

With 15 neighbors UMAP tears one normal distribution, so that only groups are known to be continuous there.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.findings.discontinuity.measure import Scores, doubtful_points, is_torn, scores_of
from mlcli.findings.discontinuity.thresholds import TABLE, Threshold
from mlcli.methods import METHODS

FILE = Path(__file__).parent.parent / "mlcli/findings/discontinuity/thresholds.py"
QUANTILE, ROOM, WORST, LEAST = 0.99, 1.1, 1.5, 0.01
FLOOR = 1.0  # of thresholds of perturbation
FALSE, FOUND = 0.05, 0.9  # shares of continuous maps that may raise the alarm, and of cut ones that must
UNBOUNDED = 0.005  # share of continuous points without a bound of singularity, beyond which that is not used
CALIBRATED, TESTED = 1_000, 2_000  # first seeds
MAPS = 20  # continuous ones, and as many cut ones, of a setting
Data = Callable[[np.random.Generator], Array]


def normal(rows: int) -> Data:
    """Return a function for one normal distribution on the plane."""
    return lambda generator: generator.normal(size=(rows, 2))


def groups(rows: int, count: int = 3) -> Data:
    """Return a function for well separated groups on the plane."""
    def make(generator: np.random.Generator) -> Array:
        turns = 2 * np.pi * (np.arange(count) / count + generator.random())
        centers = 12 * np.column_stack([np.cos(turns), np.sin(turns)])
        return np.asarray(np.vstack([center + generator.normal(size=(rows // count, 2)) for center in centers]))

    return make


def sphere(rows: int, axes: int = 3) -> Data:
    """Return a function for points near a sphere, or with two axes near a circle."""
    def make(generator: np.random.Generator) -> Array:
        points = generator.normal(size=(rows, axes))
        return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True)
                          + 0.02 * generator.normal(size=(rows, axes)))

    return make


@frozen
class Setting:
    """A method with its options, and the data of continuous and of cut maps, with further options of these."""

    method: str
    neighbors: float
    options: dict[str, Any]
    continuous: Sequence[Data]
    cut: Sequence[tuple[Data, dict[str, Any]]]

    def maps(self, first: int, count: int = MAPS) -> tuple[list[Scores], list[Scores]]:
        """Return the scores of continuous and of cut maps, of the seeds from the first on."""
        seeds = range(first, first + count)
        return ([scores_from(self.method, self.options, self.continuous[seed % len(self.continuous)], seed)
                 for seed in seeds],
                [scores_from(self.method, {**self.options, **more}, data, seed) for seed in seeds
                 for data, more in [self.cut[seed % len(self.cut)]]])


def scores_from(name: str, options: dict[str, Any], make: Data, seed: int) -> Scores:
    """Return the scores of a map of generated data."""
    points = make(np.random.default_rng(seed))
    data = Features(points, tuple(map(str, range(len(points)))), tuple(f"x{axis}" for axis in range(points.shape[1])))
    compute = Compute(seed=seed)
    with no_listeners():
        method: Any = METHODS[name].model_validate({"name": name, **options}).resolve(data)
        found = method.point_losses(method.in_range(data), method.fit(data, compute), compute)
    return scores_of(found)


LINE = {"axes": {"components": 1}}
STRESS = [(sphere(300, 2), LINE)]
SETTINGS = (
    Setting("tsne", 5, {"perplexity": 5.0}, [groups(300, 12)],
            [(normal(600), {"start": "random"}), (sphere(400), {})]),
    Setting("tsne", 10, {"perplexity": 10.0}, [groups(300, 6)], [(sphere(400), {})]),
    Setting("tsne", 30, {"perplexity": 30.0}, [normal(400), groups(360)], [(sphere(500), {})]),
    Setting("tsne", 100, {"perplexity": 100.0}, [normal(500), groups(900)], [(sphere(600), {})]),
    Setting("umap", 5, {"neighbors": {"count": 5}}, [groups(300, 12)],
            [(normal(600), {"start": "random"}), (sphere(400), {})]),
    Setting("umap", 15, {"neighbors": {"count": 15}}, [groups(450)], [(sphere(500), {})]),
    Setting("umap", 50, {"neighbors": {"count": 50}}, [normal(400), groups(600)], [(sphere(600), {})]),
    Setting("phate", 5, {}, [normal(300), groups(300)], [(sphere(300, 2), LINE), (sphere(400), {})]),
    Setting("smacof", 0, {}, [normal(300), groups(300)], STRESS),
    Setting("sammon", 0, {}, [normal(300), groups(300)], STRESS),
    Setting("nmds", 0, {"starts": 1}, [normal(200), normal(300)], STRESS),
)


def calibrated(setting: Setting, continuous: Sequence[Scores], cut: Sequence[Scores]) -> Threshold:
    """Return the thresholds of a setting from the scores of its maps; none where these do not find cut ones."""
    moves = np.concatenate([found.perturbation for found in continuous])
    bends = np.concatenate([found.singularity for found in continuous])
    highest = max(rounded(ROOM * float(np.quantile(moves, QUANTILE))), FLOOR)
    bounded = bends[np.isfinite(bends)]
    flattest = None if np.mean(np.isinf(bends)) > UNBOUNDED else rounded(ROOM * float(bounded.max()))
    every = Threshold(setting.neighbors, perturbation=highest, singularity=flattest)
    shares = sorted(doubtful_shares(continuous, every))
    usual = shares[-1 - int(FALSE * len(shares))]
    limits = Threshold(setting.neighbors, perturbation=highest, singularity=flattest,
                       share=rounded(max(LEAST, WORST * usual)))
    return limits if np.mean(alarms(cut, limits)) >= FOUND else Threshold(setting.neighbors)


def rounded(number: float) -> float:
    """Return a number with two digits."""
    return float(f"{number:.2g}")


def doubtful_shares(maps: Sequence[Scores], limits: Threshold) -> list[float]:
    """Return the share of doubtful points in each map."""
    return [float(np.mean(doubtful_points(found, limits))) for found in maps]


def alarms(maps: Sequence[Scores], limits: Threshold) -> list[bool]:
    """Return whether each map has more doubtful points than continuous ones have; none has where there is no alarm."""
    return [bool(is_torn(doubtful_points(found, limits), limits)) for found in maps]


def line(setting: Setting, limits: Threshold, continuous: Sequence[Scores], cut: Sequence[Scores]) -> str:
    """Return a line of the table of results."""
    named = f"| `{setting.method}` | {f'{setting.neighbors:g}' if setting.neighbors else 'all'} |"
    if limits.share is None:
        return f"{named} none | none | none | no alarm | no alarm |"
    false, true = alarms(continuous, limits), alarms(cut, limits)
    most, least = max(doubtful_shares(continuous, limits)), min(doubtful_shares(cut, limits))
    return (f"{named} {limits.perturbation:g} | "
            f"{'not used' if limits.singularity is None else f'{limits.singularity:g}'} | {100 * limits.share:.2g}% | "
            f"{sum(false)} of {len(false)} (at most {100 * most:.1f}%) | "
            f"{sum(true)} of {len(true)} (at least {100 * least:.1f}%) |")


def source_of(row: Threshold) -> str:
    """Return a row of the table as source text."""
    numbers = [row.neighbors] if row.share is None else [row.neighbors, row.perturbation, row.singularity, row.share]
    names = ("", "perturbation=", "singularity=", "share=")
    said = [f"{name}{None if number is None else float(number)}" for name, number in zip(names, numbers, strict=False)]
    return f"Threshold({', '.join(said)})"


def source_of_table(table: Mapping[str, Sequence[Threshold]]) -> str:
    """Return the source text of a table."""
    rows = (f'    "{name}": (\n' + "".join(f"        {source_of(row)},\n" for row in of) + "    ),\n"
            for name, of in table.items())
    return f"TABLE: dict[str, tuple[Threshold, ...]] = {{\n{''.join(rows)}}}\n"


def main() -> None:
    """Calibrate or test the settings of the methods that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--maps", type=int, default=MAPS)
    asked = parser.parse_args()
    settings = [setting for setting in SETTINGS if not asked.methods or setting.method in asked.methods]
    table = {name: list(rows) for name, rows in TABLE.items()}
    for name in {setting.method for setting in settings} if asked.write else ():
        table[name] = []
    print("| method | neighbors | perturbation | singularity | share | alarms of continuous maps | of cut maps |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for setting in settings:
        continuous, cut = setting.maps(CALIBRATED if asked.write else TESTED, asked.maps)
        if asked.write:
            table[setting.method].append(calibrated(setting, continuous, cut))
        limits = next(row for row in table[setting.method] if row.neighbors == setting.neighbors)
        print(line(setting, limits, continuous, cut), flush=True)
    if asked.write:
        text = FILE.read_text(encoding="utf-8")
        FILE.write_text(text[:text.index("TABLE: ")] + source_of_table(table), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
