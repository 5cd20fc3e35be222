"""Transforms, the choice of columns and transposed tables, from a file to new points and back to features."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.faults.fuzz.directories import rehashed
from tests.journeys.support import Caller
from tests.wording import Wording

COUNTS = np.random.default_rng(8).integers(1, 60, (12, 5)) * [1, 5, 2, 9, 1]


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """The same table with points as rows, and with points as columns."""
    lines = [["", *"abcde"], *([f"s{row}", *map(str, counts)] for row, counts in enumerate(COUNTS.tolist()))]
    Path("rows.csv").write_text("\n".join(map(",".join, lines)) + "\n", encoding="utf-8")
    turned = zip(*lines, strict=True)
    Path("columns.csv").write_text("\n".join(map(",".join, turned)) + "\n", encoding="utf-8")


SCORES = ("off_manifold", "off_manifold_p", "hotelling_t2", "q")


def numbers(path: str) -> np.ndarray:
    """The columns of a file but its ids and the scores of new rows."""
    columns = Path(path).read_text(encoding="utf-8").split()[0].split(",")
    chosen = [place for place, name in enumerate(columns) if place and name not in SCORES]
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=chosen)


@pytest.mark.medium
def test_a_transposed_table_is_the_same_run(mlcli: Caller) -> None:
    more = ("--transform", "total,log1p", "--top-variance", "3")
    assert mlcli.bare("rows.csv", *more, "-o", "one").code == 0
    assert mlcli.bare("columns.csv", "--transpose", *more, "-o", "two").code == 0
    assert Path("one/embedding.csv").read_bytes() == Path("two/embedding.csv").read_bytes()
    assert Path("one/model.npz").read_bytes() == Path("two/model.npz").read_bytes()
    assert mlcli("verify", "two", "--full").code == 0
    assert mlcli("run", "two/config.yaml", "-o", "three").code == 0
    assert Path("two/embedding.csv").read_bytes() == Path("three/embedding.csv").read_bytes()


@pytest.mark.parametrize(("method", "data", "flags"), [
    ("pca", "columns.csv", ("--transpose",)), ("isomap", "rows.csv", ("-k", "6")), ("kpca", "rows.csv", ()),
    ("lle", "columns.csv", ("--transpose", "-k", "6"))])
def test_new_points_are_read_and_prepared_as_the_first_ones(mlcli: Caller, method: str, data: str,
                                                            flags: tuple[str, ...]) -> None:
    assert mlcli.bare(data, *flags, "-m", method, "--transform", "cpm,log1p", "--top-variance", "4",
                      "--scale", "standard", "-o", "run").code == 0
    called = mlcli("project", "run", data, "-o", "again.csv")
    assert called.code == 0, called.err
    np.testing.assert_allclose(numbers("again.csv"), numbers("run/embedding.csv"), rtol=0, atol=1e-7)


def test_features_come_back_in_the_units_of_the_input(mlcli: Caller) -> None:
    more = ("--transform", "sqrt,log1p", "--scale", "robust")
    assert mlcli.bare("rows.csv", "-p", "5", *more, "-o", "run").code == 0
    called = mlcli("reconstruct", "run", "run/embedding.csv", "-o", "back.csv")
    assert called.code == 0 and "note" not in called.err
    np.testing.assert_allclose(numbers("back.csv"), COUNTS, rtol=1e-9)


def test_features_after_a_transform_without_inverse_are_said_to_be_so(mlcli: Caller, wording: Wording) -> None:
    mlcli.finished("embed", "rows.csv", "-p", "3", "--transform", "total,log1p", "--top-variance", "3",
                 "-o", "run")
    called = mlcli("reconstruct", "run", "run/embedding.csv", "-o", "back.csv")
    assert "N-TRANSFORMED" in wording(called.err)
    shares = COUNTS / COUNTS.sum(axis=1)[:, None]
    names = Path("back.csv").read_text().split()[0].split(",")[1:]
    np.testing.assert_allclose(numbers("back.csv"), shares[:, ["abcde".index(name) for name in names]], rtol=1e-9)


def test_the_domain_is_checked_for_new_points_too(mlcli: Caller, wording: Wording) -> None:
    mlcli.finished("embed", "rows.csv", "--transform", "clr", "-o", "run")
    Path("new.csv").write_text("id,a,b,c,d,e\nn1,1,2,3,4,5\nn2,1,0,3,4,5\n", encoding="utf-8")
    called = mlcli("project", "run", "new.csv", "--id-column", "id")
    assert (called.code, called.out) == (65, "")
    assert "E-TRANSFORM]: row 2 ('n2'), column 'b': clr " in called.err and "; new.csv; " in called.err
    assert wording(called.err) == ["E-TRANSFORM"]


def test_a_run_of_an_earlier_version_is_read(mlcli: Caller) -> None:
    """Its model says nothing of transforms, of chosen columns, of transposed tables or of steps ahead."""
    mlcli.finished("embed", "rows.csv", "-p", "5", "--scale", "standard", "-o", "run")
    before = [mlcli("project", "run", "rows.csv").out, mlcli("reconstruct", "run", "run/embedding.csv").out]
    header = json.loads(Path("run/model.json").read_text(encoding="utf-8"))
    del header["model"]["transpose"], header["model"]["reductions"]
    fields = header["model"]["preparation"]["fields"]
    assert (fields.pop("transform"), fields.pop("chosen")) == ({"texts": "preparation.transform"}, None)
    Path("run/model.json").write_text(json.dumps(header), encoding="utf-8")
    rehashed(Path("run"), "model.json")
    assert [mlcli("project", "run", "rows.csv").out, mlcli("reconstruct", "run", "run/embedding.csv").out] == before
    assert before[0]


@pytest.mark.parametrize(("field", "value"), [("transform", ["log2"]), ("transpose", 1)])
def test_a_damaged_preparation_is_refused(mlcli: Caller, field: str, value: object) -> None:
    mlcli.finished("embed", "rows.csv", "--transform", "sqrt", "-o", "run")
    header = json.loads(Path("run/model.json").read_text(encoding="utf-8"))
    model = header["model"]
    (model if field == "transpose" else model["preparation"]["fields"])[field] = value
    Path("run/model.json").write_text(json.dumps(header), encoding="utf-8")
    rehashed(Path("run"), "model.json")
    called = mlcli("project", "run", "rows.csv")
    assert (called.code, "E-MODEL" in called.err) == (83, True)


def test_the_checkup_looks_at_transformed_points(mlcli: Caller) -> None:
    raw, ready = (json.loads(mlcli("check", "columns.csv", "--transpose", "-k", "5", "--json", *more).out)
                  for more in ((), ("--transform", "log1p", "--top-variance", "4")))
    assert raw["features"] == ready["features"] and raw["rows"] == ready["rows"] == 12
    assert raw["graph"]["connecting_radius"] > 10 * ready["graph"]["connecting_radius"] > 0
    assert "C-SCALES" not in [finding["code"] for finding in ready["findings"]]
    called = mlcli("check", "data.csv", "--transform", "sqrt")
    assert (called.code, "E-TRANSFORM" in called.err) == (65, True)


@pytest.mark.parametrize(("flags", "named"), [
    (("--transform", "logg"), "'log'?; --transform"), (("--top-variance", "0"), "; --top-variance"),
    (("--dissimilarities", "-m", "mds", "--transform", "sqrt"), "input.kind: dissimilarities; --transform"),
])
def test_what_cannot_be_is_78(mlcli: Caller, flags: tuple[str, ...], named: str) -> None:
    Path("square.csv").write_text(",a,b\na,0,1\nb,1,0\n", encoding="utf-8")
    called = mlcli.bare("square.csv" if "--dissimilarities" in flags else "rows.csv", *flags)
    assert called.code == 78 and named in called.err


def test_a_run_repeats_its_markers_of_missing_cells(mlcli: Caller) -> None:
    rows = "".join(f"{row},{row**2 % 7},{row % 5}\n" for row in range(12))
    Path("gaps.csv").write_text(f"a,b,c\n{rows}.,1,2\n", encoding="utf-8")
    assert mlcli.bare("gaps.csv", "-o", "one", "-q").code == 65
    given = ("--missing-markers", ".,-", "--set", "prepare.missing=drop")
    assert mlcli("check", "gaps.csv", "--missing-markers", ".").code == 0
    assert mlcli.bare("gaps.csv", *given, "-o", "one", "-q").code == 0
    assert mlcli("run", "one/config.yaml", "-o", "two", "-q").code == 0
    assert Path("one/embedding.csv").read_bytes() == Path("two/embedding.csv").read_bytes()
    assert mlcli("project", "one", "gaps.csv", "--missing-markers", ".", "-o", "placed.csv").code == 0
