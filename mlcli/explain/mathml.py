r"""Formulas as MathML, from the part of TeX's notation that they are written in.

A letter is a variable, a row of digits a number, any other character an operator; `{ }` group, `_` and `^` set below
and above, `\frac{}{}`, `\sqrt{}`, `\tilde{}`, `\bar{}`, `\hat{}`, `\text{}` and `\mathrm{}` are as in TeX, and `\exp`,
`\min`, `\sum` and others are functions and sums. Other characters stand for themselves, as Λ, γ and ⊤. A library for
all of TeX would be one more dependency of every installation.
"""

import re
from collections.abc import Iterator
from html import escape

STYLE = ("math[display]{font-size:1.15rem;margin:.7rem 0;text-align:left;overflow-x:auto;overflow-y:hidden;"
         "padding:.2rem 0;display:block math}")  # of formulas on a page
FUNCTIONS = ("exp", "log", "max", "min", "tanh")
UNDER = ("max", "min", "sum")  # which have limits below them
ACCENTS = {"tilde": "~", "bar": "¯", "hat": "^"}
SIGNS = {"sum": "∑", "{": "{", "}": "}"}
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.")
BRACES = re.compile(r"\{([^{}]*)\}")


def mathml(formula: str) -> str:
    """Return a formula as a MathML element that stands on a line of its own; raises ValueError for other notation."""
    tokens = [*_tokens(formula)]
    row, rest = _row(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"a brace too many in {formula!r}")
    return (f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block" alttext="{escape(formula)}">'
            f"<mrow>{row}</mrow></math>")


def fence(formula: str, *_: object, **__: object) -> str:
    """Return the formula of a fenced block `math` of Markdown: what zensical.toml names for the pages of the site."""
    return f'<div class="formula">{mathml(formula)}</div>'


def _tokens(formula: str) -> Iterator[str]:
    """Yield the tokens; the words in the braces of `text` and `mathrm` are one, after a mark."""
    place = 0
    while place < len(formula):
        found = TOKEN.match(formula, place)
        assert found is not None
        token, place = found[0], found.end()
        if token in (r"\text", r"\mathrm"):
            words = BRACES.match(formula, place)
            if words is None:
                raise ValueError(f"no words after {token} in {formula!r}")
            yield f"{token}{words[1]}"
            place = words.end()
        elif not token.isspace():
            yield token


def _row(tokens: list[str], place: int) -> tuple[str, int]:
    """Return what stands from a place to the end or to a closing brace, and the place after it."""
    parts: list[str] = []
    while place < len(tokens) and tokens[place] != "}":
        part, place = _scripted(tokens, place)
        parts.append(part)
    return "".join(parts), place


def _scripted(tokens: list[str], place: int) -> tuple[str, int]:
    """Return an item with what is set below and above it, and the place after it."""
    limits = tokens[place].removeprefix("\\") in UNDER and tokens[place].startswith("\\")
    base, place = _item(tokens, place)
    scripts: dict[str, str] = {}
    while place < len(tokens) and tokens[place] in "_^":
        kind = tokens[place]
        scripts[kind], place = _item(tokens, place + 1)
    if not scripts:
        return base, place
    name = {"_": "under" if limits else "sub", "^": "over" if limits else "sup",
            "_^": "underover" if limits else "subsup"}["".join(sorted(scripts, reverse=True))]
    inside = "".join(scripts[kind] for kind in "_^" if kind in scripts)
    return f"<m{name}>{base}{inside}</m{name}>", place


def _item(tokens: list[str], place: int) -> tuple[str, int]:
    """Return one token, group or command, and the place after it."""
    if place == len(tokens):
        raise ValueError("a formula ends where something has to follow")
    token = tokens[place]
    if token == "{":
        row, end = _row(tokens, place + 1)
        if end == len(tokens):
            raise ValueError("a group is not closed")
        return f"<mrow>{row}</mrow>", end + 1
    if not token.startswith("\\"):
        return _character(token), place + 1
    for command in ("text", "mathrm"):
        if token.startswith(f"\\{command}"):
            words = escape(token[len(command) + 1:]).replace(" ", "&#160;")
            return f"<mtext>{words}</mtext>" if command == "text" else f"<mi>{words}</mi>", place + 1
    name = token[1:]
    if name in ("frac", "sqrt", *ACCENTS):
        first, after = _item(tokens, place + 1)
        if name == "frac":
            second, after = _item(tokens, after)
            return f"<mfrac>{first}{second}</mfrac>", after
        if name == "sqrt":
            return f"<msqrt>{first}</msqrt>", after
        return f'<mover accent="true">{first}<mo>{ACCENTS[name]}</mo></mover>', after
    if name == "quad":
        return '<mspace width="1.2em"/>', place + 1
    if name in FUNCTIONS:
        return f"<mi>{name}</mi>" if name not in UNDER else f'<mo movablelimits="false">{name}</mo>', place + 1
    if name in SIGNS:
        return f"<mo>{SIGNS[name]}</mo>", place + 1
    raise ValueError(f"unknown command {token}")


def _character(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if token.isalpha():
        return f"<mi>{token}</mi>"
    if token == "|":  # of a norm, which has no space inside
        return '<mo stretchy="false" lspace="0.08em" rspace="0.08em">|</mo>'
    if token == "-":
        return '<mo stretchy="false">−</mo>'
    return f"<mo>{escape(token)}</mo>"
