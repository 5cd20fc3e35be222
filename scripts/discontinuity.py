#!/usr/bin/env python3
"""Calibrates the thresholds of `report.discontinuity` on maps that are known to be continuous, and to be cut.

    python scripts/discontinuity.py                  # how often other maps raise the alarm, with the thresholds in use
    python scripts/discontinuity.py --write          # calibrates, and writes the table of thresholds.py
    python scripts/discontinuity.py --write umap     # of one method; the others keep their rows

Continuous maps are of data with the two dimensions of the layout, and with neighborhoods that are large beside it: one
normal distribution, or well separated groups. Cut maps are of data that no continuous one-to-one map leads to the
layout: a sphere to the plane, a circle to a line, or one normal distribution from a random start with few neighbors.

A point is doubtful above `ROOM` times the 99% quantile of the scores of continuous maps. A map is torn if more of its
points are than `WORST` times the largest share among continuous maps, and than `LEAST`. No threshold of perturbation is
below one: half a standard deviation of the inputs may move a point nearly as far as the layout is large, even where the
groups that were laid out here move less. With 15 neighbors UMAP tears one normal distribution, so that only groups are
known to be continuous there.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.findings.discontinuity.measure import Scores, doubtful_points, scores_of
from mlcli.findings.discontinuity.thresholds import TABLE, Threshold
from mlcli.methods import METHODS

FILE = Path(__file__).parent.parent / "mlcli/findings/discontinuity/thresholds.py"
QUANTILE, ROOM, WORST, LEAST = 0.99, 1.1, 1.5, 0.01
FLOOR = 1.0  # of thresholds of perturbation
UNBOUNDED = 0.005  # share of continuous points without a bound of singularity, beyond which that is not used
CALIBRATED, TESTED = 1_000, 2_000  # first seeds
MAPS = 12  # continuous ones, and as many cut ones, of a setting
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


def calibrated(setting: Setting, continuous: Sequence[Scores]) -> Threshold:
    """Return the thresholds of a setting from the scores of its continuous maps."""
    moves = np.concatenate([found.perturbation for found in continuous])
    bends = np.concatenate([found.singularity for found in continuous])
    highest = max(rounded(ROOM * float(np.quantile(moves, QUANTILE))), FLOOR)
    bounded = bends[np.isfinite(bends)]
    flattest = None if np.mean(np.isinf(bends)) > UNBOUNDED else rounded(ROOM * float(bounded.max()))
    limits = Threshold(setting.neighbors, highest, flattest, 0.0)
    most = max(float(np.mean(doubtful_points(found, limits))) for found in continuous)
    return Threshold(setting.neighbors, highest, flattest, rounded(max(LEAST, WORST * most)))


def rounded(number: float) -> float:
    """Return a number with two digits."""
    return float(f"{number:.2g}")


def alarms(found: Sequence[Scores], limits: Threshold) -> list[float]:
    """Return the share of doubtful points in each map."""
    return [float(np.mean(doubtful_points(some, limits))) for some in found]


def limits_in(table: dict[str, list[Threshold]], setting: Setting) -> Threshold:
    """Return the row of a table for a setting."""
    return next(row for row in table[setting.method] if row.neighbors == setting.neighbors)


def line(setting: Setting, limits: Threshold, continuous: Sequence[Scores], cut: Sequence[Scores]) -> str:
    """Return a line of the table of results."""
    false, true = ([share > limits.share for share in alarms(maps, limits)] for maps in (continuous, cut))
    least = min(alarms(cut, limits))
    most = max(alarms(continuous, limits))
    return (f"| {setting.method} | {setting.neighbors:g} | {limits.perturbation:g} | "
            f"{'not used' if limits.singularity is None else f'{limits.singularity:g}'} | {100 * limits.share:.2g}% | "
            f"{sum(false)} of {len(false)} (at most {100 * most:.1f}%) | "
            f"{sum(true)} of {len(true)} (at least {100 * least:.1f}%) |")


def source_of(row: Threshold) -> str:
    """Return a row of the table as source text."""
    flattest = "None" if row.singularity is None else f"{row.singularity:g}"
    return f"\n        Threshold({row.neighbors:g}, {row.perturbation:g}, {flattest}, {row.share:g})"


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
            table[setting.method].append(calibrated(setting, continuous))
        print(line(setting, limits_in(table, setting), continuous, cut), flush=True)
    if asked.write:
        text = FILE.read_text(encoding="utf-8")
        start = text.index("\nTABLE = ")
        rows = "".join(f'    "{name}": ({",".join(map(source_of, rows))},),\n' for name, rows in table.items())
        FILE.write_text(f"{text[:start]}\nTABLE = {{\n{rows}}}\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
