"""Runs of images: the report draws rows as they are, and the folder is the input that is verified."""

from pathlib import Path

import numpy as np
from PIL import Image

from mlcli.report.figures import NAMES
from tests.cli.support import Caller


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
    assert "Rows over the embedding" in Path("run/report.html").read_text()


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
    assert {path.stem for path in Path("run").glob("*.png")} == set(NAMES)
    assert mlcli("embed", "data.csv", "-o", "table", "-q").code == 0 and not Path("table/images.svg").exists()
