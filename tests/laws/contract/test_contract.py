"""One contract for every method in the table: what holds whatever the formula."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.manifold import trustworthiness

from mlcli.base.machine.footprint import LIBRARIES, MIB, resident
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Labeled, TwoViews
from mlcli.base.values.products import Sparse, materialize
from mlcli.base.values.scaling import Unit
from mlcli.core.arithmetic import combine
from mlcli.core.similarities.projector import NoProjection
from mlcli.errors import ConfigError, DataError, GeometryError, MlcliError, NumericalError
from mlcli.methods import METHODS, Model
from mlcli.methods.layouts import NeighborEmbedding
from mlcli.methods.local.lltsa import LLTSA
from mlcli.methods.local.tangents import TangentMethod
from mlcli.methods.tables.combine import TablesMethod
from mlcli.rundir import archive
from mlcli.runs import repetition
from tests.laws.contract.option_values import plain
from tests.support import EPS, Notes, dissimilarities, distances, features, fit, furnished, in_domain, paired

POINTS = np.random.default_rng(21).standard_normal((60, 5)) * [4, 2, 1, 0.5, 0.25]
CLOSED = POINTS.copy()
CLOSED.flags.writeable = False
# Every method in every way of running it that computes something else, as its file declares them.
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{method} {way.name}".strip(): (method, dict(way.options))
    for method, kind in METHODS.items() for way in kind.variants}
BROKEN = {f"{method} {way.name}".strip(): way.broken for method, kind in METHODS.items() for way in kind.variants}
NEEDS_NEIGHBORS = [method for method, kind in METHODS.items() if "neighbors" in kind.model_fields]
NEEDS_MEMBERS = [method for method, kind in METHODS.items() if issubclass(kind, TangentMethod | LLTSA)]
NEEDS_CLASSES = [method for method, kind in METHODS.items() if issubclass(kind.accepts[0], Labeled)]
OF_TABLES = [method for method, kind in METHODS.items() if issubclass(kind, TablesMethod)]
MORE_POINTS = ("tsne",)  # methods of a perplexity, which is below a third of the other points
MORE_ROWS = ("gib", "vib")  # methods that refuse views which few rows make alike
# what axes are ranked by is no decomposition of a variance
RANKED = [name for name, (method, _) in CONFIGURATIONS.items()
          if not (METHODS[method].ranked_by or "").startswith("eigenvalues")]

# ways whose fits take longest; their methods have others here
COSTLY = {"autoencoder deep", "vae deep", "vae full", "vae free", "vib deep", "fa oblimin", "sde at most",
          "sde cityblock", "chain unfolding", "gpdm second order"}
ALIKE = ("vae full", "vae free", "vib deep")  # the other networks that are trained stand for them
CASES = [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else pytest.mark.medium) if name in COSTLY
         else name for name in CONFIGURATIONS]
LAYOUTS = [method for method, kind in METHODS.items() if issubclass(kind, NeighborEmbedding)]
SAME_GRAPH = 1e-12  # of its largest number, up to which rounding of distances changes others
SAME_QUALITY = 0.08, 0.01  # by which two pictures of one graph of 60 or of 600 points may differ in neighbors kept
LEAST_QUALITY = (0.85, 0.8, 0.55), (0.96, 0.96, 0.5)  # neighbors that each of these keeps: see neighbors_kept
NOT_CENTERED = ("nmf", "ib")  # methods whose coordinates are not zero for the mean: weights of parts, probabilities
every_configuration = pytest.mark.parametrize("name", CASES)
NETWORKS = ("autoencoder", "vae", "vib")
every_method = pytest.mark.parametrize("method", [
    pytest.param(name, marks=pytest.mark.slow if name == "vae" else pytest.mark.medium) if name in NETWORKS else name
    for name in METHODS])
OPTIONS: dict[str, dict[str, Any]] = {method: {"neighbors": 9} for method in NEEDS_NEIGHBORS}


def model_of(name: str, points: Array | None = None, **options: Any) -> Model:
    """The model of a configuration, or of a method by its name, with some options more."""
    if points is None and not options:
        return plain_model(name)
    method, chosen = CONFIGURATIONS[name]
    return fit(method, in_domain(method, POINTS if points is None else points), **{**chosen, **options})


def places_points(name: str) -> bool:
    """Whether the model of a configuration can place new points."""
    return not isinstance(model_of(name).projector, NoProjection)


def require_places(name: str) -> None:
    """Skip a test of new points for a method that cannot place them."""
    if not places_points(name):
        pytest.skip("its model has NoProjection")


def projected(name: str, new: Array, model: Model | None = None) -> Array:
    """New points, as numbers that the method takes, by the model of a configuration or another one."""
    return (model or model_of(name)).project(in_domain(CONFIGURATIONS[name][0], new))


@cache
def plain_model(name: str) -> Model:
    """The same of POINTS without other options, which many tests share: a model is frozen."""
    return model_of(name, POINTS)


@cache
def again(name: str) -> Model:
    """The same fit once more, of points that Python cannot write to."""
    return model_of(name, CLOSED)


def most(name: str) -> int:
    """The most axes that the points can have."""
    method, options = CONFIGURATIONS[name]
    return METHODS[method](**options).limit(features(in_domain(method, POINTS)))


def close(name: str, left: Array, right: Array) -> None:
    assert left.shape == right.shape
    scale = max(float(np.abs(left).max(initial=0.0)), 1e-300)
    assert np.abs(left - right).max(initial=0.0) <= METHODS[CONFIGURATIONS[name][0]].repeat_tolerance * scale


def same(name: str, left: Array, right: Array) -> None:
    """Coordinates from the same numbers up to signs and places in memory: of a layout they have the same bits."""
    close(name, left, right)
    assert CONFIGURATIONS[name][0] not in repetition.LAYOUTS or np.array_equal(left, right)


def reflection(normal: list[float]) -> Array:
    """The matrix (d x d) that mirrors points at the plane with this normal, with the same bits on every processor."""
    across = np.array(normal)
    return np.asarray(np.eye(len(normal)) - 2 / np.sum(across * across) * across[:, None] * across)


def alike(name: str, points: Array, *, rows: Indices | None = None, moved: bool = False,
          of: Array = POINTS, **options: Any) -> None:
    """Points that are `rows` of others, but for rounding, have the same embedding; if `moved`, the same distances.

    A layout, whose picture may follow rounding, has the same graph, and keeps neighbors as well.
    """
    order = np.arange(len(of)) if rows is None else rows
    model, other = model_of(name, None if of is POINTS else of, **options), model_of(name, points, **options)
    if issubclass(METHODS[CONFIGURATIONS[name][0]], NeighborEmbedding):
        same_graph(model, other, order)
    if "picture" in BROKEN[name]:
        same_quality(of, model.embedding, other.embedding[np.argsort(order)])
    else:
        left, right = model.embedding[order], other.embedding
        close(name, *((distances(left), distances(right)) if moved else (left, right)))


def same_graph(model: Model, other: Model, order: Indices) -> None:
    """Every sparse matrix of a model is that of another one whose points are in another order."""
    graphs = {kind: materialize(product) for kind, product in model.products.items()}
    assert graphs, "a layout that keeps neighbors gives its graph among the products of its model"
    assert graphs.keys() == other.products.keys()
    for kind, graph in graphs.items():
        left, right = (sparse.csr_array((made.values, made.indices, made.starts)).toarray()
                       for made in (graph, materialize(other.products[kind])) if isinstance(made, Sparse))
        left = left[np.ix_(order, order)]
        assert np.array_equal(left > 0, right > 0)
        assert np.abs(left - right).max() <= SAME_GRAPH * left.max()


def same_quality(points: Array, embedding: Array, other: Array) -> None:
    """Two embeddings keep the neighbors of points alike, and far better than random points do: 0.54, 0.53, 0.17.

    Of 72 layouts by UMAP of permuted rows and columns, some of them shifted, the worst kept 0.91, 0.89 and 0.65 (on
    one axis 0.86, 0.81 and 0.57), and they differed from that of the points themselves by up to 0.07; of 600 points
    UMAP and t-SNE kept 0.97, 0.97 and 0.51, and differed by 0.002. These are the figures of every processor.
    """
    kept, again = neighbors_kept(points, embedding), neighbors_kept(points, other)
    many = len(points) >= 600
    assert np.abs(kept - again).max() <= SAME_QUALITY[many]
    assert (np.minimum(kept, again) >= LEAST_QUALITY[many]).all()


def neighbors_kept(points: Array, embedding: Array) -> Array:
    """Trustworthiness, continuity, and the share of the ten nearest neighbors that stay among the ten nearest."""
    near, there = (np.argsort(distances(each) + np.diag(np.full(len(each), np.inf)), axis=1)[:, :10]
                   for each in (points, embedding))
    shared = np.mean([len(np.intersect1d(*both)) for both in zip(near, there, strict=True)]) / 10
    return np.array([trustworthiness(points, embedding, n_neighbors=10),
                     trustworthiness(embedding, points, n_neighbors=10), shared])


@every_method
def test_every_method_says_what_it_is_for(method: str) -> None:
    first, _, rest = (METHODS[method].__doc__ or "").partition("\n\n")
    assert first.strip().endswith(".") and "\n" not in first.strip()
    assert "Source:" in rest
    assert METHODS[method]().name == method


@every_configuration
def test_the_same_run_gives_the_same_bits(name: str) -> None:
    first, second = model_of(name), again(name)
    assert np.array_equal(first.embedding, second.embedding)
    assert np.array_equal(first.ranks.values, second.ranks.values)


@every_configuration
def test_permuted_rows_give_permuted_rows(name: str) -> None:
    if "permutation" in BROKEN[name]:
        pytest.skip("rows are in time order, or landmarks are chosen by row")
    order = np.random.default_rng(0).permutation(len(POINTS))
    alike(name, POINTS[order], rows=order)


@every_configuration
def test_rotation_and_shift_change_nothing(name: str) -> None:
    rotation = combine(reflection([1, 2, 3, 4, 5]), reflection([3, -1, 2, 0, 1]))
    rotation = np.eye(5) if "rotation" in BROKEN[name] else rotation
    alike(name, combine(POINTS, rotation) + (0 if "shift" in BROKEN[name] else 1), moved=True)


@every_configuration
def test_mirrored_points_give_the_same_embedding(name: str) -> None:
    if "mirror" in BROKEN[name]:
        pytest.skip("weights at the start do not follow")
    same(name, model_of(name).embedding, model_of(name, -POINTS).embedding)


@every_configuration
def test_permuted_and_constant_columns_change_nothing(name: str) -> None:
    count, value = 0 if "constant column" in BROKEN[name] else 2, 0.0 if "shift" in BROKEN[name] else 3.25
    constant, step = np.full((len(POINTS), count), value), 1 if "columns" in BROKEN[name] else -1
    alike(name, np.column_stack([POINTS[:, ::step], constant]))


@pytest.mark.medium
@pytest.mark.parametrize("method", LAYOUTS)
def test_a_layout_of_many_points_may_follow_rounding_and_its_graph_and_quality_do_not(method: str) -> None:
    """Rounding grows in each iteration: up to which number of points a picture repeats is no law of these methods."""
    points = np.random.default_rng(2).standard_normal((600, 8)) * np.r_[4, 2, 1, np.full(5, 0.5)]
    wider = np.column_stack([points[:, ::-1], np.full((600, 2), 3.25)])
    model, other = fit(method, points), fit(method, wider)
    same_graph(model, other, np.arange(600))
    same_quality(points, model.embedding, other.embedding)


@every_configuration
def test_axes_follow_the_sign_rule(name: str) -> None:
    if "signs" in BROKEN[name]:
        pytest.skip("loadings decide on signs")
    more = {} if "quick" in BROKEN[name] else {"components": min(3, most(name))}  # another network is compiled anew
    for column in model_of(name, **more).embedding.T:
        assert column[np.abs(column).argmax()] > 0


@every_configuration
def test_the_input_is_never_written_to(name: str) -> None:
    model = again(name)
    if places_points(name):
        projected(name, CLOSED, model)
    assert np.array_equal(CLOSED, POINTS)


@every_configuration
@pytest.mark.parametrize("layout", ["fortran", pytest.param("strided", marks=pytest.mark.slow)])
def test_the_memory_layout_of_the_input_does_not_matter(name: str, layout: str) -> None:
    strided = np.repeat(np.repeat(POINTS, 2, axis=0), 2, axis=1)[::2, ::2]
    points = np.asfortranarray(POINTS) if layout == "fortran" else strided
    same(name, model_of(name).embedding, model_of(name, points).embedding)


@every_configuration
def test_saved_and_loaded_models_project_the_same_bits_or_say_why_they_do_not(name: str, tmp_path: Any) -> None:
    model = model_of(name)
    archive.save(tmp_path, {"projector": model.projector})
    loaded = archive.load(tmp_path)["projector"]
    new = in_domain(CONFIGURATIONS[name][0], POINTS[:7] + 0.25)
    if not places_points(name):
        assert loaded == model.projector and not METHODS[CONFIGURATIONS[name][0]].decodes
        with pytest.raises(ConfigError, match=re.escape(loaded.reason)):
            model.project(new)
        return
    assert np.array_equal(model.project(new), loaded.project(new))
    if model.projector.decoder is not None:
        assert np.array_equal(model.reconstruct(model.embedding), loaded.reconstruct(model.embedding))


@every_method
def test_a_method_says_whether_coordinates_lead_back(method: str) -> None:
    runs = [("features", options, model_of(name)) for name, (kind, options) in CONFIGURATIONS.items() if kind == method]
    if Dissimilarities in METHODS[method].accepts:
        given = OPTIONS.get(method, {})
        runs.append(("dissimilarities", given, fit(method, dissimilarities(distances(POINTS)), **given)))
    there = [model.projector.decoder is not None for _, _, model in runs]
    for (kind, options, _), leads in zip(runs, there, strict=True):
        if not (leads and "correction" in options):  # which is zero of Euclidean distances, as only the fit knows
            assert METHODS[method](**plain(options)).leads_back(kind) == leads
    condition = METHODS[method].decodes
    assert set(there) == ({False} if condition is None else {True, False} if condition else {True})


@every_configuration
def test_a_method_says_whether_its_decoder_says_how_sure_it_is(name: str) -> None:
    model = model_of(name)
    known = places_points(name) and model.projector.deviation(model.embedding[:1]) is not None
    assert known == METHODS[CONFIGURATIONS[name][0]].decoder_variance


@every_configuration
def test_projection_does_not_depend_on_what_else_is_projected(name: str) -> None:
    if "alone" in BROKEN[name]:
        pytest.skip("new rows are a sequence")
    require_places(name)
    new = POINTS[:7] + 0.25  # nearer to a row, relative errors take many more steps
    together = projected(name, new)
    for i in range(7):
        same(name, together[i : i + 1], projected(name, new[i : i + 1]))


@pytest.mark.filterwarnings("error")
@every_configuration
def test_new_points_far_outside_are_projected_or_refused(name: str) -> None:
    require_places(name)
    for size in (1e5, 1e100, 1e200, 1e308):
        new = np.vstack([POINTS[:2], size * np.sign(POINTS[2:5])])
        try:
            assert np.isfinite(projected(name, new)).all()
        except NumericalError as error:
            assert size > 1e100 and re.search(r"row [345], ", str(error)) and error.code == "E-PROJECTION"


@every_configuration
def test_the_spectrum_descends_and_its_shares_add_up(name: str) -> None:
    spectrum = model_of(name).ranks
    if "descending" not in BROKEN[name]:
        assert (np.diff(spectrum.values) <= 0).all()
    if name in RANKED:
        return
    assert spectrum.complete == ("whole" not in BROKEN[name])
    if spectrum.complete:
        assert spectrum.proportions.sum() == pytest.approx(1, abs=1e-9)
        assert spectrum.frobenius == pytest.approx(np.linalg.norm(spectrum.values), rel=1e-12)


def in_unit(options: dict[str, Any], power: int) -> dict[str, Any]:
    """Options for data that is 2**power times as large."""
    carried = {"rate": -2, "gamma": -2, "radius": 1}
    return {name: in_unit(value, power) if isinstance(value, dict) else
            float(np.ldexp(value, power * carried[name])) if name in carried else value
            for name, value in options.items()}


@pytest.mark.parametrize(("name", "power"), [
    pytest.param(*case.values, marks=[*case.marks, *([pytest.mark.medium] if case.values[0] in COSTLY else []),
                                      *([pytest.mark.slow] if case.values[0] in ALIKE else [])])
    for case in paired(CONFIGURATIONS, [-200, 150])])
def test_what_carries_a_unit_follows_the_data_to_the_last_bit(name: str, power: int) -> None:
    method, options = CONFIGURATIONS[name]
    kind, points = METHODS[method], features(in_domain(method, POINTS))
    data = points if Features in kind.accepts else furnished(points, kind.accepts)
    larger = replace(data, values=np.ldexp(points.values, power))
    powers = kind(**options).powers_of(data)
    lengths = kind(**options).with_metric(data).length_unit(Unit(power)).exponent  # some metrics' have no unit
    one, other = model_of(name), fit(method, larger, **in_unit(options, lengths))
    assert np.array_equal(np.ldexp(one.embedding, lengths * powers.coordinates), other.embedding)
    assert np.array_equal(np.ldexp(one.ranks.values, lengths * powers.spectrum), other.ranks.values)
    new = in_domain(method, POINTS[:7] + 0.25)
    if places_points(name):
        placed = other.project(np.ldexp(new, power))
        assert np.array_equal(np.ldexp(one.project(new), lengths * powers.coordinates), placed)
    if one.forecast is not None and other.forecast is not None:
        for name in ("means", "deviations"):
            assert np.array_equal(np.ldexp(getattr(one.forecast, name), power), getattr(other.forecast, name))
    if one.loadings is not None and other.loadings is not None:
        chosen = kind(**options).resolve(data)
        declared = chosen.solve(chosen.in_range(data), Compute()).loadings.power
        count = 5 if isinstance(data, TwoViews) else len(one.loadings.values)  # a second view stays
        assert np.array_equal(np.ldexp(one.loadings.values[:count], power * declared), other.loadings.values[:count])
        assert np.array_equal(one.loadings.values[count:], other.loadings.values[count:])


@every_configuration
def test_there_is_a_spectrum_where_the_method_says_what_it_holds(name: str) -> None:
    kind = METHODS[CONFIGURATIONS[name][0]]
    assert (model_of(name).spectrum is None) == (kind.ranked_by is None) == (kind.holds().startswith("There is no "))


@every_configuration
def test_a_share_of_the_variance_keeps_just_enough_axes(name: str) -> None:
    if name in RANKED or "share" in BROKEN[name]:
        pytest.skip("takes no share")
    model = model_of(name, components=0.7)
    cumulative = np.cumsum(model.spectrum.proportions)
    kept = model.embedding.shape[1]
    assert cumulative[kept - 1] >= 0.7 - 1e-9
    assert kept == 1 or cumulative[kept - 2] < 0.7


@every_method
def test_one_point(method: str) -> None:
    data = features(in_domain(method, [[1.0, 2.0, 3.0]]))
    if method in NEEDS_CLASSES:
        with pytest.raises(GeometryError) as caught:
            fit(method, data)
        assert caught.value.code == "E-ONE-CLASS"
        return
    if method in (*NEEDS_NEIGHBORS, *MORE_POINTS):
        with pytest.raises(GeometryError) as caught:
            fit(method, data)
        assert caught.value.code == ("E-FEW-POINTS" if method in MORE_POINTS else "E-ONE-POINT")
        return
    with Notes() as notes:
        model = fit(method, data)
    if method in NOT_CENTERED:
        assert model.embedding.shape == (1, 1)
        return
    assert np.array_equal(model.embedding, [[0.0]])
    assert "W-RANK" in notes.codes


@every_method
def test_two_points_lie_on_a_line(method: str) -> None:
    if method in NEEDS_CLASSES:
        with pytest.raises(GeometryError) as caught:
            fit(method, features([[0.0, 0.0], [3.0, 4.0]]))
        assert caught.value.code in ("E-WITHIN", "E-ONE-CLASS")
        return
    if method in (*NEEDS_MEMBERS, *MORE_POINTS):
        with pytest.raises(GeometryError) as caught:
            fit(method, features([[0.0, 0.0], [3.0, 4.0]]))
        assert caught.value.code == "E-FEW-POINTS"
        return
    if method in MORE_ROWS:
        with pytest.raises(DataError) as few:
            fit(method, features([[0.0, 0.0], [3.0, 4.0]]))
        assert few.value.code == "E-COPIES"
        return
    model = fit(method, features(in_domain(method, [[-1.0, 2.0], [2.0, -2.0]])))
    assert model.embedding.shape == (2, 2 if method == "ib" else 1)  # two rows may be two clusters
    if METHODS[method].isometric:
        assert np.ptp(model.embedding) == pytest.approx(5, rel=1e-14)


@every_method
def test_three_points_keep_their_triangle(method: str) -> None:
    if method in (*NEEDS_CLASSES, *MORE_ROWS):
        pytest.skip("three classes of one point each, or views alike, as for two points")
    if method in (*NEEDS_MEMBERS, *MORE_POINTS):
        pytest.skip("too few for the dimensions of a neighborhood, as for two points")
    triangle = np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
    if method == "famd":  # which refuses the constant column
        triangle = triangle[:, :2]
    model = fit(method, features(in_domain(method, triangle)))
    assert model.embedding.shape[0] == 3
    if METHODS[method].isometric:
        assert np.allclose(distances(model.embedding), distances(triangle), rtol=1e-14)


@pytest.mark.parametrize("method", NEEDS_NEIGHBORS)
def test_too_many_neighbors_are_an_error_or_a_note(method: str) -> None:
    few = features(POINTS[:8])
    with pytest.raises(ConfigError) as caught:
        fit(method, few, neighbors=8)
    assert (caught.value.code, caught.value.where) == ("E-NEIGHBORS", "method.neighbors.count")
    with Notes() as notes:
        fit(method, few)
    assert "N-NEIGHBORS" in notes.codes


@every_configuration
def test_too_many_axes_are_an_error(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model_of(name, POINTS, components=len(POINTS) + 1)
    assert caught.value.code == "E-COMPONENTS"


@every_configuration
def test_duplicates_share_their_coordinates(name: str) -> None:
    if "alone" in BROKEN[name]:
        pytest.skip("a row's place depends on when it comes")
    if "near twins" in BROKEN[name]:
        pytest.skip("a point may move away from one that equals it")
    doubled = np.repeat(POINTS, 2, axis=0)
    model = model_of(name, doubled)
    scale = np.abs(model.embedding).max()
    apart = np.abs(model.embedding[::2] - model.embedding[1::2]).max()
    if "twins" in BROKEN[name]:  # equal points have equal weights only up to which twin they lean on
        assert apart <= 0.05 * scale
    else:
        assert apart <= 1e4 * EPS * scale


@every_method
def test_equal_points_give_zero_or_a_clear_error(method: str) -> None:
    equal = features(in_domain(method, np.ones((20, 3))))
    if method in NEEDS_CLASSES:
        with pytest.raises(GeometryError) as caught:
            fit(method, equal)
        assert caught.value.code == "E-ONE-CLASS"
        return
    if method in (*NEEDS_NEIGHBORS, *MORE_POINTS):
        with pytest.raises(GeometryError) as caught:
            fit(method, equal, **OPTIONS.get(method, {}))
        assert caught.value.code == "E-ALL-EQUAL"
        return
    if method in OF_TABLES:
        with pytest.raises(DataError) as constant:
            fit(method, equal)
        assert constant.value.code == "E-CONSTANT-GROUP"
        return
    with Notes() as notes:
        model = fit(method, equal)
    if method in NOT_CENTERED:
        assert np.array_equal(model.embedding, np.repeat(model.embedding[:1], 20, axis=0))
        return
    assert np.array_equal(model.embedding, np.zeros((20, 1)))
    assert "W-RANK" in notes.codes


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name == "lgssm" else name
                                  for name in CASES])
def test_constant_columns_only_differ_from_none_by_name(name: str) -> None:
    if "constant column" in BROKEN[name]:
        pytest.skip("a constant column lowers the noise, or is refused")
    points = POINTS.copy()
    points[:, 4] = 0.0 if "shift" in BROKEN[name] else 7.0
    count = 1 if "rotation" in BROKEN[name] else 2
    alike(name, points[:, :4], of=points, components=count)


@every_configuration
def test_many_more_columns_than_rows(name: str) -> None:
    wide = np.random.default_rng(3).standard_normal((40, 200)) * np.r_[20, 10, np.ones(198)]
    if CONFIGURATIONS[name][0] in MORE_ROWS:
        pytest.skip("such views are alike, and refused as those of two points")
    model = model_of(name, wide)
    assert model.embedding.shape == (40, 2)
    assert np.isfinite(model.embedding).all()
    # a new point joins its neighbors whether or not it would be theirs; of one view less is known than of two
    method, options = CONFIGURATIONS[name]
    if METHODS[method](**options).reproduces() and places_points(name):
        close(name, projected(name, wide, model), model.embedding)


@every_configuration
def test_a_far_origin_costs_only_its_own_digits(name: str) -> None:
    """An offset of 1e8 takes 8 of the 16 digits of the data itself; the method must not take more."""
    if "shift" in BROKEN[name]:
        pytest.skip("a polynomial with a constant has an origin")
    points = np.round(POINTS, 3)
    moved = (points + 1e8) - 1e8  # what is left of the data after storing it at the offset
    near, far = model_of(name, moved), model_of(name, moved + 1e8)
    scale = np.abs(near.embedding).max()
    assert np.abs(near.embedding - far.embedding).max() <= 1e-6 * scale


@every_method
def test_options_round_trip_through_plain_values(method: str) -> None:
    options = METHODS[method]()
    assert type(options)(**options.model_dump()) == options


@every_method
def test_the_wrong_kind_of_input_is_refused_before_anything_runs(method: str) -> None:
    from mlcli.base.values.inputs import Similarities

    square = distances(POINTS)
    for kind in (Features, Dissimilarities, Similarities):
        data = kind(square, [str(i) for i in range(len(square))])
        if issubclass(kind, tuple(base for accepted in METHODS[method].accepts for base in accepted.__mro__[:-2])):
            continue
        with pytest.raises(ConfigError) as caught:
            METHODS[method]().resolve(data)
        assert caught.value.code == "E-KIND"


@every_method
def test_memory_over_the_limit_is_refused(method: str) -> None:
    options: dict[str, Any] = {}
    if getattr(METHODS[method](), "paths", None) is not None:
        options = {"paths": {"store": "memory"}}
    data = features(np.random.default_rng(0).random((5000, 2)))
    held = resident(Compute().thread_count(), LIBRARIES) // MIB  # by this process, whatever it has loaded by now
    tight = Compute(memory_limit=f"{held + 140}M")
    steps = () if data.kind not in {kind.kind for kind in METHODS[method].accepts if kind is Features} else (
        METHODS[method](**options).steps(data, tight, None))
    if not any(step.square for step in steps):
        pytest.skip("needs no n x n memory")
    with pytest.raises(MlcliError) as caught:
        METHODS[method](**options).fit(data, tight)
    assert caught.value.exit_code == 82
    fitting = re.match("about ([0-9,]+) rows fit", caught.value.hint)
    assert fitting is not None and 500 < int(fitting[1].replace(",", "")) < 5000


def test_no_stage_default_is_overridden_by_a_method() -> None:
    """A default given by a method for a whole section would be lost as soon as one of its keys is set."""
    for kind in METHODS.values():
        for name, field in kind.model_fields.items():
            default = field.get_default()
            if name in ("neighbors", "paths", "eigensolve"):
                assert default == type(default)()


@every_configuration
def test_a_fit_makes_what_a_run_may_keep_of_it(name: str) -> None:
    method, options = CONFIGURATIONS[name]
    model, made = model_of(name), METHODS[method](**options).makes()
    assert set(made) <= set(model.products)
    if "kernel" in made:
        kernel = np.empty((len(POINTS), len(POINTS)))
        model.products["kernel"].fill(kernel)  # type: ignore[union-attr]
        top = np.linalg.eigvalsh(kernel)[::-1][: len(model.spectrum.values)]
        assert np.abs(top - model.spectrum.values * model.spectrum.divisor).max() <= 1e-9 * top[0]
