"""Tests see no settings of the environment but their own, here and in the processes that they start."""

import os
from collections.abc import Iterator

import pytest

from tests.budgets import (  # noqa: F401  which hold each suite to what it may cost
    pytest_runtest_logreport,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_sessionfinish,
    pytest_terminal_summary,
)
from tests.processes import neutral


@pytest.fixture(autouse=True, scope="session")
def neutral_environment() -> Iterator[None]:
    """The environment of the tests; the linear algebra libraries of this process have read theirs before."""
    import numpy
    import scipy.linalg

    assert numpy.__name__ and scipy.linalg.__name__
    before = dict(os.environ)
    replace_environment(neutral())
    yield
    replace_environment(before)


def replace_environment(variables: dict[str, str]) -> None:
    """Makes these the variables of this process."""
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)
