"""Lines of CSV from the kernel are those that Python formats, to the last character."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mlcli import native
from mlcli.data.write.table import number_cells
from tests.native.support import needs_native

pytestmark = needs_native


def by_python(numbers: np.ndarray, values: np.ndarray) -> bytes:
    rows = [",".join([str(number), *number_cells(row)]) for number, row in zip(numbers.tolist(), values, strict=True)]
    return "".join(f"{row}\n" for row in rows).encode()


@pytest.mark.medium
@given(values=arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(width=64)))
@settings(max_examples=300, deadline=None)
def test_any_numbers(values: np.ndarray) -> None:
    numbers = np.arange(1, len(values) + 1)
    assert native.numbered_lines(numbers, values) == by_python(numbers, values)


def test_all_kinds_of_bits() -> None:
    generator = np.random.default_rng(0)
    values = np.frombuffer(generator.bytes(8 * 30_000), dtype=np.float64).reshape(-1, 3)
    numbers = generator.integers(-2**63, 2**63 - 1, len(values))
    assert native.numbered_lines(numbers, values) == by_python(numbers, values)


def test_no_rows_are_no_lines() -> None:
    assert native.numbered_lines(np.zeros(0, dtype=np.int64), np.zeros((0, 2))) == b""


def test_rows_without_a_number_are_refused() -> None:
    with pytest.raises(ValueError, match="every row"):
        native.numbered_lines(np.zeros(2, dtype=np.int64), np.zeros((3, 1)))
