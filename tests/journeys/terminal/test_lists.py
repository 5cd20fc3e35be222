"""`methods`, `schema`, `sample` and `doctor` print what there is."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.commands import doctor
from mlcli.data.samples import SAMPLES
from mlcli.methods import METHODS
from tests.journeys.support import Caller
from tests.wording import Wording

ROOT = Path(__file__).parents[3]


def test_methods_are_listed_by_family_below_five_to_start_with(mlcli: Caller) -> None:
    start, *families = mlcli("methods").out.split("\n\n")
    assert len(start.splitlines()) == 6 and "  pca " in start and "  umap " in start
    named = [re.findall(r"^  ([a-z]+) ", text, re.MULTILINE) for text in families]
    assert sorted(name for names in named for name in names) == sorted(METHODS)
    assert ["tsne", "phate", "umap"] in named


@pytest.mark.parametrize("name", METHODS)
def test_a_methods_page_has_all_its_options(mlcli: Caller, name: str) -> None:
    page = " ".join(mlcli("methods", name).out.split())
    facts = json.loads(mlcli("methods", name, "--json").out)
    assert page.startswith(f"{name}: ")
    assert facts["options"]
    for option in facts["options"]:
        assert option["path"] in page and option["sentence"] in page
    assert f"method.{METHODS[name].axes_section()}.components" in {item["path"] for item in facts["options"]}


def test_all_methods_as_json(mlcli: Caller) -> None:
    assert [method["name"] for method in json.loads(mlcli("methods", "--json").out)["methods"]] == list(METHODS)


def test_an_unknown_method_has_a_nearest_one(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("methods", "isomp")
    assert wording(called.err) == ["E-METHOD"] and " 'isomap'?; NAME" in called.err


def test_the_schema_is_json(mlcli: Caller) -> None:
    called = mlcli("schema")
    assert json.loads(called.out)["properties"]["method"]
    assert called.out == (ROOT / "configs" / "mlcli.schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_stream_as_csv_with_ids(mlcli: Caller, name: str) -> None:
    lines = mlcli("sample", name, "--rows", 4).out.splitlines()
    columns = "x,y,z" if SAMPLES[name].columns == 3 else ",".join(f"x{i}" for i in range(1, SAMPLES[name].columns + 1))
    assert (lines[0], len(lines)) == (f",{columns}", 5)


def test_samples_go_to_files_by_their_endings(mlcli: Caller, wording: Wording) -> None:
    for name in ("a.csv", "a.npy", "a.parquet"):
        assert mlcli("sample", "torus", "--rows", 5, "--seed", 3, "-o", name).code == 0
    assert np.load("a.npy").shape == (5, 3)
    assert Path("a.csv").read_text() == mlcli("sample", "torus", "--rows", 5, "--seed", 3).out
    assert mlcli("sample", "torus", "-o", "a.csv").code == 73
    assert mlcli("sample", "torus", "-o", "a.xlsx").code == 2
    said, quiet = (mlcli("sample", "cells", "--rows", 9, "--labels", "l.csv", "-o", "b.csv", "--force", *more).err
                   for more in ([], ["-q"]))
    assert wording(said) == [] and (said.count("\n"), quiet) == (2, "")
    assert mlcli("sample", "torus", "--truth", "--rows", 2).out.splitlines()[0] == ",t,h,x,y,z"
    assert mlcli("sample", "torus", "--noise", "0.5", "--rows", 2).out != mlcli("sample", "torus", "--rows", 2).out


def test_labels_of_a_sample_go_to_a_second_file(mlcli: Caller) -> None:
    given = ("sample", "cells", "--rows", 40, "--columns", 30)
    assert mlcli(*given, "--labels", "cells.csv", "-o", "counts.csv").code == 0
    assert Path("cells.csv").read_text().splitlines()[0] == "id,type,batch"
    assert Path("counts.csv").read_text() == mlcli(*given).out
    embedded = mlcli("embed", "counts.csv", "--labels", "cells.csv", "-o", "-", "-q").out
    assert embedded.startswith("id,type,batch,y1,y2\n")
    again = mlcli(*given, "--labels", "cells.csv", "-o", "new.csv")
    assert again.code == 73 and not Path("new.csv").exists()
    for more in (("-o", "cells.csv", "--force"), ("--truth",)):
        assert mlcli(*given, "--labels", "cells.csv", *more).code == 2


def test_a_sample_is_embedded_as_it_is(mlcli: Caller) -> None:
    assert mlcli("sample", "swiss-roll", "--rows", 60, "-o", "roll.csv").code == 0
    called = mlcli("embed", "roll.csv")
    assert called.code == 0 and "warning" not in called.err


def test_the_samples_are_named_in_help_and_errors(mlcli: Caller, wording: Wording) -> None:
    text = " ".join(mlcli("sample", "--help").out.split())
    assert all(name in text.replace("- ", "-") for name in SAMPLES)
    assert "E-SAMPLE" in wording(mlcli("sample", "torsu").err)


def test_doctor_shows_the_machine(mlcli: Caller) -> None:
    called = mlcli("doctor")
    assert called.code == 0
    for word in ("mlcli 0.1.0", "numpy", "threads:", "memory:", "native kernels", "eigensolver: right"):
        assert word in called.out
    found = json.loads(mlcli("doctor", "--json").out)
    assert found["eigensolver"]["right"] and found["packages"]["numpy"] and found["cores"] >= 1
    assert {"library", "kernel", "threads", "used_by"} <= set(found["blas"][0])


def test_doctor_finds_a_wrong_eigensolver(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.linalg.eigh
    monkeypatch.setattr("numpy.linalg.eigh", lambda matrix: (right(matrix)[0] * (1 + 1e-9), right(matrix)[1]))
    assert not doctor.self_test()["right"]
    called = mlcli("doctor")
    assert called.code == 80 and "E-SELF-TEST" in called.err
