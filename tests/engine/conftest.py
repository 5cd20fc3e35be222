"""Processes that blocks can run in."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import pytest

import mlcli
from tests.processes import OWN_KERNEL


@pytest.fixture(scope="package")
def processes() -> Iterator[Executor]:
    """Processes that import the installed package and have the kernels of linear algebra of this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(mlcli.__file__).parents[1]))
        for name, value in OWN_KERNEL.items():
            patch.setenv(name, value)
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
