"""Groups of columns in the files of a run: what is stated is what was computed, and damage is named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mlcli.errors import UnsafeFile
from mlcli.findings import FINDINGS
from mlcli.findings.finding import Finding
from mlcli.findings.groups import AXES, GROUPS, RV, stated_groups
from mlcli.findings.partial import TABLE as PARTIAL
from mlcli.methods import Model
from tests.support import features, fit

POINTS = np.random.default_rng(1).standard_normal((9, 6))


class Fitted:
    """What findings read of a result."""

    def __init__(self, model: Model) -> None:
        self.model, self.embedding = model, features(model.embedding)


def written(folder: Path, method: str) -> Model:
    model = fit(method, POINTS, **({} if method == "famd" else {
        "groups": ["first=x1:x2", "second=x3,x4", "last=x5:x6"], "supplementary": ["last"]}))
    result = Fitted(model)
    for name in ("groups", "partial"):
        finding: Finding = FINDINGS[name]
        value = finding.compute(result, {})
        if value is not None:
            finding.write(value, folder, result)
    return model


@pytest.mark.parametrize("method", ["mfa", "statis", "famd"])
def test_the_files_state_the_groups_of_the_model(tmp_path: Path, method: str) -> None:
    model = written(tmp_path, method)
    found, known = stated_groups(tmp_path, model.embedding.shape), model.groups
    assert found.names == known.names
    for name in ("active", "widths", "eigenvalues", "weights", "coordinates", "correlations"):
        assert np.array_equal(getattr(found, name), getattr(known, name)), name
    assert np.allclose(found.products[:-1, :-1], known.products[:-1, :-1], rtol=1e-14, atol=1e-14)
    assert np.allclose(found.rv, known.rv, rtol=1e-14, atol=1e-14)
    assert (found.partial is None) is (method == "famd")
    assert found.partial is None or np.array_equal(found.partial, known.partial)


def without_a_line(text: str) -> str:
    return "\n".join([*text.splitlines()[:-1], ""])


def without_a_column(text: str) -> str:
    return "\n".join([*(line.rpartition(",")[0] for line in text.splitlines()), ""])


@pytest.mark.parametrize(("file", "damage"), [
    (AXES, without_a_line), (RV, without_a_line), (RV, without_a_column), (GROUPS, without_a_line),
    (PARTIAL, without_a_line), (PARTIAL, without_a_column)])
def test_files_that_do_not_fit_each_other_are_refused(tmp_path: Path, file: object,
                                                      damage: Callable[[str], str]) -> None:
    model, path = written(tmp_path, "mfa"), tmp_path / file.name
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(UnsafeFile, match="does not fit"):
        stated_groups(tmp_path, model.embedding.shape)


def test_a_run_without_groups_states_none(tmp_path: Path) -> None:
    assert stated_groups(tmp_path, (3, 2)) is None
