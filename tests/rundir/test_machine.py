"""What is said of the machine does not depend on what this process has loaded already."""

import json
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from mlcli.base.machine.threads import numpy_features
from mlcli.rundir import machine
from tests.processes import python

LOADED = """
import json, sys
import numpy
if {first}:
    import scipy.linalg
from mlcli.rundir.machine import environment
before = environment(1)
import scipy.linalg
print(json.dumps([before, environment(1)]))
"""


@pytest.mark.medium
def test_the_environment_is_the_same_before_and_after_scipy_is_loaded() -> None:
    """A run that goes on looks for what it kept before it loads what the first one had loaded by then."""
    (early, after), (late, _) = (json.loads(python(LOADED.format(first=first))) for first in (False, True))
    assert early == after == late and early["blas"]


FEATURES = "import json; from mlcli.rundir.machine import environment; print(json.dumps(environment(1)))"


@pytest.mark.medium
@pytest.mark.skipif(not numpy_features(), reason="NumPy uses nothing beyond its baseline here")
def test_results_that_numpy_computed_by_other_instructions_are_of_another_environment() -> None:
    usual, without = (json.loads(python(FEATURES, NPY_DISABLE_CPU_FEATURES=names)) for names in (
        "", " ".join(numpy_features())))
    assert usual["numpy_features"] == numpy_features() and without == usual | {"numpy_features": []}


@pytest.mark.parametrize("turned", [False, True])
def test_libraries_stand_in_one_order(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come from a set, whose order is another one in each process."""
    found = [{"filepath": f"/{package}.libs/x.so", "internal_api": "openblas", "num_threads": 1}
             for package in ("numpy", "scipy")]
    monkeypatch.setattr(machine, "blas_libraries", lambda: SimpleNamespace(info=lambda: found[:: -1 if turned else 1]))
    assert [library["used_by"] for library in machine.libraries()] == ["numpy", "scipy"]


def test_a_library_that_does_not_say_its_version_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's reader of Matrix Market files gives a function, whose text is another one in each process."""
    found = [{"filepath": "/x.so", "internal_api": "scipy_mmio", "num_threads": 1, "version": len}]
    monkeypatch.setattr(machine, "blas_libraries", lambda: SimpleNamespace(info=lambda: found))
    assert [library["library"] for library in machine.libraries()] == ["scipy_mmio"]


def test_versions_are_those_of_the_packages() -> None:
    found = {name: machine.installed(name) for name in (*machine.PACKAGES, "no-such-package")}
    assert found == {**{name: version(name) for name in machine.PACKAGES}, "no-such-package": None}
