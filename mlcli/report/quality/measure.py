"""The one entry: all measures of an embedding, as they stand in quality.json."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from mlcli.base.inputs import Features, Given
from mlcli.base.stage import advance, note, stage
from mlcli.base.threads import in_order
from mlcli.base.types import Array
from mlcli.report.quality.blocks import Blocks, Measure, Spaces
from mlcli.report.quality.neighborhoods import Neighborhoods
from mlcli.report.quality.sampling import Anchors, Sums
from mlcli.report.quality.spaces import Euclidean, Space, input_space

REACH = 100  # the largest neighborhood of the Q_NX curve
GROUP = 2**25  # distances of anchors that are held at once
BLOCK = 2**18  # distances of a piece of work: few enough to stay in a cache


@stage("quality")
def quality(source: Given, embedding: Array, *, kept: Space | None = None,
            labels: Mapping[str, Sequence[str]] | None = None, decode: Callable[[Array], Array] | None = None,
            neighbors: int = 12, sample: int | Literal["auto"] = "auto",
            generator: np.random.Generator) -> dict[str, Any]:
    """All measures of an embedding (n x p) of the input that a method saw, by their names in quality.json."""
    size = len(embedding)
    width = source.values.shape[1] if isinstance(source, Features) else 1
    anchors = Anchors.chosen(size, width, sample, generator)
    space = input_space(source, anchors.rows)
    spaces = Spaces(space, kept or space, Euclidean.of(embedding, anchors.rows))
    measures: list[Measure] = []
    k = clipped(neighbors, size)
    if k:
        measures.append(Neighborhoods(size, k, min(size - 1, REACH)))
    found = estimated(measures, anchors, spaces)
    for name in ("q_nx", "q_nx_se"):
        if name in found:
            found[name] = {"neighbors": np.arange(1, len(found[name]) + 1), "values": found[name]}
    return {"rows": size, "anchors": len(anchors.rows), "exact": anchors.exact, "neighbors": k,
            "distances": spaces.kept.name, **found}


def clipped(neighbors: int, size: int) -> int | None:
    """The size of the neighborhoods, below half the points, for beyond that trustworthiness has no meaning."""
    most = (size - 1) // 2
    if neighbors <= most:
        return neighbors
    note("N-QUALITY-NEIGHBORS", f"quality is measured in neighborhoods of {most}, not {neighbors}: "
         f"there are {size} points")
    return most or None


def estimated(measures: Sequence[Measure], anchors: Anchors, spaces: Spaces) -> dict[str, Any]:
    """The measures with their standard errors, from one walk over the anchors."""
    parts = list(walk(measures, anchors, spaces))
    found: dict[str, Any] = {}
    for place, measure in enumerate(measures):
        sums = {name: np.concatenate([part[place][name] for part in parts]) for name in parts[0][place]}
        found |= anchors.estimates(measure.values, sums)
    return found


def walk(measures: Sequence[Measure], anchors: Anchors, spaces: Spaces) -> Iterator[list[Sums]]:
    """What each block of anchors adds to every measure; the rows of a group of anchors are held at once."""
    done, total = 0, len(anchors.rows)
    for group in pieces(total, GROUP // anchors.size):
        block_of = spaces.blocks(anchors.rows[group])

        def work(part: slice, block_of: Blocks = block_of) -> list[Sums]:
            block = block_of(part)
            return [measure.sums(block) for measure in measures]

        parts = pieces(group.stop - group.start, BLOCK // anchors.size)
        for part, sums in zip(parts, in_order(work, parts), strict=True):
            yield sums
            done += part.stop - part.start
            advance(done, total)


def pieces(size: int, step: int) -> list[slice]:
    """0 to `size` in slices of at most `step`."""
    step = max(1, step)
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]
