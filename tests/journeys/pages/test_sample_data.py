"""The files of sample_data are what their README says: seeds, rules and sizes."""

import csv
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from mlcli.data.samples import sample

ROOT = Path(__file__).parents[3]
FILES = ROOT / "sample_data"
TABLES = ROOT / "tests" / "tables"
ROUNDING = 1e-14  # generated again elsewhere, sines and cosines may differ in their last bit


def rows_of(path: Path, delimiter: str = ",") -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream, delimiter=delimiter))


def numbers(rows: list[list[str]]) -> np.ndarray:
    return np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    bound = ROUNDING * np.abs(expected).max()
    return found.shape == expected.shape and bool(np.abs(found - expected).max() <= bound)


def test_swiss_roll_comes_from_its_seed_and_names_no_id_column() -> None:
    path, made = FILES / "swiss_roll.csv", sample("swiss-roll", 1000, 1)
    assert path.read_text().splitlines()[0] == '"",x,y,z'
    rows = rows_of(path)
    assert [row[0] for row in rows[1:]] == list(made.ids)
    assert same(numbers(rows), made.values)


def test_swiss_roll_has_no_short_cut_between_its_layers() -> None:
    """Every edge of the 10-neighbor graph is nearly as long as the same step on the flat sheet."""
    made = sample("swiss-roll", 1000, 1, truth=True)
    t, h = (np.array(made.labels[key], float) for key in ("t", "h"))
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    distances = np.linalg.norm(made.values[:, None] - made.values, axis=2)
    nearest = np.argsort(distances, axis=1)[:, 1:11]
    flat = np.hypot(arc[nearest] - arc[:, None], h[nearest] - h[:, None])
    stretch = flat / np.take_along_axis(distances, nearest, axis=1)
    assert stretch.max() < 1.1  # a jump to the next layer would be 10 times as far on the sheet
    assert stretch.min() > 1 - 1e-9  # and no chord is longer than its arc


def test_s_curve_comes_from_its_seed_with_its_truth() -> None:
    table, made = parquet.read_table(FILES / "s_curve.parquet"), sample("s-curve", 500, 4, truth=True)
    assert table.column_names == ["id", "t", "h", "x", "y", "z"]
    assert table["id"].to_pylist() == list(made.ids)
    assert same(np.column_stack([table[name] for name in "xyz"]), made.values)
    for key in ("t", "h"):
        assert same(np.array(table[key].to_pylist(), float), np.array(made.labels[key], float))


def test_helix_comes_from_its_seed() -> None:
    assert same(np.load(FILES / "helix.npy", allow_pickle=False), sample("helix", 400, 3).values)


def test_gaps_come_from_their_seed_and_rule() -> None:
    rows, made = rows_of(FILES / "gaps.tsv", "\t"), sample("noisy-plane", 60, 5)
    assert rows[0] == ["point", "x", "y", "z"]
    assert [row[0] for row in rows[1:]] == [f"p{id}" for id in made.ids]
    missing = 0
    for i, row in enumerate(rows[1:], start=1):
        for j, cell in enumerate(row[1:], start=1):
            if (7 * i + 11 * j) % 23 == 0:
                assert cell == "NA"
                missing += 1
            else:
                assert abs(float(cell) - made.values[i - 1, j - 1]) < 0.5e-4 + 1e-9
    assert missing == 8


def test_mixture_follows_its_rule() -> None:
    time = np.arange(1, 501)
    signals = np.column_stack([np.sin(2 * np.pi * time / 250), np.where(time % 37 < 18, 1.0, -1.0),
                               0.7548776662466927 * time % 1])
    mixed = signals @ np.array([[2.0, 1, -1], [1, -2, 1], [-1, 1, 3]]).T
    assert np.array_equal(numbers([["", *row] for row in rows_of(FILES / "mixture.csv")]), np.round(mixed, 6))


def test_oscillator_comes_from_its_seed_and_rule() -> None:
    generator, state = np.random.default_rng(12), np.zeros(2)
    turn = 0.98 * np.array([[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]])
    loadings, made = np.array([[1, 0], [0.5, 1], [-1, 0.5], [0, -0.8]]), []
    for _ in range(200):
        state = turn @ state + 0.3 * generator.standard_normal(2)
        made.append(loadings @ state + 0.5 * generator.standard_normal(4) + [1, 2, 3, 4])
    rows = rows_of(FILES / "oscillator.csv")
    gaps = np.array([[(7 * i + 11 * j) % 29 == 0 for j in range(1, 5)] for i in range(1, 201)])
    assert [row[0] for row in rows[1:]] == [f"t{i}" for i in range(1, 201)]
    assert np.array_equal(np.array([[cell == "NA" for cell in row[1:]] for row in rows[1:]]), gaps)
    found = np.array([[np.nan if cell == "NA" else float(cell) for cell in row[1:]] for row in rows[1:]])
    assert np.array_equal(found, np.where(gaps, np.nan, np.round(made, 4)), equal_nan=True)


def test_van_der_pol_comes_from_its_seed_and_rule() -> None:
    generator = np.random.default_rng(1927)
    weights, shifts = generator.standard_normal((2, 6)), generator.standard_normal(6) / 2

    def slope(state: np.ndarray) -> np.ndarray:
        return np.array([state[1], 2 * (1 - state[0] ** 2) * state[1] - state[0]])

    def step(state: np.ndarray, size: float) -> np.ndarray:
        first = slope(state)
        second = slope(state + size / 2 * first)
        third = slope(state + size / 2 * second)
        return state + size / 6 * (first + 2 * second + 2 * third + slope(state + size * third))

    state, made = np.array([2.0, 0.0]), []
    for row in range(-80, 200):
        if row >= 0:
            made.append(np.tanh(state @ weights + shifts) + 0.05 * generator.standard_normal(6))
        for _ in range(50):
            state = step(state, 0.005)
    rows = rows_of(FILES / "van_der_pol.csv")
    assert rows[0] == ["time", *"abcdef"] and [row[0] for row in rows[1:]] == [f"t{i}" for i in range(1, 201)]
    assert np.abs(numbers(rows) - made).max() < 0.5e-4 + 1e-9


def test_postures_come_from_their_seed_and_rule() -> None:
    generator, made = np.random.default_rng(2000), []
    styles, others = generator.standard_normal((4, 5, 3)), generator.standard_normal((6, 2))
    contents = np.column_stack([np.ones(6), others])
    for person, style in enumerate(styles):
        for posture, content in enumerate(contents):
            made += [style @ content + 0.05 * generator.standard_normal(5) for _ in range(1 + (person + posture) % 3)]
    rows = rows_of(FILES / "postures.csv")
    assert np.abs(numbers([row[1:] for row in rows]) - made).max() < 0.5e-4 + 1e-9
    assert len({(row[0], row[1]) for row in rows[1:]}) == 24


def test_state_names_kernel_follows_its_rule_and_is_positive_semidefinite() -> None:
    rows, states = rows_of(FILES / "state_names_kernel.csv"), rows_of(FILES / "us_arrests.csv")
    names = [row[0] for row in states[1:]]
    assert rows[0] == ["", *names] and [row[0] for row in rows[1:]] == names
    counts = [Counter(zip(name.lower(), name.lower()[1:], strict=False)) for name in names]
    expected = np.array([[sum(one[pair] * other[pair] for pair in one) for other in counts] for one in counts])
    kernel = numbers(rows)
    assert np.array_equal(kernel, expected)
    assert np.linalg.eigvalsh(kernel).min() > -1e-12 * np.trace(kernel)


@pytest.mark.parametrize(("name", "table"), [
    ("eurodist.csv", "pcoa/eurodist/D.csv"), ("us_arrests.csv", "data/USArrests.csv"), ("iris.csv", "data/iris4.csv")])
def test_real_tables_hold_the_numbers_of_r(name: str, table: str) -> None:
    ours, theirs = rows_of(FILES / name), rows_of(TABLES / table)
    width = len(theirs[0])
    assert [row[:1] for row in ours] == [row[:1] for row in theirs]
    assert ours[0][:width] == theirs[0]
    assert np.array_equal(numbers([row[:width] for row in ours]), numbers(theirs))


def test_us_cities_hold_the_numbers_of_r() -> None:
    lines, theirs = (FILES / "us_cities.phy").read_text().splitlines(), rows_of(TABLES / "pcoa" / "UScitiesD" / "D.csv")
    assert lines[0] == "10"
    rows = [line.split() for line in lines[1:]]
    assert [row[0] for row in rows] == theirs[0][1:]
    assert np.array_equal(np.array([row[1:] for row in rows], float), numbers(theirs))


def test_iris_has_fifty_of_each_species() -> None:
    rows = rows_of(FILES / "iris.csv")
    assert rows[0][-1] == "Species"
    assert Counter(row[-1] for row in rows[1:]) == {"setosa": 50, "versicolor": 50, "virginica": 50}


def test_students_are_those_of_the_cross_table() -> None:
    (_, *eyes), *hair = rows_of(FILES / "hair_eye.csv")
    counts = Counter((row[0], row[1]) for row in rows_of(FILES / "students.csv")[1:])
    assert {(row[0], eye): int(cell) for row in hair for eye, cell in zip(eyes, row[1:], strict=True)} == counts
    assert counts["Brown", "Brown"] == 119


def test_dune_meadows_are_those_of_the_tables() -> None:
    assert rows_of(FILES / "dune.csv") == rows_of(TABLES / "metrics" / "dune.csv")
    known = [[*row[:2], row[2].removeprefix("m"), *row[3:]] for row in rows_of(TABLES / "relation" / "dune_env.csv")]
    assert rows_of(FILES / "dune_env.csv") == known


def test_answers_of_the_survey_are_the_numbers_of_the_table() -> None:
    words = ["very inaccurate", "moderately inaccurate", "slightly inaccurate", "slightly accurate",
             "moderately accurate", "very accurate"]
    head, *people = rows_of(FILES / "survey.csv")
    known = rows_of(TABLES / "psych" / "bfi_gaps.csv")
    assert head[3:13] == known[0][1:] and len(people) == len(known) - 1
    for person, row in zip(people, known[1:], strict=True):
        assert person[3:13] == ["" if cell == "NA" else words[int(float(cell)) - 1] for cell in row[1:]]


def shape_of(path: Path) -> tuple[int, int]:
    """Rows and columns of numbers: without header, ids and labels."""
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False).shape
    if path.suffix == ".parquet":
        return len(parquet.read_table(path)), 3
    if path.suffix == ".phy":
        lines = path.read_text().splitlines()
        return len(lines) - 1, len(lines[1].split()) - 1
    rows = rows_of(path, "\t" if path.suffix == ".tsv" else ",")
    named = path.name not in ("mixture.csv", "students.csv")  # which have no column but their signals and answers
    return len(rows) - 1, len(rows[0]) - named - len({"Species", "person", "gender", "age"}.intersection(rows[0]))


def test_readme_lists_every_file_with_its_size() -> None:
    text = (FILES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(.+?)` \| (\d+) \| (\d+) \|", text, flags=re.MULTILINE)
    assert sorted(name for name, _, _ in listed) == sorted(p.name for p in FILES.iterdir() if p.name != "README.md")
    for name, rows, columns in listed:
        assert shape_of(FILES / name) == (int(rows), int(columns)), name
        assert text.count(f"`{name}`") == 2, f"{name}: one row of the table and one note on its origin"


def test_sample_data_stays_small() -> None:
    assert sum(path.stat().st_size for path in FILES.iterdir()) < 300_000
