"""The recipes run on files in the forms of the papers' data sets: on small ones, and on the real ones where they are.

Small ones have the same variables, sides and kinds of numbers, so that each command and picture is tried; what the page
quotes is compared on the real ones.
"""

import gzip
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from mlcli.base.types import AnyArray
from tests.journeys.pages.test_tutorials import ROOT, carry_out, pictures_of, quotes_of, size_of

PAGE = ROOT / "docs" / "recipes.md"
SHARED = ROOT.parent / "shared" / "data"
FULL, EVERY_SECOND = 64, 32  # pixels along each side of a face


def roll(generator: np.random.Generator, count: int) -> tuple[AnyArray, AnyArray]:
    """Points on a roll (count x 3), and their places on the sheet (count x 2)."""
    along, across = generator.uniform(1.5, 4.5, count) * np.pi, generator.uniform(0, 50, count)
    return np.column_stack([along * np.cos(along), across, along * np.sin(along)]), np.column_stack([along, across])


def spots(generator: np.random.Generator, count: int, rows: int, columns: int) -> AnyArray:
    """Images of a spot at any place (count x rows * columns), from 0 to 255."""
    tall, wide = np.mgrid[:rows, :columns] / rows
    down, right = generator.uniform(0.2, 0.8, (2, count, 1, 1))
    return (255 * np.exp(-20 * ((tall - down) ** 2 + (wide - right) ** 2))).reshape(count, -1)


def small(generator: np.random.Generator) -> dict[str, AnyArray]:
    """Generated data in place of each data set."""
    points, places = roll(generator, 2100)
    flow = generator.integers(3, size=150)
    return {"roll": points, "places": places, "faces": spots(generator, 150, FULL, FULL) / 255,
            "poses": generator.normal(size=(150, 3)), "digits": spots(generator, 900, 28, 28).astype(np.uint8),
            "written": np.where(generator.random(900) < 0.4, 2, np.arange(900) % 10).astype(np.uint8),
            "film": spots(generator, 300, 28, 20).astype(np.uint8),
            "flow": generator.normal(size=(150, 12)) + 2 * np.eye(12)[flow], "regimes": flow}


def real() -> dict[str, AnyArray]:
    """The data sets of the papers, faces by every second pixel."""
    files = {"roll": "swiss_roll_tenenbaum/X", "places": "swiss_roll_tenenbaum/Y_true", "faces": "isomap_faces/X_32x32",
             "poses": "isomap_faces/poses_lights_std", "digits": "mnist/X", "written": "mnist/y",
             "film": "frey_faces/X", "flow": "oil_flow/X_train", "regimes": "oil_flow/y_train"}
    arrays = {name: np.load(SHARED / f"{file}.npy", allow_pickle=False) for name, file in files.items()}
    return {**arrays, "digits": arrays["digits"][:60000], "written": arrays["written"][:60000].astype(np.uint8)}


def lay_out(folder: Path, data: Mapping[str, AnyArray]) -> None:
    """Write the files that the page names, with its variables: points in columns but for the oil flow."""
    savemat(folder / "swiss_roll_data.mat", {"X_data": data["roll"].T, "Y_data": data["places"].T})
    savemat(folder / "face_data.mat", {"images": data["faces"].T, "lights": data["poses"][:, :1].T,
                                       "poses": data["poses"][:, 1:].T})
    savemat(folder / "frey_rawface.mat", {"ff": data["film"].T})
    savemat(folder / "3Class.mat", {"DataTrn": data["flow"], "DataTrnLbls": np.eye(3)[data["regimes"].astype(int)]})
    count = len(data["digits"])
    for name, head, numbers in (("images-idx3", (2051, count, 28, 28), data["digits"]),
                                ("labels-idx1", (2049, count), data["written"])):
        with gzip.open(folder / f"train-{name}-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(f">{len(head)}I", *head) + numbers.tobytes())


def test_a_recipe_has_three_commands_at_most_and_its_paper_seconds_and_picture() -> None:
    recipes = [part for part in PAGE.read_text(encoding="utf-8").split("\n## ") if "```sh\nmlcli" in part]
    assert len(recipes) == 10
    for recipe in recipes:
        assert 1 <= recipe.count("\nmlcli ") - recipe.count("text\nmlcli") <= 3
        assert ("* " in recipe or "The same paper" in recipe) and " seconds.\n" in recipe and "![" in recipe


def test_the_script_says_what_it_needs(tmp_path: Path) -> None:
    done = carry_out(PAGE, tmp_path)
    assert done.returncode != 0 and "DATA" in done.stdout and "folder of the five data sets" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_recipe_runs_on_files_of_the_same_form(tmp_path: Path) -> None:
    lay_out(tmp_path, small(np.random.default_rng(0)))
    done = carry_out(PAGE, tmp_path, DATA=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert [picture.stem for picture in pictures_of(PAGE) if picture.stem not in done.pictures] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not SHARED.is_dir(), reason="no folder `shared` beside the repository")
def test_every_recipe_runs_on_the_data_of_its_paper(tmp_path: Path) -> None:
    lay_out(tmp_path, real())
    done = carry_out(PAGE, tmp_path, DATA=str(tmp_path), SIDE=str(EVERY_SECOND))
    assert done.returncode == 0, done.stdout
    assert [picture.stem for picture in pictures_of(PAGE) if picture.stem not in done.pictures] == []
    for picture in [picture for picture in pictures_of(PAGE) if "gplvm" not in picture.stem]:  # has many minima
        (wide, tall), (width, height) = size_of(picture), size_of(done.pictures[picture.stem])
        assert wide / tall == pytest.approx(width / height, rel=0.01), "make it anew: python docs/pictures.py recipes"
    assert quotes_of(PAGE) and [line for line in quotes_of(PAGE) if line not in done.stdout] == []
