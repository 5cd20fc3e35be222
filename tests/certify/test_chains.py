"""The checks of chains: each kernel names a function that yields them."""

from importlib import import_module
from inspect import signature

import pytest

from mlcli.core.chain.kernels import KERNELS


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_names_the_function_that_checks_a_chain_of_it(kernel: str) -> None:
    module, _, name = KERNELS[kernel].checked_by.partition(":")
    assert [*signature(getattr(import_module(module), name)).parameters] == ["subject", "chain"]
