"""What is set for portable results is right for each version of NumPy, and nothing that the user has set is ignored."""

import contextvars
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlcli.base.machine import blas, portable
from mlcli.base.machine.portable import ARM, FEATURES, V3, X86, XLA, refusal, variables
from mlcli.base.machine.resources import CORE
from tests.base.machine.test_blas import root_of

NEEDED = {CORE: "HASWELL", FEATURES: "X86_V4 AVX512_ICL AVX512_SPR", "ONEDNN_MAX_CPU_ISA": "AVX2",
          XLA: "--xla_cpu_max_isa=AVX2 --xla_cpu_enable_platform_dependent_math=false"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An x86-64-v3 machine with NumPy 2.4."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="x86_64"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "2.4.6")
    return root_of(tmp_path, "GenuineIntel", " ".join(V3))


def test_all_machines_of_an_architecture_get_the_same_variables(
        root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = root_of(tmp_path / "newer", flags=" ".join((*V3, "avx512f", "avx512bw")))
    assert variables({}, root) == variables({}, newer) == NEEDED
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    assert variables({}, root) == {CORE: "ARMV8", FEATURES: "ASIMDHP ASIMDDP ASIMDFHM SVE"}


@pytest.mark.parametrize(("version", "target", "first", "last"), [
    ("2.0.2", X86, "AVX512F", "AVX512_ICL"), ("2.2.6", X86, "AVX512F", "AVX512_ICL"),
    ("2.3.5", X86, "AVX512F", "AVX512_SPR"), ("2.4.0rc1", X86, "X86_V4", "AVX512_SPR"),
    ("3.0.0", X86, "X86_V4", "AVX512_SPR"), ("2.0.2", ARM, "ASIMDHP", "SVE"), ("2.10.0", ARM, "ASIMDHP", "SVE")])
def test_features_have_the_names_of_the_version_of_numpy(monkeypatch: pytest.MonkeyPatch, version: str,
                                                         target: portable.Target, first: str, last: str) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: version)
    names = portable.features_above(target)
    assert (names[0], names[-1]) == (first, last)
    assert ("AVX512_SKX" in names) == (target is X86 and version < "2.4") and ("ASIMDDP" in names) == (
        target is ARM and version != "2.0.2")


@pytest.mark.parametrize("given", [
    {}, {CORE: "Haswell"}, {CORE: ""}, {FEATURES: "AVX512_SPR, X86_V4"}, {"GLIBC_TUNABLES": "glibc.malloc.check=1"},
    {"MLCLI_SIMD": "v4"}, {"OPENBLAS_NUM_THREADS": "4"}, {XLA: "--xla_cpu_max_isa=AVX2"}])
def test_what_the_user_set_stays_where_it_fits(root: Path, given: dict[str, str]) -> None:
    assert refusal(given, root) is None
    found = variables(given, root)
    assert {name: {*value.split()} for name, value in found.items()} == {
        name: {*value.split()} for name, value in NEEDED.items()}


def test_other_flags_of_xla_are_kept(root: Path) -> None:
    assert variables({XLA: "--xla_dump_to=x"}, root)[XLA] == f"--xla_dump_to=x {NEEDED[XLA]}"


@pytest.mark.parametrize(("variable", "value"), [
    (CORE, "Prescott"), (CORE, "SkylakeX"), (CORE, "Zen"), (FEATURES, "X86_V3"), (FEATURES, "X86_V4,AVX2"),
    ("NPY_ENABLE_CPU_FEATURES", "X86_V3"), ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2"), ("MLCLI_SIMD", "base"),
    ("MLCLI_SIMD", "none"), ("OPENBLAS_BLOCK_FACTOR", "2"), ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE"),
    (XLA, "--xla_dump_to=x --xla_cpu_max_isa=AVX512")])
def test_what_the_user_set_otherwise_is_refused_by_name(root: Path, variable: str, value: str) -> None:
    error = refusal({variable: value}, root)
    assert error is not None and (error.code, error.exit_code, error.where) == ("E-PORTABLE", 78, variable)
    assert variables({variable: value}, root) == {}


@pytest.mark.parametrize(("machine", "flags"), [
    ("x86_64", V3 - {"avx2"}), ("x86_64", V3 - {"fma"}), ("x86_64", frozenset()), ("riscv64", V3)])
def test_other_processors_are_refused(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str,
                                      flags: frozenset[str]) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    older = root_of(tmp_path / "older", flags=" ".join(flags))
    error = refusal({}, older)
    assert error is not None and (error.code, error.exit_code, error.where) == ("E-PORTABLE", 78, "compute.portable")
    assert variables({}, older) == {}


@pytest.mark.parametrize(("arguments", "environment", "asked"), [
    (["embed", "--portable", "a.csv"], {}, True), (["run", "a.yaml"], {"MLCLI_PORTABLE": "1"}, True),
    (["embed", "a.csv"], {}, False), (["embed", "--", "--portable"], {}, False)])
def test_a_start_sets_them_if_it_is_asked_to(root: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str],
                                             environment: dict[str, str], asked: bool) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr("mlcli.base.machine.resources.affinity", lambda: 8)
    settings = contextvars.copy_context().run(blas.export, arguments, environment, root)
    threads = dict.fromkeys(blas.POOLS, "1" if asked else "3")
    assert environment == dict(settings.exported) == threads | (NEEDED if asked else {})
    assert settings.early and settings.portable == asked
    assert settings.threads is not None and settings.threads.count == 3  # of the native kernels, in any case
