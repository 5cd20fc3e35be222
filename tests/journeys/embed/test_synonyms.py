"""A run whose kernel was given `sigma`: it says the rate, and has the numbers of that rate."""

import json
from pathlib import Path

from tests.journeys.support import Caller
from tests.wording import Wording


def test_the_run_says_it_and_gives_the_same_numbers(mlcli: Caller, wording: Wording) -> None:
    called = mlcli.bare("data.csv", "-m", "kpca", "--kernel", "gaussian", "--set", "method.kernel.sigma=2", "-v",
                        "-o", "a")
    assert called.code == 0, called.err
    assert wording(called.err, "N-SYNONYM") == ["N-SYNONYM"] and " method.kernel.rate 0.125" in called.err
    assert mlcli.bare("data.csv", "-m", "kpca", "--kernel", "gaussian", "--set", "method.kernel.rate=0.125",
                      "-q", "-o", "b").code == 0
    assert Path("a/embedding.csv").read_bytes() == Path("b/embedding.csv").read_bytes()
    codes = [said["code"] for said in json.loads(Path("a/run.json").read_text())["notes"]]
    assert "N-SYNONYM" in codes
    assert "N-SYNONYM" not in mlcli("run", "a/config.yaml", "--set", "output=c").err
