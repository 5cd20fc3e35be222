"""interactive.html: what it tells the browser, what it allows, and in a real browser what it shows of which row."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.cli.program import run
from mlcli.config.build import require_plotly
from mlcli.errors import DependencyMissing
from mlcli.report.interactive import AXES, MOST, SCRIPT, data_of, interactive_page
from tests.journeys.pages.test_browser import BROWSER
from tests.report.driver import DRIVER, Browser, browser
from tests.report.support import finished_run
from tests.wording import Wording

pytest.importorskip("plotly")
BESIDE = "interactive.html, beside this page"
HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "<b>bold</b>", "%{x}", "&lt;i&gt;",
           "<!--<script>", '<a href="javascript:alert(3)">a</a>', "\u2028' \" \\"]
needs_browser = pytest.mark.skipif(BROWSER is None or DRIVER is None, reason="no browser with its driver")


def scripts(page: str) -> list[tuple[str, str]]:
    """The elements that a parser of HTML takes for scripts: their attributes and their texts."""
    return re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)


def told(page: str) -> dict[str, Any]:
    """The data in a page."""
    return dict(json.loads(next(text for attributes, text in scripts(page) if "json" in attributes)))


def numbers(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


def test_the_policy_names_exactly_the_scripts_that_are_there() -> None:
    page = interactive_page(finished_run(labels={"kind": HOSTILE * 4}, rows=32, ids=[f"{i}{t}" for i, t in enumerate(
        HOSTILE * 4)]))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    running = [text for attributes, text in scripts(page) if not attributes]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running]
    assert re.findall(r"'sha256-([^']*)'", policy[1]) == hashes and len(hashes) == 2
    assert running[1] == SCRIPT.read_text()
    assert "unsafe-eval" not in policy[1] and "http" not in policy[1]
    assert not re.search(r"<img|<b>|onerror", "".join(re.split(r"<script[^>]*>.*?</script>", page, flags=re.DOTALL)))


def test_the_data_leads_back_to_every_row() -> None:
    made = replace(finished_run(axes=3, labels={"kind": [HOSTILE[i % 8] for i in range(30)],
                                            "size": ["NA" if i == 4 else str(i / 7) for i in range(30)]}),
                   colors=("size",))
    data = told(interactive_page(made))
    assert data == data_of(made) and [label["name"] for label in data["labels"]] == ["size", "kind"]
    np.testing.assert_array_equal(
        np.column_stack([numbers(axis["values"], "<f8") for axis in data["axes"]]), made.embedding.values)
    assert [axis["title"] for axis in data["axes"]] == made.axes
    assert [axis["name"] for axis in data["axes"]] == ["PC 1", "PC 2", "PC 3"]
    sizes, kinds = data["labels"]
    np.testing.assert_array_equal(numbers(sizes["numbers"], "<f8"), [np.nan if i == 4 else i / 7 for i in range(30)])
    assert [kinds["texts"][code] for code in numbers(kinds["codes"], "<u4")] == [
        text.replace("\u2028", "\\u2028") for text in made.embedding.labels["kind"]]
    assert [kinds["names"][group] for group in numbers(kinds["groups"], "u1")] == [
        kinds["texts"][code] for code in numbers(kinds["codes"], "<u4")]


@pytest.mark.medium
def test_very_many_rows_and_axes_are_sampled_and_the_page_says_so() -> None:
    page = interactive_page(finished_run(rows=MOST + 10, axes=AXES + 2))
    data = told(page)
    rows = numbers(data["rows"], "<u4")
    assert len(rows) == len(data["ids"]) == MOST and (np.diff(rows.astype(int)) > 0).all()
    assert [data["ids"][i] for i in (0, -1)] == [f"p{rows[0]}", f"p{rows[-1]}"]
    assert f"a random sample of {MOST:,} of {MOST + 10:,} rows, the first {AXES} of {AXES + 2} axes" in page
    assert page == interactive_page(finished_run(rows=MOST + 10, axes=AXES + 2))


def test_the_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setattr("mlcli.base.values.extras.find_spec", lambda name: None)
    with wording.raises(DependencyMissing, "EXTRA") as caught:
        require_plotly("--interactive")
    assert caught.value.hint == "pip install 'manifold-cli[interactive]'" and caught.value.exit_code == 69


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose names are hostile, with its page."""
    folder = tmp_path_factory.mktemp("interactive")
    lines = ["id,kind,x,y,z"]
    for i, row in enumerate(np.random.default_rng(0).standard_normal((160, 3)).tolist()):
        names = [text.replace('"', '""').replace("\u2028", "") for text in (HOSTILE[i % 8], HOSTILE[i // 8 % 8])]
        lines.append(f'"{i} {names[0]}","{names[1]}",' + ",".join(map(repr, row)))
    (folder / "points.csv").write_text("\n".join([*lines, ""]))
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
def opened(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if BROWSER is None or DRIVER is None:
        pytest.skip("no browser with its driver")
    with browser(tmp_path_factory.mktemp("browser")) as shown:
        shown.open(made / "interactive.html")
        wait(shown, "return !!document.querySelector('#plot canvas')")
        yield shown


def wait(shown: Browser, question: str, seconds: float = 60) -> Any:
    """The first answer to a question of the page that is not empty."""
    end = time.monotonic() + seconds
    while not (answer := shown.value(question)) and time.monotonic() < end:
        time.sleep(0.05)
    assert answer, question
    return answer


TEXT = "return [...document.querySelectorAll('#plot .hovertext .nums')].map(e => [...e.querySelectorAll('tspan.line')]"\
       ".map(line => line.textContent))[0]"


def named(shown: Browser) -> list[str]:
    """The lines that are shown where the pointer first meets a point."""
    x, y, wide, tall = shown.value("const r = document.querySelector('#plot').getBoundingClientRect();"
                                   "return [r.x, r.y, r.width, r.height]")
    for pause in (0.05, 0.5):  # where the machine is busy
        for share in np.linspace(0.3, 0.6, 40).tolist():
            shown.point(x + wide * share, y + tall * 0.5)
            time.sleep(pause)
            if lines := shown.value(TEXT):
                return list(lines)
    raise AssertionError("the pointer met no point")


def require_true(lines: list[str], made: Path) -> None:
    """What is shown of a row is what the run says of it."""
    page = told((made / "interactive.html").read_text())
    place = page["ids"].index(lines[0])
    kind = page["labels"][0]
    assert lines[1] == f"kind: {kind['texts'][numbers(kind['codes'], '<u4')[place]]}"
    shown = [float(line.partition(": ")[2]) for line in lines[2:]]
    np.testing.assert_allclose(shown, [numbers(axis["values"], "<f8")[place] for axis in page["axes"]], rtol=1e-5)


@needs_browser
def test_the_pointer_names_the_right_row_and_names_stay_text(opened: Browser, made: Path) -> None:
    require_true(named(opened), made)
    choose = "const s = document.getElementById(arguments[0]); s.value = arguments[1];" \
             "s.dispatchEvent(new Event('change')); return true"
    assert opened.value(choose, "z", "-1")
    assert wait(opened, "return document.querySelectorAll('#plot path.point').length") == 160
    require_true(named(opened), made)
    legend = opened.value("return [...document.querySelectorAll('#plot .legendtext')].map(e => e.textContent)")
    assert set(legend) == {text.replace("\u2028", "") for text in HOSTILE}
    assert opened.value("return document.querySelectorAll('#plot a:not(.modebar-btn), #plot b, #plot img').length") == 0


@needs_browser
def test_of_three_axes_the_second_points_up(opened: Browser, made: Path) -> None:
    heights, words = opened.value("""
        const s = document.getElementById("z"); s.value = "2"; s.dispatchEvent(new Event("change"));
        const plot = document.getElementById("plot"), scene = plot.layout.scene;
        return [plot.data.flatMap(trace => Array.from(trace.z)), ["x", "z", "y"].map(a => scene[a + "axis"].title.text)]
        """)
    page = told((made / "interactive.html").read_text())
    assert words == [axis["title"] for axis in page["axes"]]
    assert sorted(heights) == sorted(numbers(page["axes"][1]["values"], "<f8").tolist())


@needs_browser
def test_nothing_is_asked_of_the_network_and_nothing_sends_data(opened: Browser, made: Path) -> None:
    asked = [address for address in opened.requests() if not address.startswith(("chrome://", "data:", "blob:"))]
    assert asked == [(made / "interactive.html").as_uri()]
    errors = [entry["message"] for entry in opened.log("browser") if entry["level"] == "SEVERE"]
    assert errors == []
    buttons = opened.value("return [...document.querySelectorAll('#plot .modebar-btn')].map(e => e.dataset.title)")
    assert buttons and not any(re.search("(?i)cloud|share|send|studio", str(button)) for button in buttons)
