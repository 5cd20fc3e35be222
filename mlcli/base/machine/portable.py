"""What makes all machines of one architecture compute the same bytes (`compute.portable`). Imports nothing heavy.

OpenBLAS, NumPy and XLA choose their code by the processor when they load. Variables make them take that of x86-64-v3,
which nearly every processor since 2015 has, or of ARMv8. The C library needs none: processors of x86-64-v3 all have its
functions with fused products.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from mlcli.base.frozen import frozen
from mlcli.base.machine import resources
from mlcli.base.machine.resources import CORE, ROOT
from mlcli.errors import ConfigError

OPTION = "compute.portable"
FEATURES = "NPY_DISABLE_CPU_FEATURES"  # which NumPy does without
XLA = "XLA_FLAGS"
SIMD = "MLCLI_SIMD"
SEPARATORS = re.compile(r"[,\s]+")  # of names in a variable
V3 = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})  # features of x86-64-v3 in Linux's names
UNSET = {  # variables that change rounding and must be absent, each with what it does
    "NPY_ENABLE_CPU_FEATURES": "chooses what NumPy uses of the processor",
    "OPENBLAS_BLOCK_FACTOR": "changes the order of OpenBLAS's sums",
}
TUNABLES = "GLIBC_TUNABLES"  # of the C library
LEAVE_OUT = f"leave {{{OPTION}}} out"


@frozen
class Target:
    """What all machines of an architecture have, and the names of what some have besides."""

    name: str
    core: str  # of OpenBLAS's kernels
    above: Mapping[tuple[int, int], str]  # features for which NumPy has further code, from each of its versions on
    simd: tuple[str, ...]  # instruction sets of the native kernels that give the same bytes
    onednn: Mapping[str, str]  # variables of oneDNN, by which XLA multiplies matrices
    xla: tuple[str, ...]  # flags of XLA; none where networks cannot be trained portably


X86 = Target(
    "x86-64-v3", "HASWELL", {
        (2, 4): "X86_V4 AVX512_ICL AVX512_SPR",
        (2, 3): "AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
        (2, 0): "AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"},
    ("v3", "v4"), {"ONEDNN_MAX_CPU_ISA": "AVX2"},
    ("--xla_cpu_max_isa=AVX2", "--xla_cpu_enable_platform_dependent_math=false"))
ARM = Target("ARMv8", "ARMV8", {(2, 4): "ASIMDHP ASIMDDP ASIMDFHM SVE", (2, 0): "ASIMDHP ASIMDFHM SVE"}, ("base",),
             {}, ())
TARGETS = {"x86_64": X86, "aarch64": ARM}


def target() -> Target | None:
    """Return what machines of this architecture have in common; None of an architecture that has no such target."""
    return TARGETS.get(os.uname().machine)


def variables(environment: Mapping[str, str], root: Path = ROOT) -> dict[str, str]:
    """Return the variables to set before NumPy loads, those for networks last.

    There are none where the machine, or a variable of the user's, allows no portable results.
    """
    common = target()
    if common is None or refusal(environment, root):
        return {}
    features = dict.fromkeys((*names_in(environment.get(FEATURES, "")), *features_above(common)))
    flags = dict.fromkeys((*environment.get(XLA, "").split(), *common.xla))
    networks = {**common.onednn, XLA: " ".join(flags)} if common.xla else {}
    return {CORE: common.core, FEATURES: " ".join(features), **networks}


def names_in(text: str) -> list[str]:
    """Return the names that a variable of NumPy lists."""
    return [name for name in SEPARATORS.split(text) if name]


def features_above(common: Target) -> tuple[str, ...]:
    """Return the names of the features that the installed version of NumPy has code for and must not use.

    NumPy warns of those of another version when it loads.
    """
    from importlib.metadata import version

    major, minor = map(int, version("numpy").split(".")[:2])
    return tuple(next(names for since, names in common.above.items() if since <= (major, minor)).split())


def refusal(environment: Mapping[str, str], root: Path = ROOT) -> ConfigError | None:
    """Return why this machine, or a variable that the user has set, allows no portable results; None if none does."""
    common = target()
    if common is None:
        return refused(f"they are for {' and '.join(TARGETS)}, and this machine is {os.uname().machine}")
    if common is X86 and (lacking := V3 - resources.processor(root)[1]):
        return refused(f"this processor lacks {', '.join(sorted(lacking))}, of {common.name}")
    return next((refused(said, name) for name, said in contradictions(common, environment).items()), None)


def contradictions(common: Target, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the user has set otherwise, each with what is said of it."""
    found = {name: f"it {does}" for name, does in UNSET.items() if environment.get(name)}
    for name, value in {CORE: common.core, **common.onednn}.items():
        if (given := environment.get(name)) and given.upper() != value:
            found[name] = f"it is {given[:40]}, not {value}"
    if used := sorted({*names_in(environment.get(FEATURES, ""))} - {*features_above(common)}):
        found[FEATURES] = f"it takes {' '.join(used)[:80]} from NumPy, which other machines use"
    if "hwcaps" in environment.get(TUNABLES, ""):
        found[TUNABLES] = "it changes which functions the C library chooses"
    if (level := environment.get(SIMD)) and level not in common.simd:
        found[SIMD] = f"it is {level[:40]}, not {' or '.join(common.simd)}"
    needed = {_name(flag): flag for flag in common.xla}
    if unlike := [flag for flag in environment.get(XLA, "").split() if needed.get(_name(flag), flag) != flag]:
        found[XLA] = f"it has {unlike[0][:80]}, not {needed[_name(unlike[0])]}"
    return found


def _name(flag: str) -> str:
    """Return a flag without its value."""
    return flag.partition("=")[0]


def refused(why: str, variable: str = "") -> ConfigError:
    """Return the error for portable results that cannot be had here."""
    return ConfigError("PORTABLE", f"no portable results can be computed here: {why}", where=variable or OPTION,
                       hint=f"unset it, or {LEAVE_OUT}" if variable else LEAVE_OUT)
