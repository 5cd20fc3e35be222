"""Makes the pictures of the gallery and the tutorials anew, by the commands of these pages: all, or those named.

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
from PIL import Image

WIDTH = {"same-data": 640, "recipes": 600, "machine-learning": 560, "student": 400}  # pixels, where it is not USUAL
USUAL = 760
COLORS = 96


def main(wanted: list[str]) -> None:
    """Runs the script of each page in an empty folder, and keeps the pictures that the page shows."""
    for page in SCRIPTS:
        if wanted and page.stem not in wanted:
            continue
        if page == RECIPES and "DATA" not in os.environ:
            print("recipes: DATA is not set")
            continue
        folder = ROOT / "docs" / "pictures" / page.stem
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "sample_data").symlink_to(ROOT / "sample_data")
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            subprocess.run(["sh", page.with_suffix(".sh")], cwd=place, env={**os.environ, "PATH": path}, check=True)
            runs = Path(place) / "runs"
            drawn = {called(file.relative_to(runs)): file for file in runs.rglob("*.png")}
            for name in re.findall(rf"pictures/{page.stem}/([\w-]+)\.png", page.read_text(encoding="utf-8")):
                smaller(drawn[name], WIDTH.get(page.stem, USUAL)).save(folder / f"{name}.png", optimize=True)


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
