"""A second view from the command line: rows matched by id in whatever order, and what is refused."""

import json
from pathlib import Path
from re import sub

import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.wording import Wording

FIRST = np.random.default_rng(5).standard_normal((30, 3))
SECOND = FIRST[:, :2] ** 2 + 0.3 * np.random.default_rng(6).standard_normal((30, 2))


def write(path: str, values: np.ndarray, rows: list[int], label: bool = False) -> None:
    """Rows under ids of their own."""
    head = ["id", *(["kind"] if label else []), *(f"{path[0]}{j}" for j in range(values.shape[1]))]
    lines = [[f"r{i}", *(["ab"[i % 2]] if label else []), *map(repr, values[i].tolist())] for i in rows]
    Path(path).write_text("\n".join(",".join(line) for line in [head, *lines]) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """Two views, the second in the order of the first, shuffled, and with a row that the first has not."""
    write("x.csv", FIRST, list(range(30)), label=True)
    write("y.csv", SECOND, list(range(30)))
    write("shuffled.csv", SECOND, np.random.default_rng(0).permutation(30).tolist())
    write("fewer.csv", SECOND, list(range(2, 30)))


def cca(mlcli: Caller, view: str, *more: str) -> dict:
    """The run of a view, as JSON."""
    called = mlcli.bare("x.csv", "--id-column", "id", "--label-column", "kind", "-m", "cca", "--view", view,
                        "-o", f"out-{Path(view).stem}", "--json", "full", *more)
    assert called.code == 0, called.err
    return json.loads(called.out)


def test_rows_are_matched_by_id_in_any_order(mlcli: Caller) -> None:
    found = [cca(mlcli, view) for view in ("y.csv", "shuffled.csv")]
    assert found[0]["eigenvalues"] == pytest.approx(found[1]["eigenvalues"], rel=1e-12)
    tables = [np.loadtxt(f"out-{Path(view).stem}/embedding.csv", delimiter=",", skiprows=1, usecols=(2, 3))
              for view in ("y.csv", "shuffled.csv")]
    assert np.allclose(*tables, atol=1e-11)
    assert found[1]["input"]["view"]["path"] == "shuffled.csv" and found[1]["input"]["view"]["sha256"]


def test_rows_of_one_view_only_are_refused_or_left_out(mlcli: Caller, wording: Wording) -> None:
    called = mlcli.bare("x.csv", "--id-column", "id", "--label-column", "kind", "-m", "cca", "--view", "fewer.csv")
    assert called.code == 65 and " x.csv: 'r0', 'r1'" in called.err and wording(called.err)
    found = cca(mlcli, "fewer.csv", "--set", "prepare.unmatched=drop")
    assert (found["embedding"]["rows"], found["embedding"]["dropped"]) == (28, 2)
    assert Path("out-fewer/dropped.csv").read_text(encoding="utf-8").splitlines()[1].startswith("r0,1,")


def test_new_rows_are_placed_by_the_first_view(mlcli: Caller) -> None:
    cca(mlcli, "y.csv")
    called = mlcli("project", "out-y", "x.csv", "--id-column", "id", "--label-column", "kind", "-o", "again.csv")
    assert called.code == 0, called.err
    placed = np.loadtxt("again.csv", delimiter=",", skiprows=1, usecols=(2, 3))
    fitted = np.loadtxt("out-y/embedding.csv", delimiter=",", skiprows=1, usecols=(2, 3))
    assert np.allclose(placed, fitted, atol=1e-12)


def test_a_run_notices_that_its_second_view_has_changed(mlcli: Caller) -> None:
    cca(mlcli, "y.csv")
    assert "the input is unchanged" in mlcli("verify", "out-y").out
    write("y.csv", SECOND + 1, list(range(30)))
    changed = mlcli("verify", "out-y")
    assert changed.code == 0 and "the input is changed (y.csv)\n" in changed.out
    assert "not at hand" not in changed.out and "skipped input: " in changed.out
    Path("y.csv").unlink()
    assert f"the input is missing ({Path('y.csv').absolute()})\n" in mlcli("verify", "out-y").out


def test_both_views_may_lie_elsewhere_when_a_run_is_verified(mlcli: Caller) -> None:
    cca(mlcli, "y.csv")
    Path("x.csv").rename("first.csv")
    Path("y.csv").rename("second.csv")
    assert "the input is missing" in mlcli("verify", "out-y", "--input", "first.csv").out
    assert "the input is missing" in mlcli("verify", "out-y", "--view", "second.csv").out
    called = mlcli("verify", "out-y", "--input", "first.csv", "--view", "second.csv")
    assert called.code == 0 and "pass; the input is unchanged" in called.out
    swapped = mlcli("verify", "out-y", "--input", "second.csv", "--view", "first.csv")
    assert "the input is changed" in swapped.out


def test_a_view_of_a_run_that_has_none_is_refused(mlcli: Caller, wording: Wording) -> None:
    assert mlcli.bare("x.csv", "--id-column", "id", "--label-column", "kind", "-o", "one").code == 0
    called = mlcli("verify", "one", "--view", "y.csv")
    assert called.code == 78 and wording(called.err) == ["E-NO-VIEW"] and "; --view" in called.err


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("-m", "cca"), 78, "--view"), (("-m", "ibfa"), 78, "--view"), (("-m", "pca", "--view", "y.csv"), 78, "--view"),
    (("-m", "cca", "--view", "absent.csv"), 66, "absent.csv"),
    (("-m", "cca", "--set", "input.view.key=a"), 78, "input.view.path"),
    (("-m", "pca", "--set", "prepare.unmatched=drop"), 78, "prepare.unmatched"),
    (("-m", "sfa", "-p", "4"), 78, "at most 3"),
])
def test_what_is_missing_or_has_no_use_is_named(
        mlcli: Caller, arguments: tuple[str, ...], code: int, text: str, wording: Wording) -> None:
    called = mlcli.bare("x.csv", "--id-column", "id", "--label-column", "kind", *arguments)
    assert called.code == code, called.err
    assert text in called.err and wording(called.err)
    assert not Path("runs").exists()


def test_what_is_wrong_with_the_second_view_is_mended_by_its_own_options(mlcli: Caller) -> None:
    """Flags stand for options of the first view."""
    text = Path("y.csv").read_text(encoding="utf-8")
    Path("renamed.csv").write_text(text.replace("id", "name", 1), encoding="utf-8")
    write("labeled.csv", SECOND, list(range(30)), label=True)
    Path("labeled.csv").write_text(sub(r",([ab]),", r",1\1,", Path("labeled.csv").read_text(encoding="utf-8")),
                                   encoding="utf-8")
    first = ("embed", "x.csv", "--id-column", "id", "--label-column", "kind", "-m", "cca", "--view")
    renamed, labeled = mlcli(*first, "renamed.csv"), mlcli(*first, "labeled.csv")
    assert renamed.code == 78 and "input.view.id_column" in renamed.err
    assert labeled.code == 65 and "input.view.columns" in labeled.err and "--label-column" not in labeled.err
    mended = ("--set", "input.view.id_column=name"), ("--set", "input.view.columns=[l0,l1]")
    assert mlcli(*first, "renamed.csv", *mended[0], "-o", "a").code == 0
    assert mlcli(*first, "labeled.csv", *mended[1], "-o", "b").code == 0


def test_discriminants_need_labels(mlcli: Caller, wording: Wording) -> None:
    called = mlcli.bare("y.csv", "--id-column", "id", "-m", "lda")
    assert called.code == 78 and "E-NEEDS" in wording(called.err) and "--label-column" in called.err


@pytest.mark.medium
def test_dissimilarities_have_a_second_view_of_their_points(mlcli: Caller, wording: Wording) -> None:
    generator = np.random.default_rng(3)
    points = generator.standard_normal((14, 3))
    names = [f"site {i}" for i in range(14)]
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    Path("apart.csv").write_text("\n".join([",".join(["id", *names]), *(
        ",".join([name, *map(repr, map(float, row))]) for name, row in zip(names, apart, strict=True)), ""]))
    soil = [f"{name},{points[i, 0] + i % 2},{i % 3}" for i, name in enumerate(names)]
    Path("soil.csv").write_text("\n".join(["site,n,p", *soil[:0:-1], ""]))  # in another order, and without the first
    given = ("apart.csv", "-m", "dbrda", "--kind", "dissimilarities", "--view", "soil.csv", "-q")
    called = mlcli("embed", *given, "-o", "run")
    assert called.code == 65 and " apart.csv: 'site 0'" in called.err and wording(called.err)
    assert mlcli("embed", *given, "-o", "run", "--set", "prepare.unmatched=drop").code == 0
    assert len(Path("run/embedding.csv").read_text().splitlines()) == 14
    assert "site 0,1," in Path("run/dropped.csv").read_text()
    assert Path("run/loadings.csv").read_text().splitlines()[0] == "column,y1,y2"
    page = Path("run/report.html").read_text()
    assert "dbRDA 1" in page and "dbRDA 2" in page and "PCo 1" not in page
    assert mlcli("verify", "run", "--full").code == 0
    assert mlcli("embed", *given, "-p", "4", "-o", "more", "--set", "prepare.unmatched=drop").code == 0
    assert "PCo 2" in Path("more/report.html").read_text()
    called = mlcli("project", "more", "apart.csv")
    assert called.code == 78 and wording(called.err) == ["E-NO-PROJECTION"]
    called = mlcli("embed", "apart.csv", "-m", "mds", *given[3:], "-o", "other", "--set", "prepare.unmatched=drop")
    assert called.code == 78 and "E-VIEW" in called.err
