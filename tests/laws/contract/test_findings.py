"""Every finding of the registry has all of its parts: what it computes is written, read back and shown alike."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli import findings
from mlcli.base.frozen import frozen
from mlcli.base.values.options import Options
from mlcli.cli.program import run
from mlcli.config.build import fingerprint
from mlcli.config.report_options import OUTPUTS
from mlcli.config.run_config import RunConfig, option_rows
from mlcli.findings import FINDINGS, NAMES, STAGES
from mlcli.findings.finding import Finding, Place
from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
from mlcli.pipeline import run as pipeline
from mlcli.pipeline.read_run import read_run
from mlcli.report.page.page import page
from tests.faults.fuzz.directories import CHOSEN, SAMPLES

RUNS = {"pca": ("us_arrests.csv", "--set", "report.image=[2,2]", *CHOSEN),
        "ppca": ("gaps.tsv", "-m", "ppca", "-p", "1", "--set", "prepare.missing=model", "--id-column", "point"),
        "gib": ("us_arrests.csv", "-m", "gib", "-p", "1", "--columns", "Murder,Assault", "--view",
                str(SAMPLES / "us_arrests.csv"), "--set", "input.view.columns=[UrbanPop,Rape]"),
        "ibfa": ("us_arrests.csv", "-m", "ibfa", "-p", "1", "--columns", "Murder,Assault", "--view",
                 str(SAMPLES / "us_arrests.csv"), "--set", "input.view.columns=[UrbanPop,Rape]"),
        "mfa": ("us_arrests.csv", "-m", "mfa", "--contributions", "--groups", "first=Murder,Assault", "--groups",
                "second=UrbanPop,Rape"),
        "bilinear": ("postures.csv", "-m", "bilinear", "--label-column", "person", "--label-column", "posture", "--set",
                     "method.style_axes=2"),
        "fa": ("us_arrests.csv", "-m", "fa", "-p", "1", "--reliability"),
        "genes": ("us_arrests.csv", "--transform", "log1p", "--variable-genes", "3"),
        "nmds": ("us_arrests.csv", "-m", "nmds", "--set", "method.starts=1"),
        "tied": ("us_arrests.csv", "--onto", "RUNS/nmds", "--onto-way", "tied"),
        "umap": ("us_arrests.csv", "-m", "umap", "--set", "method.density.weight=2", "--set", "method.epochs=20"),
        "sammon": ("us_arrests.csv", "-m", "sammon", "--discontinuity"),
        "gpdm": ("us_arrests.csv", "-m", "gpdm", "--set", "method.minimize.limit=3", "--set", "method.forecast=2")}
FORMER = "8a2212deda298899135756f9fbbefd3876abf5bbd8e0c464df6f020fddacbe10"  # of all defaults
PARTS = sorted(Finding.__abstractmethods__)


@frozen
class Made:
    """A run in its folder, with the contents that its page was made of."""

    folder: Path
    contents: FinishedRun


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    folder, made = tmp_path_factory.mktemp("findings"), {}
    shown: list[FinishedRun] = []

    def show(where: Path, contents: FinishedRun) -> None:
        shown.append(contents)
        write(where, contents)

    write = pipeline.show
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "show", show)
        patch.setattr("mlcli.report.paper.needs.LABELED", 0)  # names take longer than the runs
        for name, (data, *options) in RUNS.items():
            options = [option.replace("RUNS", str(folder)) for option in options]
            assert run(["embed", str(SAMPLES / data), *options, "-o", str(folder / name), "-q"]) in (0, 80)
            made[name] = Made(folder / name, shown.pop())
    return made


def owner(runs: Mapping[str, Made], name: str) -> Made:
    """The first run that has a finding."""
    found = [made for made in runs.values() if name in made.contents.findings]
    assert found, f"no run of this test has {name}: add one to RUNS"
    return found[0]


def cells(value: CsvColumns, name: str) -> list[Any]:
    """A column as numbers, or as the texts that it holds."""
    try:
        return list(value.numbers(name))
    except ValueError:
        return list(value.texts(name))


def plain(value: Any) -> Any:
    """A value as lists, mappings and numbers, without what it has computed meanwhile."""
    if isinstance(value, CsvColumns):
        return {name: cells(value, name) for name in value.columns}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return plain(vars(value)) if hasattr(value, "__dict__") else value


@pytest.mark.parametrize("part", PARTS)
def test_a_finding_that_lacks_a_part_is_refused_by_name(part: str) -> None:
    parts = {name: lambda self: None for name in PARTS if name != part}
    half: Any = type("Half", (Finding,), {"name": "half", "files": (), **parts})
    with pytest.raises(TypeError, match=rf"abstract method '?{part}"):
        half()


def test_every_declaration_is_in_the_registry() -> None:
    folder = Path(findings.__file__).parent
    declaring = {path.stem if path.parent == folder else path.parent.name
                 for path in (*folder.glob("*.py"), *folder.glob("*/__init__.py"))
                 if re.search(r"^class \w+\(Finding\b", path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert declaring == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_finding_declares_its_files_its_option_and_what_it_needs(name: str) -> None:
    finding = FINDINGS[name]
    assert finding.name == name and type(finding).__doc__ and finding.files
    others = [file.name for other in FINDINGS.values() if other is not finding for file in other.files]
    assert not {file.name for file in finding.files} & {*others}
    assert {*finding.needs} <= {*[*NAMES][: [*NAMES].index(name)]}, "what it needs comes before it"
    assert name in STAGES or not finding.stage
    assert (name in OUTPUTS) is finding.output
    if finding.option is not None:
        paths = [row.path for row in option_rows()]
        assert any(path == f"report.{name}" or path.startswith(f"report.{name}.") for path in paths)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_computed_is_what_its_files_hold(runs: dict[str, Made], name: str) -> None:
    made, finding = owner(runs, name), FINDINGS[name]
    missing = [file.name for file in finding.files if not (made.folder / file.name).is_file()]
    assert len(missing) == (len(finding.files) - 1 if finding.either else 0), f"not written: {missing}"
    value, again = made.contents.findings[name], finding.read(made.folder, made.contents)
    if all(file.shape is None for file in finding.files):
        assert again is None
    else:
        assert repr(plain(again)) == repr(plain(value))


@pytest.mark.parametrize("name", NAMES)
def test_a_run_without_its_files_has_no_such_finding(runs: dict[str, Made], name: str, tmp_path: Path) -> None:
    assert FINDINGS[name].read(tmp_path, owner(runs, name).contents) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_section_looks_at_its_finding_and_those_that_it_needs(runs: dict[str, Made], name: str) -> None:
    made, finding = owner(runs, name), FINDINGS[name]
    few = {other: value for other, value in made.contents.findings.items() if other in (name, *finding.needs)}
    value = made.contents.findings[name]
    whole, alone = ([(place, part and part.text) for place, part in finding.sections(value, run)]
                    for run in (made.contents, replace(made.contents, findings=few)))
    assert whole == alone and all(place in Place for place, _ in whole)
    assert finding.on_page or not whole, "a page of a finished run would lack it"


@pytest.mark.parametrize("name", NAMES)
def test_the_page_about_files_names_them_all(name: str) -> None:
    text = (SAMPLES.parent / "docs" / "files.md").read_text(encoding="utf-8")
    assert [file.name for file in FINDINGS[name].files if f"`{file.name}`" not in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_plain_and_lines_follow_from_them(runs: dict[str, Made], name: str) -> None:
    finding, value = FINDINGS[name], owner(runs, name).contents.findings[name]
    facts = finding.facts(value)
    assert {*finding.columns, *finding.headline()} <= {key for fact in facts.values() for key in fact} | {
        f"{key}_se" for fact in facts.values() for key in fact}
    assert all(isinstance(line, str) for line in finding.lines(facts))
    assert [line for line in finding.lines(finding.facts(None)) if line] == []


def test_a_finding_that_is_chosen_makes_another_run() -> None:
    plain = RunConfig.model_validate({"input": {"path": "x.csv"}})
    for name, finding in FINDINGS.items():
        if finding.option is not None and finding.default is None:
            chosen = RunConfig.model_validate({"input": {"path": "x.csv"}, "report": {name: {}}})
            assert fingerprint(chosen) != fingerprint(plain), name
    assert fingerprint(plain) == FORMER, "runs of earlier versions are made again"


def test_an_option_of_a_finding_says_of_each_field_what_it_is() -> None:
    for finding in FINDINGS.values():
        kinds = [kind for kind in getattr(finding.option and finding.option[0], "__args__", ())
                 if isinstance(kind, type) and issubclass(kind, Options)]
        assert all(info.description for kind in kinds for info in kind.model_fields.values())


@pytest.mark.parametrize("name", RUNS)
def test_the_page_of_memory_is_the_page_of_the_files(
        runs: dict[str, Made], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.report.paper.needs.LABELED", 0)
    made = runs[name]
    assert (made.folder / "report.html").read_text(encoding="utf-8") == page(read_run(made.folder))
