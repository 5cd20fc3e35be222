"""Makes the pictures of the gallery, the tutorials and the methods anew, by the commands of these pages: all, or those
named; `methods` are those of all methods' pages, `methods/NAME` that of one.

A page shows runs/cells-map/scatter.png as pictures/PAGE/cells-map-scatter.png, made smaller. The recipes are made only
where DATA names the folder of their data sets, as the page says.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from generate import RECIPES, ROOT, SCRIPTS
from method_page import beginnings
from PIL import Image

WIDTH = {"same-data": 640, "failures": 520, "recipes": 600, "machine-learning": 560,  # pixels, where it is not USUAL
         "student": 400}
USUAL = 760
COLORS = 96


def main(wanted: list[str]) -> None:
    """Runs the script of each page in an empty folder, and keeps the pictures that the page shows."""
    of_methods([name for name in beginnings() if not wanted or {"methods", f"methods/{name}"} & {*wanted}])
    for page in SCRIPTS:
        if wanted and page.stem not in wanted:
            continue
        if page == RECIPES and "DATA" not in os.environ:
            print("recipes: DATA is not set")
            continue
        folder = ROOT / "docs" / "pictures" / page.stem
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            runs = carried_out(page.with_suffix(".sh").read_text(encoding="utf-8"), Path(place))
            drawn = {called(file.relative_to(runs)): file for file in runs.rglob("*.png")}
            for name in re.findall(rf"pictures/{page.stem}/([\w-]+)\.png", page.read_text(encoding="utf-8")):
                smaller(drawn[name], WIDTH.get(page.stem, USUAL)).save(folder / f"{name}.png", optimize=True)
            for name in re.findall(rf"pictures/{page.stem}/([\w-]+)\.svg", page.read_text(encoding="utf-8")):
                (folder / f"{name}.svg").write_bytes((runs / f"{name}.svg").read_bytes())


def of_methods(names: list[str]) -> None:
    """Runs the commands of the pages of methods, and keeps the scatter plot of their run."""
    folder = ROOT / "docs" / "pictures" / "methods"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as place:
            runs = carried_out("\n".join(["set -eu", *beginnings()[name]["commands"]]), Path(place))
            drawing = next(runs.glob("*/scatter.svg")).read_text(encoding="utf-8")
        (folder / f"{name}.svg").write_text(drawing, encoding="utf-8")


def carried_out(script: str, place: Path) -> Path:
    """Runs a script in an empty folder that has the sample data, and returns the folder of its runs."""
    (place / "sample_data").symlink_to(ROOT / "sample_data")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", script], cwd=place, env={**os.environ, "PATH": path}, check=True)
    return place / "runs"


def called(file: Path) -> str:
    """What a page calls a picture of a run."""
    return re.sub(r"[^a-z0-9]+", "-", str(file.with_suffix("")))


def smaller(file: Path, width: int) -> Image.Image:
    """A picture at most so wide, with few colors."""
    picture = Image.open(file).convert("RGB")
    picture.thumbnail((width, width), Image.Resampling.LANCZOS)
    # median cut may give small groups of points the color of larger ones
    return picture.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main(sys.argv[1:])
