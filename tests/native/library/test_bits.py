"""Every kernel gives the same bits at every instruction set, and on every processor: their hashes are stored.

Some kernels of spectral methods round a product and a sum together where the processor can, which the base cannot.
"""

import json
import platform
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mlcli import native
from tests.native.library.bits import CASES, FUSED, STORED, hashes
from tests.native.support import choose, levels, needs_native

pytestmark = needs_native


def same_bits(name: str, work: Callable[[], Iterator[Any]], among: list[str]) -> None:
    """The kernels of these levels give the bits that are stored."""
    usual, stored = native.describe(), json.loads(STORED.read_text(encoding="utf-8"))[name]
    try:
        for level in among:
            choose(level)
            assert hashes(work) == stored, level
    finally:
        choose(usual)


@pytest.mark.parametrize("name", CASES)
def test_every_level_has_the_same_bits(name: str) -> None:
    same_bits(name, CASES[name], levels())


@pytest.mark.parametrize("name", FUSED)
def test_every_level_with_fused_products_has_the_same_bits(name: str) -> None:
    same_bits(name, FUSED[name], [level for level in levels() if level != "base" or platform.machine() == "aarch64"])


def test_a_hash_follows_the_last_bit() -> None:
    numbers = iter([(1.0, [float("nan")]), (1.0 + 2**-52, [float("nan")])])
    one, other = hashes(lambda: numbers).split()
    assert one != other
