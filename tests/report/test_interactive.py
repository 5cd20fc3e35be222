"""interactive.html: what it tells the browser, what it allows, and in a real browser what it shows of which row."""

import base64
import csv
import hashlib
import json
import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.cli.program import run
from mlcli.config.report_options import MOST_AXES, axes_shown
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.errors import escaped
from mlcli.findings.frame.finished_run import Embedding
from mlcli.report.drawing.palette import INKS
from mlcli.report.interactive import SCRIPTS, data_of, interactive_page
from mlcli.report.interactive.columns import ABSENT, LAST, id_column, number_column
from tests.journeys.pages.test_browser import BROWSER, DARK
from tests.report.driver import DRIVER, Browser, browser
from tests.report.support import finished_run

BESIDE = "interactive.html, beside this page"
HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "<b>bold</b>", "%{x}", "&lt;i&gt;",
           "<!--<script>", '<a href="javascript:alert(3)">a</a>', "\u2028' \" \\", "\u202egpj.exe\u202c, \"a\""]
KINDS = len(HOSTILE)
SHIFT = "\ue008"  # as the protocol writes it
needs_browser = pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="no browser with its driver")


def scripts(page: str) -> list[tuple[str, str]]:
    """The elements that a parser of HTML takes for scripts: their attributes and their texts."""
    return re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)


def told(page: str) -> dict[str, Any]:
    """The data in a page."""
    return dict(json.loads(next(text for attributes, text in scripts(page) if "json" in attributes)))


def inflated(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def unpacked(packed: dict[str, Any], sign: str = "u") -> np.ndarray:
    """Whole numbers from the planes of their bytes."""
    planes = np.frombuffer(inflated(packed["bytes"]), np.uint8).reshape(packed["width"], -1)
    return np.ascontiguousarray(planes.T).view(f"<{sign}{packed['width']}")[:, 0].astype(np.int64)


def texts_of(packed: dict[str, Any]) -> list[str]:
    """Texts from their lengths in UTF-16."""
    units = inflated(packed["bytes"]).decode().encode("utf-16-le")
    ends = np.cumsum(unpacked(packed["lengths"])) * 2
    return [units[start:end].decode("utf-16-le") for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def ids_of(data: dict[str, Any]) -> list[str]:
    ids = data["ids"]
    return texts_of(ids["texts"]) if "texts" in ids else [
        str(number) for number in np.cumsum(unpacked(ids["increments"], "i"))]


def numbers_of(column: dict[str, Any]) -> np.ndarray:
    """Numbers of a column, NaN for missing ones."""
    codes = unpacked(column["codes"])
    shares = codes / LAST
    return np.where(codes == ABSENT, np.nan, column["low"] * (1 - shares) + column["high"] * shares)


def labels_of(column: dict[str, Any]) -> list[str]:
    known = texts_of(column["texts"])
    return [known[code] for code in unpacked(column["codes"])]


def step_of(column: dict[str, Any]) -> float:
    """The lattice's step."""
    return float(column["high"] / LAST - column["low"] / LAST)


def test_the_policy_names_exactly_the_scripts_that_are_there() -> None:
    page = interactive_page(finished_run(labels={"kind": HOSTILE * 4}, rows=4 * KINDS,
                                         ids=[f"{i}{text}" for i, text in enumerate(HOSTILE * 4)]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    running = [text for attributes, text in scripts(page) if not attributes]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    assert re.findall(r"'sha256-([^']*)'", policy[1]) == hashes
    assert running == [path.read_text() for path in SCRIPTS]
    assert "unsafe-eval" not in policy[1] and "http" not in policy[1]
    beside = "".join(re.split(r"<script[^>]*>.*?</script>", page, flags=re.DOTALL))
    assert not re.search(r"<img|<b>|<[^>]*\sonerror", beside)


def test_the_data_leads_back_to_every_row() -> None:
    made = replace(finished_run(axes=3, labels={"kind": [HOSTILE[i % KINDS] for i in range(30)],
                                                "size": ["NA" if i == 4 else str(i / 7) for i in range(30)]},
                                ids=[f"{HOSTILE[i % KINDS]}{i}\r\n" for i in range(30)]), colors=("size",))
    data = told(interactive_page(made))
    assert data == json.loads(json.dumps(data_of(made)))
    assert [column["name"] for column in data["columns"]] == ["size", "kind"]
    for axis, values in zip(data["axes"], made.embedding.values.T, strict=True):
        assert np.abs(numbers_of(axis) - values).max() <= 0.5000001 * step_of(axis)
    assert [axis["title"] for axis in data["axes"]] == made.axes
    assert [axis["name"] for axis in data["axes"]] == ["PC 1", "PC 2", "PC 3"]
    assert ids_of(data) == list(made.embedding.ids)
    size, kind = data["columns"]
    expected = np.array([np.nan if i == 4 else i / 7 for i in range(30)])
    np.testing.assert_allclose(numbers_of(size), expected, rtol=0, atol=0.5000001 * step_of(size))
    assert labels_of(kind) == made.embedding.labels["kind"]


@pytest.mark.parametrize("values", [
    [-1.7e308, 0.0, 1.7e308], [3.5, 3.5], [5e-324, 0.0], [1e15 + 0.5, 1e15 + 1.5, 1e15], [np.nan, np.nan],
    [1e300, 1e300], [-3.0, np.nan, 7.25], np.random.default_rng(1).standard_normal(500) * 1e-200])
def test_numbers_are_those_of_a_lattice_to_half_a_step(values: Sequence[float]) -> None:
    whole = np.array(values)
    column = number_column("x", "x", whole)
    assert all(np.isfinite(column[end]) for end in ("low", "high"))
    found, missing = numbers_of(column), np.isnan(whole)
    assert (np.isnan(found) == missing).all()
    with np.errstate(over="ignore"):
        rounding = np.spacing(np.abs(whole[~missing]))
        assert (np.abs(found - whole)[~missing] <= 0.5000001 * step_of(column) + rounding).all()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-40_000, 25_534), (10**14, 10**14 + 65_534), (7, 7)])
def test_whole_numbers_of_a_short_range_are_exact(low: int, high: int) -> None:
    column = number_column("n", "n", np.array([low, high, (low + high) // 2], float))
    assert column["whole"] and (column["low"] + unpacked(column["codes"])).tolist() == [low, high, (low + high) // 2]
    assert column["top"] == high - low


@pytest.mark.parametrize("ids", [
    RowNumbers.up_to(5), RowNumbers(np.array([2, 7, 90])), RowNumbers.up_to(3).__class__(range(1, 4), "new"),
    ["0", "10", "3"], ["007", "7"], ["1", ""], ["é", "😀😀", "", "x\ny", "\ufeffz"], ["123456789", "1234567890"],
    ["١", "2"], ["-1", "+2"]], ids=str)
def test_ids_of_all_kinds_come_back(ids: Sequence[str]) -> None:
    assert ids_of({"ids": json.loads(json.dumps(id_column(ids)))}) == list(ids)


def test_the_colors_are_those_of_the_report_and_further_texts_have_some_too() -> None:
    texts = [f"t{i % 40}" for i in range(2000)] + ["NA", "once", "twice", "twice"]
    column = told(interactive_page(finished_run(rows=len(texts), labels={"kind": texts})))["columns"][0]
    assert (column["colored"], column["groups"]) == (12, 40)
    known = texts_of(column["texts"])
    assert known[-1] == "NA" and column["absent"] == len(known) - 1 and set(known[40:42]) == {"once", "twice"}
    assert column["colors"][:2] == [[INKS[f"c{i}"].light, INKS[f"c{i}"].dark] for i in range(2)]
    assert column["colors"][-2:] == [[INKS[kind].light, INKS[kind].dark] for kind in ("other", "absent")]
    assert len(column["colors"]) == len(column["shapes"]) == 42


def test_a_single_axis_stands_over_the_rows() -> None:
    data = told(interactive_page(finished_run(axes=1)))
    assert data["single"] and [axis["name"] for axis in data["axes"]] == ["PC 1", "row"]
    assert numbers_of(data["axes"][1]).tolist() == list(range(1, 31))


def test_very_many_rows_and_axes_are_sampled_and_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.report.interactive.MOST_SHOWN", 400)
    made = finished_run(rows=410, axes=MOST_AXES + 2, labels={"row": [f"r{i}" for i in range(410)]})
    page = interactive_page(made)
    data = told(page)
    ids = ids_of(data)
    rows = [int(name[1:]) for name in ids]
    assert len(rows) == data["rows"] == 400 and (np.diff(rows) > 0).all()
    assert labels_of(data["columns"][0]) == [f"r{row}" for row in rows]
    axis = data["axes"][-1]
    assert np.abs(numbers_of(axis) - made.embedding.values[rows, MOST_AXES - 1]).max() <= 0.5000001 * step_of(axis)
    assert f"a random sample of 400 of 410 rows, the first {MOST_AXES} of {MOST_AXES + 2} axes" in page
    assert page == interactive_page(made)


def test_of_very_many_rows_there_are_fewer_axes() -> None:
    assert [axes_shown(rows, 12) for rows in (0, 1000, 10**6, 10**7)] == [10, 10, 4, 3]
    assert axes_shown(10**7, 2) == 2


def blobs(rows: int, ids: Sequence[str]) -> str:
    """The page of a mixture with 40 groups on two axes."""
    generator = np.random.default_rng(0)
    kinds = generator.choice(40, rows, p=generator.dirichlet(np.full(40, 2.0)))
    values = generator.standard_normal((40, 2))[kinds] * 10 + generator.standard_normal((rows, 2))
    table = Embedding(values, ids, {"group": [f"cluster {kind}" for kind in kinds.tolist()]})
    return interactive_page(replace(finished_run(rows=5), embedding=table))


@pytest.mark.medium
def test_the_plan_knows_the_size_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "points.npy", np.random.default_rng(0).standard_normal((100_000, 3)))
    disks = []
    for more in ([], ["--interactive"]):
        assert run(["plan", str(tmp_path / "points.npy"), "-m", "pca", "-p", "2", "--json", *more]) == 0
        disks.append(json.loads(capsys.readouterr().out)["disk"])
    assert run(["embed", str(tmp_path / "points.npy"), "-m", "pca", "-p", "2", "--interactive", "-q", "-o",
                str(tmp_path / "run")]) == 0
    assert (disks[1] - disks[0]) / (tmp_path / "run" / "interactive.html").stat().st_size == pytest.approx(1, abs=0.25)


@pytest.mark.medium
def test_a_hundred_thousand_rows_take_less_than_a_megabyte() -> None:
    assert len(blobs(100_000, RowNumbers.up_to(100_000)).encode()) < 1_000_000


@pytest.mark.slow
def test_a_million_rows_take_eight_megabytes_and_with_barcodes_fifteen() -> None:
    assert len(blobs(10**6, RowNumbers.up_to(10**6)).encode()) < 8_000_000
    letters = np.array(list("ACGT"))[np.random.default_rng(5).integers(0, 4, (10**6, 16))]
    assert len(blobs(10**6, ["".join(word) + "-1" for word in letters.tolist()]).encode()) < 15_000_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose names are hostile, with its page."""
    folder = tmp_path_factory.mktemp("interactive")
    with (folder / "points.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["id", "kind", "x", "y", "z"])
        for i, row in enumerate(np.random.default_rng(0).standard_normal((160, 3)).tolist()):
            names = [HOSTILE[i % KINDS], HOSTILE[i // 8 % KINDS]]
            names = [text.replace("\u2028", "") for text in names]
            writer.writerow([f"{i} {names[0]}", names[1], *map(repr, row)])
    assert run(["embed", str(folder / "points.csv"), "--id-column", "id", "--label-column", "kind", "-p", "3",
                "--interactive", "-q", "-o", str(folder / "run")]) == 0
    return folder / "run"


@pytest.mark.medium
def test_the_page_is_a_file_of_the_run(made: Path) -> None:
    first = (made / "interactive.html").read_bytes()
    listed = json.loads((made / "run.json").read_text())["files"]["interactive.html"]
    assert listed == {"bytes": len(first), "sha256": hashlib.sha256(first).hexdigest()}
    assert run(["verify", str(made)]) == 0
    assert run(["report", str(made), "--interactive", "-q"]) == 0
    assert (made / "interactive.html").read_bytes() == first
    assert BESIDE in (made / "report.html").read_text()


def test_the_report_knows_of_a_page_that_was_made_later(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run(["embed", str(made.parent / "points.csv"), "--id-column", "id", "--label-column", "kind", "-q",
                "-o", str(folder)]) == 0
    page = folder / "report.html"
    assert BESIDE not in page.read_text() and "--interactive" in page.read_text()
    for again in (["--interactive"], []):
        assert run(["report", str(folder), "-q", *again]) == 0
        assert BESIDE in page.read_text() and "--interactive" not in page.read_text()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser without WebGL, as the page needs none."""
    if BROWSER is None or DRIVER is None:
        pytest.skip("no browser with its driver")
    with browser(tmp_path_factory.mktemp("browser"), "--disable-gpu", "--disable-3d-apis") as shown:
        yield shown


Shown = Callable[[Path], dict[str, Any]]


@pytest.fixture
def show(opened: Browser) -> Shown:
    """Open a page, wait for all of its data and return these."""
    def shown(page: Path) -> dict[str, Any]:
        opened.open(page)
        wait(opened, "return document.documentElement.dataset.state === 'ready'")
        return told(page.read_text(encoding="utf-8"))
    return shown


def wait(shown: Browser, question: str, seconds: float = 60) -> Any:
    """The first answer to a question of the page that is not empty."""
    end = time.monotonic() + seconds
    while not (answer := shown.value(question)) and time.monotonic() < end:
        time.sleep(0.05)
    assert answer, question
    return answer


def choose(shown: Browser, name: str, value: int) -> None:
    """Choose an axis, and wait until it is drawn."""
    shown.value("const s = document.getElementById(arguments[0]); s.value = arguments[1];"
                "s.dispatchEvent(new Event('change'));", name, str(value))
    wait(shown, "const chosen = ['x', 'y', 'z'].map(name => held.axes[byId(name).value]).filter(axis => axis);"
                "return !asked && chosen.length === view.axes.length && "
                "chosen.every((axis, i) => axis === view.axes[i])")


def seen_places(shown: Browser, data: dict[str, Any], axes: Sequence[int]) -> np.ndarray:
    """Where rows are in the window, an (n, 2) array, by the page's projection and the data."""
    rows, corner, ratio = shown.value("const r = canvas.getBoundingClientRect(), p = projection();"
                                      "return [[p.x, p.y], [r.x, r.y], ratio]")
    codes = np.array([unpacked(data["axes"][axis]["codes"]) for axis in axes])
    return np.column_stack([(np.array(row)[: len(codes)] @ codes + row[3]) / ratio + corner[i]
                            for i, row in enumerate(rows)])


def saved_ids(folder: Path) -> list[str]:
    """The ids that the page saves in a folder, once they are there."""
    file, end = folder / "selection.csv", time.monotonic() + 20
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)
    with file.open(newline="", encoding="utf-8") as saved:
        head, *rows = csv.reader(saved)
    assert head == ["id"]
    return [row[0] for row in rows]


TIP = "const t = document.getElementById('tip'); return t.hidden ? null : [...t.children].map(e => e.textContent)"


def lines_at(shown: Browser, place: Sequence[float]) -> list[str]:
    """What the page tells at a place of the window."""
    shown.point(*place)
    return list(wait(shown, TIP))


@pytest.mark.medium
@needs_browser
@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 1), (2, 0)])
def test_the_pointer_names_the_right_row_and_names_stay_text(opened: Browser, show: Shown, made: Path,
                                                             axes: tuple[int, ...]) -> None:
    data = show(made / "interactive.html")
    for name, axis in zip("xyz", (*axes, -1)[:3], strict=True):
        choose(opened, name, axis)
    places = seen_places(opened, data, axes)
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(len(places))
    row = int(apart.min(axis=1).argmax())
    lines = lines_at(opened, places[row])
    kind, ids = data["columns"][0], ids_of(data)
    assert lines[:2] == [escaped(ids[row]), f"kind: {escaped(labels_of(kind)[row])}"]
    shown = [float(line.partition(": ")[2]) for line in lines[2:]]
    for axis, value in zip(data["axes"], shown, strict=True):
        assert abs(value - numbers_of(axis)[row]) <= step_of(axis)
    assert opened.value("return document.querySelectorAll('#shown b b, #shown img, #shown a').length") == 0


@pytest.mark.medium
@needs_browser
def test_a_loop_around_points_saves_their_ids(opened: Browser, show: Shown, made: Path, tmp_path: Path) -> None:
    data = show(made / "interactive.html")
    choose(opened, "z", -1)
    places, ids = seen_places(opened, data, (0, 1)), ids_of(data)
    (left, top), (right, bottom) = np.quantile(places, [0.2, 0.7], axis=0).round()
    inside = [i for i, (x, y) in enumerate(places) if left < x < right and top < y < bottom]
    assert 10 < len(inside) < len(ids)
    opened.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    corners = [(x, y) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))]
    near = [i for i, (x, y) in enumerate(places) if min(abs(x - left), abs(x - right), abs(y - top),
                                                        abs(y - bottom)) <= 1]  # the window has whole pixels
    opened.drag(corners, SHIFT)
    assert "selected" in opened.value("return document.getElementById('said').textContent")
    opened.value("document.getElementById('save').click()")
    assert set(saved_ids(tmp_path)) ^ {ids[i] for i in inside} <= {ids[i] for i in near}
    opened.press("\ue00c")
    assert opened.value("return view.selected === null && document.getElementById('save').disabled")


@pytest.mark.medium
@needs_browser
def test_the_search_finds_ids_and_labels(opened: Browser, show: Shown, made: Path) -> None:
    data = show(made / "interactive.html")
    ids, labels = ids_of(data), labels_of(data["columns"][0])
    for text in ("<B>BOLD", "alert(1)", "12 ", "jpg.exe", "gpj.exe", "%{x}", '", "'):
        opened.value("const s = document.getElementById('search'); s.value = arguments[0];"
                     "s.dispatchEvent(new Event('input'));", text)
        expected = sum(text.lower() in name.lower() or text.lower() in label.lower()
                       for name, label in zip(ids, labels, strict=True))
        wait(opened, f"return document.getElementById('said').textContent === '{expected} of 160 rows match'", 10)
        assert opened.value("return view.selected.reduce((sum, one) => sum + one, 0)") == expected
        opened.value("clear()")


@pytest.mark.medium
@needs_browser
def test_the_legend_hides_groups_and_shows_one_alone(opened: Browser, show: Shown, made: Path) -> None:
    data = show(made / "interactive.html")
    labels = labels_of(data["columns"][0])
    entries = opened.value("return [...document.querySelectorAll('#legend li button')].map(b => "
                           "[b.querySelector('span').textContent, b.querySelector('small').textContent])")
    assert dict(entries) == {escaped(name): str(labels.count(name)) for name in set(labels)}
    hidden = "return view.codes.reduce((sum, code) => sum + (code === HIDDEN), 0)"
    opened.value("document.querySelectorAll('#legend li button')[1].click()")
    assert opened.value(hidden) == int(entries[1][1])
    opened.value("document.querySelectorAll('#legend li button')[2].dispatchEvent("
                 "new MouseEvent('click', { detail: 2 }))")
    assert opened.value(hidden) == 160 - int(entries[2][1])
    pressed = "return [...document.querySelectorAll('#legend li button')].map(b => b.getAttribute('aria-pressed'))"
    assert opened.value(pressed) == ["true" if i == 2 else "false" for i in range(len(entries))]


@pytest.mark.medium
@needs_browser
def test_numbers_have_a_scale_whose_ends_filter(opened: Browser, show: Shown, tmp_path: Path) -> None:
    texts = ["" if i % 10 == 0 else str(i / 4) for i in range(200)]
    page = tmp_path / "page.html"
    page.write_text(interactive_page(finished_run(rows=200, labels={"size": texts})))
    data = show(page)
    opened.value("const s = document.querySelectorAll('#legend input')[0]; s.value = arguments[0];"
                 "s.dispatchEvent(new Event('input'));", 30_000)
    kept = (unpacked(data["columns"][0]["codes"]) >= 30_000).sum()  # missing ones too
    assert opened.value("return view.codes.reduce((sum, code) => sum + (code !== HIDDEN), 0)") == kept
    opened.value("document.querySelector('#legend > button').click()")
    assert opened.value("return view.codes.reduce((sum, code) => sum + (code !== HIDDEN), 0)") == kept - 20


@pytest.mark.medium
@needs_browser
def test_every_key_moves_the_picture_and_zero_shows_all_of_it(opened: Browser, show: Shown, made: Path) -> None:
    show(made / "interactive.html")
    choose(opened, "z", -1)
    opened.value("canvas.focus()")
    state = "return [view.x, view.y, view.zoom]"
    whole = opened.value(state)
    for key, place, sign in (("\ue014", 0, 1), ("\ue012", 0, -1), ("\ue013", 1, 1), ("\ue015", 1, -1), ("+", 2, 1),
                             ("-", 2, -1)):
        opened.press(key)
        moved = np.subtract(opened.value(state), whole)
        assert np.sign(moved[place]) == sign
        opened.press("0")
        assert opened.value(state) == whole
    opened.press("/")
    assert opened.value("return document.activeElement.id") == "search"
    opened.press("+")
    assert opened.value("return document.getElementById('search').value") == "+" and opened.value(state) == whole


@pytest.mark.medium
@needs_browser
def test_keys_select_and_save_what_is_in_view(opened: Browser, show: Shown, made: Path, tmp_path: Path) -> None:
    data = show(made / "interactive.html")
    choose(opened, "z", -1)
    opened.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    opened.value("canvas.focus()")
    opened.press("v")
    assert opened.value("return document.getElementById('said').textContent") == "160 of 160 rows selected"
    opened.press("+", "+", "+", "+", "\ue014", "v")  # four times nearer, and to the right
    frame = opened.value("const r = canvas.getBoundingClientRect(), f = inner(); return [r.x + f.left / ratio, "
                         "r.y + f.top / ratio, f.width / ratio, f.height / ratio]")
    places, ids = seen_places(opened, data, (0, 1)), ids_of(data)
    inside = ((places > frame[:2]) & (places < np.add(frame[:2], frame[2:]))).all(axis=1)
    assert 10 < inside.sum() < 150
    opened.press("s")
    assert sorted(saved_ids(tmp_path)) == sorted(np.array(ids)[inside])


@pytest.mark.medium
@needs_browser
def test_one_finger_moves_two_zoom_and_a_tap_names_the_row(opened: Browser, show: Shown, made: Path) -> None:
    data = show(made / "interactive.html")
    choose(opened, "z", -1)
    before = seen_places(opened, data, (0, 1))
    left, top = before.mean(axis=0)
    opened.touch([(left, top)], [(left + 20, top - 10)], [(left + 60, top - 30)])
    moved = seen_places(opened, data, (0, 1))
    assert np.allclose(moved - before, [60, -30], atol=0.1)
    apart = [[(left - half, top), (left + half, top)] for half in (40, 50, 80)]
    opened.touch(*apart)  # twice as far apart as before, around a place that stays
    near = seen_places(opened, data, (0, 1))
    assert np.allclose(near - [left, top], 2 * (moved - [left, top]), atol=0.5)
    drawn = opened.value("const r = canvas.getBoundingClientRect(), f = inner(); return [r.x + f.left, r.y + f.top, "
                         "r.x + f.left + f.width, r.y + f.top + f.height]")
    distances = np.linalg.norm(near[:, None] - near, axis=2) + 1e9 * np.eye(len(near))
    seen = ((near > drawn[:2]) & (near < drawn[2:])).all(axis=1)
    row = int(np.where(seen, distances.min(axis=1), 0).argmax())
    opened.touch([tuple(near[row] + 2)])
    assert wait(opened, TIP)[0] == escaped(ids_of(data)[row])


@pytest.mark.medium
@needs_browser
@pytest.mark.parametrize("side", [20, 200], ids=["shapes", "pixels"])
def test_each_place_has_the_color_of_its_group(opened: Browser, show: Shown, tmp_path: Path, side: int) -> None:
    """A square lattice of points whose right half is another group: the colors of pixels nearest to points."""
    across, up = (axis.ravel().astype(float) for axis in np.meshgrid(np.arange(side), np.arange(side)))
    labels = ["right" if x >= side / 2 else "left" for x in across]
    table = Embedding(np.column_stack([across, up]), RowNumbers.up_to(side * side), {"half": labels})
    page = tmp_path / "page.html"
    page.write_text(interactive_page(replace(finished_run(rows=5), embedding=table)))
    data = show(page)
    opened.value("const box = document.getElementById('names'); box.checked = false;"
                 "box.dispatchEvent(new Event('change'))")
    wait(opened, "return !asked && !names.length")
    rows = np.random.default_rng(0).choice(side * side, 60, replace=False)
    places = seen_places(opened, data, (0, 1))[rows]
    found = opened.value("const r = canvas.getBoundingClientRect(); return arguments[0].map(([x, y]) => "
                         "[...pen.getImageData((x - r.x) * ratio, (y - r.y) * ratio, 1, 1).data])", places.tolist())
    inks = {"left": INKS["c0"].light, "right": INKS["c1"].light}
    for row, pixel in zip(rows, found, strict=True):  # ink over white, as opaque as there are many points
        ink = 255 - np.array([int(inks[labels[row]][place : place + 2], 16) for place in (1, 3, 5)])
        opacity = (255 - pixel[int(ink.argmax())]) / ink.max()
        assert 0.5 - 1e-2 <= opacity <= 1 and np.abs(255 - ink * opacity - pixel[:3]).max() < 2


@pytest.mark.medium
@needs_browser
def test_names_stand_in_their_groups_and_more_of_them_where_it_is_nearer(opened: Browser, show: Shown,
                                                                         tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    kinds = np.repeat(np.arange(30), 100)
    middles = generator.uniform(-1, 1, (30, 2)) * [40, 20]
    values = middles[kinds] + generator.standard_normal((3000, 2)) / 3
    page = tmp_path / "page.html"
    page.write_text(interactive_page(replace(finished_run(rows=5), embedding=Embedding(
        values, RowNumbers.up_to(3000), {"kind": [f"a long name of group {kind}" for kind in kinds]}))))
    data = show(page)
    wait(opened, "return names.length")
    named = "return names.map(name => [name.text, ...name.place])"
    few = opened.value(named)
    places = seen_places(opened, data, (0, 1))
    corner = opened.value("const r = canvas.getBoundingClientRect(); return [r.x, r.y, ratio]")
    for text, x, y in few:
        own = places[kinds == int(text.rpartition(" ")[2])]
        away = np.abs(own - np.array([x, y]) / corner[2] - corner[:2])
        assert (away < [110, 18]).all(axis=1).any()  # a name at the edge is moved inside
    assert 3 <= len(few) < 30
    middle = middles[int(few[0][0].rpartition(" ")[2])]
    opened.value("""
        const p = projection(), [x, y] = view.axes.map((axis, i) =>
          LAST * (arguments[0][i] - axis.low) / (axis.high - axis.low));
        names = [];
        zoom(3, p.x[0] * x + p.x[3], p.y[1] * y + p.y[3]);""", middle.tolist())
    wait(opened, "return names.length")
    near = opened.value(named)
    inside = opened.value("const r = inner(); return arguments[0].filter(([x, y]) => x > r.left && y > r.top && "
                          "x < r.left + r.width && y < r.top + r.height).length",
                          [[x, y] for x, y in (seen_places(opened, data, (0, 1)).reshape(30, 100, 2).mean(axis=1)
                                               - corner[:2]) * corner[2]])
    assert few[0][0] in [name[0] for name in near] and len(near) / inside > len(few) / 30


@pytest.mark.medium
@needs_browser
@pytest.mark.parametrize(("rows", "axes"), [(1, 1), (1, 2), (2, 3), (5, 2)])
def test_a_single_row_and_equal_coordinates_are_drawn_too(opened: Browser, show: Shown, tmp_path: Path, rows: int,
                                                          axes: int) -> None:
    table = Embedding(np.full((rows, axes), 2.5), [f"only {i}" for i in range(rows)], {"kind": ["a"] * rows})
    page = tmp_path / "page.html"
    page.write_text(interactive_page(replace(finished_run(rows=5, axes=axes), embedding=table)))
    opened.log("browser")
    data = show(page)
    place = seen_places(opened, data, range(min(axes + (axes == 1), 3)))[0]
    assert lines_at(opened, place)[0] == "only 0"
    opened.value("zoom(1000); zoom(1 / 1000)")
    assert opened.log("browser") == []


@pytest.mark.medium
@needs_browser
def test_of_three_axes_the_second_points_up(opened: Browser, show: Shown, made: Path) -> None:
    show(made / "interactive.html")
    choose(opened, "z", 2)
    x, y = opened.value("const p = projection(); return [p.x, p.y]")
    assert x[1] == 0 and y[1] < 0 and abs(y[1]) > abs(y[0]) and x[0] > 0
    before = opened.value("return [view.yaw, view.pitch]")
    left, top = opened.value("const r = canvas.getBoundingClientRect(); return [r.x, r.y]")
    opened.drag([(left + 200, top + 200), (left + 260, top + 190)])
    assert np.allclose(np.subtract(opened.value("return [view.yaw, view.pitch]"), before), [60 / 150, -10 / 150])


@pytest.mark.medium
@needs_browser
def test_nothing_is_asked_of_the_network_and_nothing_is_said(opened: Browser, show: Shown, made: Path) -> None:
    opened.requests()
    opened.log("browser")
    show(made / "interactive.html")
    asked = [address for address in opened.requests() if not address.startswith(("chrome://", "data:", "blob:"))]
    assert asked == [(made / "interactive.html").as_uri()]
    assert opened.log("browser") == []
    assert opened.value("return [canvas.width, canvas.height]") == opened.value(
        "return [canvas.clientWidth, canvas.clientHeight].map(side => Math.round(side * ratio))")
    assert opened.value("return document.getElementById('still').hidden && document.getElementById('failed').hidden")


@pytest.mark.medium
@needs_browser
def test_a_browser_that_cannot_draw_it_shows_the_picture(opened: Browser, made: Path, tmp_path: Path) -> None:
    page = (made / "interactive.html").read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    data = next(text for attributes, text in scripts(page) if "json" in attributes)
    broken.write_text(page.replace(data, re.sub('"bytes":"[^"]*"', '"bytes":"AAAA"', data)), encoding="utf-8")
    opened.open(broken)
    wait(opened, "return !document.getElementById('failed').hidden")
    assert opened.value("const box = document.querySelector('#still svg').getBoundingClientRect();"
                        "return box.width > 200 && document.getElementById('shown').hidden")


@pytest.mark.medium
@needs_browser
def test_without_scripts_there_is_a_picture(made: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    with browser(tmp_path) as shown:
        shown.command("Emulation.setScriptExecutionDisabled", value=True)
        shown.open(made / "interactive.html")
        shot = shown.command("Page.captureScreenshot")["data"]
    with image.open(BytesIO(base64.b64decode(shot))) as drawn:
        pixels = np.asarray(drawn.convert("RGB")).reshape(-1, 3)
    for group in range(6):
        ink = [int(INKS[f"c{group}"].light[place : place + 2], 16) for place in (1, 3, 5)]
        assert (pixels == ink).all(axis=1).sum() > 100


@pytest.mark.medium
@needs_browser
def test_the_canvas_is_light_or_dark_as_the_screen(made: Path, tmp_path: Path) -> None:
    grounds = {}
    for name, arguments in {"light": [], "dark": [DARK]}.items():
        (tmp_path / name).mkdir()
        with browser(tmp_path / name, *arguments) as shown:
            shown.open(made / "interactive.html")
            wait(shown, "return document.documentElement.dataset.state === 'ready'")
            grounds[name] = shown.value("return [...pen.getImageData(1, 1, 1, 1).data].slice(0, 3)")
    assert grounds == {"light": [0xFF, 0xFF, 0xFF], "dark": [0x16, 0x19, 0x1F]}
