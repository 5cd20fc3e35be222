"""Sizes as people read them."""

import pytest

from mlcli.base.units import memory


@pytest.mark.parametrize(("count", "text"), [
    (0, "0 MiB"), (2**20, "1 MiB"), (1.5 * 2**20, "1.5 MiB"), (123.4 * 2**20, "123 MiB"), (1000 * 2**20, "1000 MiB"),
    (1023 * 2**20, "1023 MiB"), (2**30, "1 GiB"), (19.53 * 2**30, "19.5 GiB"), (2000 * 2**30, "2000 GiB")])
def test_no_size_has_an_exponent(count: float, text: str) -> None:
    assert memory(count) == text
