"""The columns that interactive.html holds: numbers on a lattice of 16 bits and texts by codes, both compressed."""

import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray
from mlcli.base.values.missing import is_missing
from mlcli.report.drawing.palette import CLASSES, INKS
from mlcli.report.drawing.text import visible
from mlcli.report.figures.coloring import UNGROUPED, Groups

LAST, ABSENT = 65_534, 65_535  # the last code of a number, and the code of a missing one
EXACT = 2**53  # whole numbers below it are exact
MOST_GROUPS = 250  # texts of a column with a color of their own; two more codes are for the others and for none
FEWEST = 3  # rows of a text beyond the report's groups that has a color of its own
DIGITS = 9  # of ids that are stored as numbers


def number_column(name: str, title: str, values: AnyArray) -> dict[str, Any]:
    """Return numbers (n,) as codes of a lattice from the smallest to the largest; NaN is a missing number.

    Whole numbers that differ by less than 65,535 are exact. Others are rounded to the nearest of 65,535 steps.
    """
    missing = np.isnan(values)
    known = values[~missing]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    whole = max(-low, high) < EXACT and high - low <= LAST and bool((known == np.rint(known)).all())
    end = low + LAST if whole else high
    half = end / 2 - low / 2  # a whole range may be larger than any double
    shares = (values / 2 - low / 2) / half if half else np.zeros(len(values))
    codes = np.where(missing, ABSENT, np.rint(np.where(missing, 0.0, shares) * LAST)).astype(np.int64)
    return {"name": name, "title": title, "low": low, "high": end, "whole": whole,
            "top": int(codes[~missing].max(initial=0)), "codes": pack(codes, "<u2")}


def text_column(colors: Groups, texts: Sequence[str]) -> dict[str, Any]:
    """Return a column of n texts: the different ones, first those with a color, and the code of each row's text.

    The groups of the report have its colors; further texts that are frequent take these colors in turn.
    """
    counts = Counter(texts)
    first = [name for name, kind in zip(colors.names, colors.kinds, strict=True) if kind not in UNGROUPED]
    missing = [text for text in counts if is_missing(text)]
    apart = {*first, *missing}
    further = [text for text, _ in counts.most_common() if text not in apart]
    groups = len(first) + sum(counts[text] >= FEWEST for text in further[: MOST_GROUPS - len(first)])
    known = [*first, *further, *missing]
    place = {text: code for code, text in enumerate(known)}
    codes = np.fromiter((place[text] for text in texts), np.int64, len(texts))
    kinds = [*colors.kinds[: len(first)], *(f"c{i % len(CLASSES)}" for i in range(len(first), groups)), *UNGROUPED]
    shapes = [*colors.shapes[: len(first)], *["circle"] * (groups + len(UNGROUPED) - len(first))]
    return {"name": visible(colors.name), "title": visible(colors.name), "texts": pack_texts(known),
            "codes": pack(codes, smallest(codes)), "colored": len(first), "groups": groups,
            "absent": len(known) - len(missing), "colors": [inks(kind) for kind in kinds], "shapes": shapes}


def id_column(ids: Sequence[str]) -> dict[str, Any]:
    """Return ids: whole numbers by their increments, others as texts."""
    numbers = np.array([int(text) if len(text) <= DIGITS and text.isascii() and text.isdigit()
                        and (text[0] != "0" or text == "0") else -1 for text in ids], np.int64)
    if numbers.min(initial=0) >= 0:
        return {"increments": pack(np.diff(numbers, prepend=0), "<i4")}
    return {"texts": pack_texts(ids)}


def inks(kind: str) -> list[str]:
    """Return a color on light and on dark ground."""
    return [INKS[kind].light, INKS[kind].dark]


def pack_texts(texts: Sequence[str]) -> dict[str, Any]:
    """Return texts one after the other and their lengths, in the units of JavaScript: two bytes of UTF-16."""
    whole = "".join(texts)
    lengths = np.array([len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2
                        for text in texts], np.int64)
    return {"bytes": compress(whole.encode("utf-8", "replace")), "lengths": pack(lengths, smallest(lengths))}


def smallest(codes: AnyArray) -> str:
    """Return the smallest type that holds numbers from 0."""
    most = int(codes.max(initial=0))
    return "<u1" if most < 2**8 else "<u2" if most < 2**16 else "<u4"


def pack(values: AnyArray, kind: str) -> dict[str, Any]:
    """Return whole numbers as the lowest byte of each, then the second one of each, and so on: similar bytes together.
    """
    whole = np.ascontiguousarray(values, kind)
    planes = whole.view(np.uint8).reshape(len(whole), whole.itemsize).T
    return {"width": whole.itemsize, "bytes": compress(planes.tobytes())}


def compress(content: bytes) -> str:
    """Return bytes as a zlib stream (RFC 1950) in base64."""
    return b64encode(zlib.compress(content)).decode()
