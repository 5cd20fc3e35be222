"""Each rule on data whose dimension is known, and what it says where it does not apply."""

import numpy as np
import pytest

from mlcli.base.values.inputs import Covariance
from mlcli.core.metrics.distances import with_metric
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.findings.dimension import spectral
from mlcli.findings.dimension.residual_variance import residual_variances
from mlcli.findings.dimension.spectral import below_chord, broken_stick_shares, common_eigenvalues
from mlcli.methods import METHODS
from tests.findings.dimension.support import counts, found, planted, roll, standardized
from tests.support import dissimilarities, distances, features, furnished, similarities

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_parallel_analysis_finds_a_planted_rank(rank: int, seed: int) -> None:
    document = found("pca", planted(200, 12, rank, 0.7, seed))
    assert counts(document)["parallel_analysis"] == rank == document["recommendation"]["components"]


@pytest.mark.medium
def test_parallel_analysis_of_noise_finds_nothing_as_often_as_its_level_says() -> None:
    """At the 95th percentile one table in twenty is taken for more."""
    said = [counts(found("pca", np.random.default_rng(seed).standard_normal((80, 5)) * [1, 1, 2, 1, 3]))
            for seed in range(40)]
    assert sum(one["parallel_analysis"] > 0 for one in said) <= 7
    assert "No axis stands out" in found("pca", RANDOM.standard_normal((200, 6)))["recommendation"]["sentence"]


def test_permuted_and_normal_columns_give_the_same_line() -> None:
    """Of normal data the two kinds of replicate have one distribution."""
    moved = RANDOM.standard_normal((400, 6)) * [1, 2, 3, 1, 2, 3]
    moved -= moved.mean(axis=0)
    norms = np.linalg.norm(moved, axis=0)
    lines = []
    for replicate in (spectral.permuted_replicate(moved), spectral.normal_replicate(399, norms)):
        drawn = np.array([replicate(np.random.default_rng(seed)) for seed in range(400)])
        assert drawn.sum(axis=1) == pytest.approx(np.full(400, norms @ norms), rel=1e-10)
        lines.append([drawn.mean(axis=0), np.percentile(drawn, 95, axis=0)])
    assert lines[0] == pytest.approx(np.array(lines[1]), rel=0.02)


def test_factor_analysis_says_all_eigenvalues_of_the_correlations_whatever_the_units() -> None:
    points = planted(60, 7, 2, 0.7)
    values = found("fa", points, axes={"components": 2})["correlations"]
    assert values == pytest.approx(np.linalg.eigvalsh(np.corrcoef(points.T))[::-1], rel=1e-9)
    scaled = points * 10.0 ** np.arange(7)
    assert found("fa", scaled, axes={"components": 2})["correlations"] == pytest.approx(values, rel=1e-9)
    assert "correlations" not in found("pca", points)


def test_many_rows_take_normal_columns_and_too_many_columns_none() -> None:
    many = found("pca", planted(20000, 12, 3, 1.0))["rules"]["parallel_analysis"]
    assert many["figures"]["columns"] == "normal" and many["components"] == 3
    assert "take too long" in found("pca", RANDOM.standard_normal((300, 290)))["left_out"]["parallel_analysis"]


def test_a_sample_of_many_rows_gives_what_all_give(monkeypatch: pytest.MonkeyPatch) -> None:
    points = standardized(planted(6000, 10, 2, 1.0))
    whole = counts(found("pca", points))
    monkeypatch.setattr("mlcli.findings.dimension.evidence.ROOM", 1)
    document = found("pca", points)
    assert document["rules"]["velicer_map"]["figures"]["rows"] == 2000
    exact = ("kaiser", "broken_stick", "parallel_analysis", "velicer_map", "elbow")
    assert {name: counts(document)[name] for name in exact} == {name: whole[name] for name in exact}


def test_the_same_seed_says_the_same() -> None:
    points = planted(3000, 5, 2, 0.5)
    assert found("pca", points, seed=3) == found("pca", points, seed=3)
    line = [found("pca", points, seed=seed)["rules"]["parallel_analysis"]["figures"]["line_shares"] for seed in (3, 4)]
    assert line[0] != line[1]


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize(("method", "options"), [("pca", {}), ("mds", {"correction": "lingoes"}),
                                                 ("ppca", {}), ("fa", {}),
                                                 ("isomap", {"neighbors": 8}), ("lle", {"neighbors": 8})])
def test_no_unit_matters(factor: float, method: str, options: dict) -> None:
    assert counts(found(method, factor * ROLL, **options)) == counts(found(method, ROLL, **options))


ROLL = roll(300)


def test_the_curve_of_a_swiss_roll_drops_at_two() -> None:
    document = found("isomap", roll(690), neighbors=6)
    curve = document["rules"]["residual_variance"]["figures"]["residual_variances"]
    assert len(curve) == 10 and curve[0] > 4 * curve[1] and max(curve[1:]) < 0.005
    said = counts(document)
    assert (said["residual_variance"], said["two_nn"], said["maximum_likelihood"]) == (2, 2, 2)
    assert document["recommendation"]["components"] == 2 and document["recommendation"]["by"] == "residual_variance"


@pytest.mark.filterwarnings("error")
def test_distances_beyond_the_range_of_doubles_have_their_curve() -> None:
    points = np.random.default_rng(9).uniform(0.1, 1, (12, 4))
    near, far = (found("mds", with_metric(Cityblock(), features(points * size)), metric="cityblock")["rules"]
                 for size in (1.0, 2.0**1023))
    assert near["residual_variance"]["figures"] == far["residual_variance"]["figures"]


def test_a_sampled_curve_is_near_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    points = roll(690)
    whole = found("isomap", points, neighbors=6)["rules"]["residual_variance"]["figures"]
    monkeypatch.setattr("mlcli.findings.dimension.residual_variance.EXACT", 100)
    part = found("isomap", points, neighbors=6)["rules"]["residual_variance"]["figures"]
    assert (whole["from"], part["from"], part["to"]) == (690, 58, 690)
    assert part["residual_variances"] == pytest.approx(whole["residual_variances"], abs=0.04)


def test_residual_variance_by_its_definition() -> None:
    points, axes = RANDOM.random((150, 4)), RANDOM.random((150, 3))
    upper = np.triu_indices(150, 1)
    expected = [1 - np.corrcoef(distances(points)[upper], distances(axes[:, :count])[upper])[0, 1] ** 2
                for count in (1, 2, 3)]
    assert residual_variances(distances(points), axes, axes) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("method", "data", "options"), [
    ("pca", RANDOM.random((60, 4)), {}), ("mds", dissimilarities(distances(RANDOM.random((60, 4)))), {}),
    ("kpca", RANDOM.random((60, 4)), {"kernel": {"name": "linear"}}),
    ("kpca", similarities(np.cov(RANDOM.random((60, 4)))), {}),
    ("mds", dissimilarities(distances(RANDOM.random((60, 4))) ** 1.5), {"correction": "lingoes"})])
def test_all_axes_leave_nothing_of_the_distances_that_the_method_keeps(method: str, data, options: dict) -> None:
    """Exact identities: coordinates on every axis have the kernel's own distances."""
    document = found(method, data, eigensolve={"components": "all"}, **options)
    assert document["rules"]["residual_variance"]["figures"]["residual_variances"][-1] < 1e-10


def test_a_gaussian_kernel_keeps_the_distances_of_its_own_space() -> None:
    options = {"kernel": {"name": "gaussian", "rate": 3.0}, "eigensolve": {"components": "all"}}
    curve = found("kpca", RANDOM.random((50, 3)), **options)["rules"]["residual_variance"]["figures"]
    assert curve["residual_variances"][-1] < 1e-9


def test_spectral_rules_on_made_up_spectra() -> None:
    document = found("pca", planted(400, 8, 3, 0.05))
    said = counts(document)
    assert [said[name] for name in ("elbow", "broken_stick", "kaiser", "eigengap", "variance_95")] == [3] * 5
    assert below_chord(np.array([10.0, 9, 1, 0.9, 0.8])).argmax() == 2
    assert broken_stick_shares(7).sum() == pytest.approx(1)


def test_rules_that_do_not_apply_say_why() -> None:
    lle = found("lle", ROLL, neighbors=8)["left_out"]
    assert "not variances" in lle["variance_95"] and "no scale" in lle["residual_variance"]
    mds = found("mds", dissimilarities(distances(ROLL)))["left_out"]
    assert {"kaiser", "parallel_analysis", "velicer_map"} <= set(mds)
    assert "prepare.scale=standard" in found("pca", ROLL * [1, 2, 3])["left_out"]["velicer_map"]
    top = found("isomap", ROLL, neighbors=8, eigensolve={"solver": "krylov"})["left_out"]
    assert "only the largest" in top["broken_stick"]
    points = np.random.default_rng(4).random((400, 40))
    short = found("mds", dissimilarities(distances(points)), eigensolve={"solver": "krylov"})
    assert "reach" in short["left_out"]["variance_99"]


@pytest.mark.parametrize("data", [np.zeros((5, 3)), np.ones((1, 2)), np.arange(2.0)[:, None], np.eye(3),
                                  np.repeat(np.arange(4.0)[:, None], 3, axis=0), RANDOM.integers(0, 2, (40, 6))])
@pytest.mark.parametrize("method", ["pca", "mds", "kpca", "ppca"])
def test_degenerate_data_is_no_error(method: str, data: np.ndarray) -> None:
    document = found(method, data.astype(float))
    assert set(document["rules"]) | set(document["left_out"]) == set(EVERY)
    for rule in document["rules"].values():
        assert rule["components"] is None or 0 <= rule["components"] <= max(data.shape)


EVERY = ("variance_80", "variance_90", "variance_95", "variance_99", "elbow", "broken_stick", "kaiser",
         "parallel_analysis", "velicer_map", "eigengap", "residual_variance", "two_nn", "maximum_likelihood",
         "minka_evidence", "ppca_bic", "fa_cross_validation")


@pytest.mark.parametrize("method", [name for name, kind in METHODS.items() if kind.rules not in ((), ("stress",))])
def test_every_method_with_a_rule_gets_a_recommendation(method: str) -> None:
    document = found(method, ROLL)
    advice = document["recommendation"]
    beside = {"parallel_factors"} if method == "fa" else set()
    assert set(document["rules"]) | set(document["left_out"]) == {*EVERY, *beside}
    assert advice["components"] == document["rules"][advice["by"]]["components"]
    for name, number in advice["differ"].items():
        assert number != advice["components"] and str(number) in advice["sentence"], name


def test_duplicates_do_not_change_the_intrinsic_dimension() -> None:
    once = counts(found("pca", ROLL))
    twice = found("pca", np.repeat(ROLL, 2, axis=0))["rules"]
    assert twice["two_nn"]["components"] == once["two_nn"] == 2 and twice["two_nn"]["figures"]["points"] == 300


def test_likelihoods_find_a_planted_rank() -> None:
    """Equal noise in every column is what probabilistic PCA is a model of; unequal, what factor analysis is."""
    points = planted(300, 9, 3, 0.7)
    for method in ("pca", "ppca"):
        document = found(method, points)
        assert [counts(document)[name] for name in ("minka_evidence", "ppca_bic")] == [3, 3]
        assert "fa" in document["left_out"]["fa_cross_validation"]
    assert found("ppca", points)["recommendation"]["by"] == "minka_evidence"
    noise = np.random.default_rng(3).standard_normal((300, 9)) * np.linspace(0.3, 2, 9)  # whatever other tests drew
    each = planted(300, 9, 3, 0.0) + noise
    document = found("fa", each)
    assert counts(document)["fa_cross_validation"] == 3 == document["recommendation"]["components"]
    assert document["recommendation"]["by"] == "fa_cross_validation"


def test_factors_are_counted_by_the_eigenvalues_of_the_correlations() -> None:
    """As PCA of standardized columns counts, whatever their units."""
    points = planted(200, 8, 2, 0.8)
    factors = counts(found("fa", points * np.geomspace(1e-3, 1e3, 8)))
    components = counts(found("pca", standardized(points)))
    for name in ("elbow", "broken_stick", "kaiser", "parallel_analysis", "velicer_map", "eigengap"):
        assert factors[name] == components[name], name
    document = found("fa", points)
    assert factors["parallel_factors"] == 2 == factors["parallel_analysis"]
    said = document["recommendation"]["sentence"].lower()
    assert "parallel analysis of components 2" in said and "parallel analysis of factors 2" in said
    left = document["left_out"]
    assert "not principal components" in left["variance_90"] and "residual_variance" in left


@pytest.mark.parametrize("observations", [200, None])
def test_a_covariance_keeps_the_rules_that_need_no_rows(observations: int | None) -> None:
    points = standardized(planted(200, 8, 2, 0.8))
    matrix = Covariance(points.T @ points / 200, [f"x{i}" for i in range(8)], observations)
    whole = found("pca", points)
    said = counts(found("pca", matrix))
    none = set() if observations else {"parallel_analysis", "minka_evidence", "ppca_bic"}
    for name in {"elbow", "broken_stick", "kaiser", "velicer_map", "eigengap", "parallel_analysis", "variance_80",
                 "minka_evidence", "ppca_bic"} - none:
        assert said[name] == counts(whole)[name], name
    left = found("pca", matrix)["left_out"]
    assert none | {"two_nn", "maximum_likelihood", "residual_variance"} <= set(left)
    factors = found("fa", matrix)
    assert counts(factors)["velicer_map"] == 2 and "rows" in factors["left_out"]["fa_cross_validation"]


def test_a_model_of_gaps_counts_nothing_by_its_own_spectrum() -> None:
    points = planted(100, 6, 2, 0.5)
    points[::7, 2] = np.nan
    left = found("ppca", points)["left_out"]
    assert "noise" in left["elbow"] == left["eigengap"]
    assert "noise" in found("ppca", planted(100, 6, 2, 0.5), solver="em")["left_out"]["broken_stick"]


def test_the_curve_of_probabilistic_pca_is_that_of_its_components() -> None:
    points = planted(150, 6, 2, 0.5)
    curves = [found(method, points)["rules"]["residual_variance"]["figures"]["residual_variances"]
              for method in ("pca", "ppca")]
    assert curves[0] == pytest.approx(curves[1], rel=1e-9)


def test_a_rising_likelihood_and_too_few_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "folds" in found("fa", RANDOM.standard_normal((7, 5)))["left_out"]["fa_cross_validation"]
    monkeypatch.setattr("mlcli.findings.dimension.likelihood.BUDGET", 0.05)
    assert "rises" in found("fa", planted(300, 12, 5, 0.7))["left_out"]["fa_cross_validation"]


@pytest.mark.parametrize("name", ["lda", "cca", "ibfa", "sfa", "lgssm", "ica"])
def test_rules_for_eigenvalues_are_left_out_with_the_reason(name: str) -> None:
    """Of axes that are ranked by something else no rule takes it for a variance."""
    kind, data = METHODS[name], features(np.cumsum(np.random.default_rng(3).standard_normal((80, 4)), axis=0))
    document = found(name, data if issubclass(type(data), kind.accepts) else furnished(data, kind.accepts))
    assert set(document["rules"]) == {"two_nn", "maximum_likelihood"}
    assert {"kaiser", "elbow", "variance_90", "broken_stick", "residual_variance"} < set(document["left_out"])
    reason = "no spectrum" if name == "ica" else kind.ranked_by
    assert all(reason in document["left_out"][rule] for rule in ("kaiser", "elbow", "variance_90", "broken_stick"))
    assert all(told for told in document["left_out"].values())
    assert document["recommendation"]["components"] is None


def test_common_eigenvalues_are_those_with_squared_multiple_correlations_in_the_diagonal() -> None:
    points = standardized(planted(200, 6, 2, 0.8))
    correlations = points.T @ points / len(points)
    reduced = correlations.copy()
    for column in range(6):
        others = np.delete(np.arange(6), column)
        weights = np.linalg.lstsq(points[:, others], points[:, column], rcond=None)[0]
        reduced[column, column] = 1 - np.mean((points[:, column] - points[:, others] @ weights) ** 2)
    expected = np.linalg.eigvalsh(reduced)[::-1]
    assert np.allclose(common_eigenvalues(200 * correlations), expected, rtol=0, atol=1e-12)
    assert np.isnan(common_eigenvalues(np.ones((3, 3)))).all()
    figures = found("fa", points)["rules"]["parallel_factors"]["figures"]
    assert np.allclose(figures["eigenvalues"], expected, rtol=0, atol=1e-12)
    assert "parallel_factors" not in {**found("pca", points)["rules"], **found("pca", points)["left_out"]}
