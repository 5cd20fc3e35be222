"""report.html in a real browser: it says nothing on its console, runs nothing, and is drawn light and dark."""

import csv
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.cli.program import run
from tests.report.test_page import HOSTILE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = next((path for path in map(shutil.which, BROWSERS) if path), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"no browser among {', '.join(BROWSERS)}")
CONSOLE = re.compile(r":CONSOLE[:(]")  # how Chromium logs a line of a page's console
ACTIVE = re.compile(r"(?i)<(script|img|iframe|object|embed|link|form|a)\b|<[^>]*\son\w+=")
DARK = "--blink-settings=preferredColorScheme=0"


def browse(page: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Opens a page without a window and returns what the browser printed."""
    command = [str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               "--enable-logging=stderr", "--v=0", f"--user-data-dir={folder / 'profile'}", "--window-size=1000,1600",
               *arguments, page.as_uri()]
    environment = {**os.environ, "HOME": str(folder), "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)


def picture(path: Path) -> np.ndarray:
    """The bytes of an 8-bit PNG without interlacing, filters undone only where they are none; enough for its ground."""
    content = path.read_bytes()
    data, place = b"", 8
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        if content[place + 4 : place + 8] == b"IDAT":
            data += content[place + 8 : place + 8 + length]
        place += length + 12
    width, channels = int.from_bytes(content[16:20], "big"), {2: 3, 6: 4}[content[25]]
    rows = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(-1, 1 + width * channels)
    return rows[0, 1 : 1 + channels]  # the first pixel, which no filter changes


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of real runs: one plain, one with images, two with names that would run as code."""
    folder = tmp_path_factory.mktemp("runs")
    generator = np.random.default_rng(0)
    names = [name[:1000] for name in HOSTILE]
    lines = [["id</style><script>alert(1)</script>", 'kind"><script>alert(2)</script>', "x", "y", "z"]]
    lines += [[f"{i}{names[i % len(names)]}", names[(i // 2) % len(names)], *map(repr, row)]
              for i, row in enumerate(generator.standard_normal((60, 3)).tolist())]
    hostile = folder / "</title><script>alert(3)<.csv".replace("/", "_")
    with hostile.open("w", newline="") as file:
        for line in lines:
            file.write(",".join('"' + cell.replace('"', '""') + '"' for cell in line) + "\n")
    plain = folder / "plain.csv"
    plain.write_text("\n".join([",x,y,z", *(f"p{i},{a},{b},{c}" for i, (a, b, c) in enumerate(
        generator.standard_normal((600, 3)).tolist())), ""]))
    sites = folder / "sites.csv"
    counts = generator.poisson(1.5, (20, 30))
    sites.write_text("\n".join([f"site,{','.join(f'Species{j}' for j in range(30))}", *(
        f"site {i},{','.join(map(str, row))}" for i, row in enumerate(counts.tolist())), ""]))
    made = {"sites": [str(sites), "-m", "mds", "--metric", "braycurtis"],
            "hostile": [str(hostile), "--id-column", lines[0][0], "--label-column", lines[0][1], "-p", "3"],
            "plain": [str(plain), "-m", "isomap"], "images": [str(plain), "--set", "report.image=[1,3]"]}
    for name, arguments in made.items():
        assert run(["embed", *arguments, "-q", "-o", str(folder / name)]) == 0
    odd = '"' + lines[0][1].replace('"', '""') + '"'
    colored = folder / "colored"
    shutil.copytree(folder / "hostile", colored)
    for command in (["report", str(colored), "--color-by", f"{odd},x,y", "--point-labels", "none"],
                    ["compare", str(folder / "hostile"), str(colored), "--color-by", f"x,{odd}", "-o",
                     str(folder / "compared.html")]):
        assert run([*command, "-q"]) == 0
    environment = folder / "environment.csv"
    with environment.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", 'wet"><script>alert(4)</script>', "kind</style><script>alert(5)</script>"])
        writer.writerows([f"site {i}", i % 7, names[i % 2]] for i in range(20))
    assert run(["relate", str(folder / "sites"), "--with", str(environment), "-q", "-o", str(folder / "related")]) == 0
    return {**{name: folder / name / "report.html" for name in (*made, "colored")},
            "compared": folder / "compared.html", "related": folder / "related" / "relate.html"}


def only_slow(*names: str) -> list[Any]:
    """Pages that are opened only when there is time."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.medium
@pytest.mark.parametrize("name", ["hostile", "related", "colored", "compared", *only_slow("plain", "images", "sites")])
def test_the_console_stays_empty_and_nothing_is_active(pages: dict[str, Path], name: str, tmp_path: Path) -> None:
    told = browse(pages[name], tmp_path, "--dump-dom")
    assert not CONSOLE.search(told.stderr), told.stderr
    assert (name in ("related", "compared") or "<h2>Embedding</h2>" in told.stdout) and "<svg" in told.stdout
    assert not ACTIVE.search(told.stdout)
    assert ("<image" in told.stdout) == (name == "images")


@pytest.mark.medium
def test_the_console_would_be_heard(tmp_path: Path) -> None:
    page = tmp_path / "loud.html"
    page.write_text('<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
                    "<body><img src='data:image/gif;base64,AAAA'><script>1</script>")
    told = browse(page, tmp_path, "--dump-dom")
    assert CONSOLE.search(told.stderr) and ACTIVE.search(told.stdout)


@pytest.mark.medium
def test_the_page_is_light_or_dark_as_the_screen(pages: dict[str, Path], tmp_path: Path) -> None:
    grounds = {}
    for name, arguments in {"light": [], "dark": [DARK]}.items():
        shot = tmp_path / f"{name}.png"
        browse(pages["plain"], tmp_path, f"--screenshot={shot}", *arguments)
        grounds[name] = picture(shot)[:3].tolist()
    assert grounds == {"light": [0xFF, 0xFF, 0xFF], "dark": [0x16, 0x19, 0x1F]}


@pytest.mark.medium
def test_it_prints(pages: dict[str, Path], tmp_path: Path) -> None:
    paper = tmp_path / "page.pdf"
    browse(pages["plain"], tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={paper}", DARK)
    content = paper.read_bytes()
    assert content.startswith(b"%PDF") and len(content) > 20_000


@pytest.mark.medium
def test_twenty_sites_are_printed_on_four_pages(pages: dict[str, Path], tmp_path: Path) -> None:
    paper = tmp_path / "page.pdf"
    browse(pages["sites"], tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) <= 4


@pytest.mark.medium
@pytest.mark.parametrize(("wide", "beside"), [(1020, True), (700, False)])
def test_two_curves_stand_side_by_side_where_a_window_has_room(pages: dict[str, Path], tmp_path: Path, wide: int,
                                                              beside: bool) -> None:
    frame = tmp_path / "frame.html"
    frame.write_text(f"""<body><iframe src="{pages['plain'].as_uri()}" width="{wide}" height="800"
        onload="const boxes = [...this.contentDocument.querySelectorAll('section>.columns>div')].map(
        box => box.getBoundingClientRect()); document.body.id = 'tops' + boxes.slice(0, 2).map(
        box => Math.round(box.top)).join('_')"></iframe>""")
    told = browse(frame, tmp_path, "--dump-dom", "--allow-file-access-from-files")
    found = re.search(r'id="tops(\d+)_(\d+)"', told.stdout)
    assert found and (found[1] == found[2]) == beside


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext reads what was printed")
def test_what_is_folded_is_named_on_paper_and_printed_where_it_is_open(pages: dict[str, Path], tmp_path: Path) -> None:
    opened = tmp_path / "opened.html"
    opened.write_text(pages["sites"].read_text().replace("<details>", "<details open>"))
    printed = {}
    for page in (pages["sites"], opened):
        browse(page, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
        printed[page] = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], capture_output=True, text=True,
                                       check=True).stdout
    folded, whole = printed.values()
    assert "config.yaml (folded; printed where it is open)" in folded and "eigensolve:" not in folded
    assert "folded" not in whole and "eigensolve:" in whole


@pytest.mark.medium
@pytest.mark.parametrize("name", ["sites", "related", "colored", "compared", *only_slow("plain", "hostile", "images")])
def test_nothing_is_cut_off_on_a_phone(pages: dict[str, Path], name: str, tmp_path: Path) -> None:
    """Wide tables scroll in boxes of their own, so that the page is as wide as its screen of 375 pixels."""
    frame = tmp_path / "frame.html"
    frame.write_text(f"""<body><iframe src="{pages[name].as_uri()}" width="375" height="800"
        onload="document.body.id = 'wide' + this.contentDocument.documentElement.scrollWidth"></iframe>""")
    told = browse(frame, tmp_path, "--dump-dom", "--allow-file-access-from-files")
    found = re.search(r'id="wide(\d+)"', told.stdout)
    assert found and int(found[1]) <= 375
