"""Square matrices: every layout gives the same table; every broken condition its own error (group C)."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

from mlcli.base.values.inputs import Dissimilarities, Similarities
from mlcli.errors import ConfigError, DataError, MlcliError
from tests.data.helpers import noted, refused, table_of, written

IDS = ("a", "b", "c")
VALUES = [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]
GIVEN: dict[str, Any] = {"kind": "dissimilarities"}

LAYOUTS = [  # content, name, options, ids, id name
    (",a,b,c\na,0,1,2\nb,1,0,1.5\nc,2,1.5,0\n", "data.csv", {}, IDS, "id"),
    ("n,a,b,c\na,0,1,2\nb,1,0,1.5\nc,2,1.5,0\n", "data.csv", {}, IDS, "n"),
    ("n,a,b,c\na,0,1,2\nb,1,0,1.5\nc,2,1.5,0\n", "data.csv", {"id_column": "n"}, IDS, "n"),
    ("a,b,c\n0,1,2\n1,0,1.5\n2,1.5,0\n", "data.csv", {}, IDS, "id"),
    ("a,0,1,2\nb,1,0,1.5\nc,2,1.5,0\n", "data.csv", {}, IDS, "id"),
    ("0,1,2\n1,0,1.5\n2,1.5,0\n", "data.csv", {}, ("1", "2", "3"), "row"),
    ("\ta\tb\tc\na\t0\t1\t2\nb\t1\t0\t1.5\nc\t2\t1.5\t0\n", "data.tsv", {}, IDS, "id"),
    ("# made by hand\n#\n\ta\tb\tc\na\t0\t1\t2\nb\t1\t0\t1.5\nc\t2\t1.5\t0\n", "data.tsv", {}, IDS, "id"),
    (",1,2,3\n1,0,1,2\n2,1,0,1.5\n3,2,1.5,0\n", "data.csv", {}, ("1", "2", "3"), "id"),
    ("n,1,2,3\n1,0,1,2\n2,1,0,1.5\n3,2,1.5,0\n", "data.csv", {}, ("1", "2", "3"), "n"),
    ("1,2,3\n0,1,2\n1,0,1.5\n2,1.5,0\n", "data.csv", {"header": True}, ("1", "2", "3"), "id"),
    ("3\na 0 1 2\nb 1 0 1.5\nc 2 1.5 0\n", "data.phy", {}, IDS, "id"),
    ("   3\na\nb 1\nc 2 1.5\n", "data.phy", {}, IDS, "id"),
    ("3\na 0\nb 1 0\nc 2 1.5 0\n", "data.phylip", {}, IDS, "id"),
]


@pytest.mark.parametrize(("content", "name", "options", "ids", "id_name"), LAYOUTS)
def test_every_layout_gives_the_same_table(tmp_path: Path, content: str, name: str, options: dict[str, Any],
                                           ids: tuple[str, ...], id_name: str) -> None:
    with noted() as notes:
        table = table_of(tmp_path, content, name, **GIVEN, **options)
    assert table.values.tolist() == VALUES
    assert (tuple(table.ids), table.columns, table.id_name, table.kind) == (ids, ids, id_name, "dissimilarities")
    assert isinstance(table.data(), Dissimilarities)
    assert set(notes.codes) <= {"W-HEADER-NUMBERS"}


@pytest.mark.parametrize("ids", ["none", "text", "pandas"])
def test_square_parquet(tmp_path: Path, ids: str) -> None:
    columns: dict[str, Any] = {name: [row[place] for row in VALUES] for place, name in enumerate(IDS)}
    if ids == "text":
        columns = {"n": list(IDS), **columns}
    if ids == "pandas":
        columns["__index_level_0__"] = list(IDS)
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    table = table_of(tmp_path, stream.getvalue(), "data.parquet", **GIVEN)
    assert (table.values.tolist(), table.ids, table.columns) == (VALUES, IDS, IDS)


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return stream.getvalue()


@pytest.mark.parametrize("size", [2, 3, 4, 7, 50])
def test_square_and_condensed_npy_agree(tmp_path: Path, size: int) -> None:
    condensed = pdist(np.random.default_rng(size).standard_normal((size, 3)))
    whole = table_of(tmp_path, npy(squareform(condensed)), "data.npy", **GIVEN)
    half = table_of(tmp_path, npy(condensed), "data.npy", **GIVEN)
    assert (half.values == whole.values).all()
    assert half.ids == whole.ids == tuple(str(row + 1) for row in range(size))


@pytest.mark.parametrize("count", [2, 4, 5, 7, 9, 11, 44, 46])
def test_a_condensed_vector_of_another_length_is_refused(tmp_path: Path, count: int) -> None:
    refused(written(tmp_path, npy(np.ones(count)), "data.npy"), DataError, "CONDENSED", **GIVEN)


@pytest.mark.parametrize("kind", ["features", "kernel"])
def test_only_dissimilarities_are_condensed(tmp_path: Path, kind: str) -> None:
    refused(written(tmp_path, npy(np.ones(3)), "data.npy"), DataError, "ARRAY", kind=kind)


FAULTS = [  # content, options, code, part
    (",a,b,c\na,0,1,2\nb,1,0,3\n", {}, "NOT-SQUARE", "2 rows and 3 columns"),
    ("0,1\n1,0\n2,3\n", {}, "NOT-SQUARE", "3 rows and 2 columns"),
    (",a,b\na,0,1\nb,2,0\n", {}, "ASYMMETRIC", "between 'a' and 'b' it holds 1 and 2"),
    (",a,b\na,0,1\nb,1.0000001,0\n", {}, "ASYMMETRIC", "symmetrize"),
    (",a,b\na,0,-1\nb,-1,0\n", {}, "NEGATIVE", "row 1 ('a'), column 'b'"),
    (",a,b,c\na,0,1,2\nb,1,0.5,3\nc,2,3,0\n", {}, "DIAGONAL", "0.5 at 'b'"),
    (",a,b\na,1,0.5\nb,0.5,1\n", {}, "LOOKS-LIKE-SIMILARITY", "--kind kernel"),
    (",a,b\na,1,-0.5\nb,-0.5,1\n", {}, "LOOKS-LIKE-SIMILARITY", "diagonal"),
    (",a,b\na,0,1\nc,1,0\n", {}, "IDS-DIFFER", "'c' only among the rows, 'b' only among the columns"),
    (",a,b\na,0,1\na,1,0\n", {}, "DUPLICATE-IDS", "'a'"),
    (",a,a\na,0,1\nb,1,0\n", {}, "DUPLICATE-COLUMNS", "'a'"),
    (",a,b,c\na,0,1,NA\nb,1,0,2\nc,1,2,0\n", {}, "MISSING", "row 1 ('a'), column 'c'"),
    (",a,b\na,0,inf\nb,inf,0\n", {}, "INFINITE", "2 cells infinite"),
    (",a,b\na,0,x\nb,y,0\n", {}, "NOT-A-NUMBER", "'x'"),
    ("", {}, "EMPTY", "no rows"),
    ("# only a comment\n", {}, "EMPTY", "no rows"),
    (",a,b\n", {}, "EMPTY", "0 rows"),
]


@pytest.mark.parametrize(("content", "options", "code", "part"), FAULTS)
def test_broken_conditions(tmp_path: Path, content: str, options: dict[str, Any], code: str, part: str) -> None:
    error = refused(written(tmp_path, content), DataError, code, **GIVEN, **options)
    assert part in str(error)
    assert error.exit_code == 65


def test_other_orders_of_the_columns_are_put_right(tmp_path: Path) -> None:
    with noted() as notes:
        table = table_of(tmp_path, ",c,a,b\na,2,0,1\nb,1.5,1,0\nc,0,2,1.5\n", **GIVEN)
    assert table.values.tolist() == VALUES
    assert (table.ids, notes.codes) == (IDS, ["N-REORDERED"])


def test_labels_beside_a_square_matrix(tmp_path: Path) -> None:
    content = ",a,b,c,kind\na,0,1,2,u\nb,1,0,1.5,v\nc,2,1.5,0,w\n"
    table = table_of(tmp_path, content, label_columns=["kind"], **GIVEN)
    assert table.values.tolist() == VALUES
    assert dict(table.labels) == {"kind": ("u", "v", "w")}
    refused(written(tmp_path, content), DataError, "TEXT-COLUMN", **GIVEN)


@pytest.mark.parametrize("content", [
    ",a,b,c\na,,,\nb,1,,\nc,2,1.5,\n", ",a,b,c\na,0,,\nb,1,0,\nc,2,1.5,0\n", ",a,b,c\na,,1,2\nb,,,1.5\nc,,,\n",
    ",a,b,c\na,0,1,2\nb,NA,0,1.5\nc,NA,NA,0\n"])
def test_one_triangle_is_enough(tmp_path: Path, content: str) -> None:
    with noted() as notes:
        table = table_of(tmp_path, content, **GIVEN)
    assert table.values.tolist() == VALUES
    assert notes.codes == ["N-TRIANGLE"]


def test_a_kernel_s_diagonal_is_not_made_up(tmp_path: Path) -> None:
    refused(written(tmp_path, ",a,b\na,,\nb,1,\n"), DataError, "MISSING", kind="kernel")


def test_rounding_is_evened_out_with_a_warning(tmp_path: Path) -> None:
    with noted() as notes:
        table = table_of(tmp_path, npy([[0, 1, 2], [1 + 1e-9, 0, 1.5], [2, 1.5, 0]]), "data.npy", **GIVEN)
    assert (table.values == table.values.T).all()
    assert 1 < table.values[0, 1] < 1 + 1e-9
    assert notes.codes == ["W-ASYMMETRY"]
    assert notes.notes[0].facts["relative_gap"] == pytest.approx(5e-10)


@pytest.mark.parametrize("power", [-900, -300, 300, 900])
def test_the_conditions_do_not_depend_on_the_unit(tmp_path: Path, power: int) -> None:
    values = np.ldexp([[0, 1, 2], [1 + 1e-9, 1e-13, 1.5], [2, 1.5, 0]], power)
    with noted() as notes:
        table = table_of(tmp_path, npy(values), "data.npy", **GIVEN)
    assert (table.values == table.values.T).all()
    assert (np.diag(table.values) == 0).all()
    assert notes.codes == ["W-DIAGONAL", "W-ASYMMETRY"]
    values[1, 0] += np.ldexp(1e-6, power)
    refused(written(tmp_path, npy(values), "data.npy"), DataError, "ASYMMETRIC", **GIVEN)


@pytest.mark.parametrize(("how", "expected"), [("mean", 2.0), ("min", 1.0), ("max", 3.0)])
@pytest.mark.parametrize("size", [2, 700])
def test_true_asymmetry_is_resolved_as_told(tmp_path: Path, how: str, expected: float, size: int) -> None:
    values = np.triu(np.ones((size, size)), 1) + np.tril(np.full((size, size), 3.0), -1)
    with noted() as notes:
        table = table_of(tmp_path, npy(values), "data.npy", symmetrize=how, **GIVEN)
    assert (table.values == expected * (1 - np.eye(size))).all()
    assert notes.codes == ["W-ASYMMETRY"]


def test_the_worst_pair_is_found_in_any_block(tmp_path: Path) -> None:
    values = 1 - np.eye(1100)
    values[1090, 3] = 1.25
    error = refused(written(tmp_path, npy(values), "data.npy"), DataError, "ASYMMETRIC", **GIVEN)
    assert "'4'" in error.what and "'1091'" in error.what and "1.25" in error.what


def test_huge_entries_do_not_overflow(tmp_path: Path) -> None:
    table = table_of(tmp_path, npy(1.5e308 * (1 - np.eye(4))), "data.npy", symmetrize="mean", **GIVEN)
    assert table.values.max() == 1.5e308


@pytest.mark.parametrize("size", [10, 60])
def test_squared_distances_are_noticed(tmp_path: Path, size: int) -> None:
    points = np.random.default_rng(1).standard_normal((size, 2))
    squares = cdist(points, points) ** 2
    content = npy((squares + squares.T) / 2)
    with noted() as notes:
        table_of(tmp_path, content, "data.npy", **GIVEN)
    assert notes.codes == ["W-LOOKS-SQUARED"]
    with noted() as notes:
        table = table_of(tmp_path, content, "data.npy", squared=True, **GIVEN)
    assert notes.codes == []
    np.testing.assert_allclose(table.values, cdist(points, points), rtol=1e-14, atol=0)


@pytest.mark.parametrize(("rule", "remedy"), [
    ("one-minus", "root-one-minus"), ("max-minus", "from 0 to 1"), ("minus-log", "nmds"), ("root-one-minus", "nmds")])
def test_a_rule_that_gives_squares_is_answered_by_what_takes_their_roots(tmp_path: Path, rule: str,
                                                                         remedy: str) -> None:
    points = np.random.default_rng(1).standard_normal((10, 1))
    squares = np.square(points - points.T)
    squares /= 1.01 * squares.max()
    similarities = {"one-minus": 1 - squares, "max-minus": 1 - squares, "minus-log": np.exp(-squares),
                    "root-one-minus": 1 - squares**2}[rule]
    with noted() as notes:
        table_of(tmp_path, npy(similarities), "data.npy", similarities=rule, **GIVEN)
    (said,) = (found.message for found in notes.notes if found.code == "W-LOOKS-SQUARED")
    assert remedy in said and (rule == "one-minus" or "takes their roots" not in said)


@pytest.mark.parametrize("points", [np.random.default_rng(1).standard_normal((60, 2)), np.arange(60.0)[:, None]])
def test_distances_are_not_taken_for_squares(tmp_path: Path, points: np.ndarray) -> None:
    with noted() as notes:
        table_of(tmp_path, npy(cdist(points, points)), "data.npy", **GIVEN)
    assert notes.codes == []


def test_points_that_are_all_equal_are_no_similarities(tmp_path: Path) -> None:
    assert (table_of(tmp_path, npy(np.zeros((4, 4))), "data.npy", **GIVEN).values == 0).all()


def test_one_point(tmp_path: Path) -> None:
    assert table_of(tmp_path, npy([[0.0]]), "data.npy", **GIVEN).ids == ("1",)


def test_a_kernel_may_have_any_signs_and_diagonal(tmp_path: Path) -> None:
    table = table_of(tmp_path, ",a,b\na,-2,0.5\nb,0.5,0\n", kind="kernel")
    assert table.values.tolist() == [[-2, 0.5], [0.5, 0]]
    assert isinstance(table.data(), Similarities)
    refused(written(tmp_path, ",a,b\na,1,0.5\nb,0.6,1\n"), DataError, "ASYMMETRIC", kind="kernel")


PHYLIP = [
    ("2\nHomo sapie0 1.5\nPan troglo1.5 0\n", ("Homo sapie", "Pan troglo"), [[0, 1.5], [1.5, 0]]),
    ("2\nHomo_sapiens_sapiens 0 1.5\nPan 1.5 0\n", ("Homo_sapiens_sapiens", "Pan"), [[0, 1.5], [1.5, 0]]),
    ("3\na 0 1\n  2\nb 1 0\n  1.5\nc 2\n 1.5 0\n", IDS, VALUES),
    ("\n 3 \r\n\r\na 0 1 2\r\nb 1 0 1.5\r\n\r\nc 2 1.5 0\r\n\r\n", IDS, VALUES),
    ("1\nalone\n", ("alone",), [[0]]),
    ("1\nalone 0\n", ("alone",), [[0]]),
    ("2\n1 0 3\n2 3 0\n", ("1", "2"), [[0, 3], [3, 0]]),
]


@pytest.mark.parametrize(("content", "ids", "values"), PHYLIP)
def test_phylip(tmp_path: Path, content: str, ids: tuple[str, ...], values: list[list[float]]) -> None:
    table = table_of(tmp_path, content, "data.phy", **GIVEN)
    assert (table.ids, table.values.tolist()) == (ids, values)


def test_phylip_underflow_is_noted(tmp_path: Path) -> None:
    with noted() as notes:
        table_of(tmp_path, "2\na 0 1e-400\nb 1e-400 0\n", "data.phy", **GIVEN)
    assert notes.codes == ["W-UNDERFLOW"]


@pytest.mark.parametrize(("content", "code"), [
    ("", "PHYLIP"), ("x\na 0\n", "PHYLIP"), ("2 2\na 0 1\nb 1 0\n", "PHYLIP"), ("0\n", "EMPTY"), ("-1\n", "PHYLIP"),
    ("3\na 0 1 2\nb 1 0 1\n", "PHYLIP"), ("2\na 0 1\nb 1 0\nc 1 1\n", "PHYLIP"), ("2\na 0 1 5\nb 1 0 5\n", "PHYLIP"),
    ("2\na 0 x\nb 1 0\n", "PHYLIP"), ("3\na 1 2\nb 1.5\nc\n", "PHYLIP"), ("2\na 0 1e999\nb 1 0\n", "PHYLIP"),
    ("999999999\na 0\n", "PHYLIP"), ("2\na 0 1_0\nb 1_0 0\n", "PHYLIP"), ("2\na 0 1\nb 2 0\n", "ASYMMETRIC"),
    ("2\na 0 1\na 1 0\n", "DUPLICATE-IDS"), ("2\na 0 NA\nb NA 0\n", "MISSING"), ("2\na 0 -1\nb -1 0\n", "NEGATIVE")])
def test_broken_phylip(tmp_path: Path, content: str, code: str) -> None:
    assert refused(written(tmp_path, content, "data.phy"), DataError, code, **GIVEN).hint


def test_a_phylip_file_cut_off_is_refused_or_ends_in_a_shorter_number(tmp_path: Path) -> None:
    whole = "3\na\nb 1\nc 2 1.5\n"
    for cut in range(len(whole) - 1):
        try:
            table = table_of(tmp_path, whole[:cut], "data.phy", **GIVEN)
        except MlcliError as error:
            assert error.exit_code == 65
        else:
            assert cut >= len("3\na\nb 1\nc 2 1")
            assert table.values[:, :2].tolist() == [[0, 1], [1, 0], [2, 1]] or table.values[2, 1] == 1.5


@pytest.mark.parametrize(("options", "code"), [
    ({"columns": ["a"]}, "INPUT-OPTION"), ({"kind": "features", "squared": True}, "INPUT-OPTION"),
    ({"kind": "kernel", "squared": True}, "INPUT-OPTION"), ({"kind": "features", "symmetrize": "mean"}, "INPUT-OPTION"),
    ({"kind": "features", "format": "phylip"}, "FORMAT"), ({"id_column": "z"}, "UNKNOWN-COLUMN"),
    ({"kind": "features", "id_column": "a", "label_columns": ["a"]}, "INPUT-OPTION"),
    ({"encoding": "no-such"}, "ENCODING-NAME"), ({"encoding": "rot13"}, "ENCODING-NAME"),
    ({"decimal": ",", "separator": ","}, "INPUT-OPTION")])
def test_options_without_use_are_refused(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    path = written(tmp_path, ",a,b\na,0,1\nb,1,0\n")
    assert refused(path, ConfigError, code, **{**GIVEN, **options}).exit_code == 78


def test_points_can_be_taken_out(tmp_path: Path) -> None:
    table = table_of(tmp_path, LAYOUTS[0][0], **GIVEN).take([2, 0])
    assert (table.ids, table.columns, table.values.tolist()) == (("c", "a"), ("c", "a"), [[0, 2], [2, 0]])
