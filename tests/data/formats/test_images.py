"""A folder of images is a table of their levels, and an array of images one of theirs; what is no such folder is told.
"""

import io
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlcli.base.types import AnyArray
from mlcli.data.formats.arrays import image_of
from mlcli.data.options.input import Input
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError, DependencyMissing
from mlcli.report.drawing.figure import png
from mlcli.runs.input import file_state
from tests.data.helpers import noted, refused
from tests.wording import Wording

GENERATOR = np.random.default_rng(3)


def levels(*shape: int) -> AnyArray:
    return GENERATOR.integers(0, 256, shape, dtype=np.uint8)


def save(folder: Path, **images: AnyArray) -> str:
    """The path of a folder with images, whose names end as in a_png."""
    for name, values in images.items():
        Image.fromarray(values).save(folder / name.replace("_", "."))
    return str(folder)


def test_rows_are_images_under_the_names_of_their_files(tmp_path: Path) -> None:
    images = {"b_png": levels(5, 7), "a_bmp": levels(5, 7), "c_pgm": levels(5, 7), "d_tif": levels(5, 7)}
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / ".hidden.png").write_bytes(b"neither")
    table = read(Input(path=save(tmp_path, **images)))
    assert list(table.ids) == ["a.bmp", "b.png", "c.pgm", "d.tif"] and table.image == (5, 7)
    np.testing.assert_array_equal(table.values, [images[name].ravel() for name in sorted(images)])
    assert table.source is not None and set(table.source.files) == set(table.ids)


def test_colors_are_three_numbers_of_each_pixel(tmp_path: Path) -> None:
    image = levels(4, 3, 3)
    table = read(Input(path=save(tmp_path, a_png=image, b_png=image[::-1])))
    assert table.image == (4, 3, 3)
    np.testing.assert_array_equal(table.values[0], image.ravel())


def test_sixteen_bits_are_kept(tmp_path: Path) -> None:
    image = GENERATOR.integers(0, 2**16, (4, 3), dtype=np.uint16)
    np.testing.assert_array_equal(read(Input(path=save(tmp_path, a_png=image))).values[0], image.ravel())


@pytest.mark.parametrize(("opaque", "told"), [(True, False), (False, True)])
def test_opacity_is_left_out_and_told_where_there_was_any(tmp_path: Path, opaque: bool, told: bool) -> None:
    image = levels(4, 3, 2)
    image[..., 1] = 255 if opaque else 7
    (tmp_path / "a.png").write_bytes(png(image))
    with noted() as notes:
        table = read(Input(path=str(tmp_path)))
    np.testing.assert_array_equal(table.values[0], image[..., 0].ravel())
    assert ("N-OPACITY" in notes.codes) == told


def test_a_photograph_is_read_as_it_is_looked_at(tmp_path: Path) -> None:
    image, tags = Image.fromarray(levels(4, 3)), Image.Exif()
    tags[0x0112] = 6  # turned by a quarter
    image.save(tmp_path / "a.tif", exif=tags)
    table = read(Input(path=str(tmp_path)))
    assert table.image == (3, 4)
    np.testing.assert_array_equal(table.values[0], np.rot90(np.asarray(image), -1).ravel())


def test_the_first_of_several_frames(tmp_path: Path) -> None:
    frames = [Image.fromarray(levels(4, 3)) for _ in range(2)]
    frames[0].save(tmp_path / "a.tif", save_all=True, append_images=frames[1:])
    with noted() as notes:
        table = read(Input(path=str(tmp_path)))
    np.testing.assert_array_equal(table.values[0], np.asarray(frames[0]).ravel())
    assert "N-FRAMES" in notes.codes


def test_images_of_different_shapes_are_named(tmp_path: Path, wording: Wording) -> None:
    error = refused(save(tmp_path, a_png=levels(4, 3), b_png=levels(4, 3), c_png=levels(3, 4)), DataError,
                    "IMAGES-DIFFER")
    assert "E-IMAGES-DIFFER" in wording(error) and "c.png" in error.where
    (tmp_path / "c.png").unlink()
    assert wording(refused(save(tmp_path, b_png=levels(4, 3, 3)), DataError, "IMAGES-DIFFER"))


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    path = save(tmp_path, a_png=levels(40, 30), b_png=levels(40, 30))
    whole = (tmp_path / "b.png").read_bytes()
    for content in (whole[:-200], whole[:30], b"", b"\x89PNG\r\n\x1a\n", b"text", b"%!PS-Adobe-3.0 EPSF-3.0\n"):
        (tmp_path / "b.png").write_bytes(content)
        error = refused(path, DataError, "CORRUPT")
        assert "b.png" in error.where and " at 0x" not in error.what and "BytesIO" not in error.what


@pytest.mark.parametrize("side", [30_000, 9_000])
def test_an_image_that_grows_without_measure_is_refused(tmp_path: Path, side: int) -> None:
    """A few kilobytes of zeros that announce gigabytes; Pillow itself refuses the larger one."""
    small = png(np.zeros((1, 1, 2), np.uint8))
    header = small.index(b"IHDR")
    forged = b"IHDR" + side.to_bytes(4, "big") * 2 + small[header + 12 : header + 17]
    content = small[:header] + forged + zlib.crc32(forged).to_bytes(4, "big") + small[header + 21 :]
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(Input(path=str(tmp_path)))
    assert caught.value.code in ("E-IMAGE-SIZE", "E-DECOMPRESS-RATIO") and "a.png" in caught.value.where


def test_options_of_tables_mean_nothing_for_images(tmp_path: Path) -> None:
    path = save(tmp_path, a_png=levels(4, 3), b_png=levels(4, 3))
    for options in ({"id_column": "x1"}, {"transpose": True}, {"kind": "kernel"}, {"key": "a"}, {"format": "csv"},
                    {"stream": "always"}):
        refused(path, ConfigError, "IMAGES", **options)
    table = read(Input(path=path, columns=("x2:x4",)))
    assert table.columns == ("x2", "x3", "x4") and table.image is None


def test_labels_of_images_come_from_a_file(tmp_path: Path) -> None:
    path = save(tmp_path, a_png=levels(4, 3), b_png=levels(4, 3))
    (tmp_path / "labels.csv").write_text("file,who\nb.png,Bo\na.png,Al\n")
    table = read(Input.model_validate({"path": path, "labels": {"path": str(tmp_path / "labels.csv")}}))
    assert table.labels == {"who": ("Al", "Bo")}


def classes(folder: Path) -> str:
    """Images in a folder for each class, as they are often handed out."""
    for name in ("low", "high", ".hidden"):
        (folder / name).mkdir()
        save(folder / name, a_png=levels(4, 3), b_png=levels(4, 3))
    return str(folder)


def test_folders_of_images_are_their_labels(tmp_path: Path) -> None:
    path = classes(tmp_path)
    with noted() as notes:
        table = read(Input(path=path))
    assert tuple(table.ids) == ("high/a.png", "high/b.png", "low/a.png", "low/b.png")
    assert table.labels == {"folder": ("high", "high", "low", "low")} and "N-FOLDERS" in notes.codes
    assert file_state(path, table.facts(path)) == "unchanged"
    (tmp_path / "low" / "a.png").write_bytes(b"")
    assert file_state(path, table.facts(path)) == "changed"


def test_folders_beside_images_are_said_not_to_be_read(tmp_path: Path) -> None:
    save(Path(classes(tmp_path)), c_png=levels(4, 3))
    with noted() as notes:
        table = read(Input(path=str(tmp_path)))
    assert tuple(table.ids) == ("c.png",) and not table.labels and "N-FOLDERS-UNREAD" in notes.codes


def test_new_images_for_a_run(tmp_path: Path) -> None:
    path = save(tmp_path, a_png=levels(2, 2), b_png=levels(2, 2))
    new = read_new(Input(path=path), RunInput(("x1", "x2", "x3", "x4")))
    np.testing.assert_array_equal(new.values, read(Input(path=path)).values)
    with pytest.raises(DataError):
        read_new(Input(path=path), RunInput(("x1", "x2", "x3")))


def test_without_pillow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path, a_png=levels(2, 2))
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "manifold-cli[images]" in refused(path, DependencyMissing, "EXTRA").hint


@pytest.mark.parametrize(("shape", "image"), [((6, 4, 3), (4, 3)), ((6, 4, 3, 1), (4, 3)), ((6, 4, 3, 3), (4, 3, 3)),
                                              ((6, 4, 3, 2), None), ((6, 12), None)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("stream", ["always", "never"])
def test_an_array_of_images(tmp_path: Path, shape: tuple[int, ...], image: tuple[int, ...] | None, order: str,
                            stream: str) -> None:
    values = np.asarray(levels(*shape), order=order)
    np.save(tmp_path / "x.npy", values)
    if stream == "always" and order == "F":
        refused(str(tmp_path / "x.npy"), ConfigError, "STREAM", stream=stream)
        return
    table = read(Input(path=str(tmp_path / "x.npy"), stream=stream))
    np.testing.assert_array_equal(table.values[np.arange(len(values))], values.reshape(len(values), -1))
    assert table.image == image and (image_of(shape) == image or len(shape) == 2)


def test_an_archive_of_images(tmp_path: Path) -> None:
    stream, values = io.BytesIO(), levels(5, 4, 3)
    np.savez(stream, x=values)
    (tmp_path / "x.npz").write_bytes(stream.getvalue())
    assert read(Input(path=str(tmp_path / "x.npz"))).image == (4, 3)
