"""IDX, as the digits of MNIST are handed out: images and labels, packed or not."""

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.errors import DataError, RefusedByPlan
from tests.data.helpers import refused, written

IMAGES = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)


def idx(values: np.ndarray, code: int) -> bytes:
    """Two zeros, the type, the number of sides, their sizes, and the numbers, the highest byte first."""
    big = values.astype(values.dtype.newbyteorder(">"))
    return bytes([0, 0, code, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + big.tobytes()


@pytest.mark.parametrize(("kind", "code"), [("u1", 8), ("i1", 9), ("i2", 11), ("i4", 12), ("f4", 13), ("f8", 14)])
@pytest.mark.parametrize("packed", [True, False])
def test_an_array_of_every_type_is_a_table_of_images(tmp_path: Path, kind: str, code: int, packed: bool) -> None:
    content = idx(IMAGES.astype(kind), code)
    path = written(tmp_path, gzip.compress(content) if packed else content, f"train-idx3{'.gz' * packed}")
    table = read(Input(path=path))
    assert table.values.tolist() == IMAGES.reshape(4, 6).tolist() and table.image == (2, 3)


@pytest.mark.parametrize("packed", [True, False])
def test_labels_belong_to_the_images_in_their_order(tmp_path: Path, packed: bool) -> None:
    content = idx(np.array([7, 0, 7, 1], np.uint8), 8)
    labels = written(tmp_path, gzip.compress(content) if packed else content, f"labels-idx1{'.gz' * packed}")
    given: dict[str, Any] = {"path": written(tmp_path, idx(IMAGES, 8), "images-idx3"), "labels": {"path": labels}}
    assert read(Input(**given)).labels == {"label": ("7", "0", "7", "1")}
    refused(given["path"], DataError, "LABEL-ARRAY", labels={"path": given["path"]})
    refused(labels, DataError, "ARRAY")


@pytest.mark.parametrize("content", [idx(IMAGES, 8)[:-1], idx(IMAGES, 8) + b"0", idx(IMAGES, 8)[:9]])
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, content: bytes) -> None:
    for name, stored in (("a-idx3", content), ("a-idx3.gz", gzip.compress(content))):
        assert "IDX" in refused(written(tmp_path, stored, name), DataError, "CORRUPT").what


def test_sizes_are_checked_before_memory_is_taken(tmp_path: Path) -> None:
    forged = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**31, 2**15, 2**10)
    refused(written(tmp_path, forged, "a"), RefusedByPlan, "MEMORY", Compute(memory_limit="1G"))
