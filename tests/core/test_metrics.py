"""Metrics against SciPy and their definitions, the facts that make them metrics, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import TypeAdapter, ValidationError
from scipy.spatial.distance import cdist

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.base.values.inputs import Features
from mlcli.core.check.metrics import bounded_distances
from mlcli.core.metrics import NAMES, AnyMetric, Metric, RowMetric
from mlcli.core.metrics.distances import between, distances_to, pairwise
from mlcli.core.metrics.domain import require_domain
from mlcli.core.metrics.haversine import RADIUS
from mlcli.errors import DataError, GeometryError
from tests.wording import Wording

METRIC: TypeAdapter[Any] = TypeAdapter(AnyMetric)
COUNTS = np.random.default_rng(0).poisson(1.5, (40, 23)) * 1.0
COUNTS[:, 0] += 1  # no row of zeros
AMOUNTS = COUNTS + 0.5
PLACES = np.random.default_rng(1).uniform([-90, -180], [90, 180], (40, 2))
DATA = {"aitchison": AMOUNTS, "haversine": PLACES}
every_metric = pytest.mark.parametrize("name", NAMES)
SCALABLE = [name for name in NAMES if name not in ("jaccard", "dice", "hamming", "aitchison", "gower", "haversine")]


def metric(name: str, **options: Any) -> Metric:
    return METRIC.validate_python({"name": name, **options} if options else name)  # type: ignore[no-any-return]


def ready(name: str, points: Array) -> RowMetric:
    return metric(name).fitted(points)


def rows_of(name: str, counts: Array = COUNTS) -> Array:
    """Points in the domain of a metric."""
    return DATA.get(name, counts)


def expected(name: str, left: Array, right: Array) -> Array:
    """SciPy's distances, or the definition where SciPy has none."""
    if name in ("jaccard", "dice"):
        return cdist(left != 0, right != 0, name)
    shares = [rows / rows.sum(axis=1)[:, None] for rows in (left, right)]
    logs = [np.log(rows) - np.log(rows).mean(axis=1)[:, None] if (rows > 0).all() else rows for rows in (left, right)]
    known = {"minkowski": lambda: cdist(left, right, "minkowski", p=3),
             "hellinger": lambda: cdist(*map(np.sqrt, shares)),
             "aitchison": lambda: cdist(*logs),
             "ruzicka": lambda: np.array([[1 - np.minimum(x, y).sum() / np.maximum(x, y).sum() for y in right]
                                          for x in left]),
             "gower": lambda: cdist(left / np.ptp(COUNTS, axis=0), right / np.ptp(COUNTS, axis=0), "cityblock") / 23,
             "haversine": lambda: on_sphere(left, right)}
    return known[name]() if name in known else cdist(left, right, name)


def on_sphere(left: Array, right: Array) -> Array:
    """By vectors in space: the angle from its sine and cosine."""
    (first, second) = (np.column_stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
                       for y, x in (np.deg2rad(left).T, np.deg2rad(right).T))
    sines = np.linalg.norm(np.cross(first[:, None], second[None]), axis=2)
    return RADIUS * np.arctan2(sines, first @ second.T)


@every_metric
def test_distances_are_those_of_scipy(name: str) -> None:
    points = rows_of(name)
    left, right = points[:13], points[9:]
    reach = RADIUS if name == "haversine" else 1.0
    np.testing.assert_allclose(between(ready(name, points), left, right), expected(name, left, right), rtol=1e-12,
                               atol=1e-12 * reach)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("haversine", "gower")])
def test_many_columns_keep_their_digits(name: str) -> None:
    generator = np.random.default_rng(2)
    points = generator.lognormal(size=(8, 3000)) * (generator.random((8, 3000)) < (2 if name == "aitchison" else 0.5))
    np.testing.assert_allclose(between(ready(name, points), points, points), expected(name, points, points),
                               rtol=1e-12, atol=1e-12)


@every_metric
@pytest.mark.parametrize("threads", [1, 2])
def test_all_pairs_are_those_of_blocks_whatever_the_threads(name: str, threads: int,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    points = rows_of(name)
    comparison = ready(name, points)
    whole = between(comparison, points, points)
    monkeypatch.setattr("mlcli.core.metrics.distances.SIDE", 7)
    with limit_threads(threads):
        distances = pairwise(comparison, points)
    assert distances.tobytes() == whole.tobytes() == whole.T.copy().tobytes()
    assert not np.diag(distances).any()
    assert distances_to(comparison, points)(points[3:5]).tobytes() == whole[3:5].tobytes()
    turned = between(comparison, points[:5], np.asfortranarray(points))
    assert turned.tobytes() == whole[:5].tobytes()


@every_metric
def test_distances_without_kernels_have_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = rows_of(name)
    comparison = ready(name, points)
    fast = between(comparison, points, points)
    monkeypatch.setattr("mlcli.native.available", lambda: False)
    slow = between(comparison, points, points)
    assert slow.tobytes() == fast.tobytes()


def tables(low: float) -> st.SearchStrategy[Array]:
    """Three rows of few columns with many equal numbers, and any that are not tiny."""
    number = st.one_of(st.integers(0, 3).map(float), st.floats(2.0**-20, 1e6, width=32)).map(lambda x: x + low)
    return hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(2, 6)), elements=number)


@every_metric
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_facts_of_a_metric(name: str, data: st.DataObject) -> None:
    """Never below zero, zero from a row to itself, the same both ways, and where it is said, no shorter way round."""
    if name == "haversine":
        points = data.draw(hnp.arrays(np.float64, (3, 2), elements=st.floats(-90, 90)))
    else:
        points = data.draw(tables(0.25 if name == "aitchison" else 0.0))
    chosen = metric(name)
    try:
        chosen.check(points, "abc", "uvwxyz")
        comparison = chosen.fitted(points)
    except (DataError, GeometryError):  # outside of its domain, or of one direction but for rounding
        assert name not in ("euclidean", "cityblock", "chebyshev", "minkowski", "canberra", "hamming", "gower")
        return
    distances = between(comparison, points, points)
    assert np.isfinite(distances).all() and (distances >= 0).all()
    assert distances.tobytes() == distances.T.copy().tobytes() and not np.diag(distances).any()
    for i in range(3):
        for j in range(3):
            assert between(comparison, points[i:i + 1], points[j:j + 1])[0, 0] == distances[i, j]
            assert distances[i, j] == 0 or not np.array_equal(points[i], points[j])
    if chosen.triangle:
        around = (distances[:, :, None] + distances[None]).min(axis=1)
        assert (distances <= around * (1 + 1e-9) + 1e-12 * distances.max()).all()


@pytest.mark.parametrize("name", ["cosine", "correlation", "braycurtis", "dice"])
def test_those_that_break_the_triangle_inequality_say_so(name: str) -> None:
    points = np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0]])
    distances = between(ready(name, points), points, points)
    assert not metric(name).triangle and distances[0, 2] > distances[0, 1] + distances[1, 2] + 1e-3


def test_scalable_metrics_say_so() -> None:
    assert [name for name in NAMES if metric(name).scalable] == SCALABLE


@pytest.mark.parametrize("name", SCALABLE)
@pytest.mark.parametrize("power", [-300, 300])
def test_units_are_as_declared(name: str, power: int) -> None:
    """Distances of data a power of two apart are that power apart, to the power declared; most to the last bit."""
    chosen = metric(name)
    moved = np.ldexp(COUNTS, power)
    distances = between(chosen.fitted(moved), moved, moved)
    original = between(chosen.fitted(COUNTS), COUNTS, COUNTS)
    assert distances.tobytes() == np.ldexp(original, power * chosen.unit_power).tobytes()


@pytest.mark.parametrize("name", ["cosine", "hellinger", "jensenshannon", "aitchison", "correlation"])
def test_lengths_of_rows_do_not_matter(name: str) -> None:
    points = rows_of(name)
    longer = points * np.random.default_rng(5).integers(1, 9, (40, 1))
    comparison = ready(name, points)
    np.testing.assert_allclose(between(comparison, points, longer), between(comparison, points, points), rtol=1e-12,
                               atol=1e-12)


@pytest.mark.parametrize(("name", "most"), [
    ("braycurtis", 1.0), ("ruzicka", 1.0), ("jaccard", 1.0), ("dice", 1.0), ("cosine", 1.0), ("hellinger", 2**0.5),
    ("jensenshannon", np.log(2) ** 0.5)])
def test_rows_that_share_nothing_are_as_far_apart_as_can_be(name: str, most: float) -> None:
    points = np.random.default_rng(3).random((2, 40))
    points[0, ::2] = points[1, 1::2] = 0
    found = between(ready(name, points), points[:1], points[1:])[0, 0]
    assert found == most if most == 1 and name != "cosine" else abs(found - most) <= 4e-15


def test_rows_of_one_direction_but_for_rounding_are_refused(wording: Wording) -> None:
    rows = COUNTS[:, :4] * [1e-300, 1.0, 1e300, 1e10] + [0, 0, 1e299, 0]
    for name in ("cosine", "correlation"):
        with wording.raises(GeometryError, "ALL-EQUAL"):
            require_domain(metric(name), Features(rows, [""] * 40))
        equal = np.repeat(rows[:1], 3, axis=0)  # what is equal is told where it matters
        require_domain(metric(name), Features(equal, [""] * 3))


def test_log_ratios_of_equal_numbers_are_zero() -> None:
    assert not metric("aitchison").represent(np.repeat(COUNTS[:, :1] + 1, 3, axis=1)).any()


def test_near_places_keep_their_digits() -> None:
    """A millimeter apart: differences of degrees are exact, those of radians are not."""
    place, steps = np.array([45.028633648, -120.5]), np.ldexp(np.random.default_rng(6).integers(1, 99, (20, 2)), -33)
    up, along = np.radians(steps).T  # less than a millionth, so that a plane is right to 1e-9
    middle = np.cos(np.radians(place[0] + steps[:, 0] / 2))
    found = between(ready("haversine", place[None]), place[None], place + steps)[0]
    np.testing.assert_allclose(found, RADIUS * np.hypot(up, middle * along), rtol=1e-12)


def test_near_rows_keep_their_digits() -> None:
    """Where 1 - cos, or a difference of entropies, would be all rounding."""
    row = np.random.default_rng(4).random(50) + 0.5
    near = row * (1 + 1e-9 * np.random.default_rng(5).standard_normal(50))
    shares = row / row.sum(), near / near.sum()
    gap = shares[0] - shares[1]
    found = between(ready("jensenshannon", row[None]), row[None], near[None])[0, 0]
    assert abs(found - np.sqrt((gap**2 / (4 * sum(shares))).sum())) <= 1e-6 * found
    units = row / np.linalg.norm(row), near / np.linalg.norm(near)
    found = between(ready("cosine", row[None]), row[None], near[None])[0, 0]
    assert abs(found - ((units[0] - units[1]) ** 2).sum() / 2) <= 1e-6 * found and found > 0


def test_powers_of_small_differences_do_not_vanish() -> None:
    points = np.array([[0.0, 0], [1e-3, 1e-3]])
    assert between(metric("minkowski", p=400.0).fitted(points), points, points)[0, 1] == pytest.approx(
        1e-3 * 2 ** (1 / 400), rel=1e-13)


def test_a_quarter_of_the_globe() -> None:
    places = np.array([[0.0, 0], [0, 90], [90, 17], [0, 180], [0, -180]])
    found = between(ready("haversine", places), places, places)
    np.testing.assert_allclose(found[0, 1:], np.pi * RADIUS * np.array([0.5, 0.5, 1, 1]), rtol=1e-15)
    assert found[3, 4] <= 1e-11


def test_gower_keeps_the_ranges_of_its_training_data() -> None:
    points = np.array([[0.0, 5, 1, 7], [4, 5, 2, 9], [2, 5, 1, 7]])
    comparison = metric("gower").fitted(points, categories=(2,))
    new = np.array([[8.0, 6, 1, 8]])
    np.testing.assert_allclose(between(comparison, new, points), [[(2 + 1 + 0 + 0.5) / 4, (1 + 1 + 1 + 0.5) / 4,
                                                                   (1.5 + 1 + 0 + 0.5) / 4]], rtol=1e-15)


def test_points_opposite_to_each_other_keep_their_digits() -> None:
    places = np.random.default_rng(3).uniform([-89, -170], [89, 170], (50, 2))
    opposite = places * [-1, 1] + [0, 180]
    found = between(ready("haversine", places), places, opposite).diagonal()
    np.testing.assert_allclose(found, np.pi * RADIUS, rtol=1e-15)
    short = np.deg2rad(1e-5)  # of the way to the opposite point, along the equator and through a pole
    near = np.array([[0.0, 180 - 1e-5], [1e-5, 180]])
    np.testing.assert_allclose(between(ready("haversine", places), np.zeros((1, 2)), near)[0],
                               (np.pi - short) * RADIUS, rtol=1e-15)


def test_a_shift_of_a_column_leaves_the_digits_of_gower() -> None:
    """Seconds since 1970, within five of each other: the shift is exact, so all distances are."""
    points = np.random.default_rng(4).integers(0, 5 * 2**20, (40, 3)) / 2.0**20
    plain, shifted = (between(ready("gower", rows), rows, rows) for rows in (points, points + [1.7e9, -3e9, 0]))
    assert plain.tobytes() == shifted.tobytes()


def test_shares_that_are_almost_zero_leave_the_digits_of_jensenshannon() -> None:
    """Of (ε, 1 - ε) and (1 - ε, ε), whose squared distance is ln 2 less the entropy of either."""
    small = 2.0 ** -np.arange(2.0, 50, 3)
    shares = np.column_stack([small, 1 - small])
    expected = np.sqrt(np.log(2) + small * np.log(small) + (1 - small) * np.log1p(-small))
    found = between(ready("jensenshannon", shares), shares, shares[:, ::-1]).diagonal()
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["gower", "haversine"])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_witness_of_a_metric_says_how_far_it_may_be_off_between_near_rows(name: str, sign: int) -> None:
    """And between places that are nearly opposite."""
    points = rows_of(name)[:12]
    near = points * [sign, 1] + [0, 90 * (1 - sign)] if name == "haversine" else points.copy()
    near *= 1 + 1e-7 * np.random.default_rng(5).random(points.shape)
    comparison: Any = ready(name, points)
    found = bounded_distances(comparison, points, near)
    assert np.all(np.abs(found.distances - between(comparison, points, near)) <= found.errors)


REFUSED: list[tuple[str, Any, str]] = [
    *((name, {(6, 2): -1.0}, "row 7 ('r6'), column 'c2': ")
      for name in ("braycurtis", "ruzicka", "jaccard", "dice", "hellinger", "jensenshannon")),
    *((name, {(6,): 0.0}, "row 7 ('r6'), ")
      for name in ("braycurtis", "ruzicka", "cosine", "dice", "hellinger", "jensenshannon")),
    ("correlation", {(6,): 0.1}, "row 7 ('r6'), "), ("aitchison", {(6, 2): 0.0}, "row 7 ('r6'), column 'c2': "),
    ("haversine", {(6, 0): 91.0}, "row 7 ('r6'), column 'c0': "),
]


@pytest.mark.parametrize(("name", "damage", "place"), REFUSED)
def test_what_is_outside_of_a_domain_is_named(name: str, damage: dict[Any, float], place: str,
                                              wording: Wording) -> None:
    points = rows_of(name, AMOUNTS).copy()
    ids, columns = [f"r{i}" for i in range(40)], [f"c{i}" for i in range(23)]
    metric(name).check(points, ids, columns)
    for cells, value in damage.items():
        points[cells] = value
    with wording.raises(DataError, "METRIC") as caught:
        metric(name).check(points, ids, columns)
    assert caught.value.what.startswith(f"{place}{name} ") and caught.value.where == "method.metric"
    assert caught.value.hint and ("pseudocount" in caught.value.hint) == (name == "aitchison")


def test_haversine_needs_two_columns(wording: Wording) -> None:
    with wording.raises(DataError, "METRIC"):
        metric("haversine").check(np.zeros((2, 3)), "ab", "xyz")


def test_options_are_names_or_sections() -> None:
    assert metric("minkowski", p=4.0).model_dump() == {"name": "minkowski", "p": 4.0}
    assert METRIC.validate_python("cosine") == METRIC.validate_python({"name": "cosine"})
    for wrong in ("cosinus", {"name": "cosine", "p": 2.0}, {"name": "minkowski", "p": 0.5}, 3):
        with pytest.raises(ValidationError):
            METRIC.validate_python(wrong)


@every_metric
def test_every_metric_says_what_it_is(name: str) -> None:
    first = (metric(name).__doc__ or "").split("\n\n")[0]
    assert first.endswith(".") and len(first) > 40
