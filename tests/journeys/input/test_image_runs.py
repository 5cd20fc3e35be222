"""Runs of images: the report draws rows as they are, and the folder is the input that is verified."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.journeys.support import Caller
from tests.wording import Wording


def test_a_run_of_a_folder_knows_the_shape_of_its_images(mlcli: Caller) -> None:
    generator = np.random.default_rng(0)
    Path("faces").mkdir()
    for number in range(12):
        Image.fromarray(generator.integers(0, 256, (6, 5), dtype=np.uint8)).save(f"faces/f{number:02}.png")
    assert mlcli("embed", "faces/", "-o", "run", "-q").code == 0
    assert "  image:\n  - 6\n  - 5\n" in Path("run/config.yaml").read_text()
    assert "<image" in Path("run/report.html").read_text()
    assert "unchanged" in mlcli("verify", "run").out
    assert mlcli("project", "run", "faces", "-o", "new.csv").code == 0
    assert Path("new.csv").read_text().splitlines()[1].startswith("f00.png,")
    Image.fromarray(np.zeros((6, 5), np.uint8)).save("faces/f03.png")
    assert "changed" in mlcli("verify", "run").out


def test_images_lie_over_the_embedding_of_methods_that_decode_nothing(mlcli: Caller) -> None:
    np.save("images.npy", np.random.default_rng(0).random((20, 4, 3)))
    assert mlcli("embed", "images.npy", "-m", "isomap", "-k", "10", "-o", "run", "-q").code == 0
    assert "  image:\n  - 4\n  - 3\n" in Path("run/config.yaml").read_text()
    assert "Images over the embedding" in Path("run/report.html").read_text()


@pytest.mark.medium
def test_pictures_over_the_embedding_are_a_figure_of_the_run(mlcli: Caller) -> None:
    """With a title of its own, in the formats of the others; a run of other rows has none."""
    np.save("images.npy", np.random.default_rng(0).random((20, 4, 3)))
    assert mlcli("embed", "images.npy", "-m", "isomap", "-k", "10", "-o", "run", "-q").code == 0
    drawn = Path("run/images.svg").read_text()
    with np.load("run/thumbnails.npz") as arrays:
        assert drawn.count("<image ") == len(arrays["rows"]) > 1
    assert "isomap: images.npy" in drawn and mlcli("verify", "run").code == 0
    assert mlcli("report", "run", "--figures", "png,svg", "--title", "Faces").code == 0
    assert Path("run/images.png").read_bytes().startswith(b"\x89PNG") and "Faces" in Path("run/images.svg").read_text()
    assert {path.stem for path in Path("run").glob("*.png")} == {"scree", "scatter", "images"}
    assert mlcli("embed", "data.csv", "-o", "table", "-q").code == 0 and not Path("table/images.svg").exists()


@pytest.mark.medium
def test_images_on_their_side_are_mended_where_rows_are_stored(mlcli: Caller, wording: Wording) -> None:
    """A run of columns first drawn with rows first and mended is the run that said so when it was made."""
    np.save("images.npy", np.random.default_rng(0).random((20, 12)))
    for name, order in (("lying", "row"), ("upright", "column")):
        mlcli.finished("embed", "images.npy", "-m", "isomap", "-k", "10", "-o", name, "-q", "--set",
                       "report.image=[4,3]", "--set", f"report.image_order={order}")
    assert pictures("lying") != pictures("upright")
    assert mlcli("report", "lying", "--image-order", "column", "-q").code == 0
    assert pictures("lying") == pictures("upright")
    assert mlcli("report", "lying", "--image", "6,2", "--image-order", "column", "-q").code == 0
    refused = mlcli("report", "lying", "--image", "5,5")
    assert refused.code == 78 and "E-IMAGE" in wording(refused.err)


def pictures(run: str) -> list[str]:
    """The drawings of rows of a run: in the page and in its own figure."""
    return [re.findall(r'href="(data:image/png;base64,[^"]+)"', Path(run, name).read_text())
            for name in ("report.html", "images.svg")]
