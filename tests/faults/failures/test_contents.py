"""Group B of the failure table: what a matrix of features may hold. A row's number begins the name of its cases."""

from pathlib import Path

import numpy as np
import pytest

from tests.faults.failures.support import Refusal, answers, coordinates, embed, npy, refuses
from tests.journeys.support import Caller

POINTS = np.random.default_rng(3).standard_normal((20, 4)) * [4.0, 3.0, 2.0, 1.0]
ONE, EQUAL, LINE = POINTS[:1], np.ones((9, 3)), np.outer(np.arange(9.0), [1.0, 2.0, 3.0])
DWARFED = np.column_stack([POINTS, np.full(20, 1e300)])
FEW = ("--outputs", "embedding,spectrum", "-o", "out")
NEIGHBORS = ("isomap", "lle", "laplacian", "sde")
REFUSED: dict[str, tuple[np.ndarray, tuple[str, ...], int, str, str]] = {  # values, options, exit, error, place
    **{f"B29 one point, {method}": (ONE, ("-m", method), 65, "E-ONE-ROW", "x.npy") for method in (
        *NEIGHBORS, "pca", "mds", "kpca", "fa", "gplvm", "nmf", "tsne", "umap", "random", "diffusion", "autoencoder")},
    "B31 axes beyond the columns": (POINTS, ("-p", "5"), 78, "E-COMPONENTS", "method.eigensolve.components"),
    "B31 axes beyond the rows": (POINTS[:3], ("-p", "3"), 78, "E-COMPONENTS", "method.eigensolve.components"),
    "B32 axes beyond the rank": (LINE, ("-p", "2"), 81, "E-AXES", "method.eigensolve.components"),
    **{f"B33 a constant column that dwarfs all others, {method}": (
        DWARFED, ("-m", method), 65, "E-COLUMN-SCALES", "column 5")
       for method in ("pca", "ppca", "mds", "isomap", "fa")},
    **{f"B34 all equal, {method}": (EQUAL, ("-m", method), 81, "E-ALL-EQUAL", "") for method in NEIGHBORS},
}


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row: str, mlcli: Caller) -> None:
    values, options, code, error, where = REFUSED[row]
    Path("x.npy").write_bytes(npy(values))
    refuses(mlcli, Refusal(embed("x.npy", *options), code, error, where))


ZERO: dict[str, tuple[np.ndarray, str]] = {
    f"B34 all equal, {method}": (EQUAL, method) for method in ("pca", "mds", "kpca", "ica", "lgssm")}


@pytest.mark.parametrize("row", ZERO)
def test_zero(row: str, mlcli: Caller) -> None:
    values, method = ZERO[row]
    Path("x.npy").write_bytes(npy(values))
    answers(mlcli, "embed", "x.npy", "-m", method, *FEW, warning="W-RANK")
    assert len(coordinates()) == len(values) and not coordinates().any()


def made(mlcli: Caller, values: np.ndarray, *options: str, warning: str = "") -> np.ndarray:
    """The coordinates of a run of features."""
    Path("x.npy").write_bytes(npy(values))
    answers(mlcli, "embed", "x.npy", *options, *FEW, warning=warning)
    return coordinates()


def gram(values: np.ndarray) -> np.ndarray:
    """Inner products about the mean: what a linear embedding keeps."""
    centered = values - values.mean(axis=0)
    return np.asarray(centered @ centered.T)


SAME: dict[str, tuple[np.ndarray, tuple[str, ...], str, float]] = {  # the same points: values, options, warning, scale
    "B33 a constant column": (np.column_stack([POINTS, np.ones(20)]), (), "", 1.0),
    "B33 a constant column that is centered first": (DWARFED, ("--scale", "center"), "", 1.0),
    "B36 an offset": (POINTS + 1e8, (), "", 1.0),
    "B37 large": (POINTS * 1e300, (), "W-RANGE", 1e300), "B37 small": (POINTS * 1e-300, (), "W-RANGE", 1e-300),
    "B45 columns in another order": (POINTS[:, [2, 0, 3, 1]], (), "", 1.0),
    "B40 more columns than rows": (np.pad(POINTS, ((0, 0), (0, 400))), (), "", 1.0),
    "B41 Fortran order, read in single precision": (np.asfortranarray(np.round(POINTS, 1).astype("f4")), (), "", 1.0)}


@pytest.mark.parametrize("row", SAME)
def test_same(row: str, mlcli: Caller) -> None:
    """All axes of PCA hold the inner products of the points, in whatever form these are given."""
    values, options, warning, scale = SAME[row]
    points = POINTS if values.dtype == np.float64 else values.astype(float)
    found = made(mlcli, values, "-p", "4", *options, warning=warning) / scale
    exact = 1e-6 if "offset" in row else 1e-12  # of 16 digits an offset of 1e8 takes half
    assert np.abs(gram(found) - gram(points)).max() <= exact * np.abs(gram(points)).max()


def test_b30_two_points_are_a_line_and_three_a_triangle(mlcli: Caller) -> None:
    for count in (2, 3):
        for method in ("pca", "mds"):
            found = made(mlcli, POINTS[:count], "-m", method)
            assert np.allclose(gram(found), gram(POINTS[:count]), rtol=0, atol=1e-12 * gram(POINTS[:count]).max())


def test_b35_equal_rows_have_equal_coordinates(mlcli: Caller) -> None:
    for method in ("pca", "mds", "kpca"):
        found = made(mlcli, np.vstack([POINTS, POINTS]), "-m", method)
        assert np.abs(found[:20] - found[20:]).max() <= 1e-13 * np.abs(found).max()


def test_b38_denormal_numbers_keep_the_digits_that_they_have(mlcli: Caller) -> None:
    whole = np.round(POINTS * 1e3)
    found = made(mlcli, whole * (5e-324 * 2**40), "-p", "2", warning="W-RANGE")
    plain = made(mlcli, whole, "-p", "2")
    assert np.allclose(found * 2.0**1000, plain * (5e-324 * 2**40) * 2.0**1000, rtol=1e-9, atol=0)


def test_b39_an_outlier_leaves_the_other_points_their_digits(mlcli: Caller) -> None:
    values = np.vstack([POINTS, 1e8 * np.eye(4)[:1]])
    made(mlcli, values, "-m", "mds", "-p", "1", "--keep", "distances")
    direct = np.linalg.norm(values[:, None] - values[None], axis=2)
    assert np.allclose(np.load("out/distances.npy"), direct, rtol=1e-14, atol=0)


def test_b42_single_precision_is_computed_in_double(mlcli: Caller) -> None:
    narrow = POINTS.astype("f4")
    gaussian = ("-m", "kpca", "--set", "method.kernel.name=gaussian")
    assert np.array_equal(made(mlcli, narrow, *gaussian), made(mlcli, narrow.astype(float), *gaussian))


def test_b43_equal_eigenvalues_are_told(mlcli: Caller) -> None:
    made(mlcli, np.vstack([np.eye(4), -np.eye(4)]), "-p", "2", warning="W-UNDETERMINED")


def test_b44_a_label_of_one_class_changes_nothing(mlcli: Caller) -> None:
    rows = [",".join(map(repr, row)) for row in POINTS.tolist()]
    Path("x.csv").write_text("\n".join(["a,b,c,d,kind", *(f"{row},same" for row in rows)]))
    answers(mlcli, *embed("x.csv", "--label-column", "kind"))
    labeled = np.genfromtxt("out/embedding.csv", delimiter=",", skip_header=1, usecols=(2, 3))
    assert np.array_equal(labeled, made(mlcli, POINTS))
