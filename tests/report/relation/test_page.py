"""The figure of a relation: colors that no group has, a legend of its marks, and names that cover nothing."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mlcli.config.report_options import Look, Report
from mlcli.core.relation.vectors import Centroids, Vector
from mlcli.report.drawing.figure import Curve, Dots, Text
from mlcli.report.drawing.palette import CLASSES, INKS
from mlcli.report.drawing.svg import document
from mlcli.report.figures.coloring import COLORS
from mlcli.report.figures.scatter import box_of
from mlcli.report.relation.contents import FittedFactor, FittedVector, Relation, Species
from mlcli.report.relation.page import caption, names_of_levels, page, paper, plain_figure

POINTS, SCORES = (np.random.default_rng(seed).standard_normal((count, 2)) for seed, count in ((8, 24), (9, 60)))
GROUPS = ["dry", "wet", "salt"]


def factor(name: str, levels: list[str]) -> FittedFactor:
    means = np.stack([POINTS[place :: len(levels)].mean(axis=0) for place in range(len(levels))])
    return FittedFactor(name, 24, levels, [8] * len(levels), Centroids(means, 0.4, 0.01))


def relation(species: int = 20) -> Relation:
    return Relation(
        run="run", environment="env.csv", sha256="0", rows=24, alone=(0, 0), axes=(1, 2),
        axis_names=("NMDS 1", "NMDS 2"), points=POINTS, ids=[f"s{row}" for row in range(24)],
        colors=("soil", [GROUPS[row % 3] for row in range(24)]),
        vectors=[FittedVector("depth", 24, Vector(np.array([0.6, 0.8]), 0.5, 0.01))],
        factors=[factor("soil", GROUPS)], partition=None, spread=None,
        species=Species("wa", [f"Species {row}" for row in range(species)], SCORES[:species]),
        distances="", permutations=9, seed=0, strata=None, stress="stress 0.118")


def lab(color: str) -> np.ndarray:
    """CIELAB coordinates of a color of sRGB, under D65."""
    shares = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    x, y, z = (np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
               / [0.9505, 1, 1.089]) ** (1 / 3)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize("kind", ["species", "level", "arrow"])
def test_no_group_of_few_rows_has_nearly_the_color_of_species_levels_or_arrows(kind: str, ground: str) -> None:
    own = lab(getattr(INKS[kind], ground))
    for pair in CLASSES[:COLORS]:
        assert np.linalg.norm(own - lab(pair[ground == "dark"])) > 25  # about ten times what eyes tell apart


def test_the_figure_has_crosses_and_a_legend_of_its_marks() -> None:
    figure, _ = plain_figure(relation(), "t", named=True)
    shapes = {mark.kind: mark.shape for mark in figure.marks if isinstance(mark, Dots)}
    assert (shapes["species"], shapes["level"]) == ("cross", "diamond")
    words = [mark.text for mark in figure.marks if isinstance(mark, Text)]
    assert all(words.count(word) == 1 for word in ("species", "level mean", "variable", "stress 0.118", "depth"))
    assert sum(isinstance(mark, Curve) and mark.kind == "arrow" for mark in figure.marks) == 2
    assert ".taxon{fill:#5f5f5f;font:italic " in document(figure)


def test_names_of_species_cover_no_other_text_and_those_without_room_are_counted() -> None:
    found = relation(60)
    figure, unnamed = plain_figure(found, "t", named=True)
    boxes = [box_of(mark) for mark in figure.marks if isinstance(mark, Text) and mark.kind == "taxon"]
    assert len(boxes) + unnamed == 30 and unnamed
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert not any(left < end and start < right and top < low and high < bottom
                       for start, end, high, low in boxes[:i])
    assert f"{unnamed} of their names have no room" in caption(found, unnamed)
    assert "no room" not in caption(found)


def test_levels_have_the_name_of_their_factor_where_two_factors_share_one_or_they_are_numbers() -> None:
    assert names_of_levels([factor("soil", GROUPS), factor("use", ["hay", "dry"])]) == [
        "soil dry", "wet", "salt", "hay", "use dry"]
    assert names_of_levels([factor("year", ["1", "2"])]) == ["year 1", "year 2"]


def test_a_size_is_that_of_the_file_and_the_page_keeps_its_own() -> None:
    sized = Report(look=Look(size=(3.5, 3.0)))
    assert page(relation(), sized, "t", b"") == page(relation(), Report(), "t", b"")


@pytest.mark.medium
def test_the_paper_figure_has_italic_species_in_a_color_of_their_own_and_the_stress() -> None:
    found = relation(6)
    drawn = paper(found, Report(look=Look(size=(3.5, 3.0), font_size=7)), "t").draw("svg").decode()
    texts = {word: style for style, word in re.findall(r'<text style="([^"]*)"[^>]*>([^<]*)</text>', drawn)}
    assert all("italic" in texts[f"Species {row}"] and INKS["species"].light in texts[f"Species {row}"]
               for row in range(6))
    assert {"species", "level mean", "variable", "stress 0.118"} <= texts.keys() and "italic" not in texts["wet"]
    bare = replace(found, species=None, vectors=[], factors=[])
    assert not {"species", "level mean", "variable"} & set(re.findall(
        r">([^<]*)</text>", paper(bare, Report(look=Look(size=(3.5, 3.0))), "t").draw("svg").decode()))
