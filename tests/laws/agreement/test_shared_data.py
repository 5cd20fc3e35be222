"""Published numbers on data too large to keep here: runs where the folder `shared` lies beside the repository."""

import json
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.cli.program import run
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.paths.paths import Paths
from mlcli.errors import NumericalError
from mlcli.findings.quality.measure import quality
from tests import support
from tests.findings.dimension import support as dimension_support
from tests.laws.agreement.tables import TOLERANCE, residual_variances, score_deviation, value_deviation

SHARED = Path(__file__).parents[4] / "shared"
DATA, EXPECTED = SHARED / "data", SHARED / "expected"
EXAMPLE = Path(__file__).parents[3] / "configs" / "gplvm-oil-flow.yaml"

NO_DATA = "no folder `shared` beside the repository"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)


def table(path: Path) -> np.ndarray:
    """The numbers of a CSV without its header and its row names."""
    text = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str, quotechar='"')
    return text[:, 1:].astype(float)


def test_faces_have_the_residual_variances_of_tenenbaum() -> None:
    """698 rendered heads, k = 6: 2 angles and a light. The images of 32 x 32 grey levels give the published curve."""
    points = support.features(np.load(DATA / "isomap_faces" / "X_32x32.npy", allow_pickle=False))
    distances = Paths().distances(graph_of(Nearest(6).lists(points), "union"), Compute())
    found = residual_variances(distances, support.fit("isomap", points, neighbors=6, components=4).embedding)
    assert np.round(found, 4).tolist() == [0.2009, 0.0865, 0.0259, 0.0215]


def test_faces_have_three_dimensions_by_their_curve() -> None:
    """The published answer, and the same curve off the diagonal."""
    document = dimension_support.found("isomap", np.load(DATA / "isomap_faces" / "X_32x32.npy", allow_pickle=False),
                                       neighbors=6)
    curve = document["rules"]["residual_variance"]["figures"]["residual_variances"]
    assert np.round(curve[:4], 4).tolist() == [0.2009, 0.0868, 0.026, 0.0216]
    assert document["recommendation"]["components"] == 3
    assert 3 <= document["rules"]["two_nn"]["figures"]["estimate"] <= 5


def test_first_three_axes_of_the_faces_follow_pose_and_light() -> None:
    """Each of light, pan and tilt is nearly a linear function of the three leading axes."""
    points = support.features(np.load(DATA / "isomap_faces" / "X_32x32.npy", allow_pickle=False))
    axes = support.fit("isomap", points, neighbors=6, components=3).embedding
    causes = np.load(DATA / "isomap_faces" / "poses_lights_std.npy", allow_pickle=False)
    design = np.column_stack([np.ones(len(axes)), axes])
    unexplained = causes - design @ np.linalg.lstsq(design, causes, rcond=None)[0]
    shares = 1 - unexplained.var(axis=0) / causes.var(axis=0)
    assert shares.min() > 0.8, shares


@pytest.mark.medium
@pytest.mark.parametrize(("path", "method", "options", "expected"), [
    ("isomap_faces/X_32x32.npy", "pca", {}, (0.90536, 0.95130)),
    ("isomap_faces/X_32x32.npy", "isomap", {"neighbors": 6}, (0.81002, 0.98420)),
    ("oil_flow/X_train.npy", "pca", {}, (0.92732, 0.98019))])
def test_neighborhoods_are_kept_as_other_tools_find(path: str, method: str, options: dict[str, int],
                                                   expected: tuple[float, float]) -> None:
    """Trustworthiness and continuity in neighborhoods of 12, two axes, unscaled."""
    points = support.features(np.load(DATA / path, allow_pickle=False))
    model = support.fit(method, points, **options)
    found = quality(points, model.embedding, kept=model.space(Compute()),
                    generator=np.random.default_rng(0)).figures
    assert (round(found["trustworthiness"], 5), round(found["continuity"], 5)) == expected


def test_swiss_roll_has_the_published_eigenvalues() -> None:
    points = np.load(DATA / "swiss_roll_tenenbaum" / "X.npy", allow_pickle=False)[:1000]
    values = support.fit("isomap", points, neighbors=7).spectrum.eigenvalues
    assert np.round(values[:3], 2).tolist() == [907168.16, 244109.53, 18056.18]


@pytest.mark.slow
def test_swiss_roll_unrolls_to_its_true_coordinates() -> None:
    """Tenenbaum's own coordinates of the sheet, up to a linear map, from 2,000 points without a short cut."""
    points = np.load(DATA / "swiss_roll_tenenbaum" / "X.npy", allow_pickle=False)[:2000]
    truth = np.load(DATA / "swiss_roll_tenenbaum" / "Y_true.npy", allow_pickle=False)[:2000]
    axes = support.fit("isomap", points, neighbors=7).embedding
    design = np.column_stack([np.ones(len(axes)), axes])
    unexplained = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    assert (unexplained.var(axis=0) / truth.var(axis=0)).max() < 0.01


def test_eurodist_has_the_published_eigenvalues() -> None:
    distances = table(DATA / "tables" / "eurodist.csv")
    values = support.fit("mds", support.dissimilarities(distances)).spectrum.eigenvalues
    assert np.round(values[[0, 1, -1]], 2).tolist() == [19538377.09, 11856555.33, -2251844.33]


def test_coil_unfolds_to_the_optimum_of_csdp() -> None:
    """72 views of one object, 4 neighbors, 153 pairs: trace and eigenvalues of an independent solver."""
    distances = support.dissimilarities(table(EXPECTED / "mvu" / "coil20_obj1_k4" / "D_input.csv"))
    model = support.fit("sde", distances, neighbors=4, tolerance=1e-7)
    assert model.fit["pairs"] == 153
    assert model.fit["trace"] == pytest.approx(34553.2981441393, rel=1e-6)
    assert model.fit["dual_bound"] == pytest.approx(34553.2980726312, rel=1e-6)
    assert model.spectrum.values[:2] == pytest.approx([23190.7505407374, 11323.8691138309], rel=1e-4)
    assert support.fit("sde", distances, neighbors=4).fit["trace"] == pytest.approx(34553.298, rel=1e-4)


def test_road_distances_cannot_be_kept() -> None:
    """CSDP finds eurodist with 5 neighbors infeasible: two cities are farther apart than by way of others."""
    with pytest.raises(NumericalError) as caught:
        support.fit("sde", support.dissimilarities(table(DATA / "tables" / "eurodist.csv")), neighbors=5)
    assert caught.value.code == "E-INFEASIBLE"


@pytest.mark.medium
def test_a_swiss_roll_of_300_points_is_unfolded_within_a_thousandth() -> None:
    points = np.load(DATA / "swiss_roll_tenenbaum" / "X.npy", allow_pickle=False)[:300]
    model = support.fit("sde", points, neighbors=5, constraints="at_most", tolerance=1e-3)
    assert model.fit["duality_gap"] <= 1e-3 and model.fit["constraint_violation"] <= 1e-6
    assert model.fit["trace"] == pytest.approx(106589.0, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "trace"), [(1000, 1119667.5), (5000, None)])
def test_large_swiss_rolls_are_unfolded(count: int, trace: float | None) -> None:
    """1,000 points over all kernels; 5,000 over a Laplacian basis, with the bound of the penalized trace."""
    points = np.load(DATA / "swiss_roll_tenenbaum" / "X.npy", allow_pickle=False)[:count]
    figures = support.fit("sde", points, neighbors=5, constraints="at_most", tolerance=1e-3).fit
    assert figures["converged"]
    if trace is not None:
        assert figures["trace"] == pytest.approx(trace, rel=1e-3)
    else:
        assert figures["basis"] == 50 and figures["trace"] <= figures["bound_without_basis"]


@pytest.mark.slow
def test_faces_unfold_within_a_thousandth() -> None:
    points = np.load(DATA / "isomap_faces" / "X_32x32.npy", allow_pickle=False)
    figures = support.fit("sde", points, neighbors=4, tolerance=1e-3).fit
    assert figures["converged"] and figures["constraint_violation"] <= 1e-4
    assert figures["trace"] == pytest.approx(371026.4, rel=1e-3)


@pytest.mark.parametrize("route", ["auto", "covariance", "dual", "svd"])
def test_tobamovirus_agrees_with_prcomp(route: str) -> None:
    """38 viruses, 18 amino acids: of no stated licence, so not copied into the repository."""
    expected = EXPECTED / "pca" / "tobamovirus_cov"
    variances, scores = table(expected / "sdev.csv")[:, 0] ** 2, table(expected / "scores.csv")
    model = support.fit("pca", table(expected / "X.csv"), divisor="n-1", route=route, components=len(variances))
    assert value_deviation(model.spectrum.eigenvalues[: len(variances)], variances) < TOLERANCE
    assert score_deviation(model.embedding, scores, variances) < TOLERANCE


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10])
def test_tobamovirus_has_the_likelihoods_of_probabilistic_pca(count: int) -> None:
    expected = json.loads((EXPECTED / "ppca" / "summary.json").read_text())["tobamovirus"][f"q{count}"]
    model = support.fit("ppca", table(EXPECTED / "ppca" / "tobamovirus" / "X.csv"), components=count)
    assert model.fit["log_likelihood"] == pytest.approx(expected["loglik"], rel=1e-11)
    assert model.fit["noise_variance"] == pytest.approx(expected["sigma2"], rel=1e-11)


def oil_flow() -> tuple[np.ndarray, np.ndarray]:
    """1,000 rows of 12 columns, and which of three classes each is of."""
    folder = DATA / "oil_flow"
    return (np.load(folder / "X_train.npy", allow_pickle=False).astype(float),
            np.load(folder / "y_train.npy", allow_pickle=False))


def strangers(embedding: np.ndarray, classes: np.ndarray) -> int:
    """Rows whose nearest neighbor is of another class."""
    gaps = support.distances(embedding)
    np.fill_diagonal(gaps, np.inf)
    return int(np.sum(classes[gaps.argmin(axis=1)] != classes))


def test_planes_of_principal_components_mix_the_classes_of_the_oil_flow() -> None:
    points, classes = oil_flow()
    assert strangers(support.fit("pca", points).embedding, classes) == 162


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("inference", "most"), [("map", 10), ("sparse", 24)])
def test_a_gaussian_process_separates_the_oil_flow(inference: str, most: int, tmp_path: Path) -> None:
    """Published: the full model 1, an early sparse one 24. As the example says it, from a file of one's own."""
    points, classes = oil_flow()
    cells = np.column_stack([points.astype(str), classes.astype(str)]).tolist()
    lines = [",".join([*(f"x{column}" for column in range(12)), "regime"]), *map(",".join, cells)]
    (tmp_path / "oil_flow.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = tmp_path / "run"
    changes = [f"input.path={tmp_path / 'oil_flow.csv'}", "report.formats=[npy]", f"method.inference.name={inference}"]
    assert run(["run", str(EXAMPLE), *(f"--set={change}" for change in changes), "--strict", "-q", "-o", str(output)]
               ) == 0
    assert strangers(np.load(output / "embedding.npy", allow_pickle=False), classes) <= most


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_clouds_of_the_oil_flow_need_three_of_ten_axes() -> None:
    figures = support.fit("gplvm", oil_flow()[0], components=10, inference={"name": "bayesian"}).fit
    assert figures["converged"] and figures["axes_in_use"] <= 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("constraint", ["none", "kernel"])
def test_new_rows_of_the_oil_flow_land_in_their_class(constraint: str) -> None:
    points, classes = oil_flow()
    order = np.random.default_rng(0).permutation(1000)
    new, old = order[:200], order[200:]
    model = support.fit("gplvm", points[old], constraint={"name": constraint}, minimize={"tolerance": 1e-4})
    gaps = ((model.project(points[new])[:, None] - model.embedding) ** 2).sum(axis=2)
    assert np.mean(classes[old][gaps.argmin(axis=1)] != classes[new]) <= 0.03
