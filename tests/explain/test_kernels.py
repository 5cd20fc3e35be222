"""`mlcli compare --kernels`: each run's kernel between the same rows, and how alike two of them are."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse

from mlcli.explain.kernels import RunKernel, compare_kernels
from mlcli.explain.mathml import mathml
from mlcli.runs import compare
from tests.journeys.support import BARE, Caller
from tests.wording import Wording

MATHML = "{http://www.w3.org/1998/Math/MathML}"


@pytest.fixture
def roll(mlcli: Caller, tmp_path: Path) -> Path:
    """A sheet of 60 rows, bent like an S, with the place along the bend in another file."""
    assert mlcli("sample", "s-curve", "--rows", "60", "--labels", "t.csv", "-o", "s.csv", "-q").code == 0
    return tmp_path / "s.csv"


def made(mlcli: Caller, method: str, *arguments: object, name: str = "") -> str:
    """The folder of a run on the sheet."""
    folder = f"runs/{name or method}"
    called = mlcli("embed", "-m", method, "s.csv", "--labels", "t.csv", "-o", folder, "-q", *BARE, *arguments)
    assert called.code == 0, called.err
    return folder


def kernels(*folders: str, seed: int = 0, colors: tuple[str, ...] = ("t",)) -> tuple[list[RunKernel], list[int]]:
    """The kernels of runs, and the rows between which they are, in their order."""
    options = compare.PageOptions(colors)
    found = compare_kernels(folders, compare.compare(folders, neighbors=5, seed=seed, options=options), None, seed)
    return [*found.kernels], found.rows.tolist()


def test_pca_and_classical_scaling_have_one_kernel(mlcli: Caller, roll: Path) -> None:
    """The first theorem of the framework: inner products of centered rows are -H D² H / 2."""
    folders = [made(mlcli, "pca"), made(mlcli, "mds"), made(mlcli, "kpca", "--kernel", "linear")]
    called = mlcli("compare", "--kernels", *folders, "--json")
    document = json.loads(called.out)["kernels"]
    assert len(document["pairs"]) == 3 and document["rows"] == 60
    assert all(pair["difference"] < 1e-13 and abs(pair["alignment"] - 1) < 1e-13 for pair in document["pairs"])
    points = np.loadtxt("s.csv", delimiter=",", skiprows=1)[:, 1:]
    one, other = (points - points.mean(axis=0))[kernels(folders[0])[1]], kernels(*folders)[0]
    for kernel in other:
        np.testing.assert_allclose(kernel.matrix, one @ one.T, atol=1e-12)


def test_the_kernel_of_isomap_is_the_one_that_a_run_keeps(mlcli: Caller, roll: Path) -> None:
    folder = made(mlcli, "isomap", "--keep", "kernel")
    (found,), rows = kernels(folder)
    kept = np.load(f"{folder}/kernel.npy")[np.ix_(rows, rows)]
    np.testing.assert_allclose(found.matrix, kept, atol=1e-12 * np.abs(kept).max())


def test_the_kernel_of_lle_is_the_inverse_of_its_cost(mlcli: Caller, roll: Path) -> None:
    folder = made(mlcli, "lle", "--keep", "weights")
    (found,), rows = kernels(folder)
    root = np.eye(60) - sparse.load_npz(f"{folder}/weights.npz").toarray()
    inverse = np.linalg.pinv(root.T @ root, rcond=1e-12)[np.ix_(rows, rows)]
    np.testing.assert_allclose(found.matrix, inverse, atol=1e-6 * np.abs(inverse).max())
    assert [entry.name for entry in found.formulas][-1] == "Cost of an embedding"


def test_rows_stand_in_the_order_of_the_first_color(mlcli: Caller, roll: Path) -> None:
    along = dict(line.split(",")[:2] for line in Path("t.csv").read_text().splitlines()[1:])
    _, rows = kernels(made(mlcli, "pca"))
    places = [float(along[str(row + 1)]) for row in rows]
    assert places == sorted(places) and sorted(rows) == list(range(60))


def test_the_page_has_a_heat_map_and_the_formulas_of_each_run(mlcli: Caller, roll: Path) -> None:
    folders = [made(mlcli, "pca"), made(mlcli, "isomap")]
    called = mlcli("compare", "--kernels", *folders, "-o", "page.html", "--color-by", "t")
    page = Path("page.html").read_text()
    assert called.code == 0 and page.count("<image") == 2 and "<h2>Kernels</h2>" in page
    assert page.count("<math") == 1 + 5  # of pca; of isomap the neighbors, graph, paths, -D²/2 and its centering
    assert "<h2>Kernels</h2>" not in (mlcli("compare", *folders, "-o", "plain.html"), Path("plain.html").read_text())[1]
    assert "alignment of kernels" in called.out


@pytest.mark.parametrize(("method", "options"), [
    ("smacof", ()), ("isomap", ("--set", "method.landmarks=20")), ("npe", ())])
def test_a_run_without_a_kernel_of_its_rows_is_refused_by_name(
        method: str, options: tuple[str, ...], mlcli: Caller, roll: Path, wording: Wording) -> None:
    folders = [made(mlcli, "pca"), made(mlcli, method, *options)]
    called = mlcli("compare", "--kernels", *folders, "-o", "page.html")
    assert called.code == 78 and "E-NO-KERNEL" in wording(called.err) and folders[1] in called.err
    assert not Path("page.html").exists()


def test_a_run_on_the_map_of_another_has_a_kernel_where_all_rows_are_fitted(mlcli: Caller, roll: Path,
                                                                            wording: Wording) -> None:
    map_run = made(mlcli, "mfa", "--groups", "first=x,y", "--groups", "second=z")
    lines = roll.read_text().splitlines(keepends=True)
    Path("more.csv").write_text("".join([lines[0], *(f"n{line}" for line in lines[1:9])]))
    for way in ("fixed", "refit"):
        assert mlcli("embed", "more.csv", "--onto", map_run, "--set", f"onto.way={way}", "-o", way, "-q").code == 0
    refused = mlcli("compare", "--kernels", map_run, "fixed")
    assert refused.code == 78 and wording(refused.err) == ["E-NO-KERNEL"] and map_run in refused.err
    called = mlcli("compare", "--kernels", map_run, "refit", "--json")
    assert called.code == 0 and json.loads(called.out)["kernels"]["rows"] == 60, called.err


def test_an_input_that_is_gone_is_asked_for(mlcli: Caller, roll: Path, wording: Wording) -> None:
    folders = [made(mlcli, "pca"), made(mlcli, "mds")]
    roll.rename(roll.with_name("moved.csv"))
    called = mlcli("compare", "--kernels", *folders)
    assert called.code == 66 and "E-RUN-INPUT" in wording(called.err)
    assert mlcli("compare", "--kernels", *folders, "--input", "moved.csv").code == 0


@pytest.mark.parametrize(("name", "options"), [
    ("kernels.png", ("--kernels",)), ("kernels.pdf", ("--kernels",)), ("kernels.txt", ("--kernels",)),
    ("page.png", ()), ("page", ()), ("page.svg", ())])
def test_a_file_of_another_format_is_refused_before_runs_are_read(name: str, options: tuple[str, ...], mlcli: Caller,
                                                                  wording: Wording) -> None:
    called = mlcli("compare", *options, "runs/one", "runs/other", "-o", name)
    assert called.code == 2 and wording(called.err) == ["E-NO-PAGE" if name == "page.svg" else "E-FORMAT"]
    assert "html" in called.err and not Path(name).exists()


def coordinates(folder: str) -> np.ndarray:
    """The first three coordinates of a run."""
    table = np.genfromtxt(f"{folder}/embedding.csv", delimiter=",", names=True)
    return np.column_stack([table[f"y{axis}"] for axis in (1, 2, 3)])


@pytest.mark.parametrize("method", ["mfa", "famd", "statis"])
def test_the_kernel_of_several_tables_is_that_of_the_rows_side_by_side(method: str, mlcli: Caller, roll: Path) -> None:
    """All coordinates F have F F' as the kernel: three columns have at most three axes."""
    groups = () if method == "famd" else ("--groups", "first=x,y", "--groups", "second=z")
    folder = made(mlcli, method, *groups, "--components", "3")
    (found,), rows = kernels(folder)
    axes = coordinates(folder)[rows]
    np.testing.assert_allclose(found.matrix, axes @ axes.T, atol=1e-12 * np.abs(found.matrix).max())
    assert len(found.formulas) >= 1


def test_each_sum_of_kernels_says_how_it_divides_and_weighs(mlcli: Caller, roll: Path) -> None:
    """K = Σ w K / s: by the first eigenvalue, not at all, by the Frobenius norm, and the last with weights by RV."""
    groups = ("--groups", "first=x,y", "--groups", "second=z")
    folders = [made(mlcli, "mfa", *groups), made(mlcli, "famd"), made(mlcli, "statis", *groups)]
    found = [[entry.formula for entry in kernel.formulas] for kernel in kernels(*folders)[0]]
    assert all(any("K = \\sum_g \\frac{w_g}{s_g} K_g" in formula for formula in formulas) for formulas in found)
    assert [formulas[1].partition(",")[0] for formulas in found] == ["s_g = λ_1(K_g)", "s_g = 1", "s_g = ‖K_g‖"]
    assert ["\\mathrm{RV} w = μ w" in formulas[1] for formulas in found] == [False, False, True]


SUM = ("{name: sum, weights: rv, tables: [{name: first, columns: [x, y], scale: standard}, "
       "{name: second, columns: [z], scale: standard}]}")


@pytest.mark.parametrize(("method", "options"), [
    ("pca", ()), ("pca", ("--set", "method.route=dual")), ("mds", ()), ("isomap", ("-k", "8")), ("lle", ("-k", "8")),
    ("mlle", ("-k", "8")), ("ltsa", ("-k", "8")), ("hlle", ("-k", "8")), ("laplacian", ("-k", "8")), ("diffusion", ()),
    ("diffusion", ("--set", "method.nearest=8")), ("sde", ("-k", "5")), ("famd", ()), ("statis", ()),
    *(("kpca", ("--kernel", name)) for name in ("gaussian", "laplacian", "polynomial", "sigmoid", "cosine", "linear")),
    ("chain", ("--kernel", "gaussian", "--set", "method.centering=none")),
    ("chain", ("--set", f"method.kernel={SUM}"))])
def test_the_letters_of_a_formula_are_named_with_it_or_before_it(method: str, options: tuple[str, ...], mlcli: Caller,
                                                                roll: Path) -> None:
    (found,), _ = kernels(made(mlcli, method, *options))
    named = {"exp", "min", "max", "tanh"}
    for entry in found.formulas:
        named |= set(re.findall(r"[A-Za-zΑ-ωα-ω]+", entry.symbols.replace("\u0303", "")))
        used = {letter.text for letter in ElementTree.fromstring(mathml(entry.formula)).iter(f"{MATHML}mi")}
        assert not used - named, (entry.formula, used - named)


def test_the_page_names_the_steps_and_their_letters(mlcli: Caller, roll: Path) -> None:
    folders = [made(mlcli, "isomap", "-k", "8"), made(mlcli, "ltsa", "-k", "8")]
    assert mlcli("compare", "--kernels", *folders, "-o", "page.html").code == 0
    page = Path("page.html").read_text()
    for part in ("Shortest paths", "D has the lengths of shortest paths", "pseudoinverse K of M"):
        assert part in page
    assert "Weights of neighbors" not in page  # which are those of lle


def test_the_kernel_of_a_sparse_walk_with_all_neighbors_is_that_of_all_pairs(mlcli: Caller, roll: Path) -> None:
    options = ("--set", "method.bandwidth.epsilon=2")
    folders = [made(mlcli, "diffusion", *options),
               made(mlcli, "diffusion", *options, "--set", "method.nearest=59", name="sparse")]
    dense, sparse_one = (kernel.matrix for kernel in kernels(*folders)[0])
    np.testing.assert_allclose(sparse_one, dense, atol=1e-12)


def test_the_kernel_of_several_matrices_is_that_of_their_compromise(mlcli: Caller, roll: Path) -> None:
    points = np.loadtxt("s.csv", delimiter=",", skiprows=1)[:, 1:]
    for name, columns in (("a", points[:, :2]), ("b", points[:, 2:])):
        np.save(f"{name}.npy", np.linalg.norm(columns[:, None] - columns[None], axis=2))
    assert mlcli("embed", "-m", "statis", "a.npy", "--dissimilarities", "--view", "b.npy", "--components", "3", "-o",
                 "runs/matrices", "-q", *BARE).code == 0
    (found,), rows = kernels("runs/matrices", colors=())
    axes = coordinates("runs/matrices")[rows]
    np.testing.assert_allclose(found.matrix, axes @ axes.T, atol=1e-12 * np.abs(found.matrix).max())
