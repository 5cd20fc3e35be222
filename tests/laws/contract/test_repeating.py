"""The same input and options give the same bytes, and on other threads or kernels the same numbers up to rounding."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcli.base.machine.portable import X86, target, variables
from tests.laws.contract import repeating
from tests.laws.contract.repeating import PLACED, SETTINGS, SURROUNDINGS, TIMED, Settings, apart, carried_out, differing
from tests.processes import neutral

EVERYDAY = ("isomap", "polynomial", "pca")
FACTORIZED: tuple[dict[str, Any], ...] = (
    {"name": "pca"}, {"name": "kpca"}, {"name": "isomap", "neighbors": {"count": 25}},
    {"name": "lle", "neighbors": {"count": 25}}, {"name": "lda"}, {"name": "fa"})
PORTABLE = target() or X86  # what portable results are computed by, if they are here
portable = pytest.mark.skipif(not variables(neutral()), reason="this processor computes no portable results")
Runs = dict[str, Path]


def usual(folder: Path) -> Runs:
    """The runs of a folder on one thread without other settings, which are made once."""
    if (folder / "usual").exists():
        return {path.name: path for path in sorted((folder / "usual" / "runs").iterdir())}
    return carried_out(folder, "usual", Settings(("--threads", "1")))


def same_bytes(one: Runs, other: Runs, without: set[str]) -> None:
    assert one.keys() == other.keys() and one
    assert {name: found for name in one if (found := differing(one[name], other[name], without))} == {}


def same_numbers(one: Runs, other: Runs) -> None:
    assert one.keys() == other.keys() and one
    assert {name: found for name in one if (found := apart(one[name], other[name])) > 1} == {}


@pytest.fixture(scope="module")
def sheet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sheet")
    repeating.write_runs(folder, repeating.large(folder, EVERYDAY))
    return folder


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All ways of all methods, the examples, and large data."""
    folder = tmp_path_factory.mktemp("everything")
    repeating.write_runs(folder, repeating.ways(folder) | repeating.examples(folder) | repeating.large(
        folder, ("isomap", "kpca", "polynomial", "landmarks", "pca", "lle", "laplacian")))
    return folder


@pytest.mark.medium
def test_neither_threads_nor_surroundings_change_a_byte(sheet: Path) -> None:
    """An input by its absolute path, another working directory, hash seed, locale, time zone and umask."""
    for path in (sheet / "configs").iterdir():
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        document["input"]["path"] = str(sheet / "sheet.csv")
        absolute = sheet / "elsewhere" / "configs" / path.name
        absolute.parent.mkdir(parents=True, exist_ok=True)
        absolute.write_text(yaml.safe_dump(document), encoding="utf-8")
    variables = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Kathmandu"}
    one, other = usual(sheet), carried_out(sheet / "elsewhere", "here", Settings(("--threads", "3"), variables, 0o077))
    same_bytes(one, other, PLACED)
    assert {"embedding.csv", "quality.json", "shepard.csv", "dimension.json", "spectrum.csv", "model.npz",
            "certificate.json"} <= repeating.files(one["large-isomap"], PLACED).keys()
    for run in one.values():
        repeating.untimed(run)  # which asserts that it finds the time of day, for the long suite to compare the rest


@pytest.mark.medium
def test_other_kernels_change_rounding_only(sheet: Path) -> None:
    settings = Settings(("--threads", "2"), {"OPENBLAS_CORETYPE": "Prescott", "MLCLI_SIMD": "base"})
    one, other = usual(sheet), carried_out(sheet, "other", settings)
    same_numbers(one, other)
    assert any(differing(one[name], other[name], TIMED) for name in one)  # the settings did take effect


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Iris by methods that factorize, by no other files than their numbers."""
    folder = tmp_path_factory.mktemp("small")
    shutil.copy(repeating.ROOT / "sample_data" / "iris.csv", folder)
    report = {"outputs": ["embedding", "spectrum", "model"]}
    repeating.write_runs(folder, {method["name"]: {"input": {"path": "../iris.csv"}, "method": method, "report": report}
                                  for method in FACTORIZED})
    return folder


@portable
@pytest.mark.medium
def test_portable_results_do_not_depend_on_the_processor(small: Path) -> None:
    """Other levels of the native kernels, threads, and what the user has set as it must be."""
    given = {"MLCLI_SIMD": PORTABLE.simd[0], "OMP_NUM_THREADS": "2", "OPENBLAS_CORETYPE": PORTABLE.core.title()}
    one = carried_out(small, "one", Settings(("--portable", "--threads", "1")))
    other = carried_out(small, "other", Settings(("--portable", "--threads", "2"), given))
    same_bytes(one, other, PLACED)
    assert one.keys() == {method["name"] for method in FACTORIZED}
    assert {"embedding.csv", "spectrum.csv", "model.npz"} <= repeating.files(one["lle"], PLACED).keys()
    assert repeating.kernels(one["kpca"]) == repeating.kernels(other["kpca"]) == {PORTABLE.core.lower()}


@portable
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(shutil.which("qemu-x86_64") is None or PORTABLE is not X86, reason="needs qemu-user on x86-64")
@pytest.mark.parametrize("processor", ["Haswell", "EPYC-Rome", "Skylake-Client"])
def test_portable_results_are_those_of_another_processor(small: Path, processor: str) -> None:
    """Emulated ones without AVX-512: libraries that still choose by the processor choose other code there."""
    one = carried_out(small, f"beside-{processor}", Settings(("--portable",)))
    other = carried_out(small, processor, Settings(("--portable",)), before=["qemu-x86_64", "-cpu", processor])
    same_bytes(one, other, PLACED)


@portable
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_portable_results_of_any_way_do_not_depend_on_settings(everything: Path) -> None:
    given = {"MLCLI_SIMD": PORTABLE.simd[0], "OPENBLAS_NUM_THREADS": "3"}
    one = carried_out(everything, "portable", Settings(("--portable", "--threads", "1")))
    same_bytes(one, carried_out(everything, "other", Settings(("--portable", "--threads", "3"), given)), PLACED)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings_change_no_byte_of_any_way(name: str, everything: Path) -> None:
    settings = SURROUNDINGS[name]
    one, other = usual(everything), carried_out(
        everything, name, Settings(("--threads", "1"), settings.variables, settings.umask))
    assert one.keys() == other.keys() and one
    found = {run: repeating.timeless_differences(one[run], other[run]) for run in one}
    assert {run: differences for run, differences in found.items() if differences} == {}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.skipif(not able, reason="not this processor"))
                                  for name, (_, able) in SETTINGS.items()])
def test_settings_change_rounding_only_of_any_way(name: str, everything: Path) -> None:
    one, other = usual(everything), carried_out(everything, name, SETTINGS[name][0])
    same_numbers(one, other)
    if (kernel := SETTINGS[name][0].variables.get("OPENBLAS_CORETYPE")) is not None:
        expected = repeating.PRESCOTT if kernel == "Prescott" else {kernel.lower()}
        assert repeating.kernels(other["pca"]) <= expected
    if "threads" in name:
        assert json.loads((other["pca"] / "run.json").read_text())["threads"] == int(name[0])
