"""The journal of a run, and the logger that it gives stages and notes to."""

import logging

import numpy as np
import pytest

import mlcli
from mlcli.base.stages.stage import note, running
from mlcli.rundir.journal import recording
from tests.processes import python

TABLE = np.random.default_rng(0).standard_normal((12, 3))


def test_a_logged_journal_gives_stages_and_each_note_once_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "mlcli"), recording(logged=True) as journal:
        with running("eigensolve"):
            note("W-SOME", "some")
            note("W-SOME", "some")
        note("N-OTHER", "other with {method.neighbors=3}")
        note("F-FACT", "a fact")
    levels = [(record.levelno, record.getMessage().partition(" after")[0]) for record in caplog.records]
    assert levels == [(logging.DEBUG, "eigensolve begins"), (logging.WARNING, "W-SOME: some"),
                      (logging.DEBUG, "eigensolve ends"), (logging.INFO, "N-OTHER: other with method.neighbors=3"),
                      (logging.DEBUG, "F-FACT: a fact")]
    assert [item["code"] for item in journal.noted("W-")] == ["W-SOME"]


def test_other_journals_log_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "mlcli"), recording(), running("eigensolve"):
        note("W-SOME", "some")
    assert not caplog.records


def test_a_run_logs_its_warnings_and_stages(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "mlcli"):
        run = mlcli.embed(TABLE, "isomap", neighbors=4)
    warned = tuple(record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)
    assert warned == run.warnings and warned[0].startswith("W-NEGATIVE: ")
    assert "eigensolve begins" in {record.getMessage() for record in caplog.records}


@pytest.mark.medium
def test_nothing_is_printed_unless_the_program_asks_for_it() -> None:
    code = ("import sys; sys.stderr = sys.stdout; {}import mlcli, numpy as np; "
            "run = mlcli.embed(np.random.default_rng(0).standard_normal((12, 3)), 'isomap', neighbors=4); "
            "assert run.warnings")
    assert python(code.format("import logging; ")) == ""
    asked = python(code.format("import logging; logging.basicConfig(stream=sys.stdout); "))
    assert asked.startswith("WARNING:mlcli:W-NEGATIVE: ")
