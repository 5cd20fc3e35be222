"""Rows of styles that a run never saw: placed, and led back to features in their own style or in another one."""

import csv
from pathlib import Path

import numpy as np
import pytest

import mlcli as package
from mlcli.base.types import Array
from tests.journeys.support import Caller
from tests.wording import Wording

GENERATOR = np.random.default_rng(8)
STYLES, CONTENTS, INTERACTION = (GENERATOR.standard_normal(shape) for shape in ((5, 2), (6, 2), (2, 6, 2)))
COLUMNS = tuple("abcdef")
SYMMETRIC = ("-m", "bilinear", "--label-column", "font", "--label-column", "letter", "--set", "method.style_axes=2",
             "--scale", "none")


def row_of(style: int, content: int) -> Array:
    """The features of a letter in a font."""
    return np.asarray(np.einsum("q,qdp,p->d", STYLES[style], INTERACTION, CONTENTS[content]))


def write(path: str, pairs: list[tuple[int, int]], *named: str) -> None:
    """Write letters in fonts, with some of both names."""
    lines = [",".join(["id", *named, *COLUMNS])]
    for number, (style, content) in enumerate(pairs):
        names = {"font": f"font {style}", "letter": f"letter {content}"}
        lines.append(",".join([f"row{number}", *(names[name] for name in named),
                               *map(repr, row_of(style, content).tolist())]))
    Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


def read(path: str, columns: tuple[str, ...]) -> Array:
    rows = csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines())
    return np.array([[float(row[name]) for name in columns] for row in rows])


@pytest.fixture
def run(mlcli: Caller) -> Path:
    """A run of four fonts and five letters."""
    write("known.csv", [(style, content) for style in range(4) for content in range(5)], "font", "letter")
    return mlcli.finished("embed", "known.csv", *SYMMETRIC, "-o", "run", "-q")


NEW = [(4, content) for content in range(6)]


@pytest.mark.parametrize("named", [("font", "letter"), ("font",), ()])
@pytest.mark.medium
def test_letters_of_a_new_font_come_back(mlcli: Caller, run: Path, named: tuple[str, ...], wording: Wording) -> None:
    write("new.csv", NEW, *named)
    labels = [part for name in named for part in ("--label-column", name)]
    called = mlcli("project", run, "new.csv", *labels, "-o", "placed.csv")
    assert called.code == 0, called.err
    assert wording(called.err, "N-NEW-STYLES") == (["N-NEW-STYLES"] if named else [])
    called = mlcli("reconstruct", run, "placed.csv", "-o", "back.csv")
    assert called.code == 0, called.err
    assert np.abs(read("back.csv", COLUMNS) - [row_of(*pair) for pair in NEW]).max() < 1e-10
    called = mlcli("reconstruct", run, run / "embedding.csv", "-o", "own.csv")
    assert called.code == 78 and wording(called.err) == ["E-UNKNOWN-COLUMN"] and not Path("own.csv").exists()
    assert mlcli("reconstruct", run, run / "embedding.csv", "--label-column", "font", "-o", "own.csv").code == 0
    assert np.abs(read("own.csv", COLUMNS) - read("known.csv", COLUMNS)).max() < 1e-10
    vectors = read("placed.csv", ("style1", "style2"))
    assert len(named) == 0 or np.ptp(vectors, axis=0).max() == 0


@pytest.mark.parametrize("named", [("letter",), ("letter", "font"), ("font", "letter")])
@pytest.mark.medium
def test_letters_that_are_given_as_new_fonts_are_noticed(mlcli: Caller, run: Path, named: tuple[str, ...],
                                                         wording: Wording) -> None:
    write("new.csv", NEW, *named)
    called = mlcli("project", run, "new.csv", *(part for name in named for part in ("--label-column", name)))
    assert called.code == 0, called.err
    noticed = ["W-STYLES-OR-CONTENTS"] if named[0] == "letter" else []
    assert wording(called.err, "W-STYLES-OR-CONTENTS") == noticed


@pytest.mark.medium
@pytest.mark.parametrize("repeats", [False, True])
def test_contents_are_known_only_where_they_are_named(mlcli: Caller, run: Path, repeats: bool) -> None:
    """Whether texts of another column repeat, which makes it a label instead of ids, changes no coordinates."""
    rows = [*NEW[:5], *([(1, 2)] if repeats else [])]
    write("new.csv", rows, "font", "letter")
    write("bare.csv", rows, "font")
    write("letters.csv", rows, "letter")
    for name in ("new.csv", "letters.csv"):  # without ids, so that texts that differ may be taken for them
        lines = [line.partition(",")[2] for line in Path(name).read_text(encoding="utf-8").splitlines()]
        Path(name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    named = {"bare.csv": ["font"], "new.csv": ["font"], "letters.csv": []}
    for name, labels in named.items():
        called = mlcli("project", run, name, *(part for label in labels for part in ("--label-column", label)), "-o",
                       f"placed-{name}")
        assert called.code == 0, called.err
    axes = ("y1", "y2", "style1", "style2")
    assert np.array_equal(read("placed-new.csv", axes), read("placed-bare.csv", axes))
    assert "content1" not in Path("placed-new.csv").read_text(encoding="utf-8")
    assert mlcli("project", run, "new.csv", "-o", "both.csv").code == 0  # as the run named them
    for name in ("both.csv", "placed-letters.csv"):
        found = read(name, ("content1", "content2"))
        assert np.abs(found[:5] - read("run/embedding.csv", ("y1", "y2"))[:5]).max() < 1e-10, name


@pytest.mark.medium
def test_fonts_that_are_named_like_letters_are_no_sign(mlcli: Caller) -> None:
    write("known.csv", [(style, content) for style in range(4) for content in range(5)], "font", "letter")
    write("new.csv", NEW, "font")
    for name in ("known.csv", "new.csv"):
        text = Path(name).read_text(encoding="utf-8")
        Path(name).write_text(text.replace("font ", "").replace("letter ", ""), encoding="utf-8")
    run = mlcli.finished("embed", "known.csv", *SYMMETRIC, "-o", "run", "-q")
    called = mlcli("project", run, "new.csv", "--label-column", "font")
    assert called.code == 0 and "N-NEW-STYLES" in called.err and "warning[" not in called.err, called.err


@pytest.mark.medium
def test_the_asymmetric_model_proposes_the_one_that_places_new_styles(mlcli: Caller, wording: Wording) -> None:
    write("known.csv", [(style, content) for style in range(4) for content in range(5)], "font", "letter")
    write("new.csv", NEW, "font")
    run = mlcli.finished("embed", "known.csv", *SYMMETRIC[:6], "-o", "run", "-q")
    called = mlcli("project", run, "new.csv", "--label-column", "font")
    assert called.code == 65 and wording(called.err, "E-STYLE") == ["E-STYLE"]
    assert "--set method.style_axes=2" in called.err and "; new.csv; " in called.err


@pytest.mark.medium
def test_a_new_letter_is_translated_into_the_fonts_of_the_run(mlcli: Caller, run: Path) -> None:
    write("new.csv", [(1, 5)] * 4, "font")
    assert mlcli("project", run, "new.csv", "--label-column", "font", "-o", "placed.csv").code == 0
    lines = Path("placed.csv").read_text(encoding="utf-8").splitlines()
    moved = [line.replace("font 1", f"font {style}") for style, line in enumerate(lines[1:])]
    Path("wanted.csv").write_text("\n".join([lines[0], *moved, ""]), encoding="utf-8")
    assert mlcli("reconstruct", run, "wanted.csv", "--label-column", "font", "-o", "back.csv").code == 0
    assert np.abs(read("back.csv", COLUMNS) - [row_of(style, 5) for style in range(4)]).max() < 1e-10


@pytest.mark.medium
def test_the_asymmetric_model_translates_too_and_asks_for_styles(mlcli: Caller, wording: Wording) -> None:
    write("known.csv", [(style, content) for style in range(4) for content in range(5)], "font", "letter")
    mlcli.finished("embed", "known.csv", *SYMMETRIC[:6], "-o", "plain", "-q")
    called = mlcli("reconstruct", "plain", "plain/embedding.csv", "--label-column", "font", "-o", "back.csv")
    assert called.code == 0, called.err
    assert np.abs(read("back.csv", COLUMNS) - read("known.csv", COLUMNS)).max() < 1e-10
    called = mlcli("reconstruct", "plain", "plain/embedding.csv", "-o", "more.csv")
    assert called.code == 78 and wording(called.err) == ["E-NEEDS-STYLE"]
    Path("other.csv").write_text("font,y1,y2\nfont 9,1,1\n", encoding="utf-8")
    called = mlcli("reconstruct", "plain", "other.csv", "--label-column", "font", "-o", "more.csv")
    assert called.code == 65 and wording(called.err) == ["E-STYLE"] and not Path("more.csv").exists()


@pytest.mark.medium
def test_rows_without_labels_need_enough_columns(mlcli: Caller, wording: Wording) -> None:
    write("known.csv", [(style, content) for style in range(4) for content in range(5)], "font", "letter")
    mlcli.finished("embed", "known.csv", *SYMMETRIC, "--columns", "a,b,c", "-o", "narrow", "-q")
    write("new.csv", NEW)
    called = mlcli("project", "narrow", "new.csv", "-o", "placed.csv")
    assert called.code == 78 and wording(called.err, "E-NEEDS-STYLE") == ["E-NEEDS-STYLE"]
    write("one.csv", [(4, 5)], "font")
    called = mlcli("project", "narrow", "one.csv", "--label-column", "font", "-o", "placed.csv")
    assert called.code == 65 and wording(called.err, "E-NEW-STYLE") == ["E-NEW-STYLE"]
    assert not Path("placed.csv").exists()


@pytest.mark.medium
@pytest.mark.parametrize("symmetric", [False, True])
def test_rows_are_added_to_the_map_of_a_run_by_their_styles(mlcli: Caller, symmetric: bool) -> None:
    write("known.csv", [(style, content) for style in range(4) for content in range(5)], "font", "letter")
    mlcli.finished("embed", "known.csv", *(SYMMETRIC if symmetric else SYMMETRIC[:6]), "-o", "run", "-q")
    write("new.csv", NEW if symmetric else [(1, 5), (2, 5)], "font", "letter")
    Path("new.csv").write_text(Path("new.csv").read_text().replace("row", "new"), encoding="utf-8")
    called = mlcli("embed", "new.csv", "--label-column", "font,letter", "--onto", "run", "-o", "grown", "-q")
    assert called.code == 0, called.err
    assert mlcli("verify", "grown", "--full").code == 0
    assert mlcli("project", "run", "new.csv", "--label-column", "font,letter", "-o", "placed.csv").code == 0
    placed, grown = read("placed.csv", ("y1", "y2")), read("grown/embedding.csv", ("y1", "y2"))
    assert np.allclose(grown[20:], placed, rtol=0, atol=1e-12)


@pytest.mark.medium
def test_in_python_labels_name_styles_and_vectors_lead_back(run: Path) -> None:
    found = package.open_run(run)
    new = np.array([row_of(*pair) for pair in NEW])
    labels = {"font": ["new"] * len(new), "letter": [f"letter {content}" for _, content in NEW]}
    scores = found.off_manifold(new, labels)
    coordinates = np.column_stack([scores.coordinates, scores.beside["style1"], scores.beside["style2"]])
    assert np.abs(found.reconstruct(coordinates) - new).max() < 1e-10
    assert np.array_equal(found.project(new, labels), scores.coordinates)
    assert np.abs(found.reconstruct(scores.coordinates[:1], ["font 2"]) - row_of(2, 0)).max() < 1e-10
