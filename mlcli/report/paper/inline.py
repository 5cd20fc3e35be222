"""Matplotlib's SVG as a part of a page: only known elements and attributes, and colors that follow the screen."""

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from mlcli.report.drawing.html import Html
from mlcli.report.drawing.palette import DARK, variable
from mlcli.report.drawing.text import safe

SPACE, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
DRAWN = ("path", "text", "image", "rect")
PLACED = ("d", "x", "y", "width", "height", "transform")
STYLED = ("fill", "stroke", "stroke-width", "stroke-linecap", "stroke-dasharray", "opacity", "fill-opacity",
          "stroke-opacity", "font-size", "font-style", "font-weight", "text-anchor")
GROUNDS = ("patch_1", "patch_2")  # backgrounds of the figure and its panel; the page has its own
PIXEL = 4 / 3  # pixels of a page for each point
IMAGE = "data:image/png;base64,"
Attributes = dict[str, str]


def inline(drawing: bytes, title: str) -> Html:
    """Return the drawing as an element of a page, with the colors that it uses."""
    root = ElementTree.fromstring(drawing)
    marks = {str(element.get("id")): element for element in root.iter(f"{SPACE}path") if element.get("id")}
    parts = [part for element in _visible_elements(root) for part in _part(element, marks)]
    wide, high = (PIXEL * float(side) for side in root.get("viewBox", "0 0 0 0").split()[2:])
    opened = (f'<svg class="dense" viewBox="{root.get("viewBox")}" width="{wide:g}" height="{high:g}" role="img" '
              f'font-family="system-ui,sans-serif">\n<title>{safe(title, 200)}</title>\n')
    text = f'<div class="wide">{opened}' + "\n".join(parts) + "\n</svg></div>"
    return Html(text, frozenset(color for color in DARK if variable(color) in text))


def _visible_elements(root: Element) -> Iterator[Element]:
    """Yield all elements that are drawn, without definitions and backgrounds."""
    for element in root:
        if element.tag == f"{SPACE}g":
            yield from () if element.get("id") in GROUNDS else _visible_elements(element)
        elif element.tag != f"{SPACE}defs":
            yield element


def _part(element: Element, marks: dict[str, Element]) -> list[str]:
    """Return an element for the page; a mark in use elements is copied, so that no ids are needed."""
    name = element.tag.removeprefix(SPACE)
    own = {key: value for key in PLACED if (value := element.get(key)) is not None}
    own |= _with_variables(_styles(element))
    if name == "use":
        mark = marks[str(element.get(LINK)).removeprefix("#")]
        place = f"translate({own.pop('x', '0')} {own.pop('y', '0')})"
        own = {**_with_variables(_styles(mark)), **own, "d": str(mark.get("d")), "transform": place}
        return [_element("path", own, "")]
    if name == "image" and str(element.get(LINK)).startswith(IMAGE):
        own["href"] = str(element.get(LINK))
    return [_element(name, own, element.text or "")] if name in DRAWN else []


def _styles(element: Element) -> Attributes:
    """Return the known declarations of a style."""
    pairs = (part.partition(":")[::2] for part in (element.get("style") or "").split(";"))
    return {key.strip(): value.strip() for key, value in pairs if key.strip() in STYLED}


def _with_variables(styles: Attributes) -> Attributes:
    return {key: f"var({variable(value)})" if value in DARK else value for key, value in styles.items()}


def _element(name: str, attributes: Attributes, text: str) -> str:
    cells = "".join(f' {key}="{safe(" ".join(value.split()), len(value))}"' for key, value in attributes.items())
    return f"<{name}{cells}>{safe(text, 200)}</{name}>" if name == "text" else f"<{name}{cells}/>"
