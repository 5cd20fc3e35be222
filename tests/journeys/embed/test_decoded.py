"""`report.image` and decoded.npz: a run draws what its decoder does, and again from its files."""

import io
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from tests.faults.fuzz.directories import damaged
from tests.journeys.support import Caller
from tests.report.png import images
from tests.wording import Wording

SHAPE = (4, 5)
CELLS = 20


@pytest.fixture
def faces(tmp_path: Path) -> Array:
    """Images of two bars that grow and shrink, with a little noise, in faces.npy."""
    generator = np.random.default_rng(2)
    rows = np.zeros((40, *SHAPE))
    rows[:, 1], rows[:, :, 3] = (generator.uniform(0, 200, (40, 1)) for _ in range(2))
    rows = (rows + generator.uniform(0, 20, rows.shape)).reshape(40, CELLS)
    np.save("faces.npy", rows)
    return rows


@pytest.fixture
def run(mlcli: Caller, faces: Array) -> Path:
    """Their principal components, drawn as images."""
    called = mlcli("embed", "faces.npy", "-p", "3", "--set", "report.image=[4,5]", "-o", "run", "-q")
    assert called.code == 0, called.err
    return Path("run")


def numbers(path: str) -> Array:
    """The numbers of a table whose first column holds ids."""
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, 1:]


def levels(rows: Array, low: float, high: float) -> Array:
    """Images from the lowest to the highest value, from 0 to 255."""
    return np.asarray(np.rint(255 * np.clip((rows - low) / (high - low), 0, 1)).reshape(-1, *SHAPE))


def sheets(page: Path) -> list[Array]:
    """The images of a page that hold more than one row, or axis."""
    return [image for image in images(page.read_text()) if image.shape[:2] != SHAPE]


def cut(sheet: Array, across: int) -> Array:
    """The images of a sheet, after a look at the gaps between them, which are not drawn."""
    lines = (sheet.shape[0] + 1) // (SHAPE[0] + 1)
    assert sheet.shape == (lines * (SHAPE[0] + 1) - 1, across * (SHAPE[1] + 1) - 1, 2)
    found = [sheet[5 * line : 5 * line + 4, 6 * place : 6 * place + 5] for line in range(lines)
             for place in range(across)]
    assert all((image[..., 1] == 255).all() for image in found)
    assert int((sheet[..., 1] == 255).sum()) == len(found) * CELLS
    return np.stack(found)[..., 0].astype(float)


def test_the_page_holds_the_images_of_rows_their_reconstructions_and_the_plane(
        mlcli: Caller, faces: Array, run: Path) -> None:
    plane, beside = sheets(run / "report.html")
    stored = np.load(run / "decoded.npz")
    rows = stored["rows"]
    assert mlcli("reconstruct", run, run / "embedding.csv", "-o", "back.csv", "-q").code == 0
    back = numbers("back.csv")
    errors = np.linalg.norm(faces - back, axis=1)
    assert rows[0] == errors.argmin() and rows[-1] == errors.argmax() and (np.diff(errors[rows]) >= 0).all()
    low, high = faces[rows].min(), faces[rows].max()
    drawn = cut(beside, len(rows))
    assert np.array_equal(drawn, levels(np.concatenate([faces[rows], back[rows]]), low, high))

    embedding = numbers(str(run / "embedding.csv"))
    ends = np.quantile(embedding[:, :2], [0.02, 0.98], axis=0).T
    grid = [[x, y, embedding[:, 2].mean()] for y in np.linspace(*ends[1], 10)[::-1] for x in np.linspace(*ends[0], 10)]
    lines = ["id,y1,y2,y3", *(f"{place},{','.join(map(repr, map(float, at)))}" for place, at in enumerate(grid))]
    Path("grid.csv").write_text("\n".join([*lines, ""]))
    assert mlcli("reconstruct", run, "grid.csv", "--id-column", "id", "-o", "plane.csv", "-q").code == 0
    features = numbers("plane.csv")
    assert np.abs(cut(plane, 10) - levels(features, low, high)).max() <= 1  # where rounding differs


def test_the_page_is_drawn_again_from_the_files(mlcli: Caller, run: Path) -> None:
    before = (run / "report.html").read_bytes()
    assert b"Pixels go from" in before
    assert mlcli("report", run, "-q").code == 0
    assert (run / "report.html").read_bytes() == before
    assert mlcli("verify", run).code == 0


def test_a_shape_may_be_chosen_when_the_page_is_drawn_again(mlcli: Caller, run: Path) -> None:
    mlcli.finished("embed", "faces.npy", "-p", "3", "-o", "plain", "-q")
    assert images(Path("plain/report.html").read_text()) == []
    assert mlcli("report", "plain", "--image", "4,5", "-q").code == 0
    plane, beside = sheets(Path("plain/report.html"))
    assert np.array_equal(beside, sheets(run / "report.html")[1]) and len(cut(plane, 5)) == 25


@pytest.mark.parametrize("image", ["4,4", "4", "4;5", "4,5,2", "-4,-5"])
def test_a_shape_that_does_not_fit_a_finished_run_is_refused(mlcli: Caller, run: Path, image: str,
                                                             wording: Wording) -> None:
    before = (run / "report.html").read_bytes()
    called = mlcli("report", run, "--image", image)
    assert called.code == 78 and "--image" in called.err and wording(called.err)
    assert (run / "report.html").read_bytes() == before


def test_a_run_without_decoded_rows_has_none_to_draw_as_images(mlcli: Caller, faces: Array, wording: Wording) -> None:
    mlcli.finished("embed", "faces.npy", "-m", "isomap", "-k", "8", "-o", "run", "-q")
    called = mlcli("report", "run", "--image", "4,5")
    assert called.code == 78 and "E-REPORT-IMAGE" in wording(called.err)
    page = Path("run/report.html").read_text()
    assert not Path("run/decoded.npz").exists() and "Reconstructions" not in page and "Latent-space grid" not in page


@pytest.mark.medium
def test_threads_do_not_change_what_is_drawn(mlcli: Caller, run: Path) -> None:
    for threads in ("1", "2"):
        mlcli.finished("embed", "faces.npy", "-p", "3", "--threads", threads, "-o", threads, "-q")
    assert Path("1/decoded.npz").read_bytes() == Path("2/decoded.npz").read_bytes()


@pytest.mark.parametrize(("arguments", "where"), [
    (("--set", "report.image=[4,4]"), "report.image"),
    (("--set", "report.image=[4,5]", "--columns", "x2,x3"), "report.image"),
    (("--set", "report.image=[4]"), "--set report.image"),
    (("--set", "report.image_order=column"), "report.image_order"),
    (("--set", "report.image=[4,5,2]"), "report.image"), (("--set", "report.image=[0,5]"), "report.image"),
    (("--set", "report.image=[200,200]"), "report.image"), (("--set", "report.image=[4,5]", "-o", "-"), "report.image"),
    (("--set", "report.image=[4,5]", "-m", "mds", "--dissimilarities"), "report.image")])
def test_a_shape_that_no_row_has_or_nobody_draws_is_refused(mlcli: Caller, faces: Array, arguments: tuple[str, ...],
                                                            where: str, wording: Wording) -> None:
    called = mlcli("embed", "faces.npy", "-q", *arguments)
    assert called.code == 78 and where in called.err and wording(called.err)
    assert mlcli("plan", "faces.npy", *arguments).code == 78
    assert not Path("runs").exists()


DAMAGES = {
    "errors": np.zeros(3), "rows": np.array([0, 1]), "originals": np.full((8, CELLS), np.inf),
    "plane": np.zeros((99, CELLS)), "ends": np.zeros((3, 2)), "reconstructed": np.zeros((8, CELLS), np.float32),
    "deviations": np.full((70, 60), 1.0), "stranger": np.zeros(1)}


@pytest.mark.parametrize("name", DAMAGES)
def test_arrays_that_no_run_writes_are_refused(mlcli: Caller, run: Path, name: str, wording: Wording) -> None:
    arrays, stream = dict(np.load(run / "decoded.npz")), io.BytesIO()
    np.savez(stream, **{**arrays, name: DAMAGES[name]})
    called = mlcli("report", damaged(run, Path("copy"), "decoded.npz", stream.getvalue()), "-q")
    assert called.code == 83 and wording(called.err) == ["E-RUN-FILES"] and "decoded.npz" in called.err
    assert "\n" not in called.err.strip()


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5, 6, 40], [0, 1, 2, 3, 4, 5, 6, -1]])
def test_rows_that_are_not_there_are_refused(mlcli: Caller, run: Path, rows: list[int], wording: Wording) -> None:
    arrays, stream = dict(np.load(run / "decoded.npz")), io.BytesIO()
    np.savez(stream, **{**arrays, "rows": np.array(rows)})
    called = mlcli("report", damaged(run, Path("copy"), "decoded.npz", stream.getvalue()), "-q")
    assert called.code == 83 and "E-RUN-FILES" in wording(called.err)


@pytest.mark.medium
def test_another_shape_in_the_configuration_is_refused(mlcli: Caller, run: Path, wording: Wording) -> None:
    changed = (run / "config.yaml").read_text().replace("image:\n  - 4\n", "image:\n  - 3\n")
    called = mlcli("report", damaged(run, Path("copy"), "config.yaml", changed.encode()), "-q")
    assert called.code == 83 and wording(called.err) == ["E-RUN-FILES"] and "report.image" in called.err


def test_what_is_drawn_leads_back_through_pca_ahead_of_the_method(mlcli: Caller, faces: Array) -> None:
    called = mlcli("embed", "faces.npy", "-p", "2", "--reduce", "6", "--set", "report.image=[4,5]", "-o", "two", "-q")
    assert called.code == 0, called.err
    assert mlcli("reconstruct", "two", "two/embedding.csv", "-o", "back.csv").code == 0
    with np.load("two/decoded.npz") as stored:
        np.testing.assert_allclose(stored["reconstructed"], numbers("back.csv")[stored["rows"]], rtol=1e-10, atol=1e-9)
        assert stored["plane"].shape[1] == CELLS
    assert images(Path("two/report.html").read_text())


@pytest.mark.medium
def test_rows_are_shown_over_the_embedding_of_any_method(mlcli: Caller, faces: Array, wording: Wording) -> None:
    called = mlcli("embed", "faces.npy", "-m", "isomap", "-k", "8", "--set", "report.image=[5,4]", "--set",
                   "report.image_order=column", "-o", "run", "-q")
    assert called.code == 0, called.err
    with np.load("run/thumbnails.npz") as stored:
        np.testing.assert_allclose(stored["values"], faces[stored["rows"]], rtol=1e-12)
        assert len(stored["rows"]) > 3
    before = Path("run/report.html").read_text()
    assert "Images over the embedding" in before and mlcli("verify", "run").code == 0
    assert mlcli("report", "run", "-q").code == 0 and Path("run/report.html").read_text() == before
    stream = io.BytesIO()
    np.savez(stream, rows=np.array([0, 99_999]), values=np.zeros((2, 20)))
    called = mlcli("report", damaged(Path("run"), Path("copy"), "thumbnails.npz", stream.getvalue()), "-q")
    assert called.code == 83 and "E-RUN-FILES" in wording(called.err)


@pytest.mark.medium
def test_the_order_of_cells_can_be_said_later(mlcli: Caller, run: Path) -> None:
    assert mlcli("report", run, "--image", "4,5", "-q").code == 0
    rows = images((run / "report.html").read_text())
    assert mlcli("report", run, "--image", "5,4", "--image-order", "column", "-q").code == 0
    columns = images((run / "report.html").read_text())
    first, second = (next(image for image in reversed(found) if image.shape[0] == sides[0]) for found, sides in (
        (rows, (4, 5)), (columns, (5, 4))))
    assert np.array_equal(first.transpose(1, 0, 2), second)
    called = mlcli("report", run, "--image-order", "diagonal")
    assert called.code == 78 and "--image-order" in called.err
