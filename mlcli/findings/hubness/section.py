"""The section of the page about hubness."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.units import percent
from mlcli.findings.quality.section import distances_said
from mlcli.report.drawing.html import Part, figure, section, sentence, table
from mlcli.report.drawing.text import number
from mlcli.report.figures.curves import curve

BARS = 40  # bins of the curve, about


def hubness(value: Mapping[str, Any]) -> Part:
    """Return the figures as a table, and the number of points by number of lists as curves."""
    data, embedding = value["data"], value["embedding"]
    rows = [(words, *(shown(part[name]) for part in (data, embedding)), meaning)
            for name, words, shown, meaning in (
                ("skewness", "skewness", number, "0: counts are symmetric about their mean; large: there are hubs"),
                ("antihubs", "in no list", percent, "share of points that are in no list"),
                ("largest", "most lists", number, "number of lists that the largest hub is in"))]
    count = value["neighbors"]
    said = (f"Each of {number(value['rows'])} points has a list of its {count} nearest neighbors, so a point is in "
            f"{count} lists on average; {distances_said(value['distances'])} in the data.")
    places, lines = histograms(data["counts"], embedding["counts"])
    drawn = curve("Points by the number of lists that they are in", "lists", "points", places, lines)
    return section("Hubness", sentence(said, "soft"),
                   table(("measure", "data", "embedding", "meaning"), rows, (1, 2), said=True),
                   figure(drawn, "A long tail to the right are hubs, and points at 0 are antihubs."))


def histograms(*counts: list[int]) -> tuple[list[float], dict[str, Sequence[float]]]:
    """Return the middles of about 40 bins, and the number of points in each: in the data, and in the embedding."""
    width = -(-max(map(len, counts)) // BARS)
    bins = -(-max(map(len, counts)) // width)
    padded = [[*count, *[0] * (bins * width - len(count))] for count in counts]
    sums = [[float(sum(count[place * width:(place + 1) * width])) for place in range(bins)] for count in padded]
    return [place * width + (width - 1) / 2 for place in range(bins)], dict(
        zip(("data", "embedding"), sums, strict=True))
