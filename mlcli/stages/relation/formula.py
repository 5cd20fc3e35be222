"""Model formulas of variables in Wilkinson's notation: terms with `+`, interactions with `:` and `*`."""

import re
from collections.abc import Sequence
from itertools import combinations

from mlcli.errors import ConfigError

TOKENS = re.compile(r"\s*(?:`([^`]+)`|([^\W\d][\w.]*|\.[^\W\d][\w.]*)|([+:*~]))")
Term = tuple[str, ...]  # the variables of an interaction, or one
MOST = 127  # terms of a formula: those of seven variables joined by `*`


def terms_of(formula: str) -> tuple[Term, ...]:
    """Return the terms of a formula such as `A1 + Management * Use`, by their degree as R orders them.

    Names with other characters than letters, digits, dots and underscores stand in backquotes. Raises ConfigError, also
    for more than MOST terms.
    """
    tokens = _tokens(formula)
    if tokens and tokens[0] == ("~", ""):
        tokens = tokens[1:]
    found: dict[frozenset[str], Term] = {}
    for part in _split(tokens, "+", formula):
        for term in _crossed([_interaction(factor, formula) for factor in _split(part, "*", formula)], formula):
            found.setdefault(frozenset(term), term)
    if len(found) > MOST:
        raise _too_many(formula)
    return tuple(sorted(found.values(), key=len))


def _tokens(formula: str) -> list[tuple[str, str]]:
    """Return operators and names, as pairs of which one is empty."""
    tokens, place, text = [], 0, formula.rstrip()
    while place < len(text):
        match = TOKENS.match(text, place)
        if match is None:
            raise _unreadable(formula, f"character {place + 1}: {text[place:].lstrip()[:20]!r}")
        tokens.append((match[3] or "", match[1] or match[2] or ""))
        place = match.end()
    return tokens


def _split(tokens: Sequence[tuple[str, str]], sign: str, formula: str) -> list[list[tuple[str, str]]]:
    parts: list[list[tuple[str, str]]] = [[]]
    for token in tokens:
        if token == (sign, ""):
            parts.append([])
        else:
            parts[-1].append(token)
    if not all(parts):
        raise _unreadable(formula, f"nothing beside {sign!r}" if len(parts) > 1 else "it is empty")
    return parts


def _interaction(tokens: Sequence[tuple[str, str]], formula: str) -> Term:
    """Return the variables of `a:b:c`, each once."""
    parts = _split(tokens, ":", formula)
    if wrong := next((part for part in parts if len(part) != 1 or not part[0][1]), None):
        raise _unreadable(formula, f"no sign between {' and '.join(repr(sign or name) for sign, name in wrong[:2])}"
                          if len(wrong) > 1 else f"{wrong[0][0]!r} is not a name")
    return tuple(dict.fromkeys(part[0][1] for part in parts))


def _crossed(factors: Sequence[Term], formula: str) -> list[Term]:
    """Return all interactions of some factors: `a*b` is a, b and a:b."""
    factors = list({frozenset(factor): factor for factor in reversed(factors)}.values())[::-1]  # each once
    if 2 ** len(factors) - 1 > MOST:
        raise _too_many(formula)
    return [tuple(dict.fromkeys(name for factor in chosen for name in factor))
            for size in range(1, len(factors) + 1) for chosen in combinations(factors, size)]


def _too_many(formula: str) -> ConfigError:
    return ConfigError("FORMULA-TERMS", f"{formula[:80]!r} has more than {MOST} terms", where="--formula",
                       hint="join fewer variables by `*`: of k variables it makes all 2^k - 1 interactions; name those "
                       "of interest by `:`")


def _unreadable(formula: str, what: str) -> ConfigError:
    return ConfigError("FORMULA", f"{formula[:80]!r} is not a formula of variables: {what}", where="--formula",
                       hint="write it as A1 + Management, or Management*Use or Management:Use for an interaction; "
                       "names with spaces stand in `backquotes`")


def label_of(term: Term) -> str:
    """Return the name of a term, as in `Management:Use`."""
    return ":".join(term)


def droppable(terms: Sequence[Term]) -> list[Term]:
    """Return the terms that are in no other one: those that can be left out first (R's `drop.scope`)."""
    return [term for term in terms if not any(set(term) < set(other) for other in terms)]
