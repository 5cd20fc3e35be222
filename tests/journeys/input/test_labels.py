"""Labels of a second file in every command that shows or uses them."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller


def write_parts() -> None:
    """A table without labels, and the labels in another order in a second file."""
    values = np.random.default_rng(0).normal(size=(30, 3)) + np.repeat([0, 9], 15)[:, None]
    rows = [f"p{row},{','.join(map(str, some))}" for row, some in enumerate(values)]
    Path("data.csv").write_text("\n".join(["name,a,b,c", *rows]), encoding="utf-8")
    labels = [f"p{row},{'low' if row < 15 else 'high'}" for row in reversed(range(30))]
    Path("labels.csv").write_text("\n".join(["name,level", *labels]), encoding="utf-8")


@pytest.mark.medium
def test_every_command_takes_them(mlcli: Caller) -> None:
    write_parts()
    for arguments in (("embed", "data.csv", "--labels", "labels.csv", "-m", "lda", "-o", "lda", "-q"),
                      ("verify", "lda"), ("embed", "data.csv", "-o", "bare", "-q"),
                      ("report", "bare", "--labels", "labels.csv", "-q"),
                      ("compare", "bare", "lda", "--labels", "labels.csv", "-o", "both.html"),
                      ("run", "bare/config.yaml", "--labels", "labels.csv", "-o", "again", "-q"),
                      ("project", "bare", "data.csv", "--labels", "labels.csv", "-o", "new.csv", "-q")):
        called = mlcli(*arguments)
        assert called.code == 0, called.err
    for page in ("bare/report.html", "both.html"):
        assert "high" in Path(page).read_text(encoding="utf-8")
    assert Path("new.csv").read_text(encoding="utf-8").splitlines()[1].startswith("p0,low,")
    assert json.loads(Path("again/quality.json").read_text(encoding="utf-8"))["label_1nn_error"] == 0.0
    assert json.loads(Path("lda/run.json").read_text(encoding="utf-8"))["input"]["labels"]["path"] == "labels.csv"


def test_a_run_whose_labels_changed_is_another(mlcli: Caller) -> None:
    write_parts()
    call = ("embed", "data.csv", "--labels", "labels.csv", "-o", "out", "-q", "--skip-existing")
    assert mlcli(*call).code == mlcli(*call).code == 0
    Path("labels.csv").write_text(Path("labels.csv").read_text(encoding="utf-8").replace("high", "deep"),
                                  encoding="utf-8")
    assert mlcli(*call).code == 73
