"""A folder of images: a row of gray levels, or of red, green and blue, for each, by Pillow."""

import hashlib
import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.base.values.extras import load_extra
from mlcli.data.files.arrow import corrupt
from mlcli.data.files.source import open_regular
from mlcli.data.files.streams import require_within_limits
from mlcli.data.formats.arrays import matrix_sheet
from mlcli.data.formats.cell_names import matrix_in
from mlcli.data.formats.parts import Hashes, combined_hash, parts_of
from mlcli.data.formats.reader import Reader
from mlcli.data.options.formats import OWN
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.table.sheet import Sheet
from mlcli.data.table.table import Source
from mlcli.errors import ConfigError, DataError

ENDINGS = OWN["images"].endings
READ = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM")  # formats for Pillow: others are rare or unsafe
NUMBERS = ("L", "I", "F", "I;16", "I;16B", "I;16L")  # modes with one number for a pixel, used unchanged
FOLDER = "folder"  # the column of labels
GRAY = ("1", "LA", "La")
UNUSED = ("kind", "header", "transpose", "id_column", "label_columns", "key")


@frozen
class ImageFile:
    """The content of an image file."""

    values: AnyArray  # rows x columns, or rows x columns x 3
    sha256: str
    bytes: int
    opacity: bool  # whether some pixels are transparent, which is ignored
    frames: int  # only the first is used


def read_folder(input: Input, compute: Compute) -> tuple[Sheet, Source] | None:
    """Return the images of a folder as a table; None if it has none, or another format takes precedence."""
    images = images_of(input)
    return read_images(images, input, compute) if images else None


def images_of(input: Input) -> list[Path]:
    """Return the images of a folder by their suffixes, in the order of names, without hidden ones.

    In a folder without anything to read, the images of its folders. Parquet files beside images take
    precedence; texts do only if another format is chosen.
    """
    folder = Path(input.path)
    if input.path == "-" or not folder.is_dir():
        return []
    parts = parts_of(input.path)
    if parts and (Path(parts[0]).suffix == ".parquet" or input.format not in ("auto", "images")):
        return []
    elsewhere = parts or matrix_in(input.path) != input.path
    return _images_in(folder, "*") or ([] if elsewhere else _images_in(folder, "*/*"))


def _images_in(folder: Path, pattern: str) -> list[Path]:
    return sorted(file for file in folder.glob(pattern) if file.suffix.lower() in ENDINGS and file.is_file()
                  and not any(part.startswith(".") for part in file.relative_to(folder).parts))


def read_images(files: Sequence[Path], input: Input, compute: Compute) -> tuple[Sheet, Source]:
    """Return a row for each image, with the file's name as id; raises ConfigError, DataError and DependencyMissing.

    The sheet has the shape of the images. Names of folders inside the one that is read are labels.
    """
    _require_fitting(input)
    pillow()
    first = _picture(files[0], input)
    cells = prod(first.values.shape)
    compute.require_data(16.0 * cells * len(files), f"{counted(len(files), 'image')} of {cells:,} numbers",
                         "choose fewer of them, or make them smaller")
    values, pictures = np.empty((len(files), cells)), list[ImageFile]()
    for row, picture in enumerate(in_order(lambda file: _picture(file, input), files)):
        _require_alike(first, picture, files[0], files[row])
        values[row] = picture.values.ravel()
        pictures.append(replace(picture, values=picture.values[:0]))
    _tell(pictures)
    known = {file.relative_to(input.path).as_posix(): {"bytes": found.bytes, "sha256": found.sha256}
             for file, found in zip(files, pictures, strict=True)}
    source = Source(input.path, cache(lambda: combined_hash(known)), sum(found.bytes for found in pictures), "images",
                    Hashes(lambda: known, tuple(known)))
    sheet = matrix_sheet(values, input)
    shape = first.values.shape if sheet.values.shape == values.shape else None
    return replace(sheet, ids=tuple(known), image=shape, labels=_folders(files, Path(input.path))), source


def _folders(files: Sequence[Path], folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the folder of each image as its label, if they are in folders of the one that is read."""
    if files[0].parent != folder:
        note("N-FOLDERS", f"the images lie in folders of {place(str(folder))}, whose names were taken as labels")
        return {FOLDER: tuple(file.parent.name for file in files)}
    if _images_in(folder, "*/*"):
        note("N-FOLDERS-UNREAD", f"the images of {place(str(folder))} itself were read, and not those of folders in it")
    return {}


def _require_fitting(input: Input) -> None:
    """Raise ConfigError for options that have no effect on images."""
    for name in UNUSED:
        if getattr(input, name) != type(input).model_fields[name].default:
            raise ConfigError("IMAGES", f"{name} cannot be used with a folder of images, each of which is a row",
                              where=f"input.{name}", hint="leave it out; labels of images come from a file "
                                                          "({input.labels.path})")
    if input.format not in ("auto", "images") or input.view.path is not None or input.stream == "always":
        raise ConfigError("IMAGES", "a folder of images can only be read as images, and as a whole", where="input.path",
                          hint="leave format, view and stream out, or give one file")


def pillow() -> Any:
    """Return Pillow's module of images; raises DependencyMissing."""
    return load_extra("images", "reading images by Pillow", "PIL.Image")


def _picture(file: Path, input: Input) -> ImageFile:
    """Read the first frame of a file; raises DataError if it is damaged or exceeds the limits of `input`."""
    descriptor = open_regular(str(file))
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read()
    image = pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sizes are checked below
            with image.open(io.BytesIO(content), formats=READ) as found:
                size = prod(found.size) * len(found.getbands())
                require_within_limits(size, len(content), "the image", input.replace(path=str(file)))
                frames = int(getattr(found, "n_frames", 1))
                values, opacity = _levels(found)
    except image.DecompressionBombError as error:
        raise DataError("IMAGE-SIZE", f"the image is too large: {error}", where=place(str(file)),
                        hint="make it smaller") from None
    except image.UnidentifiedImageError:
        raise corrupt(str(file), "image", ValueError(f"it can be read as none of {', '.join(READ)}")) from None
    except (OSError, ValueError, SyntaxError, TypeError, KeyError, IndexError, RuntimeError, OverflowError,
            ArithmeticError) as error:
        raise corrupt(str(file), "image", error) from None
    return ImageFile(values, hashlib.sha256(content).hexdigest(), len(content), opacity, frames)


def _levels(image: Any) -> tuple[AnyArray, bool]:
    """Return the pixels of an image in its display orientation, and whether some are transparent."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode in NUMBERS:
        return np.asarray(image, dtype=np.float64), False
    opaque = not image.has_transparency_data or image.convert("RGBA").getextrema()[3][0] == 255
    return np.asarray(image.convert("L" if image.mode in GRAY else "RGB"), dtype=np.float64), not opaque


def _require_alike(first: ImageFile, other: ImageFile, name: Path, another: Path) -> None:
    """Raise DataError for two images of different shapes."""
    if other.values.shape == first.values.shape:
        return
    shapes = [f"{path.name} has {' x '.join(map(str, shape[:2]))} pixels {'in color' if len(shape) > 2 else 'of gray'}"
              for path, shape in ((name, first.values.shape), (another, other.values.shape))]
    raise DataError("IMAGES-DIFFER", f"the images have different shapes (rows x columns): {' and '.join(shapes)}",
                    where=place(str(another)), hint="scale or crop them to one size, all gray or all in color")


def _tell(pictures: Sequence[ImageFile]) -> None:
    """Note parts of the images that are not used."""
    if count := sum(picture.opacity for picture in pictures):
        note("N-OPACITY", f"the opacity (alpha channel) of {counted(count, 'image')} was ignored", images=count)
    if count := sum(picture.frames > 1 for picture in pictures):
        note("N-FRAMES", f"of {counted(count, 'image')} with several frames, only the first was read", images=count)


READER = Reader(folder=read_folder)
