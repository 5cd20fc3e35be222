"""A process that may round otherwise than others of its architecture is told apart by what its libraries use."""

import json
import os
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mlcli
from mlcli.base.machine.portable import FEATURES, variables
from mlcli.base.machine.resources import CORE
from mlcli.base.values.compute import Compute
from mlcli.engine import portable
from mlcli.engine.cluster import worker
from mlcli.engine.threads import threads_of
from mlcli.errors import ConfigError, DependencyMissing
from tests.native.support import needs_native
from tests.processes import python

pytestmark = needs_native
HASWELL = [("openblas 0.3.31", "Haswell")]
OURS = {"NumPy 2": {"found": ["X86_V3"], "not found": ["X86_V4"]}, "nothing": {}}
EMBED = """
import json, sys, mlcli
from mlcli.errors import ConfigError
try:
    print(json.dumps(mlcli.embed(sys.argv[1], "kpca", portable=True).embedding.tolist()))
except ConfigError as error:
    print(json.dumps([error.code, error.where, error.hint]))
"""


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A process with the libraries that portable results need."""
    monkeypatch.setattr(portable, "refusal", lambda environment: None)
    monkeypatch.setattr(portable, "target", lambda: portable_target())
    monkeypatch.setattr(portable, "kernels", lambda: HASWELL)
    monkeypatch.setattr(portable.native, "describe", lambda: "v3")
    monkeypatch.setattr(np, "show_config", lambda mode: {"SIMD Extensions": OURS["NumPy 2"]})
    monkeypatch.setenv(CORE, "Haswell")
    return monkeypatch


def portable_target() -> Any:
    """The target of x86-64, on whichever machine the tests run."""
    from mlcli.base.machine.portable import X86

    return X86


def refused(**keywords: Any) -> ConfigError:
    """What a portable computation raises."""
    with pytest.raises(ConfigError) as raised:
        portable.require_portable(**keywords)
    assert (raised.value.code, raised.value.exit_code) == ("E-PORTABLE", 78)
    return raised.value


def test_the_right_libraries_are_accepted(ours: pytest.MonkeyPatch) -> None:
    assert portable.require_portable().name == "x86-64-v3"
    ours.setattr(np, "show_config", lambda mode: {"SIMD Extensions": OURS["nothing"]})
    portable.require_portable()


def test_another_blas_cannot_be_chosen(ours: pytest.MonkeyPatch) -> None:
    ours.setattr(portable, "kernels", lambda: [("mkl 2025", "None"), *HASWELL])
    assert "only OpenBLAS" in refused().what and "set " not in refused().hint


@pytest.mark.parametrize("level", ["base", "absent"])
def test_kernels_of_another_build_are_refused(ours: pytest.MonkeyPatch, level: str) -> None:
    ours.setattr(portable.native, "describe", lambda: level)
    assert f"native kernels are {level}" in refused().what


def test_other_settings_are_refused_with_the_variables_to_set(ours: pytest.MonkeyPatch) -> None:
    ours.setattr(portable, "kernels", lambda: [("openblas 0.3.30", "SkylakeX"), *HASWELL])
    ours.delenv(FEATURES, raising=False)  # what is disabled stays so
    ours.setattr(np, "show_config", lambda mode: {"SIMD Extensions": {"found": ["X86_V3", "X86_V4"]}})
    ours.setattr("importlib.metadata.version", lambda name: "2.4.6")
    ours.setattr(os, "uname", lambda: SimpleNamespace(machine="x86_64"))
    ours.setattr("mlcli.base.machine.portable.refusal", lambda *given: None)
    error = refused()
    assert "SkylakeX" in error.what and "X86_V4" in error.what and error.where == "compute.portable"
    assert f"{CORE}=HASWELL {FEATURES}='X86_V4 AVX512_ICL AVX512_SPR' before" in error.hint


def test_a_library_that_is_loaded_later_is_thought_of(ours: pytest.MonkeyPatch) -> None:
    ours.delenv(CORE)
    assert f"{CORE} is not HASWELL" in refused().what


def test_networks_need_more(ours: pytest.MonkeyPatch) -> None:
    ours.setattr(portable, "version", lambda name: "0.10.2")
    assert "ONEDNN_MAX_CPU_ISA is not AVX2" in refused(extras=["neural"]).what
    ours.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    ours.setenv("XLA_FLAGS", "--xla_cpu_enable_platform_dependent_math=false --xla_cpu_max_isa=AVX2 --xla_dump_to=x")
    portable.require_portable(["neural"])
    ours.setattr(portable, "version", lambda name: "0.9.3")
    assert "jaxlib 0.9.3" in refused(extras=["neural"]).what


def test_workers_need_the_same_settings(ours: pytest.MonkeyPatch) -> None:
    ours.setattr(portable.platform, "libc_ver", lambda: ("glibc", "2.36"))
    worker.versions.cache_clear()
    here = worker.versions(portable=True)
    assert here[worker.SETTINGS] == "openblas 0.3.31 Haswell, glibc 2.36"
    worker.refuse_unlike(here, here, "worker")
    ours.setattr(portable, "kernels", lambda: [("openblas 0.3.31", "SkylakeX")])
    worker.versions.cache_clear()
    with pytest.raises(DependencyMissing, match=r"settings .* instead of openblas 0\.3\.31 Haswell"):
        worker.refuse_unlike(here, worker.versions(portable=True), "worker")
    worker.versions.cache_clear()
    with pytest.raises(DependencyMissing, match="settings none"):
        worker.refuse_unlike(here, worker.versions(), "worker")


def test_linear_algebra_has_one_thread_and_stages_have_all(ours: pytest.MonkeyPatch) -> None:
    from mlcli.base.context import context
    from mlcli.base.machine.threads import blas_libraries

    with threads_of(Compute(threads=2, portable=True)):
        assert (context().threads, context().portable) == (2, True)
        libraries = [one for one in blas_libraries().lib_controllers if one.user_api == "blas"]
        assert {library.num_threads for library in libraries} == {1}
    assert not context().portable


@pytest.mark.medium
def test_python_computes_them_only_in_a_process_with_the_settings(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y,z\n" + "".join(f"{i},{i * i % 7},{i % 5}\n" for i in range(30)))
    settings = variables({})
    if not settings:
        pytest.skip("this processor computes no portable results")
    code, where, hint = json.loads(python(EMBED, tmp_path / "a.csv", OPENBLAS_CORETYPE="", NPY_DISABLE_CPU_FEATURES=""))
    assert (code, where) == ("E-PORTABLE", "portable")
    named = dict(word.split("=", 1) for word in shlex.split(hint) if "=" in word)
    found = json.loads(python(EMBED, tmp_path / "a.csv", **named))
    assert np.shape(found) == (30, 2)
    assert mlcli.embed(str(tmp_path / "a.csv"), "kpca").embedding == pytest.approx(np.array(found), abs=1e-9)
