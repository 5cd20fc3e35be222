"""The colors and lines of every figure, for light and dark backgrounds, in style sheets and in Matplotlib."""

from collections.abc import Iterable, Mapping

from mlcli.base.frozen import frozen

GROUND = ("#ffffff", "#16191f")
BY_GROUND = ("day", "night")  # kinds of pictures for light and for dark ground alone
# Okabe and Ito's colors and six more, in an order in which neighbors differ in lightness too, and those most like
# a former one come last; shapes distinguish them where colors do not.
CLASSES = [("#0072b2", "#4ba3e3"), ("#d55e00", "#ff8a3d"), ("#009e73", "#2ec4a0"), ("#cc79a7", "#e8a4cd"),
           ("#e69f00", "#f2b84b"), ("#56b4e9", "#8fd3f7"), ("#5d3a9b", "#b39df0"), ("#8a8a00", "#d6d26a"),
           ("#1b1b1b", "#f2f2f2"), ("#994455", "#e07a8b"), ("#44aa99", "#7fd8cb"), ("#8c6d1f", "#cba95a")]
VIRIDIS = [(68, 1, 84), (72, 36, 117), (65, 68, 135), (53, 95, 141), (42, 120, 142), (33, 145, 140), (34, 168, 132),
           (68, 191, 112), (122, 209, 81), (189, 223, 38), (253, 231, 37)]
STEPS = 24  # number of colors in the sequential scale
PART = ((0.0, 0.88), (0.14, 1.0))  # the part of viridis that contrasts with light and dark backgrounds


@frozen
class Ink:
    """The color, line and font of marks of one kind."""

    light: str
    dark: str
    width: float = 0.0  # of the line, in pixels; 0 for a shape that is filled
    dash: str = ""
    size: float = 12.0  # of text
    weight: int = 400
    both: bool = False  # line and filling, as dots need
    italic: bool = False  # of text

    def rule(self, kind: str) -> str:
        """Return the style on a light background."""
        if kind in TEXTS:
            slant = "italic " if self.italic else ""
            return f".{kind}{{fill:{self.light};font:{slant}{self.weight} {self.size:g}px {FONT}}}"
        if self.width:
            dash = f";stroke-dasharray:{self.dash}" if self.dash else ""
            return f".{kind}{{fill:none;stroke:{self.light};stroke-width:{self.width:g}{dash}}}"
        return f".{kind}{{{self._paint(kind, self.light)}}}"

    def dark_rule(self, kind: str) -> str:
        """Return the differences of the style on a dark background."""
        return f".{kind}{{{'stroke:' + self.dark if self.width else self._paint(kind, self.dark)}}}"

    def _paint(self, kind: str, color: str) -> str:
        return f"fill:{color};stroke:{color}" if self.both else f"fill:{color}"


def sequential(ground: int) -> list[str]:
    """Return the colors of the sequential scale from low to high, on light (0) or dark (1) ground."""
    low, high = PART[ground]
    return [_viridis(low + (high - low) * step / (STEPS - 1)) for step in range(STEPS)]


def _viridis(share: float) -> str:
    place = share * (len(VIRIDIS) - 1)
    left = min(int(place), len(VIRIDIS) - 2)
    pairs = zip(VIRIDIS[left], VIRIDIS[left + 1], strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - left)):02x}" for a, b in pairs)


FONT = "system-ui,sans-serif"
TEXTS = {"text": Ink("#333333", "#d5d9e0"), "title": Ink("#222222", "#e8ebf0", size=15, weight=600),
         "small": Ink("#444444", "#c3c8d1", size=11), "taxon": Ink("#5f5f5f", "#b5b5b5", size=11, italic=True),
         "onlight": Ink("#000000", "#000000", size=11), "ondark": Ink("#ffffff", "#ffffff", size=11)}
INKS = {
    **TEXTS,
    "grid": Ink("#e2e5ea", "#2c323c", 1), "axis": Ink("#8b929d", "#7d8694", 1), "frame": Ink("#c3c8d1", "#464e5b", 1),
    "kept": Ink("#0072b2", "#4ba3e3"), "rest": Ink("#a9c3d6", "#46627a"), "negative": Ink("#c8501e", "#f08a5a"),
    "bound": Ink("#b9a9d6", "#6d5f94"),
    "curve": Ink("#5d3a9b", "#b39df0", 1.8), "second": Ink("#c8501e", "#f08a5a", 1.8, "6 3"),
    "way": Ink("#c8501e", "#f08a5a", 2.2), "edge": Ink("#c3ccd6", "#3d4754", 0.7),
    "ellipse": Ink("#8c6d1f", "#cba95a", 0.7), "move": Ink("#c8501e", "#f08a5a", 1.2),
    "knot": Ink("#5d3a9b", "#b39df0", both=True), "mark": Ink("#c8501e", "#f08a5a", both=True),
    "species": Ink("#5f5f5f", "#b5b5b5", both=True), "level": Ink("#222222", "#e8ebf0", both=True),
    "arrow": Ink("#222222", "#e8ebf0", 1.4),  # as dark or gray as no group is
    "guide": Ink("#8b929d", "#7d8694", 1, "4 3"), "plain": Ink("#0072b2", "#4ba3e3", both=True),
    "other": Ink("#a3a8b0", "#6d7480", both=True), "absent": Ink("#ced3da", "#4a515d", both=True),
    "ground": Ink(*GROUND), "halo": Ink(*GROUND, 4.6),  # of a line over bars
    **{f"c{i}": Ink(*colors, both=True) for i, colors in enumerate(CLASSES)},
    **{f"l{i}": Ink(*colors, 1.8) for i, colors in enumerate(CLASSES)},
    **{f"s{i}": Ink(*colors, both=True)
       for i, colors in enumerate(zip(sequential(0), sequential(1), strict=True))},
}


DARK = {ink.light: ink.dark for ink in INKS.values()}


def style_sheet(kinds: Iterable[str]) -> str:
    """Return the rules for these kinds of marks, and variables for colors among them; paper is always light."""
    kinds = set(kinds)
    chosen = [(kind, INKS[kind]) for kind in INKS if kind in kinds]
    colors = sorted(kinds & DARK.keys())
    light = "".join(ink.rule(kind) for kind, ink in chosen) + _variables({color: color for color in colors})
    dark = "".join(ink.dark_rule(kind) for kind, ink in chosen) + _variables({color: DARK[color] for color in colors})
    if not set(BY_GROUND).isdisjoint(kinds):
        light, dark = f"{light}.night{{display:none}}", f"{dark}.day{{display:none}}.night{{display:inline}}"
    return f"{light}\n@media screen and (prefers-color-scheme:dark){{{dark}}}"


def variable(color: str) -> str:
    """Return the variable of a color in a style sheet; only colors with a dark counterpart have one."""
    return f"--ink-{color[1:]}"


def _variables(values: Mapping[str, str]) -> str:
    """Return the rule that gives colors their values."""
    return f":root{{{';'.join(f'{variable(color)}:{value}' for color, value in values.items())}}}" if values else ""
