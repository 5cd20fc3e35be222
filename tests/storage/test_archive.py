"""What an archive stores comes back as it was, and nothing else comes back."""

import io
import json
from typing import Any, Literal

import numpy as np
import pytest

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.options import Options, option
from mlcli.storage.archive import LARGE, Archive
from mlcli.storage.fields import Unfit


class Chosen(Options):
    """Options of a part."""

    count: int = option(3, "A count.", ge=1)


@frozen
class Part:
    """A part with every kind of field."""

    values: Array
    kind: Literal["one", "other"] = "one"
    pair: tuple[float, float] = (0.0, 1.0)
    arrays: tuple[Array, ...] = ()
    facts: dict[str, Any] | None = None
    options: Chosen = Chosen()


class Made:
    """A value that says itself what it is made again from."""

    def __init__(self, half: AnyArray) -> None:
        if len(half) % 2:
            raise ValueError("odd")
        self.doubled = np.repeat(half, 2)

    def state(self) -> dict[str, AnyArray]:
        return {"half": self.doubled[::2]}


ARCHIVE = Archive({"part": Part, "chosen": Chosen, "made": Made}, finite=False)


def whole(archive: Archive, values: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What is stored, with the parts of the npz file put together."""
    tree, parts = archive.stored(values)
    return tree, b"".join(parts)


def tripped(value: Any, archive: Archive = ARCHIVE) -> Any:
    tree, stored = whole(archive, {"value": value})
    return archive.restored(json.loads(json.dumps(tree)), io.BytesIO(stored), len(stored))["value"]


@pytest.mark.parametrize("value", [
    None, True, 3, -0.1, "text", (), ("a", "é"), (1, "a"), [1, [2.5, "b"]], {"a": [1], "b": None}, [], ["x"],
    float("inf"), (float("-inf"), ())], ids=repr)
def test_plain_values_come_back(value: Any) -> None:
    found = tripped(value)
    assert found == value and type(found) is type(value)


def test_a_number_that_is_none_comes_back_unless_numbers_must_be_finite() -> None:
    assert np.isnan(tripped(float("nan")))
    with pytest.raises(Unfit):
        tripped(float("nan"), Archive({}))


@pytest.mark.parametrize("array", [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 4)), np.array(2.5),
    np.arange(3, dtype=np.int32), np.array([True]), np.array([np.nan, -np.inf, -0.0]), np.float32([1e-45])])
def test_arrays_come_back_to_the_bit_and_in_their_order(array: AnyArray) -> None:
    part = np.atleast_1d(array)[::2]
    first, second = tripped((array, part))
    for found, wanted in ((first, array), (second, part)):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()
    assert first.flags.f_contiguous == array.flags.f_contiguous


def test_a_large_array_that_parts_share_is_stored_once() -> None:
    array = np.arange(LARGE // 8, dtype=np.float64)
    tree, stored = whole(ARCHIVE, {"one": Part(array), "other": Part(array), "equal": Part(array.copy())})
    assert 2 * LARGE < len(stored) < 2.1 * LARGE
    found = ARCHIVE.restored(tree, io.BytesIO(stored), len(stored))
    assert all(np.array_equal(part.values, array) for part in found.values())


def test_a_frozen_value_comes_back_with_all_its_parts() -> None:
    arrays = np.ones(2), np.zeros((1, 1))
    part = Part(np.arange(3.0), "other", (1.0, float("nan")), arrays, {"a": [1.5]}, Chosen(count=7))
    found = tripped({"x": part})["x"]
    assert isinstance(found, Part) and found.options == part.options and found.facts == part.facts
    assert found.kind == "other" and found.pair[0] == 1.0 and np.isnan(found.pair[1])
    assert [a.tolist() for a in found.arrays] == [[1.0, 1.0], [[0.0]]]


def test_a_value_with_a_state_is_made_again_from_it() -> None:
    assert tripped(Made(np.arange(4))).doubled.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    tree, stored = whole(ARCHIVE, {"value": Made(np.arange(4)), "other": np.arange(3)})
    tree["value"]["fields"]["half"]["array"] = "other"
    with pytest.raises(Unfit, match="value"):
        ARCHIVE.restored(tree, io.BytesIO(stored), len(stored))


@pytest.mark.parametrize(("field", "wrong"), [
    ("values", {"array": "text"}), ("kind", "third"), ("pair", {"items": [1.0]}), ("pair", {"items": [1.0, "a"]}),
    ("arrays", {"items": [1.0]}), ("facts", 3), ("options", None),
    ("options", {"type": "chosen", "options": {"count": 0}})])
def test_a_field_of_another_type_is_refused(field: str, wrong: Any) -> None:
    tree, stored = whole(ARCHIVE, {"part": Part(np.arange(3.0)), "text": np.arange(3)})
    tree["part"]["fields"][field] = wrong
    with pytest.raises(Unfit):
        ARCHIVE.restored(tree, io.BytesIO(stored), len(stored))


@pytest.mark.parametrize("value", [object(), print, {1, 2}, b"bytes", Archive({}), (1, {"a": [lambda: 0]})])
def test_what_is_no_plain_data_is_not_stored(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be archived"):
        ARCHIVE.stored({"value": value})


def test_bytes_that_are_no_archive_are_refused() -> None:
    tree, stored = whole(ARCHIVE, {"value": np.arange(50.0)})
    for damaged in (b"", stored[:-30], stored[: len(stored) // 2], bytes(len(stored))):
        with pytest.raises(Unfit):
            ARCHIVE.restored(tree, io.BytesIO(damaged), len(damaged))
    for place in range(0, len(stored), 7):
        changed = bytearray(stored)
        changed[place] ^= 0x10
        try:
            found = ARCHIVE.restored(tree, io.BytesIO(bytes(changed)), len(stored))["value"]
        except Unfit:
            continue
        assert np.array_equal(found, np.arange(50.0))  # what says nothing of the array: a date, an attribute
