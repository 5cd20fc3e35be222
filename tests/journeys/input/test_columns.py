"""Columns that decide a result although they may not be meant to, from a file to run.json."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlcli.api import embed
from tests.journeys.support import Caller
from tests.wording import Wording


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """Numbers with one column of another kind, and answers with a code."""
    rng = np.random.default_rng(0)
    columns = {**{f"e{place}": rng.standard_normal(80) for place in range(12)}, "length": rng.permutation(80) * 2.5}
    pq.write_table(pa.table(columns), "embeddings.parquet")
    answers = rng.integers(1, 7, (80, 4))
    answers[[4, 70], 2] = 999
    np.savetxt("answers.csv", answers, fmt="%d", delimiter=",", header="q1,q2,q3,q4", comments="")


def warned(folder: str) -> dict[str, dict[str, object]]:
    return {item["code"]: item for item in json.loads(Path(folder, "run.json").read_text("utf-8"))["warnings"]}


@pytest.mark.parametrize("way", ["auto", "always"])
def test_a_column_of_nearly_all_variance_is_named_first_to_leave_out(mlcli: Caller, way: str) -> None:
    called = mlcli.bare("embeddings.parquet", "--set", f"input.stream={way}", "-o", "run")
    assert called.code == 0 and called.err.count("warning[W-DOMINANT]") == 1
    said = warned("run")["W-DOMINANT"]
    message = str(said["message"])
    assert said["column"] == "length" and 0.99 < float(str(said["share"])) < 1
    assert "'length' holds 99.7% of the variance of 13 columns" in message
    assert message.index("--label-column length") < message.index("--scale standard")
    strict = mlcli.bare("embeddings.parquet", "--strict", "-o", "strict")
    assert strict.code == 65 and "W-DOMINANT" in strict.err and not Path("strict").exists()


@pytest.mark.parametrize("more", [
    ("--label-column", "length"), ("--scale", "standard"), ("-m", "mds", "--metric", "cosine"), ("-m", "fa")])
def test_no_column_dominates_where_it_is_left_out_or_scales_do_not_count(mlcli: Caller, more: tuple[str, ...]) -> None:
    assert mlcli.bare("embeddings.parquet", *more, "-o", "run").code == 0
    assert "W-DOMINANT" not in warned("run")


def test_what_is_reduced_by_pca_first_counts_by_its_variances_whatever_follows(mlcli: Caller) -> None:
    assert mlcli.bare("embeddings.parquet", "--reduce", "5", "-m", "mds", "--metric", "cosine", "-o", "run").code == 0
    assert "W-DOMINANT" in warned("run")
    assert mlcli.bare("run", "-o", "again").code == 0
    assert "W-DOMINANT" not in warned("again")


def test_the_checkup_proposes_to_leave_a_dominant_column_out_first(mlcli: Caller) -> None:
    found = {item["code"]: item for item in json.loads(mlcli("check", "embeddings.parquet", "--json").out)["findings"]}
    advice = found["C-SCALES"]["advice"]
    assert "99.7%" in found["C-SCALES"]["sentence"]
    assert advice.index("--label-column length") < advice.index("--scale standard")


@pytest.mark.parametrize("way", ["auto", "always"])
def test_a_code_among_answers_is_named_with_column_value_and_count(mlcli: Caller, way: str, wording: Wording) -> None:
    called = mlcli.bare("answers.csv", "-m", "fa", "--set", f"input.stream={way}", "-o", "run")
    said = warned("run")["W-CODES"]
    assert called.code == 0 and said["columns"] == [{"column": "q3", "rows": {"999": 2}, "low": 1.0, "high": 6.0}]
    assert wording(called.err, "W-CODES") == ["W-CODES"]
    assert "--missing-markers 999" in called.err
    cured = mlcli.bare("answers.csv", "-m", "fa", "--missing-markers", "999", "--set",
                        "prepare.missing=drop", "-o", "cured")
    assert cured.code == 0 and "W-CODES" not in warned("cured")
    assert mlcli.bare("answers.csv", "-m", "fa", "--strict", "-o", "strict").code == 65


def test_the_checkup_finds_the_code_too(mlcli: Caller) -> None:
    report = json.loads(mlcli("check", "answers.csv", "--json").out)
    assert report["features"]["codes"] == [{"column": "q3", "rows": {"999": 2}, "low": 1.0, "high": 6.0}]
    assert "C-CODES" in [finding["code"] for finding in report["findings"]]


def test_proposals_fit_arrays_and_files_that_are_not_text(mlcli: Caller, wording: Wording) -> None:
    values = np.random.default_rng(1).integers(1, 7, (60, 3))
    values[2, 1] = 999
    pq.write_table(pa.table(dict(zip("abc", values.T, strict=True))), "answers.parquet")
    mlcli.bare("answers.parquet", "-o", "run")
    assert "make these cells empty" in str(warned("run")["W-CODES"]["message"])
    wide = np.random.default_rng(1).standard_normal((60, 12)) * [*[1] * 11, 500]
    said, = embed(wide).warnings
    assert said.startswith("W-DOMINANT") and "W-DOMINANT" in wording(said)


def test_categories_are_not_numbers_with_a_scale(mlcli: Caller) -> None:
    assert mlcli.bare("answers.csv", "-m", "mca", "-o", "run").code == 0
    assert "W-CODES" not in warned("run")
