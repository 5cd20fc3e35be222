"""Generated data sets lie on their surfaces, cover them as told, and come out the same for the same seed."""

import numpy as np
import pytest

from mlcli.data.samples import BATCHES, RING, SAMPLES, SIDES, TUBE, TYPES, sample, sample_parts
from mlcli.data.table.table import Table
from mlcli.errors import UsageError
from tests.wording import Wording

NAMES = list(SAMPLES)
EPS = np.finfo(float).eps


def coordinate(table: Table, name: str) -> np.ndarray:
    return np.array(table.labels[name], dtype=float)


def evenness(values: np.ndarray, low: float, high: float) -> float:
    """Kolmogorov's distance from the uniform distribution, times root n: above 1.95 once in a thousand."""
    ranked = np.sort((values - low) / (high - low))
    count = len(values)
    steps = np.arange(count + 1) / count
    return np.sqrt(count) * max((steps[1:] - ranked).max(), (ranked - steps[:-1]).max())


@pytest.mark.parametrize("name", NAMES)
def test_has_the_shape_of_a_table(name: str) -> None:
    table = sample(name, 12, seed=3)
    count = SAMPLES[name].columns
    assert table.values.shape == (12, count)
    assert table.values.dtype == np.float64
    assert table.columns == (("x", "y", "z") if count == 3 else tuple(f"x{i}" for i in range(1, count + 1)))
    assert table.ids == tuple(str(row) for row in range(1, 13))
    assert dict(table.labels) == {}
    assert table.kind == "features"


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_points_other_seed_others(name: str) -> None:
    first, again, other = (sample(name, 50, seed).values for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).all(axis=1).any()


@pytest.mark.parametrize("noise", [None, 0.0, 0.3])
@pytest.mark.parametrize("name", NAMES)
def test_a_smaller_sample_is_the_start_of_a_larger(name: str, noise: float | None) -> None:
    few, many = (sample(name, rows, 1, noise).values for rows in (20, 900))
    np.testing.assert_allclose(few, many[:20], rtol=1e-14)  # powers of longer arrays may round in another way


@pytest.mark.parametrize("name", NAMES)
def test_blocks_make_one_sample(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sample(name, 1000, 3, 0.1, truth=True)
    monkeypatch.setattr("mlcli.data.samples.BLOCK", 77)
    parts = sample(name, 1000, 3, 0.1, truth=True)
    assert np.array_equal(whole.values, parts.values)
    assert dict(whole.labels) == dict(parts.labels)


@pytest.mark.parametrize("name", NAMES)
def test_truth_gives_the_coordinates_at_full_precision(name: str) -> None:
    told, untold = sample(name, 40, 5, truth=True), sample(name, 40, 5)
    assert np.array_equal(told.values, untold.values)
    assert list(told.labels) == {"helix": ["t"], "ball": ["r"], "cube": ["w"],
                                 "pipe": ["regime", "water", "oil"]}.get(name, ["t", "h"])
    for key, texts in told.labels.items():
        assert all(f"{float(text):.17g}" == text for text in texts), key


def test_beams_through_a_pipe_are_as_long_in_each_liquid_as_its_places_say() -> None:
    """Of points on each beam, those in a liquid are counted, where liquids are by their areas in a fine grid."""
    table = sample("pipe", 24, 4, noise=0.0, truth=True)
    side = np.linspace(-1, 1, 401)
    across, up = np.meshgrid(side, side)
    inside = across**2 + up**2 < 1
    steps = np.linspace(-1, 1, 4001)
    beams = [*((np.full_like(steps, place), steps) for place in (0, 0.35, 0.7)),
             *((steps, np.full_like(steps, place)) for place in (-0.6, 0, 0.6))]
    assert set(table.labels["regime"]) == {"1", "2", "3"}
    for row, regime, water, oil in zip(table.values, *(coordinate(table, name) for name in (
            "regime", "water", "oil")), strict=True):
        depth = (lambda x, y: y) if regime == 2 else lambda x, y: -np.hypot(x, y)  # water is where this is least
        ends = np.quantile(depth(across, up)[inside], [water, min(water + oil, 1)])
        found = []
        for x, y in beams:
            place, chord = depth(x, y), x**2 + y**2 < 1
            found.append([2 * np.mean(chord) * share for share in (water, oil)] if regime == 1 else [
                2 * np.mean(chord & (place < ends[0])), 2 * np.mean(chord & (place >= ends[0]) & (place < ends[1]))])
        near = np.abs(row.reshape(2, 6) - np.transpose(found)) < 0.02
        assert near.mean() > 0.99 or (regime == 2 and near.mean() >= 5 / 6)  # a surface may lie along a beam


def test_truth_places_the_points() -> None:
    """The formulas again, from the labels alone."""
    for name in NAMES:
        table = sample(name, 200, 2, noise=0.0, truth=True)
        if name in ("ball", "cube", "spots", "pipe"):  # whose truth is less than the point
            continue
        t = coordinate(table, "t")
        h = 8 * t if name == "helix" else coordinate(table, "h")
        ring = (RING + TUBE * np.cos(h))[:, None] * np.column_stack([np.cos(t), np.sin(t)])
        disc = np.sqrt(np.maximum(1 - h**2, 0))
        expected = {
            "swiss-roll": np.column_stack([t * np.cos(t), h, t * np.sin(t)]),
            "s-curve": np.column_stack([np.sin(t), h, np.sign(t) * (np.cos(t) - 1)]),
            "helix": np.column_stack([ring, np.sin(h)]),
            "torus": np.column_stack([ring, np.sin(h)]),
            "punctured-sphere": np.column_stack([disc[:, None] * np.column_stack([np.cos(t), np.sin(t)]), h]),
            "noisy-plane": np.column_stack([2 * t - 2 * h, t + 2 * h, 2 * t + h]) / 3,
        }[name]
        assert np.allclose(table.values, expected, rtol=0, atol=64 * EPS * np.abs(expected).max()), name


def test_points_satisfy_the_equation_of_their_surface() -> None:
    """Equations that do not go through the generator's parameters."""
    x, y, z = sample("swiss-roll", 500, 1).values.T
    turned = np.mod(np.arctan2(z, x) - np.hypot(x, z) + np.pi, 2 * np.pi) - np.pi  # a spiral: angle = radius mod 2π
    assert np.abs(turned).max() < 1e-13
    assert y.min() >= 0 and y.max() <= 21
    x, y, z = sample("s-curve", 500, 1).values.T
    assert np.abs(x**2 + (np.abs(z) - 1) ** 2 - 1).max() < 8 * EPS
    x, y, z = sample("punctured-sphere", 500, 1).values.T
    assert np.abs(x**2 + y**2 + z**2 - 1).max() < 8 * EPS
    assert z.max() <= 0.8
    for name in ("torus", "helix"):
        x, y, z = sample(name, 500, 1).values.T
        assert np.abs((np.hypot(x, y) - RING) ** 2 + z**2 - TUBE**2).max() < 32 * EPS, name
    plane = sample("noisy-plane", 500, 1, noise=0.0).values
    assert np.abs(plane @ [1, 2, -2]).max() < 32 * EPS


def test_the_helix_winds_eight_times() -> None:
    x, y, z = sample("helix", 4000, 1).values.T
    around, tube = np.arctan2(y, x), np.arctan2(z, np.hypot(x, y) - RING)
    assert np.abs(np.exp(1j * (8 * around - tube)) - 1).max() < 1e-13


@pytest.mark.parametrize(("name", "key", "low", "high"), [
    ("swiss-roll", "t", 1.5 * np.pi, 4.5 * np.pi), ("swiss-roll", "h", 0, 21),
    ("s-curve", "t", -1.5 * np.pi, 1.5 * np.pi), ("s-curve", "h", 0, 2),
    ("helix", "t", 0, 2 * np.pi),
    ("punctured-sphere", "t", 0, 2 * np.pi), ("punctured-sphere", "h", -1, 0.8),
    ("torus", "t", 0, 2 * np.pi),
    ("noisy-plane", "t", 0, SIDES[0]), ("noisy-plane", "h", 0, SIDES[1]),
])
def test_coordinates_are_uniform_on_their_range(name: str, key: str, low: float, high: float) -> None:
    values = coordinate(sample(name, 20_000, 11, truth=True), key)
    assert low <= values.min() and values.max() <= high
    assert evenness(values, low, high) < 1.95


def test_torus_is_covered_evenly_by_area() -> None:
    """The tube's angle has distribution (h + ½ sin h)/2π; uniform angles would crowd the inside."""
    h = coordinate(sample("torus", 20_000, 11, truth=True), "h")
    share = (h + TUBE / RING * np.sin(h)) / (2 * np.pi)
    assert evenness(share, 0, 1) < 1.95
    assert evenness(h, 0, 2 * np.pi) > 1.95


@pytest.mark.medium
def test_noise_has_its_standard_deviation_in_every_direction() -> None:
    for name in NAMES:
        clean, noisy = sample(name, 20_000, 4, noise=0.0).values, sample(name, 20_000, 4, noise=0.25).values
        covariance = np.cov((noisy - clean).T)
        assert np.abs(covariance / 0.25**2 - np.eye(len(covariance))).max() < 0.05, name


def test_noisy_plane_has_noise_of_its_own_and_known_principal_values() -> None:
    table = sample("noisy-plane", 200_000, 9)
    values = np.sort(np.linalg.eigvalsh(np.cov(table.values.T)))[::-1]
    assert np.allclose(values, [4 / 3 + 0.01, 1 / 3 + 0.01, 0.01], rtol=0.02)


def test_noise_depends_on_the_seed() -> None:
    first, second = (sample("s-curve", 10, seed, 0.1).values - sample("s-curve", 10, seed).values for seed in (1, 2))
    assert not np.isclose(first, second).any()


def test_one_row_is_a_sample() -> None:
    assert sample("torus", 1, 0).values.shape == (1, 3)


@pytest.mark.parametrize("columns", [1, 3, 12])
def test_balls_and_cubes_are_filled_evenly_and_told_their_truth(columns: int) -> None:
    ball, cube = (sample(name, 4000, 5, truth=True, columns=columns) for name in ("ball", "cube"))
    assert ball.values.shape == cube.values.shape == (4000, columns)
    assert np.allclose(np.linalg.norm(ball.values, axis=1), coordinate(ball, "r"), rtol=1e-12)
    assert evenness(coordinate(ball, "r") ** columns, 0, 1) < 1.95
    assert evenness((ball.values[:, 0] > 0) + np.random.default_rng(0).random(4000), 0, 2) < 1.95
    assert np.array_equal(np.minimum(cube.values, 1 - cube.values).min(axis=1), coordinate(cube, "w"))
    assert all(evenness(column, 0, 1) < 1.95 for column in cube.values.T)
    assert ball.columns == (("x", "y", "z") if columns == 3 else tuple(f"x{i}" for i in range(1, columns + 1)))


def test_cells_are_counts_of_types_and_batches() -> None:
    table, untold = sample("cells", 300, 2, truth=True, columns=400), sample("cells", 300, 2, columns=400)
    assert np.array_equal(table.values, untold.values) and not untold.labels
    assert (table.values >= 0).all() and np.array_equal(table.values, np.round(table.values))
    assert np.array_equal(sample("cells", 70, 2, columns=400).values, table.values[:70])
    assert not np.array_equal(sample("cells", 300, 3, columns=400).values, table.values)
    shares = {name: table.labels["type"].count(name) / 300 for name in TYPES}
    assert all(abs(shares[name] - share) < 0.08 for name, share in TYPES.items())
    assert set(table.labels["batch"]) == set(BATCHES)
    assert (table.values.var(axis=0) / np.maximum(table.values.mean(axis=0), 1e-9)).max() > 3  # beyond Poisson


def test_a_spot_is_as_bright_as_its_distance_says() -> None:
    table = sample("spots", 50, 3, truth=True)
    centers = np.column_stack([coordinate(table, "t"), coordinate(table, "h")])
    pixels = np.stack(np.meshgrid(np.arange(16), np.arange(16), indexing="ij"), axis=-1).reshape(256, 2) + 0.5
    apart = np.linalg.norm(centers[:, None] - pixels[None], axis=2)
    assert np.allclose(table.values, np.exp(-apart**2 / 8))
    assert centers.min() >= 3 and centers.max() <= 13


def test_sites_hold_the_species_whose_optimum_is_near() -> None:
    table = sample("sites", 300, 1, truth=True)
    assert table.values.shape == (300, 40) and np.array_equal(table.values, np.round(table.values))
    assert np.array_equal(sample("sites", 40, 1).values, table.values[:40]) and not sample("sites", 40, 1).labels
    place = coordinate(table, "t")
    assert place.min() >= 0 and place.max() <= 8 and coordinate(table, "h").max() <= 2
    common = table.values[:, table.values.sum(axis=0) > 100]
    means = (common * place[:, None]).sum(axis=0) / common.sum(axis=0)
    spreads = np.sqrt((common * (place[:, None] - means) ** 2).sum(axis=0) / common.sum(axis=0))
    assert spreads.max() < 1.3 and means.max() - means.min() > 5  # species of unit width, all along the gradient


def test_types_and_batches_show_in_the_logarithms_of_cells() -> None:
    """Each of both, held against the means of its groups, explains more than as many groups drawn by chance."""
    table = sample("cells", 400, 1, truth=True, columns=300)
    logs = np.log1p(1e4 * table.values / table.values.sum(axis=1, keepdims=True))

    def between(groups: np.ndarray) -> float:
        return sum((groups == g).sum() * ((logs[groups == g].mean(0) - logs.mean(0)) ** 2).sum() for g in set(groups))

    for name in ("type", "batch"):
        groups = np.array(table.labels[name])
        assert between(groups) > 3 * between(np.random.default_rng(0).permutation(groups))


@pytest.mark.parametrize(("name", "columns", "noise", "code"), [
    ("torus", 4, None, "E-SAMPLE-COLUMNS"), ("ball", 0, None, "E-SAMPLE-COLUMNS"),
    ("spots", 9, None, "E-SAMPLE-COLUMNS"), ("cells", 9, 0.5, "E-SAMPLE-NOISE")])
def test_what_a_sample_has_no_choice_of_is_refused(name: str, columns: int, noise: float | None, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        sample(name, 10, 0, noise, columns=columns)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["swiss_roll", "Swiss-Roll", "punctured_sphere"])
def test_a_name_may_have_underscores(name: str) -> None:
    known = sample(name.lower().replace("_", "-"), 10, 0)
    assert np.array_equal(sample(name, 10, 0).values, known.values)


def test_unknown_name_names_the_nearest(wording: Wording) -> None:
    with pytest.raises(UsageError) as caught:
        sample("swiss_rol", 10, 0)
    assert caught.value.code == "E-SAMPLE"
    assert "E-SAMPLE" in wording(caught.value)
    with wording.raises(UsageError, "SAMPLE"):
        sample("xyz", 10, 0)


@pytest.mark.parametrize(("rows", "seed", "noise", "code"), [
    (0, 0, None, "E-SAMPLE-ROWS"), (-3, 0, None, "E-SAMPLE-ROWS"), (5, -1, None, "E-SAMPLE-SEED"),
    (5, 0, -0.1, "E-SAMPLE-NOISE"), (5, 0, float("nan"), "E-SAMPLE-NOISE"), (5, 0, float("inf"), "E-SAMPLE-NOISE"),
])
def test_meaningless_numbers_are_refused(rows: int, seed: int, noise: float | None, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        sample("helix", rows, seed, noise)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["cells", "sites"])
def test_parts_of_counts_make_the_table(name: str) -> None:
    whole, parts = sample(name, 600, 2, truth=True, columns=5), [*sample_parts(name, 600, 2, truth=True, columns=5)]
    assert [part.rows for part in parts] == [256, 256, 88]
    assert np.array_equal(np.concatenate([part.values for part in parts]), whole.values)
    assert tuple(name for part in parts for name in part.ids) == tuple(whole.ids)
    assert {key: tuple(text for part in parts for text in part.labels[key]) for key in whole.labels} == whole.labels
    assert whole.ids[599] == f"{name[:-1]}600"
