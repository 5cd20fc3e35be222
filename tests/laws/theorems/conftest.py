"""How theorems of trainings are computed."""

from collections.abc import Iterator

import pytest
import scipy.linalg  # noqa: F401  before its threads are limited

from mlcli.base.machine.threads import limit_threads


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Small matrices take far longer on several threads of a busy machine."""
    with limit_threads(1):
        yield
